"""The application: pages, API, MCP server and command line over the library in `core`.

From the bottom: `terminal`; `metrics` and `opening`; `site`, which every route reaches; `auth`; `user`; `web`; then
`api`, `pages`, `mcp` and `owner`, which know nothing of each other; `factory`, `first_start`,
`after_start`, `server`; `cli` on top.
"""

import importlib
import sys

if __name__ == "app":  # `python -m app` in a checkout; the package's one name is braid.app
    sys.modules["app"] = importlib.import_module("braid.app")
