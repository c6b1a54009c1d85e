"""Entry point: `python -m app …`; `braid.__main__` is that of the installed package."""

from __future__ import annotations

import sys
import warnings

from braid.app.cli.root import cli


def main(name: str = "braid") -> None:
    """Run the command line and end the process with its status."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings of libraries for their developers
    cli(prog_name=name)


if __name__ == "__main__":
    main("python -m app")
