"""The parts of the benchmarks that decide what a figure says."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.common import write_section
from benchmarks.passages import LowRankVectors, many_texts
from benchmarks.peers.engines.braid import Engine
from benchmarks.peers.interface import FloatVector, Passage, fuse
from benchmarks.peers.measure import AT_ONCE, IN_PROCESSES, joined, ndcg
from benchmarks.peers.report import page
from benchmarks.peers.worker import Worker
from benchmarks.peers.workload import Query
from tests.worlds import WAIT_S, eventually


class SlowPeer:
    """Answers at once, but for a query whose answer never comes."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        assert text != "never" or self.over.wait(WAIT_S)
        return ["d#0"]


def passages(collection: str, parts: int) -> list[Passage]:
    texts = [f"pump {collection} {part}" for part in range(parts)]
    vectors = LowRankVectors().matrix(texts)
    return [Passage(f"{collection}d{n}#0", collection, texts[n], n, vectors[n]) for n in range(parts)]


def setting(**figures: tuple[float, float]) -> dict[str, Any]:
    """A setting with 4 collections: by peer, p50 and seconds to build."""
    peers = {
        name: {"build": {"build_s": build}, "cells": {"all": {"p50": p50, "p95": p50, "qps": 1000 / p50, "hits": 10.0}}}
        for name, (p50, build) in figures.items()
    }
    return {"size": 1000, "collections": 4, "peers": peers}


def results(*settings: dict[str, Any]) -> dict[str, Any]:
    names = dict.fromkeys(name for one in settings for name in one["peers"])
    return {
        "plan": {"rounds": 1, "queries": 3, "cap_s": 5.0},
        "machine": {"date": "2026-01-01", "cores": 2, "python": "3.11"},
        "peers": {name: {"about": "as it comes", "versions": {}} for name in names},
        "settings": list(settings),
        "quality": [],
    }


def test_the_page_begins_with_every_figure_in_which_a_peer_is_better() -> None:
    text = page(results(setting(braid=(10.0, 5.0), lancedb=(8.0, 9.0), raw=(20.0, 1.0))), plot="p.svg")
    first = text.split("\n\n")[:2]
    assert first == [
        "Where Braid loses:",
        "- p50, 1,000 passages in 4 collections: LanceDB 8.00; Braid 10.0 ms\n"
        "- build s, 1,000 passages in 4 collections: tantivy + Chroma 1.00; Braid 5.00",
    ]
    assert "8.00 (0.800×)" in text


def test_what_was_too_slow_or_failed_is_shown_and_not_left_out() -> None:
    measured = setting(braid=(10.0, 5.0), lancedb=(8.0, 9.0), raw=(20.0, 1.0), txtai=(1.0, 1.0))
    measured["peers"]["lancedb"]["cells"]["all"] = {"over_s": 5.0}
    measured["peers"]["raw"] = {"build": {"failed": "over 60 s", "over_s": 60.0}}
    measured["peers"]["txtai"]["cells"]["all"] = {"failed": "ValueError: no"}
    text = page(results(measured), plot="p.svg")
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.count("|") == 9}
    assert "over 5 s" in rows["LanceDB"]
    assert "over 60 s" in rows["tantivy + Chroma"]
    assert "failed" in rows["txtai"]
    assert "ValueError: no" in text.split("Failed:")[1]


def test_two_processes_count_as_long_as_the_slower_one_and_stand_beside_one() -> None:
    fast = {"ms": [1.0], "hits": [10], "wall_s": 1.0, "error": ""}
    slow = {"ms": [3.0], "hits": [10], "wall_s": 4.0, "error": ""}
    assert joined([fast, slow]) == {"ms": [1.0, 3.0], "hits": [10, 10], "wall_s": 4.0, "error": ""}
    assert joined([fast, {"failed": "dead"}]) == {"failed": "dead"}
    measured = setting(braid=(10.0, 5.0), lancedb=(8.0, 9.0), raw=(20.0, 1.0))
    for name, one, two in (("braid", 100.0, 250.0), ("lancedb", 100.0, 125.0), ("raw", 50.0, None)):
        cells = measured["peers"][name]["cells"]
        cells[AT_ONCE.name] = {"p50": 1.0, "p95": 2.0, "qps": one}
        if two is not None:
            cells[IN_PROCESSES.name] = {"p50": 1.0, "p95": 2.0, "qps": two}
    table = page(results(measured), plot="p.svg").split("4 collections, 8 clients:\n\n")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("Braid", "1", "2.500"),
        ("Braid", "2", "1.000"),
        ("LanceDB", "1", "2.500"),
        ("LanceDB", "2", "2.000"),
        ("tantivy + Chroma", "1", "5.000"),
    ]


