"""Packages of others: those that need not be installed, what they log, and the parts of Braid that they bring."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from braid.core.errors import BraidError

DISTRIBUTION = "braid-search"
RERANKERS = "braid.rerankers"
"""Group of the rerankers: the name is what a reranker's name begins with, the object a class or function that takes
the rest of the name."""

logger = logging.getLogger(__name__)


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


@lru_cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; loads none of them."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def loaded(what: str, point: EntryPoint) -> Any:
    """Return the object that an entry point names; None, logged, where it cannot be loaded."""
    try:
        return point.load()
    except Exception:  # the edge to another package: any error of its own must not take ours away
        logger.exception("%s %r of %s is left out: it cannot be loaded", what, point.name, point.value)
        return None
