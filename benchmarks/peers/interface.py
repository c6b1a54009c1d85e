"""What every peer does, and what several of them need. Imports neither Braid nor a peer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

DEPTH = 50
"""Candidates that each leg gives to the fusion, as many as Braid fetches for ten hits."""
RRF_C = 60

FloatVector = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its vector, (dim,) float32 of unit length. Consecutive passages of a document share its ``part``."""

    id: str
    """Document, ``#``, position."""
    collection: str
    text: str
    part: int
    """0–99: a filter of p % selects the parts below p."""
    vector: FloatVector

    @property
    def document(self) -> str:
        """Name of the document, unique in its collection."""
        return self.id.rpartition("#")[0]


class IncompleteError(RuntimeError):
    """A part of a peer does not answer yet; ``found`` is what the rest has found."""

    def __init__(self, reason: str, found: list[str]) -> None:
        super().__init__(reason)
        self.found = found


class Peer(Protocol):
    """A library that is measured. ``folder`` is where it may write.

    One that goes on working in the background after `build` has a method ``settle()`` that waits for it. One whose
    files several processes may search has ``attach(collections)``, which opens what another process has built.
    """

    about: str
    """How it is set up, in a phrase for the table."""
    packages: tuple[str, ...]
    """Distributions whose versions are shown."""

    def __init__(self, folder: Path) -> None: ...

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        """Store and index everything; returns when all of it can be searched."""

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        """Return the ids of the k best passages of all collections, of parts below ``below`` if given."""

    def put(self, passage: Passage) -> None:
        """Store one more passage the way that makes the library find it."""

    def close(self) -> None:
        """Let go of files and threads."""


class GivenVectors:
    """An embedding model that knows the vector of every text beforehand, so that embedding costs nothing."""

    fingerprint = "benchmark:given"
    computes_here = True
    """As Braid's own model does: nothing is waited for."""

    def __init__(self) -> None:
        self._vectors: dict[str, FloatVector] = {}

    def know(self, passages: Iterable[Passage]) -> None:
        """Remember the vectors of passages."""
        self._vectors.update((passage.text, passage.vector) for passage in passages)

    def know_query(self, text: str, vector: FloatVector) -> None:
        """Remember the vector of a query."""
        self._vectors[text] = vector

    def forget(self) -> None:
        """Give the memory back."""
        self._vectors.clear()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._vectors[text].tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self._vectors[text].tolist()


def everything(collections: Mapping[str, Sequence[Passage]]) -> list[Passage]:
    """The passages of all collections."""
    return [passage for passages in collections.values() for passage in passages]


def fuse(rankings: Iterable[Sequence[str]], k: int) -> list[str]:
    """Reciprocal rank fusion (Cormack et al. 2009)."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, found in enumerate(ranking, start=1):
            scores[found] = scores.get(found, 0.0) + 1 / (RRF_C + rank)
    return sorted(scores, key=lambda found: -scores[found])[:k]
