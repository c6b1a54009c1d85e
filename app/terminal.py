"""Text and log messages that are safe to print on a terminal: on one line, without control characters."""

from __future__ import annotations

import logging
import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # could control the terminal


def one_line(text: str) -> str:
    """Return the text on one line, with control characters shown as ``�``."""
    return clean(" ".join(text.split()))


def clean(text: str) -> str:
    """Return text that is safe to print: control characters and invalid bytes become ``�``."""
    return CONTROL.sub("�", text).encode("utf-8", "replace").decode("utf-8")


class _Brief(logging.Formatter):
    """Formats a log record as one line without its traceback."""

    def formatException(self, ei: object) -> str:
        """Return nothing, so that no traceback is logged."""
        return ""

    def format(self, record: logging.LogRecord) -> str:
        """Return ``warning: message``."""
        return one_line(f"{record.levelname.lower()}: {super().format(record)}")


class _Once(logging.Filter):
    """Lets each kind of warning through once. A model that cannot be loaded would fail for every passage."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[object] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether this message, before its values are filled in, is new."""
        is_new = record.msg not in self._seen
        self._seen.add(record.msg)
        return is_new


def log_briefly(*, debug: bool) -> None:
    """Log warnings to stderr as one line each; with ``debug`` everything, tracebacks included."""
    handler = logging.StreamHandler()
    if not debug:
        handler.addFilter(_Once())
        handler.setFormatter(_Brief())
        logging.getLogger("braid.core.ingest.readers").setLevel(logging.ERROR)  # a file that fails is reported anyway
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, handlers=[handler])
