"""Packages of others: which need not be installed, what to say when one is missing, and what they log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from braid.core.errors import BraidError

DISTRIBUTION = "braid-search"


class MissingExtraError(BraidError, ImportError):
    """A package is not installed that this part of Braid needs. ``extra`` names the part to install.

    >>> try:
    ...     require("readers", "reading a PDF document", "a_package_that_is_missing")
    ... except MissingExtraError as error:
    ...     print(error)
    reading a PDF document needs a_package_that_is_missing, which is not installed: pip install 'braid-search[readers]'
    """

    def __init__(self, what: str, extra: str, *missing: str) -> None:
        verb = "is" if len(missing) == 1 else "are"
        names = ", ".join(missing)
        super().__init__(f"{what} needs {names}, which {verb} not installed: pip install '{DISTRIBUTION}[{extra}]'")
        self.extra = extra


def is_installed(module: str) -> bool:
    """Return whether a top-level module can be imported; loads nothing."""
    return find_spec(module) is not None


def require(extra: str, what: str, *modules: str) -> None:
    """Raise MissingExtraError unless these top-level modules, of the extra, can be imported. Loads nothing.

    ``what`` begins the message: "The app".
    """
    missing = [module for module in modules if not is_installed(module)]
    if missing:
        raise MissingExtraError(what, extra, *missing)


@contextmanager
def quietly(logger: str) -> Iterator[None]:
    """Let this logger pass warnings and errors alone, in all threads."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(before)
