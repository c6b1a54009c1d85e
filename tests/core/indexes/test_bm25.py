"""The BM25 leg on real tantivy files."""

from __future__ import annotations

import gc
import math
import random
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.answers import BestScores
from braid.core.indexes.bm25 import FEW, Bm25Index, bm25_idf
from braid.core.ledger.change_log import IndexedChunk
from braid.core.priority import SearchPriority
from braid.core.search.fusion import pool, pooled_bm25_boosts
from braid.core.text.analyzer import Analyzer
from tests.damage import remove_in_use
from tests.worlds import eventually

ANALYZER = Analyzer()
WHERE = "user_1"


def chunk(chunk_id: str, text: str, *, dataset_id: int = 1, document_id: int = 1) -> IndexedChunk:
    return IndexedChunk(chunk_id, document_id, dataset_id, 1, text)


def chunks(*texts: str) -> list[IndexedChunk]:
    """With ids c0, c1 …"""
    return [chunk(f"c{number}", text) for number, text in enumerate(texts)]


def found(index: Bm25Index, query: str, k: int = 10, collection: str = WHERE) -> list[str]:
    terms = dict.fromkeys(ANALYZER.tokens(query), 1.0)
    return [hit.chunk_id for hit in index.search(collection, terms, k)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bm25"


@pytest.fixture
def index(folder: Path) -> Bm25Index:
    return Bm25Index(folder, ANALYZER)


class NoTurn(SearchPriority):
    """As it is while searches run without a pause: whoever waits for them waits."""

    def pieces(self, work: Iterable[Any]) -> Iterator[Any]:
        raise AssertionError(f"{len(list(work))} chunks wait for searches")


def test_a_few_chunks_do_not_wait_for_searches(folder: Path) -> None:
    """Somebody may be looking for what they have just put; many chunks hold up whoever searches."""
    index = Bm25Index(folder, ANALYZER, priority=NoTurn())
    index.apply(WHERE, chunks(*[f"valve {number}" for number in range(FEW)]), [])
    assert len(found(index, "valve", 50)) == FEW
    with pytest.raises(AssertionError, match=f"{FEW + 1} chunks wait for searches"):
        index.apply(WHERE, chunks(*[f"valve {number}" for number in range(FEW + 1)]), [])


# ---------------------------------------------------------------- scores


def bm25(frequency: int, length: int, average_length: float, documents: int, containing: int) -> float:
    """Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's idf."""
    idf = math.log(1 + (documents - containing + 0.5) / (containing + 0.5))
    return idf * frequency * (1.2 + 1) / (frequency + 1.2 * (1 - 0.75 + 0.75 * length / average_length))


def test_scores_are_bm25(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("cat dog", "cat cat bird fish", "tree"), [])
    average = (2 + 4 + 1) / 3
    hits = index.search(WHERE, {"cat": 1.0, "tree": 2.0, "nowhere": 1.0}, 10)
    assert {hit.chunk_id: hit.score for hit in hits} == pytest.approx(
        {
            "c0": bm25(1, 2, average, 3, 2),
            "c1": bm25(2, 4, average, 3, 2),
            "c2": 2.0 * bm25(1, 1, average, 3, 1),
        },
        rel=1e-5,
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_filters_select_and_leave_scores_alone(index: Bm25Index) -> None:
    index.apply(
        WHERE,
        [
            chunk("a", "cat one", dataset_id=1, document_id=1),
            chunk("b", "cat two", dataset_id=2, document_id=2),
            chunk("c", "cat three", dataset_id=-3, document_id=3),
            chunk("d", "dog", dataset_id=1, document_id=1),
        ],
        [],
    )
    whole = dict(index.search(WHERE, {"cat": 1.0}, 10))
    assert dict(index.search(WHERE, {"cat": 1.0}, 10, dataset_ids=[1, -3])) == {k: whole[k] for k in "ac"}
    assert dict(index.search(WHERE, {"cat": 1.0}, 10, document_ids=np.array([2]))) == {"b": whole["b"]}
    assert index.search(WHERE, {"cat": 1.0}, 10, dataset_ids=[1], document_ids=np.array([2])) == []
    assert index.search(WHERE, {"cat": 1.0}, 10, dataset_ids=[]) == []


def test_equal_scores_are_in_order_of_id(index: Bm25Index) -> None:
    index.apply(WHERE, [chunk("b", "cat"), chunk("c", "cat"), chunk("a", "cat")], [])
    assert found(index, "cat") == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(5))
def test_hits_that_others_are_better_than_are_not_named(index: Bm25Index, seed: int) -> None:
    dice, words = random.Random(seed), ["cat", "dog", "tree", "bird"]
    names, factors = [f"shared_{n}" for n in range(6)], [dice.uniform(0.5, 1.5) for _ in range(6)]
    for number, name in enumerate(names):
        index.apply(name, chunks(*(" ".join(dice.choices(words, k=dice.randint(1, 3))) for _ in range(30))), [])
        index.apply(name, [chunk(f"{number}:{n}", "cat cat") for n in range(3)], [])  # equal scores
    terms, best, k = {"cat": 1.0, "bird": 2.0}, BestScores(20), 20
    every = [index.search(name, terms, k, factor=factor) for name, factor in zip(names, factors, strict=True)]
    named = [
        index.search(name, terms, k, factor=factor, best=best) for name, factor in zip(names, factors, strict=True)
    ]
    assert pool(named, k) == pool(every, k)
    assert all(hits == all_hits[: len(hits)] for hits, all_hits in zip(named, every, strict=True))
    assert sum(map(len, named)) < 0.8 * sum(map(len, every))


def test_the_least_of_the_best_scores() -> None:
    best = BestScores(3)
    best.add([1.0, 5.0])
    assert best.least == -math.inf
    best.add([])
    best.add([3.0])
    assert best.least == 1.0
    best.add([4.0, 0.5])
    assert best.least == 3.0


@pytest.mark.parametrize(
    "names",
    [
        ["0" * 32, "f" * 32, "7" * 32, "8" + "0" * 31, "0123456789abcdef" * 2, "f" * 16 + "0" * 16],
        ["0" * 32, "F" * 32, "f" * 31, "f" * 33, "valve", "a b" * 10, "０" * 32],
    ],
    ids=["Braid's own", "those of other programs, too"],
)
def test_ids_come_back_as_they_were_given(index: Bm25Index, names: list[str]) -> None:
    index.apply(WHERE, [chunk(name, "cat") for name in names[:3]], [])
    index.apply(WHERE, [chunk(name, "cat") for name in names[3:]], [])
    assert found(index, "cat") == sorted(names)
    ids, count = index.containing(WHERE, ["cat"], 10, dataset_ids=[1])
    assert (sorted(ids), count) == (sorted(names), len(names))
    index.apply(WHERE, [], names[1:])
    assert found(index, "cat") == names[:1]


@pytest.mark.parametrize(("terms", "k"), [({}, 10), ({"cat": 1.0}, 0), ({"dog": 1.0}, 10)])
def test_nothing_is_found(index: Bm25Index, terms: dict[str, float], k: int) -> None:
    index.apply(WHERE, chunks("cat"), [])
    assert index.search(WHERE, terms, k) == []
    assert index.search("unknown", terms, k) == []


def test_k_cuts_and_may_be_larger_than_the_index(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("cat cat cat", "cat cat", "cat"), [])
    assert found(index, "cat", k=2) == ["c0", "c1"]
    assert found(index, "cat", k=1000) == ["c0", "c1", "c2"]


LANGUAGES = ("吾輩は猫である。名前はまだ無い。", "고양이가 매트 위에 앉았다", "A CAT sat", "getUserName()")


@pytest.mark.parametrize(
    ("query", "expected"),
    [("猫", "c0"), ("名前はまだ無い", "c0"), ("고양이", "c1"), ("cats", "c2"), ("get_user_name", "c3")],
)
def test_languages(index: Bm25Index, query: str, expected: str) -> None:
    index.apply(WHERE, chunks(*LANGUAGES), [])
    assert found(index, query) == [expected]


# ---------------------------------------------------------------- changes


def test_an_upsert_replaces_and_a_delete_removes(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("cat", "dog"), [])
    index.apply(WHERE, [chunk("c0", "bird")], ["c1", "never there"])
    assert (found(index, "cat"), found(index, "dog"), found(index, "bird")) == ([], [], ["c0"])
    assert index.count(WHERE) == 1


def test_applying_twice_is_harmless(index: Bm25Index) -> None:
    for _ in range(2):
        index.apply(WHERE, chunks("cat", "dog"), ["gone"])
    assert index.count(WHERE) == 2
    assert sorted(index.ids(WHERE)) == ["c0", "c1"]
    assert index.check(WHERE) == ""


def test_what_was_applied_outlives_the_process(index: Bm25Index, folder: Path) -> None:
    index.apply(WHERE, chunks(*(f"cat {n % 7} word{n}" for n in range(50))), [])
    before = index.search(WHERE, {"cat": 1.0, "3": 1.0}, 50)
    index.close()
    assert Bm25Index(folder, ANALYZER).search(WHERE, {"cat": 1.0, "3": 1.0}, 50) == before


def test_collections_are_apart(index: Bm25Index) -> None:
    index.apply("user_1", chunks("cat"), [])
    index.apply("shared_a", chunks("dog", "dog"), [])
    assert index.collections() == ["shared_a", "user_1"]
    index.drop("shared_a")
    assert (index.collections(), index.count("shared_a"), index.count("user_1")) == (["user_1"], 0, 1)
    assert list(index.ids("shared_a")) == []
    assert index.check("shared_a") == ""
    index.apply("shared_a", chunks("bird"), [])
    assert found(index, "bird dog", collection="shared_a") == ["c0"]


def test_more_collections_than_may_be_open(folder: Path) -> None:
    index = Bm25Index(folder, ANALYZER, max_open_collections=2)
    for number in range(5):
        index.apply(f"user_{number}", chunks(f"cat word{number}"), [])
    for number in [*range(5), *range(5)]:
        assert found(index, f"word{number}", collection=f"user_{number}") == ["c0"]


def test_searches_go_on_while_changes_are_applied(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("cat", "cat"), [])
    stop, failures = threading.Event(), list[object]()

    def search() -> None:
        while not stop.is_set():
            hits = found(index, "cat")
            if not {"c0"} <= set(hits) <= {"c0", "c1", "c2"}:
                failures.append(hits)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(8):
        index.apply(WHERE, [chunk("c2", f"cat {number}")], ["c1"])
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


# ---------------------------------------------------------------- statistics


def test_statistics(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("cat dog", "cat", "bird bird bird"), [])
    statistics = index.statistics(WHERE, ["cat", "bird", "fish"])
    assert statistics.documents == 3
    assert statistics.average_length == (2 + 1 + 3) / 3
    assert statistics.document_frequency == {"cat": 2, "bird": 1, "fish": 0}
    nothing = index.statistics("unknown", ["cat"])
    assert (nothing.documents, nothing.average_length, nothing.document_frequency) == (0, 0.0, {})


@pytest.mark.parametrize("left", ["cat", "🎉", "🎉 !", ""])
def test_statistics_agree_with_each_other_after_deletions(index: Bm25Index, left: str) -> None:
    """tantivy counts deleted documents until a merge; with a smaller total an idf would turn negative."""
    dead = chunks(*(f"cat {' '.join(f'word{n}' for n in range(80))}" for _ in range(20)))
    kept = [chunk(f"k{n}", left) for n in range(12)]
    index.apply(WHERE, [*kept, *dead], [])
    index.apply(WHERE, [chunk("last", "cat")], [c.id for c in dead])
    statistics = index.statistics(WHERE, ["cat", "word1"])
    assert statistics.documents >= max(statistics.document_frequency.values())
    assert statistics.average_length > 0
    ((weights, factor),) = pooled_bm25_boosts({WHERE: statistics}, {"cat": 1.0}).values()
    assert weights == {"cat": pytest.approx(1.0)}
    assert factor == pytest.approx(1.0)


def search_pooled(index: Bm25Index, collections: Iterable[str], query: str) -> list[tuple[str, float]]:
    terms = dict.fromkeys(ANALYZER.tokens(query), 1.0)
    boosts = pooled_bm25_boosts({name: index.statistics(name, terms) for name in collections}, terms)
    hits = [
        (hit.chunk_id, factor * hit.score)
        for name, (weights, factor) in boosts.items()
        for hit in index.search(name, weights, 1000)
    ]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_pooled_scores_are_those_of_one_merged_index(index: Bm25Index) -> None:
    """Exactly so for passages of equal length."""
    numbers = random.Random(7)
    words = ["cat", "dog", "bird", "fish", "tree", "rock", "sand", "lake", "moon", "star", "wind", "rain", "snow"]
    everything = []
    for name, vocabulary, size in (("one", words[:8], 40), ("two", words[5:], 15), ("three", words, 3)):
        made = [chunk(f"{name}{n:03}", " ".join(numbers.choices(vocabulary, k=12))) for n in range(size)]
        index.apply(name, made, [])
        everything += made
    index.apply("merged", everything, [])
    for query in ("cat sand snow", "rock", "snow rain cat"):
        merged = index.search("merged", dict.fromkeys(ANALYZER.tokens(query), 1.0), 1000)
        pooled = search_pooled(index, ["one", "two", "three"], query)
        assert dict(pooled) == pytest.approx(dict(merged), rel=1e-4)
        assert [round(score, 3) for _, score in pooled] == [round(hit.score, 3) for hit in merged]


def test_a_word_common_in_one_collection_and_rare_in_all(index: Bm25Index) -> None:
    """Alone, the small collection would take "cat" for worthless; pooled, its passages come first."""
    index.apply("cats", chunks("cat one", "cat two", "cat three"), [])
    index.apply("rest", [chunk(f"r{n}", f"dog word{n}") for n in range(60)], [])
    statistics = {name: index.statistics(name, ["cat", "dog"]) for name in ("cats", "rest")}
    boosts = pooled_bm25_boosts(statistics, {"cat": 1.0, "dog": 1.0})
    assert boosts["cats"][0]["cat"] * bm25_idf(3, 3) == pytest.approx(bm25_idf(63, 3))
    assert [hit[0] for hit in search_pooled(index, ["cats", "rest"], "cat dog")[:3]] == ["c0", "c1", "c2"]


# ---------------------------------------------------------------- damage


def test_passages_without_words_are_kept_and_never_found(index: Bm25Index) -> None:
    index.apply(WHERE, chunks("🎉🎉", "!?", "", "cat"), [])
    assert sorted(index.ids(WHERE)) == ["c0", "c1", "c2", "c3"]
    assert index.check(WHERE) == ""
    assert found(index, "cat") == ["c3"]


@pytest.mark.parametrize("opened_before", [True, False])
def test_an_overwritten_table_of_contents_is_named(index: Bm25Index, folder: Path, opened_before: bool) -> None:
    index.apply(WHERE, chunks("cat"), [])
    if opened_before:
        assert found(index, "cat") == ["c0"]
    (folder / WHERE / "meta.json").write_text("{")
    with pytest.raises(IndexUnavailableError) as caught:
        found(index, "cat")
    assert str(caught.value) == "the keyword index of user_1 cannot be used; it is being checked"
    assert "Data corrupted" in caught.value.inner, "what tantivy says is for the log"
    with pytest.raises(IndexUnavailableError, match="user_1"):
        index.apply(WHERE, chunks("dog"), [])
    assert "user_1" in index.check(WHERE)


def test_overwritten_contents_are_named(index: Bm25Index, folder: Path) -> None:
    index.apply(WHERE, chunks(*(f"cat {n}" for n in range(100))), [])
    for path in (folder / WHERE).iterdir():
        if path.suffix in (".store", ".term", ".idx"):
            path.write_bytes(b"\xff" * path.stat().st_size)
    assert "user_1" in index.check(WHERE)


def put_a_file_in_its_place(place: Path) -> None:
    remove_in_use(place)
    place.write_text("a file")


def test_what_a_killed_commit_left_is_in_nobodys_way(index: Bm25Index, folder: Path, tmp_path: Path) -> None:
    index.apply(WHERE, chunks("red", "green", "blue"), [])
    before, killed = folder / WHERE, tmp_path / "killed"
    shutil.copytree(folder, killed)
    Bm25Index(killed, ANALYZER).apply(WHERE, [], ["c1"])
    (left,) = (path for path in (killed / WHERE).glob("*.del") if not (before / path.name).exists())
    shutil.copy(left, before)
    shutil.copy(killed / WHERE / ".managed.json", before)  # tantivy notes a file before it writes it

    index.apply(WHERE, [], ["c1"])

    assert found(index, "green") == []
    assert found(index, "blue") == ["c2"]


@pytest.mark.parametrize("remove", [remove_in_use, put_a_file_in_its_place])
def test_a_removed_folder_is_named(index: Bm25Index, folder: Path, remove: Callable[[Path], None]) -> None:
    index.apply(WHERE, chunks("cat"), [])
    assert found(index, "cat") == ["c0"]
    remove(folder / WHERE)
    with pytest.raises(IndexUnavailableError, match="of user_1 was removed from disk"):
        found(index, "cat")
    with pytest.raises(IndexUnavailableError, match="of user_1 was removed from disk"):
        index.statistics(WHERE, ["cat"])
    assert "removed" in index.check(WHERE)


def test_a_removed_folder_is_named_when_the_index_was_closed_meanwhile(
    folder: Path,
) -> None:
    index = Bm25Index(folder, ANALYZER, unused_s=-1.0)
    index.apply(WHERE, chunks("cat"), [])
    assert found(index, "cat") == ["c0"]
    index.rest()
    assert not index.is_gone(WHERE)
    remove_in_use(folder)
    with pytest.raises(IndexUnavailableError, match="of user_1 was removed from disk"):
        found(index, "cat")
    assert index.is_gone(WHERE)
    index.drop(WHERE)
    assert not index.is_gone(WHERE)
    assert found(index, "cat") == []


def overwrite_contents(place: Path) -> None:
    (place / "meta.json").write_text("nonsense")


@pytest.mark.parametrize("damage", [overwrite_contents, remove_in_use, put_a_file_in_its_place])
def test_a_damaged_collection_can_be_dropped_and_made_anew(
    index: Bm25Index, folder: Path, damage: Callable[[Path], None]
) -> None:
    index.apply(WHERE, chunks("cat", "dog"), [])
    damage(folder / WHERE)
    index.drop(WHERE)
    index.apply(WHERE, chunks("bird"), [])
    assert list(index.ids(WHERE)) == ["c0"]
    assert found(index, "bird") == ["c0"]


def put_in_place(file: Path, content: bytes) -> None:
    """Write another file of this name: where one is cut that a process has mapped, a look at its end kills that one."""
    file.unlink()
    file.write_bytes(content)


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 20] ^= 4  # before the checksum, of which a file of few bytes mostly consists
    put_in_place(file, content)


