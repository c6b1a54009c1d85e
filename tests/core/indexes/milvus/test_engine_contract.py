"""The contract of an engine: each test runs on the indexes in the data directory, on those on a Milvus server, and on
the engine of another package that docs/plugins.md shows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from braid.core.braid import IndexOptions
from braid.core.errors import BraidError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.answers import BestScores
from braid.core.indexes.base import KeywordIndex, LegIndex, VectorIndex
from braid.core.indexes.vector_block import EVERYTHING, Selection
from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import ScoredChunk
from braid.core.vector import Vector
from tests.core.indexes.shelves import CAT, TEXTS, Shelf, open_shelf
from tests.fakes import HashEmbeddings
from tests.plugins import package, section_of
from tests.worlds import ByHand, catch_up

PERSONAL, SHARED = "user_1", "shared_main"


@pytest.fixture
def of_a_package() -> Iterator[IndexOptions]:
    """What opens a data directory with the engine of docs/plugins.md, whose package is installed."""
    module, name, points = section_of("plugins.md", "An engine")
    with package(name, module, "braid.engines", points):
        yield IndexOptions(engine="sqlite")


@pytest.fixture(params=["in_files", "in_milvus", "of_a_package"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """Two passages in a personal collection and two in a shared one, indexed in the engine."""
    options = {} if request.param == "in_files" else {"index_options": request.getfixturevalue(request.param)}
    opened = open_shelf(tmp_path / "data", HashEmbeddings(), kind=ByHand, **options)
    with opened.braid:
        catch_up(opened.braid)
        yield opened


@pytest.fixture(params=["bm25", "dense"])
def index(request: pytest.FixtureRequest, shelf: Shelf) -> LegIndex:
    """Each leg's index."""
    found: LegIndex = getattr(shelf.braid, request.param)
    return found


def chunks(shelf: Shelf, collection: str = PERSONAL) -> list[IndexedChunk]:
    ids = shelf.log.chunk_ids(collection)
    return shelf.log.chunks(collection, list(ids), shelf.embeddings.fingerprint)


def vector_of(shelf: Shelf, text: str) -> Vector:
    vector = np.array(shelf.embeddings.embed_query(text), dtype=np.float32)
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


def hits_of(answer: list[ScoredChunk] | BraidError) -> list[ScoredChunk]:
    assert not isinstance(answer, BraidError), answer
    return answer


# ---------------------------------------------------------------- both legs


def test_it_has_what_was_applied(shelf: Shelf, index: LegIndex) -> None:
    for collection in (PERSONAL, SHARED):
        expected = {chunk.id for chunk in chunks(shelf, collection)}
        assert (set(index.ids(collection)), index.count(collection)) == (expected, 2)
        assert index.check(collection) == ""
        assert not index.is_gone(collection)
    assert {PERSONAL, SHARED} <= set(index.collections())


def test_applying_again_changes_nothing_and_an_id_that_is_also_deleted_is_added(shelf: Shelf, index: LegIndex) -> None:
    stored = chunks(shelf)
    index.apply(PERSONAL, stored, [])
    index.apply(PERSONAL, stored[:1], [stored[0].id])
    assert sorted(index.ids(PERSONAL)) == sorted(chunk.id for chunk in stored)


def test_what_is_deleted_is_gone_and_what_is_not_there_is_no_error(shelf: Shelf, index: LegIndex) -> None:
    first, second = chunks(shelf)
    index.apply(PERSONAL, [], [first.id, "0" * 32])
    assert list(index.ids(PERSONAL)) == [second.id]
    index.apply(PERSONAL, [], [first.id])
    assert index.count(PERSONAL) == 1


def test_what_was_dropped_is_made_again_and_the_other_collection_stays(shelf: Shelf, index: LegIndex) -> None:
    index.drop(PERSONAL)
    assert index.count(SHARED) == 2
    assert not index.reset(), "collections are independent"
    shelf.braid.indexer.rebuild(index.leg, PERSONAL)
    catch_up(shelf.braid)
    assert index.count(PERSONAL) == 2
    assert shelf.complete()


def test_a_look_after_a_sound_index_changes_nothing(shelf: Shelf, index: LegIndex) -> None:
    heads = shelf.log.heads()
    for doubt, crashed in ((False, False), (True, False), (False, True)):
        for collection, head in heads.items():
            index.mend(
                collection, head=head, is_complete=True, doubt=doubt, stopping=threading.Event(), crashed=crashed
            )
    index.rest()
    assert shelf.complete()


# ---------------------------------------------------------------- the dense leg


