"""The application: pages, server and command line over the library in `core`."""

import importlib
import sys

if __name__ == "app":  # `python -m app` in a checkout; the package's one name is braid.app
    sys.modules["app"] = importlib.import_module("braid.app")
