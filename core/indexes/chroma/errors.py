"""What Chroma raises, in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from chromadb.errors import ChromaError

from braid.core.errors import IndexUnavailableError


class StoreUnreachableError(IndexUnavailableError):
    """The Chroma server does not answer. Nothing is known to be wrong with what it keeps."""


@contextmanager
def told(subject: str) -> Iterator[None]:
    """Turn whatever Chroma raises, also panics of its Rust code, into IndexUnavailableError about the subject."""
    try:
        yield
    except httpx.TransportError as error:
        raise StoreUnreachableError(f"{subject} cannot be reached: {error}") from error
    except (ChromaError, ValueError, OSError, sqlite3.Error) as error:
        raise IndexUnavailableError(f"{subject} cannot be used: {error}") from error
    except BaseException as error:
        if type(error) is Exception:  # raised by Chroma for an answer that is not Chroma's, as of a proxy
            raise StoreUnreachableError(f"{subject} cannot be reached: {str(error)[:200]}") from error
        if type(error).__name__ != "PanicException":  # pyo3 does not export the class
            raise
        raise IndexUnavailableError(f"{subject} is damaged: {error}") from error
