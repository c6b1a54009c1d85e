"""`python -m braid …`, and the command ``braid`` of the installed package."""

from __future__ import annotations

import sys

from braid.core.extras import MissingExtraError


def main(name: str = "braid") -> None:
    """Run the command line and end the process with its status; 2 where the app's packages are not installed."""
    try:
        from braid.app.__main__ import main as run
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    run(name)


if __name__ == "__main__":
    main("python -m braid")
