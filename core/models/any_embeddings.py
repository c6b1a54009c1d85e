"""Any LangChain embedding model where Braid wants one that has a name."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from braid.core.models.embeddings import EmbeddingModel, embedding_model


class _Named(Embeddings):
    """A model under the name of its class."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self.fingerprint = type(model).__name__

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self._model.embed_query(text)


def named_model(model: str | Embeddings | EmbeddingModel) -> EmbeddingModel:
    """The model of a ``provider:model`` string, or the given one. Raises InvalidInputError for another string."""
    if isinstance(model, str):
        return embedding_model(model)
    return model if isinstance(getattr(model, "fingerprint", None), str) else _Named(model)  # type: ignore[arg-type, return-value]
