"""Translation of Chroma's exceptions into Braid's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from chromadb.errors import ChromaError

from braid.core.errors import IndexUnavailableError


class StoreUnreachableError(IndexUnavailableError):
    """The Chroma server does not answer; its data may well be sound."""


@contextmanager
def translate_errors(subject: str) -> Iterator[None]:
    """Turn whatever Chroma raises, panics of its Rust code included, into IndexUnavailableError about the subject."""
    try:
        yield
    except httpx.TransportError as error:
        raise StoreUnreachableError(f"{subject} cannot be reached: {error}") from error
    except (ChromaError, ValueError, OSError, sqlite3.Error) as error:
        raise IndexUnavailableError(f"{subject} cannot be used: {error}") from error
    except BaseException as error:
        if type(error) is Exception:  # Chroma raises it for an answer that is not Chroma's, such as a proxy's
            raise StoreUnreachableError(f"{subject} cannot be reached: {str(error)[:200]}") from error
        if type(error).__name__ != "PanicException":  # pyo3 does not export the class
            raise
        raise IndexUnavailableError(f"{subject} is damaged: {error}") from error
