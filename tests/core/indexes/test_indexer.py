"""The indexes follow the ledger, and come back by themselves from whatever happens to them, without re-embedding."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.accounts.transfer import transfer_datasets
from braid.core.braid import Braid, IndexOptions
from braid.core.doctor import examine, repair
from braid.core.indexes import indexer as indexer_module
from braid.core.indexes.inspection import Inspection
from braid.core.indexes.sources import Bm25Source
from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.types import Leg
from tests.core.indexes.shelves import ALL, CAT, TEXTS, Refusing, Shelf, late_reports, open_shelf
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, add_notes, catch_up, document, eventually


@pytest.mark.parametrize("leg", get_args(Leg))
def test_what_was_waited_for_is_not_said_to_be_missing(shelf: Shelf, leg: Leg) -> None:
    for number in range(2):
        with late_reports(shelf.braid.indexer, leg):
            shelf.put(f"new {number}", f"A newt that is number {number}")
            assert shelf.braid.indexer.wait(WAIT_S)
            assert shelf.search("newt").degraded == ()


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


def test_what_was_refused_concerns_the_searches_of_its_dataset(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path, Refusing())
    with shelf.braid as braid:
        other = braid.ledger.add_dataset(1, "other").id
        braid.ledger.put_document(other, document("c", "harmless", "pure poison"))
        assert braid.indexer.wait(WAIT_S)
        assert shelf.complete()
        assert [part.reason for part in shelf.search("harmless", dataset_ids=[other]).degraded] == [REFUSED]


def test_what_was_embedded_before_a_failure_is_found(tmp_path: Path) -> None:
    class Failing(HashEmbeddings):
        """Answers one text a call, and not those from the second on."""

        batch_size = 1

        def _vector(self, text: str) -> list[float]:
            if "tail" in text or text == "braid":
                raise ConnectionError("the model server is down")
            return super()._vector(text)

    shelf = open_shelf(tmp_path, Failing())
    with shelf.braid as braid:
        braid.ledger.put_document(shelf.ids[0], document("c", "a head", "a tail"))
        assert eventually(lambda: "a head" in shelf.texts("head", mode="semantic"))


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


class HandClock:
    """Takes the place of the module `time`: it goes on by what is slept."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_who_waits_leaves_the_processor_to_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, clock = list[float](), HandClock()
    shelf = open_shelf(tmp_path, HashEmbeddings(), kind=ByHand)

    def look(*_: object) -> bool:
        looks.append(round(clock.now, 2))
        clock.sleep(0.05)
        return False

    with shelf.braid:
        monkeypatch.setattr(shelf.braid.indexer, "_is_complete", look)
        monkeypatch.setattr(indexer_module, "time", clock)
        monkeypatch.setattr(shelf.braid.indexer._finished, "wait", clock.sleep)
        assert not shelf.braid.indexer.wait(0.6, ["dense"])
    assert looks == [0.0, 0.55], "a tenth of the time, and at the end nothing more"


def test_who_waits_is_told_when_the_work_is_done(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("WAIT_S", "LONGEST_WAIT_S"):
        monkeypatch.setattr(indexer_module, pause, WAIT_S)
    shelf.braid.ledger.put_document(1, document("told.md", "what is told"))
    began = time.monotonic()
    assert shelf.braid.indexer.wait(WAIT_S)
    assert time.monotonic() - began < WAIT_S


def test_a_rebuild_on_request_embeds_nothing(shelf: Shelf) -> None:
    for leg in get_args(Leg):
        for collection in ("user_1", "shared_main"):
            shelf.braid.indexer.rebuild(leg, collection)
    assert shelf.braid.indexer.wait(WAIT_S)
    assert shelf.complete()
    assert shelf.embeddings.documents_embedded == len(TEXTS)


def applied(shelf: Shelf) -> int:
    return shelf.log.states("bm25")["user_1"].applied_seq


def test_a_rebuild_asked_for_while_documents_arrive_is_done(shelf: Shelf) -> None:
    """What the index holds is wrong in a way that its count does not show."""
    chunk_id = next(p.chunk_id for p in shelf.braid.ledger.document_passages(1, [shelf.ids[0]]) if p.text == CAT)
    wrong = replace(shelf.log.chunks("user_1", [chunk_id])[0], text="something else")
    for turn in range(3):
        shelf.braid.bm25.apply("user_1", [wrong], [])
        assert CAT not in shelf.texts("mat", mode="keyword")
        shelf.put("busy", *(f"turn {turn} passage {n}" for n in range(20)))
        shelf.braid.indexer.wake()
        if turn:  # later: when it has begun, and when it is done
            eventually(lambda left=20 // turn: shelf.log.pending("user_1", applied(shelf)) < left)  # type: ignore[misc]
        shelf.braid.indexer.rebuild("bm25", "user_1")
        assert shelf.braid.indexer.wait(WAIT_S)
        assert CAT in shelf.texts("mat", mode="keyword")


def test_the_log_is_pruned_to_what_every_leg_has_applied(shelf: Shelf) -> None:
    for turn in range(5):
        shelf.put("c", f"turn {turn}")
    assert shelf.braid.indexer.wait(WAIT_S, ALL)
    assert eventually(lambda: shelf.log.pending("user_1", 0) == 1)


def test_what_one_leg_lacks_is_not_pruned(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path, HashEmbeddings(), kind=ByHand)
    with shelf.braid as braid:
        catch_up(braid, *ALL)
        shelf.embeddings.failing = True
        shelf.put("c", "one", "two", "three")
        catch_up(braid, "bm25")
        dense = shelf.log.states("dense")["user_1"].applied_seq
        braid.indexer._prune()
        assert shelf.log.pending("user_1", dense) == 3
        shelf.embeddings.failing = False
        catch_up(braid, *ALL)
        braid.indexer._prune()
        assert shelf.log.pending("user_1", 0) == 1


@pytest.mark.parametrize("leg", get_args(Leg))
def test_an_index_is_begun_from_the_log_while_documents_are_put(tmp_path: Path, leg: Leg) -> None:
    """A rebuild would embed them in the order of their ids, and no small one before a book."""
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)

        class PutMeanwhile(ChangeLog):
            """Between two numbers that are asked for, a document is put."""

            def _number(self, statement: str, **parameters: Any) -> int:
                number = super()._number(statement, **parameters)
                braid.ledger.put_document(dataset, document("new.md", str(time.monotonic_ns()), "more"))
                return number

        follower = braid.indexer.followers[leg]
        changes = PutMeanwhile(braid.ledger.database)
        inspection = Inspection(follower.index, Bm25Source(changes, "1"), changes, crashed=False)
        for _ in range(3):
            assert inspection.can_begin_empty("user_1")


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


def test_a_collection_that_all_datasets_have_left_is_not_checked_for_ever(tmp_path: Path) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        ann, ben = (braid.ledger.add_user(name).id for name in ("ann", "ben"))
        braid.ledger.put_document(braid.ledger.add_dataset(ann, "notes").id, document("a.md", "The pump is red."))
        assert braid.indexer.wait(WAIT_S)
        transfer_datasets(braid.ledger, ann, ben)
        assert braid.indexer.wait(WAIT_S)
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        assert braid.indexer.wait(WAIT_S)
        assert {each.state for each in braid.indexer.progress()} == {"ready"}
        assert [hit.passage.source for hit in braid.search("pump", user_id=ben).hits] == ["a.md"]
