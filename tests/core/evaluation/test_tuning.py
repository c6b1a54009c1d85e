"""`braid.core.evaluation.tuning`: figures computed by hand, the search engine as oracle, and the command."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from braid.config.settings import load_settings
from braid.core.errors import InvalidInputError
from braid.core.evaluation.beir import read_sets
from braid.core.evaluation.bootstrap import Bootstrap, Interval
from braid.core.evaluation.judged_store import stored_sets
from braid.core.evaluation.tuning import (
    AUTO,
    FOLDS,
    Config,
    TuningReport,
    choose,
    compare,
    configurations,
    cross_validate,
    folds_of,
    fused_documents,
    ndcg_scores,
    plot,
    tune,
)
from braid.core.evaluation.tuning_rankings import Judged, collect
from braid.core.types import Leg, Query, ScoredChunk
from tests.command_line import invoke
from tests.core.evaluation.test_evaluation import write_set
from tests.fakes import HashEmbeddings

RRF = Config("rrf", 0.5)
ANIMALS = {
    "mat": "the cat sat on the mat",
    "gate": "a cat and a dog met at the gate",
    "night": "dogs bark at night when strangers pass",
    "sleep": "the old dog slept all day and the cat slept too",
    "library": "no dog may enter the library",
    "mat again": "the cat sat on the mat",
}
QUESTIONS = {f"q{n}": text for n, text in enumerate(["cat mat", "dog", "dog library", "cat slept", "night"] * 2)}
JUDGEMENTS = [(query_id, document, 1) for query_id in QUESTIONS for document in ("mat", "library", "sleep")]


def judged(dense: Sequence[tuple[str, float]], bm25: Sequence[tuple[str, float]], **grades: int) -> Judged:
    """A query whose hits are documents of the same name."""
    rankings: dict[Leg, tuple[ScoredChunk, ...]] = {
        "dense": tuple(ScoredChunk(*hit) for hit in dense),
        "bm25": tuple(ScoredChunk(*hit) for hit in bm25),
    }
    names = {name for ranking in rankings.values() for name, _ in ranking}
    documents = {name: name for name in names}
    return Judged("set", "q", rankings, documents, documents, grades)


# ---------------------------------------------------------------- fusing in memory


def test_rrf_by_hand() -> None:
    query = judged([("x", 0.9), ("y", 0.8)], [("y", 7.0), ("z", 3.0)])
    # x: w/61, y: w/62 + (1-w)/61, z: (1-w)/62
    assert fused_documents(query, RRF) == ["y", "x", "z"]
    assert fused_documents(query, Config("rrf", 0.0)) == ["y", "z"]
    assert fused_documents(query, Config("rrf", 1.0)) == ["x", "y"]


def test_weighted_by_hand() -> None:
    query = judged([("x", 0.9), ("y", 0.8), ("w", 0.5)], [("z", 7.0), ("y", 6.0), ("v", 3.0)])
    # x: a, y: 0.75a + 0.75(1-a) = 0.75, z: 1-a
    assert fused_documents(query, Config("weighted", 0.5)) == ["y", "x", "z", "v", "w"]
    assert fused_documents(query, Config("weighted", 0.8))[:3] == ["x", "y", "z"]
    assert fused_documents(query, Config("weighted", 0.2))[:3] == ["z", "y", "x"]


def test_other_places_of_a_text_follow_it() -> None:
    query = judged([("x", 0.9), ("y", 0.5), ("x too", 0.1)], [])
    query = replace(query, shown_as={"x": "x", "y": "y", "x too": "x"})
    assert fused_documents(query, RRF) == ["x", "x too", "y"]


def test_ndcg_by_hand() -> None:
    first = judged([("good", 0.9), ("bad", 0.8)], [], good=1)
    second = judged([("bad", 0.9), ("good", 0.8), ("best", 0.7)], [], good=1, best=2)
    nothing = judged([], [], good=1)
    eleventh = judged([(f"d{n:02}", 1 - n / 100) for n in range(11)], [], d10=1)
    scores = ndcg_scores([first, second, nothing, eleventh], Config("rrf", 1.0))
    ideal = 2 + 1 / log2(3)
    assert scores == pytest.approx([1.0, (1 / log2(3) + 2 / log2(4)) / ideal, 0.0, 0.0])


# ---------------------------------------------------------------- choosing


def test_what_is_tried() -> None:
    tried = configurations(RRF)
    assert tried[0] == RRF
    assert AUTO in tried
    assert len(tried) == len(set(tried)) == 23
    assert configurations(Config("weighted", 0.55))[0] == Config("weighted", 0.55)
    assert len(configurations(Config("weighted", 0.55))) == 24


def test_the_first_of_equals_is_chosen() -> None:
    assert choose(np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.2]])) == 0
    assert choose(np.array([[0.5, 0.5], [1.0, 0.1], [0.2, 0.2]])) == 1


def test_folds_have_equal_parts_of_each_set() -> None:
    groups = np.array([0] * 10 + [1] * 15)
    folds = folds_of(groups)
    assert [np.bincount(folds[groups == group], minlength=FOLDS).tolist() for group in (0, 1)] == [[2] * 5, [3] * 5]
    assert folds.tolist() == folds_of(groups).tolist()


def test_a_query_is_scored_by_what_the_other_folds_choose() -> None:
    scores = np.array([[0.4, 0.4, 0.4], [1.0, 0.0, 0.0], [0.0, 0.6, 0.6]])
    # without the first: row 2 (0.6); without the second: row 1 (0.5); without the third: row 1
    assert cross_validate(scores, np.array([0, 1, 2])).tolist() == [0.0, 0.0, 0.0]


# ---------------------------------------------------------------- intervals


def test_equal_scores_leave_no_doubt() -> None:
    assert Bootstrap([0, 0, 0]).interval(np.array([0.25, 0.25, 0.25])) == Interval(0.25, 0.25, 0.25)


def test_two_queries_may_both_be_either() -> None:
    assert Bootstrap([0, 0]).interval(np.array([0.0, 1.0])) == Interval(0.5, 0.0, 1.0)


def test_queries_are_drawn_within_their_set() -> None:
    # each set has equal scores, so every resample has the same mean
    interval = Bootstrap([0, 0, 1, 1]).interval(np.array([0.0, 0.0, 1.0, 1.0]))
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.5, 0.5, 0.5))


def test_the_interval_is_that_of_the_normal_approximation() -> None:
    scores = np.array([0.0, 1.0] * 200)
    interval = Bootstrap([0] * 400).interval(scores)
    half = 1.96 * 0.5 / 20  # standard error: 0.5 / sqrt(400)
    assert (interval.low, interval.high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.005)


# ---------------------------------------------------------------- the report


def a_report(better_by_keyword: int, better_by_meaning: int) -> TuningReport:
    keyword = judged([("bad", 0.9), ("good", 0.8)], [("good", 7.0), ("bad", 3.0)], good=1)
    meaning = judged([("good", 0.9), ("bad", 0.8)], [("bad", 7.0), ("good", 3.0)], good=1)
    return compare([keyword] * better_by_keyword + [meaning] * better_by_meaning, default=Config("rrf", 1.0))


def test_a_clear_gain_is_proposed() -> None:
    report = a_report(20, 0)
    assert report.default.ndcg.mean == pytest.approx(1 / log2(3))
    assert report.best.ndcg == Interval(1.0, 1.0, 1.0)
    assert report.expected_difference.low == pytest.approx(1 - 1 / log2(3))
    assert report.pays
    assert tomllib.loads(report.proposal) == report.best.config.settings
    assert report.sets == {"set": {"default": pytest.approx(1 / log2(3)), "best": 1.0}}


def test_without_a_gain_the_default_is_kept() -> None:
    report = a_report(0, 20)
    assert report.best.config == Config("rrf", 1.0)
    assert (report.pays, report.proposal) == (False, "")


def test_a_gain_that_may_be_chance_is_not_proposed() -> None:
    report = a_report(11, 9)
    assert report.best.difference.mean > 0
    assert report.expected_difference.low < 0
    assert report.proposal == ""


def test_nothing_is_proposed_from_searches_that_lacked_a_part() -> None:
    query = judged([("bad", 0.9), ("good", 0.8)], [("good", 7.0), ("bad", 3.0)], good=1)
    report = compare([query] * 20, default=Config("rrf", 1.0), degraded=("dense: broken",))
    assert report.proposal == ""


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="9 judged queries are too few"):
        compare([judged([("x", 1.0)], [], x=1)] * 9, default=RRF)


@pytest.mark.parametrize("config", [Config("weighted", 0.4), Config("rrf", 0.3), Config("rrf", 1.0), AUTO])
def test_a_proposal_is_a_settings_file(tmp_path: Path, config: Config) -> None:
    (tmp_path / "braid.toml").write_text(config.as_toml())
    settings = load_settings({}, tmp_path / "braid.toml")
    shares = {"weighted": settings.alpha, "rrf": settings.dense_weight, "auto": AUTO.dense_weight}
    assert (settings.fusion, shares[settings.fusion]) == (config.fusion, config.dense_weight)


# ---------------------------------------------------------------- with the real search


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    return write_set(tmp_path / "animals", ANIMALS, QUESTIONS, JUDGEMENTS)


def test_every_configuration_ranks_as_the_search_does(tmp_path: Path, animals: Path) -> None:
    model = HashEmbeddings()
    sets = read_sets([animals])
    with stored_sets(sets, scratch_dir=tmp_path / "scratch", embedding_model=model) as stored:
        queries, degraded = collect(stored, each=True, on_progress=lambda _: None)
        assert degraded == ()
        asked = model.queries_embedded
        for config in configurations(RRF):
            for query in queries[:5]:
                result = stored.braid.manager.search(
                    QUESTIONS[query.query_id], user_id=None, dataset_ids=stored.dataset_ids(), k=10, **config.settings
                )
                shown = [p.source for hit in result.hits for p in (hit.passage, *hit.also_in)]
                assert [document.removeprefix("animals/") for document in fused_documents(query, config)] == shown
    assert asked == 2 * len(QUESTIONS), "each query is embedded once for the dense leg and once for its spread"


def test_tune_tells_its_progress_and_is_repeatable(tmp_path: Path, animals: Path) -> None:
    told = []
    arguments: dict[str, Any] = {
        "scratch_dir": tmp_path / "scratch",
        "embedding_model": HashEmbeddings(),
        "default": RRF,
    }
    first = tune([animals], **arguments, on_progress=told.append)
    second = tune([animals], **arguments)
    assert first == second
    assert (told[-1].stage, told[-1].done, told[-1].total) == ("search", 10, 10)
    assert first.queries == 10


def test_a_plot_is_written(tmp_path: Path) -> None:
    report = a_report(20, 5)
    plot(report, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInputError, match="cannot be written"):
        plot(report, tmp_path / "plot.nonsense")


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), True, "0.5", None])
def test_a_wrong_weight_is_refused(weight: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"must be from 0\.0 to 1\.0") as refused:
        Query("cat", dense_weight=weight)
    assert refused.value.field == "dense_weight"


# ---------------------------------------------------------------- the command


def run(tmp_path: Path, *arguments: str) -> Result:
    return invoke(tmp_path, "tune", *arguments)


def test_the_command_proposes_and_changes_nothing(
    tmp_path: Path, animals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "braid.toml").write_text('fusion = "weighted"\nalpha = 1.0\n')

    told = run(tmp_path, str(animals), "--each", "--plot", str(tmp_path / "plot.svg"))
    plain = run(tmp_path, str(animals), "--json")

    assert (told.exit_code, plain.exit_code) == (0, 0), told.stderr + plain.stderr
    assert "Default: fusion weighted, alpha 1." in told.stdout
    assert ("Proposed for braid.toml" in told.stdout) != ("Keep the default" in told.stdout)
    assert (tmp_path / "plot.svg").exists()
    report = json.loads(plain.stdout)
    assert report["default"]["alpha"] == 1.0
    assert report["queries"] == 10
    assert len(report["outcomes"]) == 23
    assert (tmp_path / "braid.toml").read_text() == 'fusion = "weighted"\nalpha = 1.0\n'


def test_a_folder_of_another_kind_is_wrong_use(tmp_path: Path) -> None:
    refused = run(tmp_path, str(tmp_path))
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: there is no corpus.jsonl")
