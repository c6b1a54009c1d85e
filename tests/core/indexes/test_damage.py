"""Indexes come back by themselves from whatever happens to them, open or closed, without embedding again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.braid import IndexOptions
from braid.core.doctor import examine
from braid.core.types import Leg, Mode, SearchResult
from tests.core.indexes.shelves import ALL, CAT, TEXTS, Shelf, open_shelf
from tests.damage import remove_in_use
from tests.fakes import HashEmbeddings
from tests.forked_children import ran_python
from tests.modes import mostly_long
from tests.served import ROOT
from tests.worlds import WAIT_S, ByHand, catch_up, eventually, remove_dense


def remove_keyword(folder: Path) -> None:
    remove_in_use(folder / "indexes" / "bm25")


def overwrite_keyword(folder: Path) -> None:
    for contents in (folder / "indexes" / "bm25").glob("*/meta.json"):
        contents.write_text("nonsense")


def put_a_file_there(folder: Path) -> None:
    remove_keyword(folder)
    (folder / "indexes" / "bm25").mkdir()
    for collection in ("user_1", "shared_main"):
        (folder / "indexes" / "bm25" / collection).write_text("a file")


def remove_both(folder: Path) -> None:
    remove_in_use(folder / "indexes")


DAMAGES: list[tuple[Callable[[Path], None], set[Leg]]] = [
    (remove_both, {"bm25"}),
    (overwrite_keyword, {"bm25"}),
    (remove_dense, set()),  # a copy: the ledger has the vectors
    (remove_keyword, {"bm25"}),
    (put_a_file_there, {"bm25"}),
]

each_damage = pytest.mark.parametrize(
    ("damage", "legs"), mostly_long(DAMAGES, short=2), ids=[damage.__name__ for damage, _ in DAMAGES]
)

LEGS_OF: dict[str, set[Leg]] = {"semantic": {"dense"}, "keyword": {"bm25"}, "hybrid": {"dense", "bm25"}}


def rebuild_while_the_query_is_embedded(shelf: Shelf, leg: Leg, patch: pytest.MonkeyPatch) -> SearchResult:
    """A search during which a rebuild of ``user_1`` begins, and does not come to its end."""
    indexer, go_on, embed = shelf.braid.indexer, threading.Event(), shelf.embeddings.embed_query
    index = shelf.braid.dense if leg == "dense" else shelf.braid.bm25
    apply, drop, dropped = index.apply, index.drop, threading.Event()

    def apply_later(*arguments: Any) -> None:
        go_on.wait(WAIT_S)
        apply(*arguments)

    def noted_drop(collection: str) -> None:
        drop(collection)
        dropped.set()

    def embed_meanwhile(text: str) -> list[float]:
        indexer.rebuild(leg, "user_1")
        assert dropped.wait(WAIT_S)
        return embed(text)

    patch.setattr(index, "apply", apply_later)
    patch.setattr(index, "drop", noted_drop)
    patch.setattr(shelf.embeddings, "embed_query", embed_meanwhile)
    try:
        return shelf.search(CAT, mode="hybrid")
    finally:
        go_on.set()
        assert indexer.wait(WAIT_S)


def test_an_index_that_goes_while_the_query_is_embedded_is_named(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    result = rebuild_while_the_query_is_embedded(shelf, "bm25", monkeypatch)
    assert ("bm25", "user_1") in {(d.leg, d.collection) for d in result.degraded}
    assert CAT in {hit.passage.text for hit in result.hits}


def test_a_rebuild_takes_the_vectors_from_no_search(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    result = rebuild_while_the_query_is_embedded(shelf, "dense", monkeypatch)
    assert result.degraded == ()
    best = result.hits[0]
    assert (best.passage.text, {score.leg for score in best.legs}) == (CAT, {"dense", "bm25"})


def test_all_collections_of_the_copy_are_marked_before_it_is_emptied(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer, chroma, seen = shelf.braid.indexer, shelf.braid.chroma, list[str]()
    assert indexer.wait(WAIT_S, ("chroma",))
    reset = chroma.reset

    def noted_reset() -> bool:
        seen.extend(indexer.copy_progress(collection).state for collection in ("user_1", "shared_main"))
        return reset()

    monkeypatch.setattr(chroma, "reset", noted_reset)
    for file in (tmp_path / "indexes" / "dense").glob("store-*/chroma.sqlite3"):
        file.write_bytes(b"nonsense" * 10_000)
    indexer.suspect("chroma", "user_1")
    assert eventually(lambda: seen and indexer.wait(1, ("chroma",)))
    assert seen == ["rebuilding", "rebuilding"]
    assert chroma.count("user_1") == chroma.count("shared_main") == 2
    assert shelf.complete()


@each_damage
def test_a_damaged_leg_is_named_and_comes_back(
    shelf: Shelf, tmp_path: Path, damage: Callable[[Path], None], legs: set[Leg]
) -> None:
    embedded = shelf.embeddings.documents_embedded
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    damage(tmp_path)
    first = shelf.search(CAT)
    assert {d.leg for d in first.degraded} == legs
    assert all(d.reason for d in first.degraded)
    assert {score.leg for hit in first.hits for score in hit.legs} == LEGS_OF["hybrid"] - legs
    assert CAT in {hit.passage.text for hit in first.hits}

    def whole_or_named() -> bool:
        for mode in get_args(Mode):
            result = shelf.search(CAT, mode=mode)
            found = CAT in {hit.passage.text for hit in result.hits}
            assert found or {d.leg for d in result.degraded} & LEGS_OF[mode] & legs
        return shelf.complete()

    assert eventually(whole_or_named)
    assert shelf.embeddings.documents_embedded == embedded


@each_damage
def test_damage_nobody_noticed_before_the_next_document(
    shelf: Shelf, tmp_path: Path, damage: Callable[[Path], None], legs: set[Leg]
) -> None:
    """The index must not be taken for a new one that only lacks this document."""
    embedded = shelf.embeddings.documents_embedded
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    damage(tmp_path)
    shelf.put("c", "A new passage", dataset=0)
    shelf.braid.indexer.wait(1)
    assert eventually(lambda: shelf.complete() and shelf.texts("new passage", mode="keyword") == {"A new passage"})
    assert shelf.embeddings.documents_embedded == embedded + 1
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    assert shelf.braid.chroma.count("user_1") == 3


def test_a_keyword_index_removed_before_its_first_search(tmp_path: Path) -> None:
    """Nothing of it was in memory that could tell."""
    shelf = open_shelf(tmp_path, HashEmbeddings())
    with shelf.braid:
        assert shelf.braid.indexer.wait(WAIT_S)
        remove_keyword(tmp_path)
        result = shelf.search(CAT, mode="keyword")
        assert result.hits or {d.leg for d in result.degraded} == {"bm25"}
        assert eventually(shelf.complete)


@each_damage
def test_damage_while_it_was_closed(tmp_path: Path, damage: Callable[[Path], None], legs: set[Leg]) -> None:
    embeddings = HashEmbeddings()
    with open_shelf(tmp_path, embeddings, kind=ByHand).braid as braid:
        catch_up(braid, *ALL)
    damage(tmp_path)
    embedded = embeddings.documents_embedded
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid:
        result = shelf.search(CAT, mode="semantic")
        assert {hit.passage.text for hit in result.hits} == set(TEXTS)
        assert result.degraded == ()
        result = shelf.search(CAT)
        assert result.hits or result.degraded
        assert eventually(shelf.complete)
        assert shelf.braid.indexer.wait(WAIT_S, ALL)
        assert shelf.braid.chroma.count("user_1") == shelf.braid.chroma.count("shared_main") == 2
    assert embeddings.documents_embedded == embedded


def test_without_chroma_there_is_no_copy_and_with_it_again_the_copy_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While there was none, the log forgot what has changed."""
    with open_shelf(tmp_path, HashEmbeddings(), kind=ByHand).braid as braid:
        catch_up(braid, *ALL)
    with monkeypatch.context() as without:
        without.setattr("braid.core.braid.is_installed", lambda module: module != "chromadb")
        shelf = open_shelf(tmp_path, HashEmbeddings())
        with shelf.braid:
            shelf.put("a", "A cat in place of another", dataset=0)
            assert shelf.braid.indexer.wait(WAIT_S, ALL), "nobody waits for a copy that is not kept"
            assert shelf.braid.chroma is None
            assert "A cat in place of another" in shelf.texts("place of another", mode="semantic")
            assert examine(shelf.braid) == []
    shelf = open_shelf(tmp_path, HashEmbeddings())
    with shelf.braid:
        assert shelf.braid.indexer.wait(WAIT_S, ALL)
        assert examine(shelf.braid) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.core.indexes.shelves import HashEmbeddings, open_shelf
