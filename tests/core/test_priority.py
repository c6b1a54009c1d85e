"""Work in the background lets searches pass."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import braid.core.priority as module
from braid.core.background.background import Background
from braid.core.braid import Braid
from braid.core.indexes.embedder import CHUNKS_BESIDE_SEARCHES, CHUNKS_PER_EMBEDDING
from braid.core.priority import SearchPriority
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, catch_up


def test_work_waits_for_the_search_and_not_for_ever() -> None:
    way, begun, end = SearchPriority(), threading.Event(), threading.Event()

    def search() -> None:
        with way.search():
            begun.set()
            end.wait(WAIT_S)

    thread = threading.Thread(target=search)
    thread.start()
    begun.wait(WAIT_S)
    started = time.monotonic()
    way.wait_for_searches(0.1)
    assert 0.1 <= time.monotonic() - started < WAIT_S
    threading.Timer(0.1, end.set).start()
    started = time.monotonic()
    way.wait_for_searches(2 * WAIT_S)
    assert time.monotonic() - started < WAIT_S
    thread.join()


def test_it_is_busy_for_a_moment_after_a_search() -> None:
    way = SearchPriority()
    assert not way.busy
    with way.search():
        assert way.busy
    assert way.busy
    way._last -= module.RECENTLY_S
    assert not way.busy


def test_many_short_pieces_of_work_leave_time_between_them_beside_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(module.time, "sleep", rests.append)
    way = SearchPriority()
    way.rest()
    assert rests == []
    with way.search():
        pass
    way.rest()
    assert rests == [module.REST_S]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux")
def test_work_in_the_background_has_a_lower_priority_than_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKGROUND_NICE", 10)
    mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        background = Background(braid)
        background.start()
        braid.indexer.wait(WAIT_S)
        names = ("braid-bm25", "braid-dense", "braid-job-1")
        found = {t.name: os.getpriority(os.PRIO_PROCESS, t.native_id or 0) for t in threading.enumerate()}
        background.close()
    assert [found[name] for name in names] == [max(mine, 10)] * 3


def test_beside_searches_passages_are_embedded_a_few_at_a_time(tmp_path: Path) -> None:
    model = HashEmbeddings()
    with Braid(tmp_path / "data", embedding_model=model) as braid:
        user = braid.ledger.add_user("ana")
        dataset = braid.ledger.add_dataset(user.id, "notes")

        def put(source: str) -> None:
            chunks = tuple(ChunkInput(f"passage {n} of {source}") for n in range(40))
            braid.ledger.put_document(dataset.id, DocumentInput(source, source, "txt", chunks))
            catch_up(braid)

        put("quiet.txt")
        assert max(model.batches) == CHUNKS_PER_EMBEDDING
        model.batches.clear()
        braid.manager.search("passage", user_id=user.id)
        put("busy.txt")
        assert model.batches[0] == CHUNKS_BESIDE_SEARCHES
        assert max(model.batches) > CHUNKS_BESIDE_SEARCHES  # this model takes no time worth mentioning


def test_work_waits_for_a_search_and_gets_half_of_the_time_beside_many() -> None:
    way = SearchPriority()
    with way.search():
        started = time.monotonic()
        assert list(way.pieces("abc")) == list("abc")
        assert time.monotonic() - started >= module.LONGEST_REST_S

        worked, started = 0.0, time.monotonic()
        for _ in way.pieces(range(30)):
            begun = time.monotonic()
            time.sleep(0.02)
            worked += time.monotonic() - begun
        assert time.monotonic() - started < module.LONGEST_REST_S + 4 * worked


def test_pieces_of_work_go_on_when_the_search_ends() -> None:
    way, begun, asked = SearchPriority(longest_rest_s=WAIT_S), threading.Event(), threading.Event()
    order: list[str] = []

    def search() -> None:
        with way.search():
            begun.set()
            asked.wait(WAIT_S)
            order.append("search")

    def work() -> Iterator[str]:
        asked.set()
        yield "piece"

    thread = threading.Thread(target=search)
    thread.start()
    begun.wait(WAIT_S)
    order.extend(way.pieces(work()))
    thread.join()
    assert order == ["search", "piece"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_does_not_wait_for_the_searches_of_its_parent(tmp_path: Path) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid, braid.priority.search():
        child = os.fork()
        if child == 0:
            os._exit(1 if braid.priority.busy else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