def test_the_nearest_come_first_within_what_is_selected(shelf: Shelf) -> None:
    dense: VectorIndex = shelf.braid.dense
    cat = next(chunk for chunk in chunks(shelf) if chunk.text.endswith(CAT))
    query = vector_of(shelf, CAT)
    found = dense.search(PERSONAL, query, 10)
    assert found[0].chunk_id == cat.id
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len(found) == 2
    assert dense.search(PERSONAL, query, 1) == found[:1]
    for selection, expected in (
        (Selection({cat.dataset_id}), 2),
        (Selection(None, {cat.document_id}), 2),
        (Selection({cat.dataset_id + 1}), 0),
        (Selection(None, np.array([], dtype=np.int64)), 0),
        (Selection(()), 0),
    ):
        assert len(dense.search(PERSONAL, query, 10, selection)) == expected, selection


@pytest.mark.parametrize("pooled", [False, True])
def test_collections_are_searched_at_once_and_an_unknown_one_has_nothing(shelf: Shelf, pooled: bool) -> None:
    dense: VectorIndex = shelf.braid.dense
    query = vector_of(shelf, TEXTS[2])
    each = {name: dense.search(name, query, 4) for name in (PERSONAL, SHARED)}
    answer = dense.search_all(dict.fromkeys((PERSONAL, SHARED, "user_9"), EVERYTHING), query, 4, pooled=pooled)
    assert answer.spread > 0
    assert {name: hits_of(hits) for name, hits in answer.hits.items()} == {**each, "user_9": []}


def test_of_collections_that_are_pooled_the_best_of_all_come_back(shelf: Shelf) -> None:
    query = vector_of(shelf, TEXTS[3])
    where = dict.fromkeys((PERSONAL, SHARED), EVERYTHING)
    everything = [hit for name in where for hit in shelf.braid.dense.search(name, query, 4)]
    best = sorted(everything, key=lambda hit: (-hit.score, hit.chunk_id))[:2]
    pooled = shelf.braid.dense.search_all(where, query, 2, pooled=True).hits
    found = [hit for hits in pooled.values() for hit in hits_of(hits)]
    assert sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[:2] == best


def test_a_query_of_another_model_is_refused(shelf: Shelf) -> None:
    query = vector_of(shelf, CAT)
    with pytest.raises(IndexUnavailableError, match="has just changed"):
        shelf.braid.dense.search(PERSONAL, query, 3, model="fake:another")
    answer = shelf.braid.dense.search_all({PERSONAL: EVERYTHING}, query, 3, model="fake:another")
    assert isinstance(answer.hits[PERSONAL], IndexUnavailableError)
    assert shelf.braid.dense.search(PERSONAL, query, 3, model=shelf.embeddings.fingerprint)


def test_no_hits_cannot_be_asked_for(shelf: Shelf) -> None:
    with pytest.raises(InvalidInputError, match="k is 0"):
        shelf.braid.dense.search(PERSONAL, vector_of(shelf, CAT), 0)


def test_the_model_of_the_vectors_answers(shelf: Shelf) -> None:
    assert shelf.braid.dense.answering_model(PERSONAL).fingerprint == shelf.embeddings.fingerprint
    assert shelf.braid.dense.answering_model(PERSONAL) is shelf.braid.answering_model(PERSONAL)
    assert shelf.braid.dense.dimension(PERSONAL) == len(vector_of(shelf, CAT))


def test_who_indexes_is_not_called_for_what_is_there(shelf: Shelf) -> None:
    called: list[str] = []
    shelf.braid.dense.on_missing(called.append)
    assert shelf.braid.dense.search(PERSONAL, vector_of(shelf, CAT), 3)
    assert called == []


# ---------------------------------------------------------------- the keyword leg


def test_keywords_are_found_counted_and_weighed(shelf: Shelf) -> None:
    bm25: KeywordIndex = shelf.braid.bm25
    cat = next(chunk for chunk in chunks(shelf) if chunk.text.endswith(CAT))
    [term] = shelf.braid.analyzer.tokens("cat")
    [hit] = bm25.search(PERSONAL, {term: 1.0}, 10)
    assert hit.chunk_id == cat.id
    [doubled] = bm25.search(PERSONAL, {term: 1.0}, 10, factor=2.0)
    assert doubled.score == pytest.approx(2 * hit.score)
    assert bm25.search(PERSONAL, {term: 1.0}, 10, dataset_ids={cat.dataset_id + 1}) == []
    assert bm25.search(PERSONAL, {term: 1.0}, 10, document_ids=np.array([cat.document_id])) == [hit]
    assert bm25.search(PERSONAL, {}, 10) == bm25.search("user_9", {term: 1.0}, 10) == []
    counted = bm25.statistics(PERSONAL, [term, "nowhere"])
    assert (counted.documents, round(counted.document_frequency[term])) == (2, 1)
    assert bm25.containing(PERSONAL, [term], 10, dataset_ids={cat.dataset_id}) == ([cat.id], 1)


def test_hits_that_others_are_better_than_may_be_left_out(shelf: Shelf) -> None:
    best = BestScores(1)
    best.add([1e9])
    terms = dict.fromkeys(shelf.braid.analyzer.tokens(CAT), 1.0)
    assert all(hit.score < 1e9 for hit in shelf.braid.bm25.search(PERSONAL, terms, 10, best=best))
    assert best.least == 1e9