def cut_it(file: Path) -> None:
    put_in_place(file, file.read_bytes()[:-30])


def empty_it(file: Path) -> None:
    put_in_place(file, b"")


@pytest.mark.parametrize("ending", ["idx", "pos", "term", "store", "fast", "fieldnorm", "del", "json"])
@pytest.mark.parametrize("damage", [flip_a_bit, cut_it, empty_it, Path.unlink])
def test_damage_to_each_kind_of_file_is_seen(folder: Path, ending: str, damage: Callable[[Path], None]) -> None:
    index = Bm25Index(folder, ANALYZER)
    index.apply(WHERE, chunks("cat", "dog", *(f"word{number} of many" for number in range(50))), [])
    index.apply(WHERE, [], ["c1"])
    assert index.check(WHERE) == ""
    damaged = folder / WHERE / "meta.json" if ending == "json" else next((folder / WHERE).glob(f"*.{ending}"))
    damage(damaged)
    index = Bm25Index(folder, ANALYZER)
    if (ending, damage) == ("json", Path.unlink):
        with suppress(IndexUnavailableError):  # an index that nobody has opened is one that was never written
            assert list(index.ids(WHERE)) == []
        return
    assert index.check(WHERE)
    index.drop(WHERE)
    index.apply(WHERE, chunks("bird"), [])
    assert index.check(WHERE) == ""
    assert found(index, "bird") == ["c0"]


