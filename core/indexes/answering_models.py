"""The embedding model that answers for a collection: the last one whose vectors are complete."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from braid.core.errors import BraidError, IndexUnavailableError, internal
from braid.core.models.embeddings import EmbeddingModel


def changed(collection: str) -> IndexUnavailableError:
    """Return the error of a query whose vector is of the model that answered before."""
    return IndexUnavailableError(
        internal("the embedding model of %(collection)s has just changed", collection=collection)
    )


class AnsweringModels:
    """Names two models per collection: the ``wanted`` one, and the one that searches use, which differs from a change
    of the wanted model until all vectors are made again.

    ``load`` makes a model of a fingerprint, or raises a BraidError. `keep` and `begin` are called by one thread, the
    rest by any.
    """

    def __init__(self, wanted: Callable[[str], EmbeddingModel], load: Callable[[str], EmbeddingModel]) -> None:
        self.wanted = wanted
        self._load = load
        self._answering: dict[str, EmbeddingModel] = {}

    def answering(self, collection: str) -> EmbeddingModel:
        """Return the model whose vectors searches of the collection use. Raises EmbeddingError."""
        return self._answering.get(collection) or self.wanted(collection)

    def wanted_version(self, collection: str) -> str:
        """Return the fingerprint of the model that the collection is to have. Raises EmbeddingError."""
        return self.wanted(collection).fingerprint

    def answering_version(self, collection: str) -> str:
        """Return the fingerprint of the model that searches use. Raises EmbeddingError."""
        return self.answering(collection).fingerprint

    def require(self, collection: str, model: str) -> str:
        """Return the fingerprint of the model that searches use, which a query's vector of this ``model`` may be
        compared with; with an empty one, of whatever model. Raises EmbeddingError, and IndexUnavailableError.
        """
        version = self.answering_version(collection)
        if model and model != version:
            raise changed(collection)
        return version

    def begin(self, collection: str, model: EmbeddingModel) -> None:
        """Let the model answer if none does yet."""
        self._answering.setdefault(collection, model)

    def keep(self, collection: str, fingerprint: str) -> bool:
        """Let the model with this fingerprint answer, whatever model is wanted. False when it cannot be loaded."""
        try:
            self._answering[collection] = self.named(collection, fingerprint)
        except BraidError:
            self._answering.pop(collection, None)
        return collection in self._answering

    def named(self, collection: str, fingerprint: str) -> EmbeddingModel:
        """Return the model with this fingerprint, which the collection has or had. Raises InvalidInputError."""
        with suppress(BraidError):
            wanted = self.wanted(collection)
            if wanted.fingerprint == fingerprint:
                return wanted
        return self._load(fingerprint)


class WantedModels(AnsweringModels):
    """Lets the wanted model answer, whatever it was before: of an earlier one only a single process would know."""

    def begin(self, collection: str, model: EmbeddingModel) -> None:
        """Do nothing."""

    def keep(self, collection: str, fingerprint: str) -> bool:
        """Return False."""
        return False
