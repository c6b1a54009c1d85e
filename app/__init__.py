"""The application: pages, API, MCP server and command line over the library in `core`.

From the bottom: `terminal`; `metrics`, `mounted` and `opening`; `host`; `site`, which every route reaches; `auth`;
`user`; `web`; then `api`, `pages` and `mcp`, which know nothing of each other; `factory`, `first_start`, `server`;
`cli` on top.
"""

from braid.core.extras import require

PACKAGES = (
    *("a2wsgi", "anyio", "argon2", "click", "cryptography", "flask", "flask_babel", "flask_login"),
    *("limits", "prometheus_client", "rich", "starlette", "uvicorn", "watchdog"),
)

require("app", "Braid's app, like its command line,", *PACKAGES)

if __name__ == "app":  # in a checkout, as by `python -m app`; the package's one name is braid.app
    from braid.one_name import under_one_name

    under_one_name(__name__)
