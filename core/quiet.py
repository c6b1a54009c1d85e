"""Keeps what a library says of its own doings out of the log of a program that logs at INFO."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


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
