"""What the server does once it answers: searches answer before."""

from __future__ import annotations

import errno
import importlib
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from braid.app import first_start
from braid.app.first_start import AfterStart, steps_of
from braid.core.braid import Braid
from braid.core.datasets.registry import SharedDataset
from braid.core.ledger.outages import times_met
from braid.core.types import ChunkInput, DocumentInput, Mode
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, eventually

CAT = "The cat sat on the mat"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A data directory with one indexed passage."""
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        braid.ledger.put_document(dataset, DocumentInput("a", "", "txt", (ChunkInput(CAT),)))
        assert braid.indexer.wait(WAIT_S)
    return tmp_path


def open_again(folder: Path) -> Braid:
    return Braid(folder, embedding_model=HashEmbeddings())


def test_a_list_that_another_process_writes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = '[{"id": -1, "name": "Manuals", "collection_name": "shared_manuals"}]'
    with open_again(tmp_path) as braid:
        now, changes = braid.registry.entries, iter([theirs])

        def entries_before_theirs() -> tuple[SharedDataset, ...]:
            found = now()
            for text in changes:
                braid.registry.replace_text(text)
            return found

        monkeypatch.setattr(braid.registry, "entries", entries_before_theirs)
        first_start.begin(braid)
        assert [entry.name for entry in now()] == ["Manuals"]


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_every_search_answers_before(stored: Path, mode: Mode) -> None:
    with open_again(stored) as braid:
        result = braid.search("cat", user_id=1, mode=mode)
        assert [hit.passage.text for hit in result.hits] == [CAT]
        assert not result.degraded


def test_what_is_written_before_is_indexed_by_both_legs(stored: Path) -> None:
    with open_again(stored) as braid:
        braid.ledger.put_document(1, DocumentInput("b", "", "txt", (ChunkInput("Dogs bark at night"),)))
        assert braid.indexer.wait(WAIT_S)
        for mode in ("keyword", "semantic"):
            assert braid.search("bark", user_id=1, mode=mode).hits[0].passage.text == "Dogs bark at night"


def test_the_sample_is_listed_before_and_stored_after(tmp_path: Path) -> None:
    with open_again(tmp_path) as braid:
        first_start.begin(braid)
        assert [entry.name for entry in braid.registry.entries()] == ["Braid guide"]
        assert braid.dataset(-1).documents == 0
        after_start = AfterStart(braid)
        after_start.start()
        eventually(lambda: braid.dataset(-1).documents == 18, pause_s=0.05)
        after_start.close()
        assert braid.dataset(-1).documents == 18


def test_closing_waits_for_the_running_step_and_leaves_out_the_rest(tmp_path: Path) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), list[str]()

    def load() -> None:
        begun.set()
        assert go_on.wait(WAIT_S)
        done.append("sample")

    with open_again(tmp_path) as braid:
        after_start = AfterStart(braid, [load, lambda: done.append("end")])
        after_start.start()
        assert begun.wait(WAIT_S)
        closing = threading.Thread(target=lambda: (after_start.close(), done.append("closed")))
        closing.start()
        eventually(after_start._closing.is_set)
        go_on.set()
        closing.join(WAIT_S)
        assert done == ["sample", "closed"]
        AfterStart(braid).close()


def test_a_step_that_fails_keeps_none_of_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()

    def fail() -> None:
        raise OSError("no space left")

    with open_again(tmp_path) as braid:
        after_start = AfterStart(braid, [fail, ended.set])
        after_start.start()
        assert ended.wait(WAIT_S)
        after_start.close()
    assert "no space left" in caplog.text


def test_an_outage_in_a_step_is_one_line_without_a_traceback(stored: Path, caplog: pytest.LogCaptureFixture) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = times_met()["disk_full"]
    with open_again(stored) as braid:
        steps = AfterStart(braid, [full])
        steps.start()
        steps._thread.join()
        steps.close()
    assert times_met()["disk_full"] == before + 1
    assert [record.exc_info for record in caplog.records if record.exc_info] == []


class _Bucket:
    """A store whose packages are loaded; notes what others were loaded before."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.was_loaded: list[bool] = []

    def load(self) -> None:
        self.was_loaded.append(self.module in sys.modules)


def test_what_asks_the_bucket_is_loaded_before_the_rest_and_by_one_thread(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = _Bucket("colorsys")
    sys.modules.pop("colorsys", None)
    with open_again(stored) as braid:
        monkeypatch.setattr(braid, "bucket", bucket)
        first, *_ = steps_of(braid)
        monkeypatch.setattr(braid, "bucket", None)
        after = AfterStart(braid, [first, partial(importlib.import_module, "colorsys")])
        after.start()
        after._thread.join(WAIT_S)
    assert bucket.was_loaded == [False]
    assert "colorsys" in sys.modules