shelf = open_shelf(Path(sys.argv[1]), HashEmbeddings())
assert shelf.braid.indexer.wait(120)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_search_by_meaning_answers_at_once_after_a_kill(tmp_path: Path) -> None:
    """It needs no look at anything: not even the follower's first one."""
    assert ran_python("-c", KILLED, str(tmp_path), cwd=ROOT).returncode == -signal.SIGKILL
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings, index_options=IndexOptions(follow=("bm25",)))
    with shelf.braid:
        result = shelf.search(CAT, mode="semantic")
        assert {hit.passage.text for hit in result.hits} == set(TEXTS)
        assert result.degraded == ()
        assert (result.hits[0].passage.text, round(result.hits[0].score, 4)) == (CAT, 1.0)
    assert embeddings.documents_embedded == 0


def test_a_forgotten_state_is_found_out_again(tmp_path: Path) -> None:
    """Also when the log has been pruned meanwhile and tells only the last change."""
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid as braid:
        assert braid.indexer.wait(WAIT_S, ALL)
        assert eventually(lambda: shelf.log.pending("user_1", 0) == 1)
        with braid.ledger.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM index_state")
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid:
        assert shelf.braid.indexer.wait(WAIT_S, ALL)
        assert eventually(shelf.complete)
        assert shelf.braid.chroma.count("user_1") == shelf.braid.chroma.count("shared_main") == 2
    assert embeddings.documents_embedded == len(TEXTS)


def test_what_was_left_undone_is_done_at_the_next_start(tmp_path: Path) -> None:
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid as braid:
        embeddings.delay_s = 0.01
        shelf.put("many", *(f"passage number {n}" for n in range(60)))
        assert braid.indexer.wait(WAIT_S, legs=("bm25",))
    embeddings.delay_s = 0.0
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid as braid:
        assert braid.indexer.wait(WAIT_S)
        assert braid.dense.count("user_1") == braid.bm25.count("user_1") == 62
        assert len(shelf.texts("passage number 7", mode="semantic", filters=_sources("many"))) == 20
    assert embeddings.documents_embedded == 64


def _sources(prefix: str) -> Any:
    from braid.core.types import Filters

    return Filters(source_prefix=prefix)
