"""The indexes follow the ledger, and come back by themselves from whatever happens to them, without re-embedding."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from braid.core import data_directory
from braid.core.braid import Braid, IndexOptions
from braid.core.doctor import examine, repair
from braid.core.errors import InvalidInputError
from braid.core.indexes.sources import WITH_TEXTS
from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.types import Leg, Mode, SearchResult
from tests.fakes import HashEmbeddings
from tests.modes import mostly_long
from tests.served import ROOT
from tests.worlds import WAIT_S, add_notes, document, eventually, remove_dense

ALL = ("bm25", "dense", "chroma")
CAT = "The cat sat on the mat"
TEXTS = (CAT, "Dogs bark at night", "吾輩は猫である。", "고양이가 매트 위에 앉았다")


class Shifted(HashEmbeddings):
    """Another model of the same dimension: its vectors mean nothing to the first, and its cosines are others."""

    def _vector(self, text: str) -> list[float]:
        vector = [(1 + place % 5) * value for place, value in enumerate(super()._vector(text))]
        return [*vector[17:], *vector[:17]]


class Refusing(HashEmbeddings):
    """Takes everything but texts with the word poison."""

    word = "poison"

    def _vector(self, text: str) -> list[float]:
        if self.word in text:
            raise ValueError("this text is not for me")
        return super()._vector(text)


@dataclass
class Shelf:
    """One personal and one shared dataset, in two collections."""

    braid: Braid
    embeddings: HashEmbeddings
    ids: tuple[int, int]

    def search(self, text: str, **options: Any) -> SearchResult:
        return self.braid.manager.search(text, **{"user_id": 1, "dataset_ids": self.ids, "k": 20} | options)

    def texts(self, text: str, **options: Any) -> set[str]:
        return {hit.passage.text for hit in self.search(text, **options).hits}

    def put(self, source: str, *texts: str, dataset: int = 0) -> None:
        self.braid.ledger.put_document(self.ids[dataset], document(source, *texts, file_type="txt"))

    @property
    def log(self) -> ChangeLog:
        return ChangeLog(self.braid.ledger.database)

    def complete(self, **options: Any) -> bool:
        """Whether everything is found, in every mode, with nothing missing."""
        results = [self.search(" ".join(TEXTS), mode=mode, **options) for mode in get_args(Mode)]
        return all({hit.passage.text for hit in r.hits} >= set(TEXTS) and not r.degraded for r in results)


def open_shelf(folder: Path, embeddings: HashEmbeddings, **options: Any) -> Shelf:
    braid = Braid(folder, embedding_model=embeddings, **options)
    ledger = braid.ledger
    if ledger.users():
        return Shelf(braid, embeddings, (ledger.datasets(1)[0].id, braid.registry.entries()[0].id))
    personal = add_notes(ledger)
    shared = braid.registry.add("Guide", "shared_main").id
    braid.mirror_registry()
    shelf = Shelf(braid, embeddings, (personal, shared))
    shelf.put("a", *TEXTS[:2], dataset=0)
    shelf.put("b", *TEXTS[2:], dataset=1)
    return shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = open_shelf(tmp_path, HashEmbeddings())
    with opened.braid:
        assert opened.braid.indexer.wait(WAIT_S)
        assert opened.complete()
        yield opened


@pytest.mark.parametrize("leg", get_args(Leg))
def test_what_was_waited_for_is_not_said_to_be_missing(shelf: Shelf, leg: Leg, monkeypatch: pytest.MonkeyPatch) -> None:
    board = shelf.braid.indexer.followers[leg]._board
    report = board.report

    def report_late(*args: Any, **options: Any) -> None:
        if not options.get("pending"):
            time.sleep(0.5)  # as a busy machine may let the thread wait here
        report(*args, **options)

    monkeypatch.setattr(board, "report", report_late)
    for number in range(2):
        shelf.put(f"new {number}", f"A newt that is number {number}")
        assert shelf.braid.indexer.wait(WAIT_S)
        assert shelf.search("newt").degraded == ()


# ---------------------------------------------------------------- damage while it is open


def remove_keyword(folder: Path) -> None:
    shutil.rmtree(folder / "indexes" / "bm25")


def overwrite_keyword(folder: Path) -> None:
    for contents in (folder / "indexes" / "bm25").glob("*/meta.json"):
        contents.write_text("nonsense")


def put_a_file_there(folder: Path) -> None:
    remove_keyword(folder)
    (folder / "indexes" / "bm25").mkdir()
    for collection in ("user_1", "shared_main"):
        (folder / "indexes" / "bm25" / collection).write_text("a file")


def remove_both(folder: Path) -> None:
    shutil.rmtree(folder / "indexes")


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


# ---------------------------------------------------------------- damage between two openings


@each_damage
def test_damage_while_it_was_closed(tmp_path: Path, damage: Callable[[Path], None], legs: set[Leg]) -> None:
    embeddings = HashEmbeddings()
    with open_shelf(tmp_path, embeddings).braid as braid:
        assert braid.indexer.wait(WAIT_S, ALL)
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
    with open_shelf(tmp_path, HashEmbeddings()).braid as braid:
        assert braid.indexer.wait(WAIT_S, ALL)
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
from tests.core.indexes.test_indexer import HashEmbeddings, open_shelf
shelf = open_shelf(Path(sys.argv[1]), HashEmbeddings())
assert shelf.braid.indexer.wait(120)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_search_by_meaning_answers_at_once_after_a_kill(tmp_path: Path) -> None:
    """It needs no look at anything: not even the follower's first one."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, timeout=WAIT_S)
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


