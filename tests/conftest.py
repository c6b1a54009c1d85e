"""Shared fixtures: a Braid in a temporary folder with real Chroma, tantivy and SQLite; only the model is faked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.braid import Braid
from core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings


@pytest.fixture
def embeddings() -> HashEmbeddings:
    """The fake model of the `braid` fixture."""
    return HashEmbeddings()


@pytest.fixture
def braid(tmp_path: Path, embeddings: HashEmbeddings) -> Iterator[Braid]:
    """An open, empty data directory."""
    with Braid(tmp_path / "data", embedding_model=embeddings) as opened:
        yield opened


@pytest.fixture
def put(braid: Braid) -> Callable[..., str]:
    """Store a document of one chunk a text and wait until both legs have it; returns its source."""

    def put_texts(dataset_id: int, source: str, *texts: str, title: str = "", file_type: str = "txt") -> str:
        chunks = tuple(ChunkInput(text) for text in texts)
        braid.ledger.put_document(dataset_id, DocumentInput(source, title or source, file_type, chunks))
        assert braid.indexer.wait(10)
        return source

    return put_texts
