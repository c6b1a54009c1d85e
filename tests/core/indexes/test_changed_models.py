"""Another analyzer, another embedding model, two models at once: what answers until all is made again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from braid.core import data_directory
from braid.core.braid import IndexOptions
from braid.core.errors import InvalidInputError
from braid.core.indexes.sources import WITH_TEXTS
from braid.core.types import Leg, SearchResult
from tests.core.indexes.shelves import ALL, CAT, TEXTS, Shelf, Shifted, open_shelf
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, catch_up, eventually


def test_another_analyzer_rebuilds_the_keyword_leg_alone(tmp_path: Path) -> None:
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings, kind=ByHand)
    with shelf.braid as braid:
        shelf.put("de", "Die Häuser stehen leer")
        catch_up(braid)
        versions = {leg: shelf.log.states(leg)["user_1"].version for leg in get_args(Leg)}
        assert shelf.texts("Haus", mode="keyword") == set()
    shelf = open_shelf(tmp_path, embeddings, index_options=IndexOptions(languages=("en", "de")), kind=ByHand)
    with shelf.braid as braid:
        assert CAT in shelf.texts(CAT)
        catch_up(braid)
        assert shelf.texts("Haus", mode="keyword") == {"Die Häuser stehen leer"}
        assert shelf.log.states("bm25")["user_1"].version == braid.bm25.version != versions["bm25"]
        assert shelf.log.states("dense")["user_1"].version == versions["dense"]
    assert embeddings.documents_embedded == len(TEXTS) + 1


def cosine(model: HashEmbeddings, one: str, other: str) -> float:
    model = copy(model)
    model.failing, model.delay_s = False, 0.0
    a, b = np.array(model.embed_query(one)), np.array(model.embed_query(other))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def assert_all_dense_scores_are_of(model: HashEmbeddings, query: str, result: SearchResult) -> None:
    for hit in result.hits:
        for score in hit.legs:
            if score.leg == "dense":
                assert score.score == pytest.approx(
                    cosine(model, query, hit.passage.text), abs=5e-3
                )  # 8 bits, while a vector is replaced


def loadable(patch: pytest.MonkeyPatch, *models: HashEmbeddings) -> None:
    """Let these models be found by their names, as providers' models are; there are no others."""
    known = {model.fingerprint: model for model in models}

    def by_name(spec: str, **_: object) -> HashEmbeddings:
        if spec not in known:
            raise InvalidInputError(f"embedding_model is {spec!r}; there is no such provider")
        return known[spec]

    patch.setattr(data_directory, "embedding_model", by_name)


NEW_MODELS = pytest.mark.parametrize(
    "new",
    [Shifted(fingerprint="fake:shifted"), HashEmbeddings(96, fingerprint="fake:hash-96")],
    ids=["same dimension", "another dimension"],
)


def assert_all_of(model: HashEmbeddings, shelf: Shelf) -> None:
    """Search by meaning finds every text, with this model's cosines."""
    result = shelf.search(CAT, mode="semantic")
    assert {hit.passage.text for hit in result.hits} == set(TEXTS)
    assert_all_dense_scores_are_of(model, CAT, result)


