"""Translation of Chroma's exceptions into Braid's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from braid.core.errors import IndexUnavailableError, StoreUnreachableError


class WriteFailedError(IndexUnavailableError):
    """Chroma could not write, as on a full disk; the next write by the same client would never return."""


@contextmanager
def translate_errors(subject: str) -> Iterator[None]:
    """Turn whatever Chroma raises, panics of its Rust code included, into IndexUnavailableError about the subject."""
    try:
        yield
    except BaseException as error:
        translated = _translation(error, subject)
        if translated is None:
            raise
        raise translated from error


def _translation(error: BaseException, subject: str) -> IndexUnavailableError | None:
    """Return Braid's error for one of Chroma's; None for one that is not about the store."""
    import httpx
    from chromadb.errors import ChromaError

    if isinstance(error, httpx.TransportError):
        return StoreUnreachableError(f"{subject} cannot be reached: {error}")
    if isinstance(error, (ChromaError, ValueError, OSError, sqlite3.Error)):
        return IndexUnavailableError(f"{subject} cannot be used: {error}", inner=str(error))
    if type(error) is Exception:  # Chroma raises it for an answer that is not Chroma's, such as a proxy's
        return StoreUnreachableError(f"{subject} cannot be reached: {str(error)[:200]}")
    if type(error).__name__ == "PanicException":  # pyo3 does not export the class
        return IndexUnavailableError(f"{subject} is damaged; it is being checked", inner=str(error))
    return None
