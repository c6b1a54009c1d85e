"""The embedding model that answers for a collection: the one it has, or the last one until its vectors are complete."""

from __future__ import annotations

from collections.abc import Callable

from braid.core.errors import BraidError
from braid.core.models.embeddings import EmbeddingModel


class AnsweringModels:
    """Names two models per collection: the ``wanted`` one, and the one that searches use meanwhile.

    ``load`` makes a model of a fingerprint, or raises a BraidError. `keep` and `release` are called by one thread,
    the rest by any.
    """

    def __init__(self, wanted: Callable[[str], EmbeddingModel], load: Callable[[str], EmbeddingModel]) -> None:
        self.wanted = wanted
        self._load = load
        self._kept: dict[str, EmbeddingModel] = {}

    def answering(self, collection: str) -> EmbeddingModel:
        """Return the model whose vectors searches of the collection use. Raises EmbeddingError."""
        return self._kept.get(collection) or self.wanted(collection)

    def wanted_version(self, collection: str) -> str:
        """Return the fingerprint of the model that the collection is to have."""
        return self.wanted(collection).fingerprint

    def answering_version(self, collection: str) -> str:
        """Return the fingerprint of the model that searches use."""
        return self.answering(collection).fingerprint

    def keep(self, collection: str, fingerprint: str) -> bool:
        """Let the model with this fingerprint answer until `release`. False when it cannot be loaded any more."""
        if fingerprint != self.wanted_version(collection):
            try:
                self._kept[collection] = self._load(fingerprint)
            except BraidError:
                self._kept.pop(collection, None)
        return collection in self._kept

    def release(self, collection: str) -> None:
        """Let the wanted model answer."""
        self._kept.pop(collection, None)
