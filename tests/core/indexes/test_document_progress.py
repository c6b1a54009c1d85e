"""Progress of documents on their way into the indexes, and figures of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sqlalchemy import event

from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.datasets.statistics import FormatCount, statistics_of
from braid.core.errors import NotFoundError
from braid.core.indexes.document_progress import document_progress
from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput, Leg
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, catch_up, document


@pytest.fixture
def dataset_id(braid: Braid) -> int:
    return add_notes(braid.ledger)


@pytest.fixture
def directory(tmp_path: Path, ledger: Ledger) -> Iterator[DataDirectory]:
    """A data directory without indexes and with one dataset, its ledger on SQLite or PostgreSQL."""
    url = ledger.database.engine.url.render_as_string(hide_password=False)
    with DataDirectory(tmp_path / "data", database_url=url, embedding_model=HashEmbeddings()) as opened:
        add_notes(opened.ledger)
        yield opened


def stage(directory: DataDirectory, dataset_id: int, document_id: int) -> str:
    return document_progress(directory, dataset_id, [document_id])[document_id].stage


def test_a_document_goes_through_its_stages(directory: DataDirectory) -> None:
    ledger, log = directory.ledger, ChangeLog(directory.ledger.database)
    model = HashEmbeddings().fingerprint
    first = ledger.put_document(1, document("a", "one", "two", "three")).document_id
    assert stage(directory, 1, first) == "parsed"
    log.set_state("bm25", "user_1", IndexState("v", 3, "ready"))
    assert stage(directory, 1, first) == "keyword_ready"
    chunk_ids = [passage.chunk_id for passage in ledger.document_passages(first, [1])]
    ledger.store_embeddings(model, chunk_ids[:2], np.eye(2, 64, dtype=np.float32))
    found = document_progress(directory, 1, [first])[first]
    assert (found.stage, found.embedded, found.chunks) == ("embedding", 2, 3)
    ledger.store_embeddings(model, chunk_ids[2:], np.eye(1, 64, dtype=np.float32))
    log.set_state("dense", "user_1", IndexState(model, 3, "ready"))
    second = ledger.put_document(1, document("b", "four")).document_id
    both = document_progress(directory, 1, [first, second, 99])
    assert {key: found.stage for key, found in both.items()} == {first: "done", second: "parsed"}
    ledger.put_document(1, document("a", "one", "two", "another"))
    assert stage(directory, 1, first) == "embedding"
    log.set_state("bm25", "user_1", IndexState("v", 99, "rebuilding"))
    assert not document_progress(directory, 1, [second])[second].bm25_ready


def test_a_document_that_did_not_change_stays_done(directory: DataDirectory) -> None:
    ledger, log = directory.ledger, ChangeLog(directory.ledger.database)
    first = ledger.put_document(1, document("a", "one")).document_id
    for leg in get_args(Leg):
        log.set_state(leg, "user_1", IndexState("v", 1, "ready"))
    ledger.put_document(1, document("b", "two"))
    ledger.put_document(1, document("a", "one"))
    assert stage(directory, 1, first) == "done"


def test_failed_documents_say_why(directory: DataDirectory) -> None:
    failed = directory.ledger.put_failed(1, "scan.pdf", title="scan", file_type="pdf", error="it has no text layer")
    found = document_progress(directory, 1, [failed])[failed]
    assert (found.stage, found.error) == ("failed", "it has no text layer")
    with pytest.raises(NotFoundError):
        document_progress(directory, 2, [failed])


def test_the_real_indexer_brings_documents_to_done(braid: Braid, dataset_id: int) -> None:
    ids = [braid.ledger.put_document(dataset_id, document(f"{n}", f"text {n}")).document_id for n in range(30)]
    catch_up(braid)
    assert {found.stage for found in document_progress(braid, dataset_id, ids).values()} == {"done"}


def test_the_progress_of_a_page_takes_few_queries_however_many_documents(directory: DataDirectory) -> None:
    ids = [directory.ledger.put_document(1, document(f"{n}", "x")).document_id for n in range(200)]
    statements: list[str] = []
    event.listen(directory.ledger.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    document_progress(directory, 1, ids[:100])
    few = len(statements)
    document_progress(directory, 1, ids[:2])
    assert len(statements) == 2 * few < 20


# ---------------------------------------------------------------- figures


def test_a_dataset_in_figures(directory: DataDirectory) -> None:
    for name in ("a", "b"):
        directory.ledger.put_document(
            1, DocumentInput(name, name, "md", (ChunkInput(name), ChunkInput("...")), "", 100)
        )
    directory.ledger.put_failed(1, "scan", title="scan", file_type="pdf", error="?", size_bytes=7)
    figures = statistics_of(directory.ledger, 1)
    assert figures.formats == (FormatCount("md", 2, 0, 4, 200), FormatCount("pdf", 1, 1, 0, 7))
    assert (figures.documents, figures.failed, figures.chunks, figures.size_bytes) == (3, 1, 4, 207)


def test_an_empty_dataset_has_figures_too(directory: DataDirectory) -> None:
    assert statistics_of(directory.ledger, 1).formats == ()
