"""The copy in Chroma follows the ledger, behind the vectors, and is written again where it is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from langchain_chroma import Chroma

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import IndexUnavailableError
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, IndexState
from braid.core.types import Mode
from tests.core.indexes.chroma.damages import DAMAGES
from tests.core.indexes.chroma.test_copy import as_others_read, nearest
from tests.fakes import HashEmbeddings
from tests.modes import mostly_long
from tests.worlds import WAIT_S, add_notes, document, eventually, indexed

TEXTS = ("The cat sat on the mat", "Dogs bark at night", "吾輩は猫である。", "고양이가 매트 위에 앉았다")

ALL = ("bm25", "dense", "chroma")


def fill(braid: Braid) -> None:
    braid.ledger.put_document(add_notes(braid.ledger), document("a", *TEXTS))
    assert braid.indexer.wait(WAIT_S, ALL)


def assert_complete(braid: Braid) -> None:
    """Every mode finds everything, and nothing is missing."""
    for mode in get_args(Mode):
        result = braid.search(" ".join(TEXTS), user_id=1, mode=mode, k=20)
        assert {hit.passage.text for hit in result.hits} == set(TEXTS)
        assert result.degraded == ()


def has_all(folder: Path, expected: list[IndexedChunk]) -> bool:
    """Whether the copy in a data directory that is closed has each chunk with its own vector, and no other."""
    with as_others_read(folder / "indexes" / "dense") as client:
        stored = client.get_collection("user_1", embedding_function=None).get(include=["embeddings"])
        assert stored["embeddings"] is not None
        vectors = dict(zip(stored["ids"], stored["embeddings"], strict=True))
        return vectors.keys() == {each.id for each in expected} and all(
            vectors[each.id] == pytest.approx(each.vector, abs=1e-6)
            and list(nearest(client, "user_1", vectors[each.id])) == [each.id]
            for each in expected
        )


def lists_all(braid: Braid) -> bool:
    """Whether the copy has the ids of the ledger's chunks."""
    try:
        return sorted(braid.chroma.ids("user_1")) == sorted(each.id for each in indexed(braid))
    except IndexUnavailableError:
        return False


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Braid]:
    return lambda **options: Braid(
        tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(leg_timeout_s=60, **options)
    )


def test_the_copy_follows_and_no_search_asks_it(opened: Callable[..., Braid], tmp_path: Path) -> None:
    with opened() as braid:
        fill(braid)
        assert lists_all(braid)
        braid.ledger.put_document(1, document("b", "one more", "and another"))
        braid.ledger.remove_document(1, "a")
        assert braid.indexer.wait(WAIT_S, ALL)
        expected = indexed(braid)
        braid.chroma.close()
        assert braid.search("one more", user_id=1, mode="semantic").hits[0].passage.text == "one more"
        assert braid.search("one more", user_id=1, mode="semantic").degraded == ()
    assert has_all(tmp_path, expected)


def test_the_copy_does_not_run_ahead_of_the_vectors(opened: Callable[..., Braid], tmp_path: Path) -> None:
    """A change that is not embedded yet must not count as applied."""
    with opened() as braid:
        fill(braid)
        model = braid.model_of("user_1")
        assert isinstance(model, HashEmbeddings)
        model.failing = True
        braid.ledger.put_document(1, document("b", "one more", "and another"))
        changes = ChangeLog(braid.ledger.database)
        before = changes.states("chroma")["user_1"]
        changes.set_state("chroma", "user_1", IndexState(before.version, before.applied_seq - 1, "ready"))
        assert not braid.indexer.wait(3, ("chroma",))
        assert changes.states("chroma")["user_1"] == before
        model.failing = False
        assert braid.indexer.wait(WAIT_S, ALL)
        expected = indexed(braid)
    assert has_all(tmp_path, expected)


def test_a_copy_whose_writing_was_interrupted_is_written_again(opened: Callable[..., Braid], tmp_path: Path) -> None:
    """Its count may be right and its vectors wrong."""
    with opened() as braid:
        fill(braid)
        first, second, *_ = expected = indexed(braid)
        braid.indexer.stop()
        braid.chroma.apply("user_1", [IndexedChunk(first.id, 1, 1, 1, "", second.vector)], [])
        changes = ChangeLog(braid.ledger.database)
        state = changes.states("chroma")["user_1"]
        changes.set_state("chroma", "user_1", IndexState(state.version, state.applied_seq, "writing"))
    assert not has_all(tmp_path, expected)
    with opened() as braid:
        assert_complete(braid)
        assert braid.indexer.wait(WAIT_S, ALL)
    assert has_all(tmp_path, expected)


@pytest.mark.parametrize("damage", mostly_long(DAMAGES))
def test_damaged_files_are_written_again_in_the_background_while_searches_go_on(
    damage: Callable[[Path], None], opened: Callable[..., Braid], tmp_path: Path
) -> None:
    with opened() as braid:
        fill(braid)
        expected = indexed(braid)
    damage(next((tmp_path / "indexes" / "dense").glob("store-*")))
    with opened() as braid:
        assert_complete(braid)
        assert eventually(lambda: braid.indexer.wait(1, ALL) and lists_all(braid))
        assert_complete(braid)
    assert has_all(tmp_path, expected)


def test_another_program_reads_the_copy_when_braid_is_closed(opened: Callable[..., Braid], tmp_path: Path) -> None:
    with opened() as braid:
        fill(braid)
        expected = {chunk.id: chunk for chunk in indexed(braid)}
        text_of = {p.chunk_id: p.text for p in braid.ledger.document_passages(1, [1])}
    (folder,) = (tmp_path / "indexes" / "dense").glob("store-*")
    model = HashEmbeddings()

    store = Chroma(collection_name="user_1", embedding_function=model, persist_directory=str(folder))
    found = store.get(include=["embeddings", "metadatas"])
    hits = store._collection.query(query_embeddings=[model.embed_query(TEXTS[1])], n_results=1)

    assert set(found["ids"]) == set(expected)
    for chunk_id, vector, metadata in zip(found["ids"], found["embeddings"], found["metadatas"], strict=True):
        assert vector == pytest.approx(expected[chunk_id].vector, abs=1e-6)
        assert metadata == {"user_id": 1, "dataset_id": 1, "document_id": 1}
    assert text_of[hits["ids"][0][0]] == TEXTS[1]