# ---------------------------------------------------------------- a failing model


def test_a_model_that_fails_at_queries_is_named_and_used_again_at_once(shelf: Shelf) -> None:
    shelf.embeddings.failing = True
    for mode, expected in (("hybrid", {CAT}), ("semantic", set())):
        result = shelf.search("mat", mode=mode)
        assert {hit.passage.text for hit in result.hits} == expected
        ((leg, collection, reason),) = [(d.leg, d.collection, d.reason) for d in result.degraded]
        assert (leg, collection) == ("dense", "")
        assert "fake:hash-64 failed: ConnectionError: the model server is down" in reason
    assert shelf.search("mat", mode="keyword").degraded == ()
    shelf.embeddings.failing = False
    assert shelf.complete()


def test_a_model_that_fails_at_documents_leaves_them_to_the_keyword_leg(shelf: Shelf) -> None:
    shelf.embeddings.failing = True
    shelf.put("c", "A new passage", "Another new one")
    assert shelf.braid.indexer.wait(WAIT_S, legs=("bm25",))
    assert not shelf.braid.indexer.wait(0.2)
    assert "A new passage" in shelf.texts("new passage", mode="keyword")
    assert eventually(lambda: any("2 passages of user_1" in d.reason for d in shelf.search("new").degraded))
    shelf.embeddings.failing = False
    assert shelf.texts(CAT, mode="semantic") >= set(TEXTS)  # what is embedded already is found
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.texts("new passage", mode="semantic") == {*TEXTS, "A new passage", "Another new one"}
    assert shelf.complete()


REFUSED = "1 passages of user_1 were refused by the embedding model; `braid doctor --repair` has it embed them again"


def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path, Refusing())
    with shelf.braid:
        shelf.put("c", "harmless", "pure poison", "harmless too")
        assert shelf.braid.indexer.wait(WAIT_S)
        assert shelf.texts("harmless", mode="semantic") == {*TEXTS, "harmless", "harmless too"}
        assert shelf.texts("poison", mode="keyword") == {"pure poison"}
        reasons = [part.reason for part in shelf.search("harmless").degraded]
        assert reasons == [REFUSED]


def test_opening_does_not_wait_until_what_was_refused_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes seconds where there are a million passages."""
    shelf = open_shelf(tmp_path, Refusing())
    with shelf.braid:
        shelf.put("c", "harmless", "pure poison")
        assert shelf.braid.indexer.wait(WAIT_S)
    counted, count = threading.Event(), ChangeLog.embedded_count

    def slow_count(self: ChangeLog, collection: str, model: str) -> int:
        assert counted.wait(WAIT_S), "opening waits for it"
        return count(self, collection, model)

    monkeypatch.setattr(ChangeLog, "embedded_count", slow_count)
    monkeypatch.setattr("braid.core.indexes.indexer.FIRST_LOOK_S", 0.01)
    shelf = open_shelf(tmp_path, Refusing())
    with shelf.braid:
        assert "harmless" in shelf.texts("harmless", mode="semantic")
        counted.set()
        assert eventually(lambda: REFUSED in [part.reason for part in shelf.search("harmless").degraded])


def test_a_repair_has_what_was_refused_embedded_again(tmp_path: Path) -> None:
    model = Refusing()
    shelf = open_shelf(tmp_path, model)
    with shelf.braid as braid:
        shelf.put("c", "harmless", "pure poison")
        assert braid.indexer.wait(WAIT_S)
        findings = examine(braid, wait_s=WAIT_S)
        assert any(REFUSED in finding.detail for finding in findings)
        model.word = "nothing of the kind"
        assert repair(braid, findings, timeout_s=WAIT_S)
        assert shelf.texts("poison", mode="semantic") >= {"pure poison"}
        assert shelf.search("harmless").degraded == ()


class Uneven(HashEmbeddings):
    """Gives a vector of another size for a text that is odd."""

    def _vector(self, text: str) -> list[float]:
        return super()._vector(text) + ([0.5] if "odd" in text else [])


@pytest.mark.parametrize("texts", [("odd", "even", "level"), ("even", "odd")])
def test_a_vector_of_another_size_concerns_its_passage_alone(tmp_path: Path, texts: tuple[str, ...]) -> None:
    shelf = open_shelf(tmp_path, Uneven())
    with shelf.braid:
        shelf.put("c", *texts)
        shelf.put("d", "even later")
        assert shelf.braid.indexer.wait(WAIT_S)
        assert shelf.texts("even", mode="semantic") == {*TEXTS, *texts, "even later"} - {"odd"}
        assert shelf.texts("odd", mode="keyword") == {"odd"}
        assert [part.reason for part in shelf.search("even").degraded] == [REFUSED]


class Flaky(HashEmbeddings):
    """Takes no batch, and each text only at the second time of asking, as a provider over its rate limit does."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        late = [text for text in texts if "late" in text and text not in self.asked]
        if late:
            if len(texts) == 1:
                self.asked.update(late)
            raise ConnectionError("429 too many requests")
        return super().embed_documents(texts)