@pytest.mark.parametrize("contents", [b"{}", b"[]", b'{"segments": 3}', b'{"segments": [{}]}', b'{"segments": [[]]}'])
def test_a_table_of_contents_of_another_form_is_damage(folder: Path, contents: bytes) -> None:
    Bm25Index(folder, ANALYZER).apply(WHERE, chunks("cat", "dog"), [])
    (folder / WHERE / "meta.json").write_bytes(contents)
    assert Bm25Index(folder, ANALYZER).check(WHERE)


def test_a_table_of_contents_that_says_something_else_is_damage(folder: Path) -> None:
    index = Bm25Index(folder, ANALYZER)
    index.apply(WHERE, chunks("cat", "dog"), [])
    contents = folder / WHERE / "meta.json"
    sound = contents.read_text()
    contents.write_text(re.sub('"max_doc": *2', '"max_doc": 3', sound))
    assert contents.read_text() != sound
    assert "1 files of the keyword index" in Bm25Index(folder, ANALYZER).check(WHERE)
    contents.write_text(sound)
    assert Bm25Index(folder, ANALYZER).check(WHERE) == ""


@pytest.mark.parametrize("note", [None, "", "0 0"], ids=["none", "cut", "of the commit before"])
def test_a_table_of_contents_whose_checksum_was_not_noted_is_sound(folder: Path, note: str | None) -> None:
    Bm25Index(folder, ANALYZER).apply(WHERE, chunks("cat", "dog"), [])
    [noted] = (folder / WHERE).glob("meta.checksum")
    noted.unlink() if note is None else noted.write_text(note)
    assert Bm25Index(folder, ANALYZER).check(WHERE) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_an_index_that_nobody_searches_is_closed_with_its_thread(folder: Path) -> None:
    index, hasty = Bm25Index(folder, ANALYZER), Bm25Index(folder, ANALYZER, unused_s=0.0)
    for number in range(5):
        index.apply(f"user_{number}", chunks("a pump"), [])

    def opened_by(each: Bm25Index) -> set[str]:
        before = _threads()
        for number in range(5):
            assert found(each, "pump", collection=f"user_{number}") == ["c0"]
        return _threads() - before

    def of_tantivy(threads: set[str]) -> set[str]:
        """Return those of the threads that say so; one says it a moment after it has begun."""
        return {each for each in threads & _threads() if _name(each).startswith("thread-tantivy")}

    kept, closed = opened_by(index), opened_by(hasty)
    # Those of collections that were closed before all were open may have ended already.
    kept, closed = eventually(lambda: of_tantivy(kept)), eventually(lambda: of_tantivy(closed))
    index.rest()
    hasty.rest()
    eventually(lambda: not closed & _threads())
    assert kept <= _threads(), "they were used a moment ago"
    assert found(hasty, "pump") == ["c0"]


