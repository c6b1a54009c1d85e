"""The version of the package, for rooms of `core`, which do not import the package that names all of them."""

from __future__ import annotations

import sys


def version() -> str:
    """Return ``braid.__version__``.

    >>> version().count(".")
    2
    """
    return str(sys.modules["braid"].__dict__["__version__"])