def test_a_search_over_the_cap_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker("slow")
    peer = SlowPeer()
    monkeypatch.setattr(worker, "_peer", peer, raising=False)
    worker._queries = [Query(text, "en", np.zeros(2, np.float32)) for text in ("one", "two", "never")]
    answer = worker.ask([0, 1, 2], clients=1, below=None, start_s=2.0, cap_s=2.0)
    assert not peer.over.is_set()
    assert len(answer["ms"]) == 2
    peer.over.set()


def test_ndcg_counts_a_query_without_hits_as_0() -> None:
    judgements = {"a": {"1": 1}, "b": {"2": 1}}
    assert ndcg(judgements, ["a", "b"], [["1#0", "9#0"], []]) == 0.5
    assert ndcg(judgements, ["a", "b"], [["9#0", "1#0"], ["2#0"]]) == pytest.approx((1 / np.log2(3) + 1) / 2)


def test_fusion_is_by_rank() -> None:
    assert fuse([["a", "b"], ["b", "c"]], 2) == ["b", "a"]  # 1/62 + 1/61 > 1/61


def test_texts_beyond_the_real_ones_have_every_fourth_word_of_another() -> None:
    english = "one two three four five six seven eight"
    japanese = "今日はとても良い天気なので散歩に出かけましょうと彼は言った"
    other = "uno due tre quattro cinque sei sette otto"
    made = list(many_texts([english, japanese, other], 9))
    assert made[:3] == [english, japanese, other]
    for text in (made[3], made[6]):
        same = [new == old for new, old in zip(text.split(), english.split(), strict=True)]
        assert same.count(False) == 2
    assert len(set(made)) == 9
    assert made[4][:8] == japanese[:8]


def test_a_section_is_replaced_and_the_rest_of_the_page_kept(tmp_path: Path) -> None:
    page_file = tmp_path / "page.md"
    page_file.write_text("before\n<!-- made by: x -->\nold\n<!-- end of what is made -->\nafter\n")
    write_section(page_file, "x", "new")
    assert page_file.read_text() == "before\n<!-- made by: x -->\n\nnew\n\n<!-- end of what is made -->\nafter\n"
    with pytest.raises(SystemExit, match="has no section"):
        write_section(page_file, "y", "new")


def test_braid_is_asked_for_all_collections_under_the_filter_and_finds_what_is_put(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    try:
        engine.build({name: passages(name, 20) for name in ("c-0", "c-1")})
        query = "pump"
        vector = LowRankVectors().matrix([query])[0]
        everywhere = engine.search(query, vector, 40, None)
        assert len(set(everywhere)) == 40
        assert set(engine.search(query, vector, 40, 5)) == {f"c-{c}d{n}#0" for c in (0, 1) for n in range(5)}
        engine.put(Passage("fresh#0", "c-1", "zyzzogeton", 0, vector))
        model_vector = LowRankVectors().matrix(["zyzzogeton"])[0]

        def found() -> bool:
            try:
                return "fresh#0" in engine.search("zyzzogeton", model_vector, 10, None)
            except RuntimeError:
                return False

        assert eventually(found)
        guest = Engine(tmp_path)
        try:
            guest.attach(["c-0"])
            assert {each.split("d")[0] for each in guest.search(query, vector, 40, None)} == {"c-0"}
        finally:
            guest.close()
    finally:
        engine.close()