@NEW_MODELS
def test_the_vectors_of_the_last_model_answer_until_the_new_ones_are_complete(
    tmp_path: Path, new: HashEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was closed in between."""
    old, embedded = HashEmbeddings(), new.documents_embedded
    loadable(monkeypatch, old)
    with open_shelf(tmp_path, old, kind=ByHand).braid as braid:
        catch_up(braid)
    new.failing = True  # its server is down; not that of the old one, which is still asked for queries
    for _ in range(2):
        shelf = open_shelf(tmp_path, new)
        with shelf.braid as braid:
            for _ in range(3):
                assert_all_of(old, shelf)
                assert {(d.leg, d.collection) for d in shelf.search(CAT).degraded} == {
                    ("dense", "user_1"),
                    ("dense", "shared_main"),
                }
            assert not braid.indexer.wait(0.5)
    new.failing = False
    embedded = new.documents_embedded
    new.delay_s = 0.2
    shelf = open_shelf(tmp_path, new)
    with shelf.braid as braid:

        def changed_over() -> bool:
            result = shelf.search(CAT, mode="semantic")
            texts = {hit.passage.text for hit in result.hits}
            assert texts == set(TEXTS) or "has just changed" in "".join(d.reason for d in result.degraded)
            by_collection = {h.passage.collection: h for h in result.hits}
            for hit in by_collection.values():
                of_one = replace(result, hits=(hit,))
                try:
                    assert_all_dense_scores_are_of(old, CAT, of_one)
                except AssertionError:
                    assert_all_dense_scores_are_of(new, CAT, of_one)
            return not result.degraded

        if new.size == old.size:  # of two sizes each is a ranking of its own, and the scores are not cosines
            assert eventually(changed_over)
        assert braid.indexer.wait(WAIT_S)
        new.delay_s = 0.0
        assert_all_of(new, shelf)
        assert shelf.complete()
        for collection in ("user_1", "shared_main"):
            assert shelf.log.embedded_count(collection, old.fingerprint) == 0
            assert shelf.log.embedded_count(collection, new.fingerprint) == 2
    assert old.documents_embedded == len(TEXTS)
    assert new.documents_embedded - embedded <= len(TEXTS) + 2  # a text is tried alone when a batch has failed


@NEW_MODELS
def test_without_the_last_model_the_new_one_answers_with_what_it_has(
    tmp_path: Path, new: HashEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = HashEmbeddings()
    loadable(monkeypatch)
    with open_shelf(tmp_path, old, kind=ByHand).braid as braid:
        catch_up(braid)
    new.delay_s = 0.1
    shelf = open_shelf(tmp_path, new)
    with shelf.braid as braid:
        meanwhile = shelf.search("mat")
        assert CAT in {hit.passage.text for hit in meanwhile.hits}
        assert "dense" in {d.leg for d in meanwhile.degraded}

        def changed_over() -> bool:
            result = shelf.search(CAT)
            assert CAT in {hit.passage.text for hit in result.hits}
            assert_all_dense_scores_are_of(new, CAT, result)
            return not result.degraded

        assert eventually(changed_over)
        assert braid.indexer.wait(WAIT_S)
        new.delay_s = 0.0
        assert shelf.complete()
        for collection in ("user_1", "shared_main"):
            assert shelf.log.embedded_count(collection, old.fingerprint) == 0
            assert shelf.log.embedded_count(collection, new.fingerprint) == 2
    assert old.documents_embedded == len(TEXTS)


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Shifted:
    """The model that shared_dbs.json may name: fake:second. There is a third one, too: fake:third."""
    model = Shifted(fingerprint="fake:second")
    loadable(monkeypatch, model, HashEmbeddings(96, fingerprint="fake:third"))
    return model


def models_of(shelf: Shelf, query: str, known: Sequence[HashEmbeddings], **options: Any) -> dict[str, str]:
    """The fingerprint of the model that answered for each collection, by the cosines of hits where they differ.

    A cosine is that of the bytes of the last model's vectors for as long as the ledger has these no more.
    """
    found: dict[str, str] = {}
    result = shelf.search(query, mode="semantic", pooling="none", **options)
    for hit in result.hits:
        (score,) = hit.legs
        off = {m.fingerprint: abs(score.score - cosine(m, query, hit.passage.text)) for m in known}
        assert min(off.values()) < 0.01
        fitting = [fingerprint for fingerprint, by in off.items() if by < 1e-4]
        if len(fitting) == 1:
            assert found.setdefault(hit.passage.collection, fitting[0]) == fitting[0]
    return found


def test_a_collection_changes_its_model_while_it_is_searched(shelf: Shelf, second: Shifted) -> None:
    """All of it is found all the time, by the one model or by the other."""
    query, old = "吾輩は猫である。", shelf.embeddings
    second.failing = True
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    for turn in range(4):  # from the moment of the change on, and when it has been noticed
        assert turn < 3 or eventually(lambda: second.documents_embedded)
        assert [(d.leg, d.collection) for d in shelf.search(query).degraded] == [("dense", "shared_main")]
        before = models_of(shelf, query, (old, second))
        assert before == {"user_1": old.fingerprint, "shared_main": old.fingerprint}
    second.delay_s, second.failing = 0.1, False

    def changed_over() -> bool:
        result = shelf.search(query, mode="semantic")
        texts = {hit.passage.text for hit in result.hits}
        assert texts == set(TEXTS) or "has just changed" in "".join(d.reason for d in result.degraded)
        answering = models_of(shelf, query, (old, second)).get("shared_main")
        return answering == "fake:second" and not result.degraded

    assert eventually(changed_over)
    assert shelf.log.embedded_count("shared_main", old.fingerprint) == 0
    assert shelf.log.embedded_count("user_1", old.fingerprint) == 2
    second.delay_s = 0.0
    assert shelf.complete()
    assert models_of(shelf, query, (old, second)) == {"user_1": old.fingerprint, "shared_main": "fake:second"}


def test_waiting_for_the_indexes_is_also_for_a_change_of_model(shelf: Shelf, second: Shifted) -> None:
    second.delay_s = 0.1
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.log.embedded_count("shared_main", "fake:second") == 2


def test_a_model_is_changed_again_before_its_vectors_are_complete(shelf: Shelf, second: Shifted) -> None:
    """The one that was complete answers, and no mixture is recorded as the second or the third."""
    shelf.put("c", *(f"猫 passage {n}" for n in range(40)), dataset=1)
    assert shelf.braid.indexer.wait(WAIT_S)
    second.delay_s = 0.05
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    assert eventually(lambda: shelf.log.embedded_count("shared_main", "fake:second") > 0)
    assert shelf.log.embedded_count("shared_main", "fake:second") < 42
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:third")
    query = "猫 passage 3"
    while shelf.log.embedded_count("shared_main", "fake:third") < 42:
        result = shelf.search(query, mode="semantic", dataset_ids=shelf.ids[1:])
        if result.hits or "has just changed" not in "".join(d.reason for d in result.degraded):
            assert result.hits[0].passage.text == query
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    assert shelf.search(query, mode="semantic", dataset_ids=shelf.ids[1:]).hits[0].passage.text == query
    state = shelf.log.states("dense")["shared_main"]
    assert (state.version, state.state) == ("fake:third", "ready")
    for fingerprint in ("fake:second", shelf.embeddings.fingerprint):
        assert shelf.log.embedded_count("shared_main", fingerprint) == 0
    assert shelf.braid.chroma.count("shared_main") == 42


def test_the_copy_is_of_the_model_that_answers(shelf: Shelf, second: Shifted) -> None:
    """A copy of a model whose vectors are still to be made would be empty, and would stay so."""
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    second.failing = True
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    shelf.braid.indexer.suspect("chroma", "shared_main")
    assert not shelf.braid.indexer.wait(2)
    assert shelf.log.states("chroma")["shared_main"].version == shelf.embeddings.fingerprint + WITH_TEXTS
    assert shelf.braid.chroma.count("shared_main") == 2
    second.failing = False
    assert shelf.braid.indexer.wait(WAIT_S)
    assert eventually(lambda: shelf.log.states("chroma")["shared_main"].version == "fake:second" + WITH_TEXTS)
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    assert shelf.braid.chroma.count("shared_main") == 2


def test_a_model_is_changed_while_a_batch_is_embedded_with_the_old_one(shelf: Shelf, second: Shifted) -> None:
    embedded = shelf.embeddings.documents_embedded
    shelf.embeddings.delay_s = 0.05
    shelf.put("c", *(f"猫 passage {n}" for n in range(12)), dataset=1)
    shelf.braid.indexer.wake()
    assert eventually(lambda: shelf.embeddings.documents_embedded > embedded)
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    shelf.embeddings.delay_s = 0.0
    assert eventually(lambda: shelf.log.embedded_count("shared_main", "fake:second") == 14)
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.complete()
    assert shelf.log.embedded_count("shared_main", shelf.embeddings.fingerprint) == 0
    result = shelf.braid.manager.search("猫 passage 3", user_id=1, dataset_ids=[shelf.ids[1]], mode="semantic")
    assert result.hits[0].passage.text == "猫 passage 3"
    assert_all_dense_scores_are_of(second, "猫 passage 3", result)


def test_a_model_that_does_not_exist_costs_the_dense_leg_of_its_collection_alone(shelf: Shelf) -> None:
    shelf.braid.registry.update(shelf.ids[1], embedding_model="nonsense")

    def named() -> bool:
        for engine in ("braid", "reference"):
            result = shelf.search("mat 猫", engine=engine)
            assert {CAT, "吾輩は猫である。"} <= {hit.passage.text for hit in result.hits}
            assert {(d.leg, d.collection) for d in result.degraded} <= {("dense", "shared_main")}
        return "embedding_model is 'nonsense'" in " ".join(d.reason for d in shelf.search("mat").degraded)

    assert eventually(named)
    shelf.braid.registry.update(shelf.ids[1], embedding_model="")
    assert eventually(shelf.complete)
    assert shelf.embeddings.documents_embedded == len(TEXTS)


def test_each_model_has_a_dense_ranking_of_its_own(shelf: Shelf, second: Shifted) -> None:
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    assert eventually(lambda: second.documents_embedded == 2 and shelf.complete())
    before = (shelf.embeddings.queries_embedded, second.queries_embedded)
    result = shelf.search("cat 猫", mode="semantic")
    assert (shelf.embeddings.queries_embedded, second.queries_embedded) == (before[0] + 1, before[1] + 1)
    by_collection: dict[str, list[float]] = {}
    for hit in result.hits:
        by_collection.setdefault(hit.passage.collection, []).append(hit.score)
    expected = [pytest.approx(1 / (60 + 1)), pytest.approx(1 / (60 + 2))]
    assert by_collection == {"user_1": expected, "shared_main": expected}
