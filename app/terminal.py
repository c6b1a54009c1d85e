"""Text and warnings that are safe to print on a terminal: on one line, without control characters."""

from __future__ import annotations

import logging
import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # would steer the terminal


def one_line(text: str) -> str:
    """Text on one line, with what would steer the terminal shown as ``�``."""
    return clean(" ".join(text.split()))


def clean(text: str) -> str:
    """Text that is safe to show: control characters and bytes that are not text become ``�``."""
    return CONTROL.sub("�", text).encode("utf-8", "replace").decode("utf-8")


class _Brief(logging.Formatter):
    """Formats a log record as one line without its traceback."""

    def formatException(self, ei: object) -> str:
        """No traceback."""
        return ""

    def format(self, record: logging.LogRecord) -> str:
        """``warning: message``."""
        return one_line(f"{record.levelname.lower()}: {super().format(record)}")


class _Once(logging.Filter):
    """Lets each kind of warning through once: a model that cannot be loaded fails for every passage."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[object] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record's message, before its values are put in, is new."""
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