def test_texts_that_a_model_refuses_for_a_moment_are_not_left_out(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path, Flaky())
    with shelf.braid:
        shelf.put("c", "in time", "late one", "late two", "late three")
        assert shelf.braid.indexer.wait(WAIT_S)
        found = shelf.texts("in time", mode="semantic")
        assert found == {*TEXTS, "in time", "late one", "late two", "late three"}
        assert shelf.search("in time").degraded == ()


# ---------------------------------------------------------------- another analyzer, another model


def test_another_analyzer_rebuilds_the_keyword_leg_alone(tmp_path: Path) -> None:
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid as braid:
        shelf.put("de", "Die Häuser stehen leer")
        assert braid.indexer.wait(WAIT_S)
        versions = {leg: shelf.log.states(leg)["user_1"].version for leg in get_args(Leg)}
        assert shelf.texts("Haus", mode="keyword") == set()
    shelf = open_shelf(tmp_path, embeddings, index_options=IndexOptions(languages=("en", "de")))
    with shelf.braid as braid:
        assert CAT in shelf.texts(CAT)
        assert braid.indexer.wait(WAIT_S)
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
    with open_shelf(tmp_path, old).braid as braid:
        assert braid.indexer.wait(WAIT_S)
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
    with open_shelf(tmp_path, old).braid as braid:
        assert braid.indexer.wait(WAIT_S)
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


# ---------------------------------------------------------------- two models at once


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Shifted:
    """The model that shared_dbs.json may name: fake:second. There is a third one, too: fake:third."""
    model = Shifted(fingerprint="fake:second")
    loadable(monkeypatch, model, HashEmbeddings(96, fingerprint="fake:third"))
    return model


def models_of(shelf: Shelf, query: str, known: Sequence[HashEmbeddings], **options: Any) -> dict[str, str]:
    """The fingerprint of the model that answered for each collection, by the cosines of hits where they differ."""
    found: dict[str, str] = {}
    result = shelf.search(query, mode="semantic", pooling="none", **options)
    for hit in result.hits:
        (score,) = hit.legs
        fitting = [m.fingerprint for m in known if abs(score.score - cosine(m, query, hit.passage.text)) < 1e-4]
        assert fitting
        if len(fitting) == 1:
            assert found.setdefault(hit.passage.collection, fitting[0]) == fitting[0]
    return found


def test_a_collection_changes_its_model_while_it_is_searched(shelf: Shelf, second: Shifted) -> None:
    """All of it is found all the time, by the one model or by the other."""
    query, old = "吾輩は猫である。", shelf.embeddings
    second.failing = True
    shelf.braid.registry.update(shelf.ids[1], embedding_model="fake:second")
    for pause_s in (0.0, 0.0, 0.0, 1.0):  # from the moment of the change on, and when it has been noticed
        time.sleep(pause_s)
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


# ---------------------------------------------------------------- following


def test_the_keyword_leg_does_not_wait_for_the_embeddings(shelf: Shelf) -> None:
    shelf.embeddings.delay_s = 1.0
    shelf.put("c", *(f"slowly embedded passage {n}" for n in range(20)))
    assert shelf.braid.indexer.wait(WAIT_S, legs=("bm25",))
    result = shelf.search("slowly embedded", mode="hybrid")
    assert len({h.passage.text for h in result.hits if h.passage.text.startswith("slowly")}) >= 15
    assert any("passages of user_1 are not in the dense index yet" in d.reason for d in result.degraded)
    shelf.embeddings.delay_s = 0.0
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.complete()


