"""The change log: whoever follows it, from wherever, ends with what stands in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput
from tests import worlds
from tests.worlds import add_notes

if TYPE_CHECKING:
    pass


@pytest.fixture
def log(ledger: Ledger) -> ChangeLog:
    return ChangeLog(ledger.database)


@pytest.fixture
def dataset(ledger: Ledger) -> int:
    return add_notes(ledger)


def document(source: str, *texts: str) -> DocumentInput:
    return worlds.document(source, *texts, title="T")


def texts(log: ChangeLog, collection: str) -> list[str]:
    return sorted(chunk.text for batch in log.all_chunks(collection, 3) for chunk in batch)


# ---------------------------------------------------------------- the log


def test_heads_of_all_collections(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    assert log.heads() == {"user_1": 0}
    ledger.put_document(dataset, document("a", "one", "two"))
    ledger.register_shared(-1, "Guide", "shared_a")
    assert log.heads() == {"user_1": 2, "shared_a": 0}
    ledger.remove_dataset(dataset)
    assert log.heads() == {"user_1": 4, "shared_a": 0}


def test_an_unchanged_document_leaves_no_trace(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two"))
    head = log.heads()["user_1"]
    ledger.put_document(dataset, document("a", "two", "one"))  # moved, but the same to an index
    assert log.heads()["user_1"] == head


def test_a_limit_takes_the_oldest(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcde"))
    assert [change.seq for change in log.after("user_1", 1, 2)] == [2, 3]


# ---------------------------------------------------------------- what a chunk is now


def test_a_title_or_heading_that_is_missing_leaves_no_gap(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, DocumentInput("a", "", "md", (ChunkInput("text"), ChunkInput("more", "H"))))
    assert texts(log, "user_1") == ["H more", "text"]


def test_all_chunks_come_once_whatever_the_batch(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcdefg"))
    ledger.register_shared(-1, "Guide", "shared_a")
    ledger.put_document(-1, document("a", "shared"))
    for batch in (1, 3, 7, 8):
        sizes = [len(chunks) for chunks in log.all_chunks("user_1", batch)]
        assert sum(sizes) == 7
        assert max(sizes) <= batch
    assert log.chunk_count("user_1") == len(log.chunk_ids("user_1")) == 7
    assert texts(log, "shared_a") == ["T shared"]
    assert texts(log, "unknown") == []
    assert log.chunk_count("unknown") == 0


def test_vectors_of_other_models_are_forgotten_in_one_collection(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.register_shared(-1, "Guide", "shared_a")
    for dataset_id in (dataset, -1):
        ledger.put_document(dataset_id, document("a", "one", "two"))
    mine, shared = sorted(log.chunk_ids("user_1")), sorted(log.chunk_ids("shared_a"))
    vectors = np.ones((2, 2), dtype=np.float32)
    for model in ("old", "new"):
        ledger.store_embeddings(model, mine, vectors)
        ledger.store_embeddings(model, shared, vectors)
    log.forget_other_models("user_1", "new")
    assert [log.embedded_count("user_1", model) for model in ("old", "new")] == [0, 2]
    assert log.embedded_ids("user_1", "new") == set(mine)
    assert [log.embedded_count("shared_a", model) for model in ("old", "new")] == [2, 2]


# ---------------------------------------------------------------- vectors in bulk


def test_vectors_of_some_chunks(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two", "bare"))
    first, second, bare = (p.chunk_id for p in ledger.document_passages(1, [dataset]))
    ledger.store_embeddings("m", [first, second], np.array([[0.6, 0.8], [1, 0]], dtype=np.float32))
    ids, vectors = log.vectors("m", [second, bare, first, "unknown"])
    assert dict(zip(ids, vectors.tolist(), strict=True)) == {first: pytest.approx([0.6, 0.8]), second: [1.0, 0.0]}
    assert vectors.dtype == np.float32
    for none in (log.vectors("other", [first]), log.vectors("m", [])):
        assert (none[0], none[1].size) == ([], 0)


# ---------------------------------------------------------------- states


def test_index_states_are_kept_by_leg_and_collection(log: ChangeLog) -> None:
    assert log.states("bm25") == {}
    log.set_state("bm25", "user_1", IndexState("v1", 5, "ready"))
    log.set_state("dense", "user_1", IndexState("m", 2, "writing"))
    log.set_state("bm25", "user_1", IndexState("v2", 0, "rebuilding"))
    assert log.states("bm25") == {"user_1": IndexState("v2", 0, "rebuilding")}
    assert log.states("dense") == {"user_1": IndexState("m", 2, "writing")}
