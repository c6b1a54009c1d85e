"""Embedding models from a folder: ``onnx:FOLDER``, their pooling and prefixes checked by three known pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from braid.core.errors import EmbeddingError, InvalidInputError
from braid.core.models.known_pairs import KNOWN
from braid.core.models.onnx_model import OnnxModel, Pooling

if TYPE_CHECKING:
    from braid.core.vector import Vector

PAIRS = tuple((known.question, known.right) for known in KNOWN)
"""Questions and passages: each question must be nearest to its own passage."""
PREFIXES = (("", ""), ("query: ", "passage: "), ("search_query: ", "search_document: "))
"""Prefixes of a query and of a passage: none, those of E5, and those of Nomic."""
_POOLING_KEYS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True, slots=True)
class VectorForm:
    """How a model's vectors are made."""

    pooling: Pooling
    query: str = ""
    passage: str = ""


class OnnxEmbeddings:
    """An embedding model in onnxruntime, from a folder with ``tokenizer.json`` and ``model.onnx``.

    Pooling and prefixes are those of ``1_Pooling/config.json`` and ``config_sentence_transformers.json`` in the folder.
    Where these are missing, they are those that tell three known pairs apart best. Raises InvalidInputError for a
    folder without these files, and EmbeddingError at the first use where the pairs are not told apart.
    """

    computes_here = True

    def __init__(self, folder: str) -> None:
        self._model = OnnxModel(folder)
        self.fingerprint = f"onnx:{self._model.folder.name}-{self._model.digest()}"
        self._lock = threading.Lock()
        self._way: VectorForm | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        way = self._checked_way()
        vectors: list[list[float]] = self._embed(texts, way.passage, way.pooling).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Vectors of several queries."""
        way = self._checked_way()
        vectors: list[list[float]] = self._embed(texts, way.query, way.pooling).tolist()
        return vectors

    def _embed(self, texts: Sequence[str], prefix: str, pooling: Pooling) -> Vector:
        import numpy as np

        vectors = self._model.embed([prefix + text for text in texts], pooling)
        unit: Vector = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return unit

    def _checked_way(self) -> VectorForm:
        with self._lock:
            if self._way is None:
                margins = {way: self._margin(way) for way in self._possible_ways()}
                best = max(margins, key=lambda way: margins[way])
                if not margins[best] > 0:
                    raise EmbeddingError(
                        f"the embedding model {self.fingerprint} does not tell known texts apart: a question is nearer "
                        "to another passage than to its own; check its pooling (1_Pooling/config.json), its prefixes "
                        "(prompts in config_sentence_transformers.json), and that it knows English, Japanese and Korean"
                    )
                self._way = best
            return self._way

    def _possible_ways(self) -> Iterator[VectorForm]:
        """Yield the way that the folder's files name, else all that may be; the plainest first."""
        pooled = self._model.config("1_Pooling/config.json")
        poolings = [pooling for key, pooling in _POOLING_KEYS.items() if pooled.get(key)]
        if pooled and not poolings:
            raise InvalidInputError(
                f"{self._model.folder}/1_Pooling/config.json names none of {', '.join(_POOLING_KEYS)}", field="model"
            )
        prompts = self._model.config("config_sentence_transformers.json").get("prompts")
        named = prompts if isinstance(prompts, dict) else {}
        passage = str(named.get("passage") or named.get("document") or "")
        prefixes = [(str(named.get("query") or ""), passage)] if named else PREFIXES
        for pooling in poolings or get_args(Pooling):
            for query, document in prefixes:
                yield VectorForm(pooling, query, document)

    def _margin(self, way: VectorForm) -> float:
        """Return by how much each question is nearer to its passage than to any other: the least of the three."""
        questions = self._embed([question for question, _ in PAIRS], way.query, way.pooling)
        cosines = questions @ self._embed([passage for _, passage in PAIRS], way.passage, way.pooling).T
        others = [max(row[other] for other in range(len(PAIRS)) if other != own) for own, row in enumerate(cosines)]
        return float(min(cosines[own][own] - others[own] for own in range(len(PAIRS))))