def test_progress_tells_how_far_each_leg_is(shelf: Shelf) -> None:
    assert {(p.leg, p.collection, p.state, p.pending) for p in shelf.braid.indexer.progress()} == {
        (leg, collection, "ready", 0) for leg in get_args(Leg) for collection in ("user_1", "shared_main")
    }
    shelf.embeddings.delay_s = 0.05
    shelf.put("c", *(f"passage {n}" for n in range(40)))

    def behind() -> bool:
        progress = shelf.braid.indexer.leg_progress("dense", "user_1")
        return 0 < progress.pending < 40 and (progress.seconds_left or 0) > 0

    assert eventually(behind)
    shelf.embeddings.delay_s = 0.0
    assert shelf.braid.indexer.wait(WAIT_S)
    [dense] = shelf.braid.indexer.states([("dense", "user_1")])  # as the next search sees it
    assert dense.pending == 0


def test_who_waits_leaves_the_processor_to_the_work(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counts = 0
    heads = {"user_1": 10**9}

    def look(*_: object) -> bool:
        nonlocal looks
        looks += 1
        time.sleep(0.05)
        return False

    def count(*_: object) -> int:
        nonlocal counts
        counts += 1
        return 7

    monkeypatch.setattr(shelf.braid.indexer, "_is_complete", look)
    monkeypatch.setattr(shelf.braid.indexer, "_pending", count)
    monkeypatch.setattr(ChangeLog, "heads", lambda self, collections=None: heads)
    assert not shelf.braid.indexer.wait(0.6, ["dense"])
    assert looks <= 3, "at 0, 0.55 and 0.6 s"
    assert counts <= 3


def test_a_rebuild_on_request_embeds_nothing(shelf: Shelf) -> None:
    for leg in get_args(Leg):
        for collection in ("user_1", "shared_main"):
            shelf.braid.indexer.rebuild(leg, collection)
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.complete()
    assert shelf.embeddings.documents_embedded == len(TEXTS)


def test_a_rebuild_asked_for_while_documents_arrive_is_done(shelf: Shelf) -> None:
    """What the index holds is wrong in a way that its count does not show."""
    chunk_id = next(p.chunk_id for p in shelf.braid.ledger.document_passages(1, [shelf.ids[0]]) if p.text == CAT)
    wrong = replace(shelf.log.chunks("user_1", [chunk_id])[0], text="something else")
    for turn in range(3):
        shelf.braid.bm25.apply("user_1", [wrong], [])
        assert CAT not in shelf.texts("mat", mode="keyword")
        shelf.put("busy", *(f"turn {turn} passage {n}" for n in range(20)))
        shelf.braid.indexer.wake()
        time.sleep(0.005 * turn)
        shelf.braid.indexer.rebuild("bm25", "user_1")
        assert shelf.braid.indexer.wait(WAIT_S)
        assert CAT in shelf.texts("mat", mode="keyword")


def test_the_log_is_pruned_to_what_every_leg_has_applied(shelf: Shelf) -> None:
    for turn in range(5):
        shelf.put("c", f"turn {turn}")
    assert shelf.braid.indexer.wait(WAIT_S)
    assert eventually(lambda: shelf.log.pending("user_1", 0) == 1)
    shelf.embeddings.failing = True
    shelf.put("c", "one", "two", "three")
    assert shelf.braid.indexer.wait(WAIT_S, legs=("bm25",))
    head, dense = shelf.log.heads()["user_1"], shelf.log.states("dense")["user_1"].applied_seq
    time.sleep(0.6)  # a poll of the leg that is done
    assert shelf.log.pending("user_1", dense) == head - dense
    shelf.embeddings.failing = False


def test_a_leg_that_is_not_followed_stays_as_it_is(tmp_path: Path) -> None:
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings, index_options=IndexOptions(follow=("bm25",)))
    with shelf.braid:
        assert shelf.braid.indexer.wait(WAIT_S, legs=("bm25",))
        assert shelf.texts("mat", mode="keyword") == {CAT}
    assert embeddings.documents_embedded == 0


def test_a_state_of_the_future_is_not_trusted(tmp_path: Path) -> None:
    """The ledger was restored from a backup that is older than the indexes."""
    embeddings = HashEmbeddings()
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid as braid:
        assert braid.indexer.wait(WAIT_S)
        for leg in get_args(Leg):
            version = shelf.log.states(leg)["user_1"].version
            shelf.log.set_state(leg, "user_1", IndexState(version, 10_000, "ready"))
        shelf.put("c", "A new passage")
    shelf = open_shelf(tmp_path, embeddings)
    with shelf.braid:
        assert eventually(lambda: "A new passage" in shelf.texts("new passage", mode="keyword"))
        assert eventually(shelf.complete)
