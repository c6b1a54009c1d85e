"""`python -m app …`."""

from __future__ import annotations

import sys
import warnings

from app.cli import cli

if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what libraries tell their developers is no news for users
    cli()