def _threads() -> set[str]:
    """Return the threads of this process, of which each open index has some: they end half a second after it."""
    gc.collect()
    return {task.name for task in Path("/proc/self/task").iterdir()}


def _name(thread: str) -> str:
    with suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
        return Path("/proc/self/task", thread, "comm").read_text()
    return ""


@pytest.mark.parametrize("beginning", ["calib", "kalib", "cailb", "callib", "clib", "cxalib", "calixb", "çalib"])
def test_a_beginning_that_is_one_letter_away_is_found(index: Bm25Index, beginning: str) -> None:
    index.apply(WHERE, [chunk("near", "calibration"), chunk("other", "colour"), chunk("later", "recalibrate")], [])
    assert index.beginning_like(WHERE, beginning, 10, dataset_ids=[1]) == ["near"]
    assert index.beginning_like(WHERE, beginning, 10, dataset_ids=[2]) == []


@pytest.mark.parametrize(
    ("beginning", "is_near"),
    [
        ("calbi", True),
        ("cal.b", True),
        ("(calib", True),
        ("kalip", False),
        ("cl.b", False),
        (".*", False),
        ("[a-z]|", False),
    ],
)
def test_no_sign_stands_for_others(index: Bm25Index, beginning: str, is_near: bool) -> None:
    index.apply(WHERE, [chunk("near", "calibration")], [])
    assert index.beginning_like(WHERE, beginning, 10, dataset_ids=[1]) == ["near"] * is_near


@pytest.mark.parametrize("length", [12, 13, 40])
def test_of_a_long_beginning_the_first_letters_are_compared(index: Bm25Index, length: int) -> None:
    word = "internationalisierungsbestrebungenvorhaben"
    index.apply(WHERE, [chunk("long", word)], [])
    assert index.beginning_like(WHERE, f"intrenational{word[13:]}"[:length], 10, dataset_ids=[1]) == ["long"]
