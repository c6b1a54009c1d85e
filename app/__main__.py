"""Entry point: `python -m app …`; `braid.__main__` is that of the installed package."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import NoReturn

SERVING = ("serve", "worker")
"""Commands that end well by SIGTERM, from their first moment on. Others have not done then what they were to do."""


def main(name: str = "braid") -> None:
    """Run the command line and end the process with its status."""
    if sys.argv[1:2] and sys.argv[1] in SERVING:
        signal.signal(signal.SIGTERM, _end)  # until they have handlers of their own; loading takes a second
    from braid.app.cli.root import cli

    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings of libraries for their developers
    cli(prog_name=name)


def _end(*_: object) -> NoReturn:
    """Close what is open already, in order."""
    sys.exit(0)


if __name__ == "__main__":
    main("python -m app")
