"""Tuning: finds the fusion and weights that suit judged questions best, by cross-validation, and proposes them.

Each leg is searched once per query; all configurations are then tried on these rankings in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ir_measures import nDCG
from numpy.typing import NDArray

from braid.core.errors import InvalidInputError
from braid.core.evaluation.beir import read_sets
from braid.core.evaluation.bootstrap import Bootstrap, Interval, Scores
from braid.core.evaluation.evaluation import drawn, scores_of
from braid.core.evaluation.judged_store import OnProgress, stored_sets
from braid.core.evaluation.tuning_rankings import DEPTH, Judged, collect
from braid.core.models.embeddings import EmbeddingModel
from braid.core.search import fusion
from braid.core.types import AUTO_DENSE_WEIGHT, Fusion, Leg

FOLDS = 5
STEPS = 10
"""Weights are tried in steps of 1/10."""
NDCG = nDCG @ 10
PLOTTED = {"rrf": "rrf, by dense_weight", "weighted": "weighted, by alpha"}


@dataclass(frozen=True, slots=True)
class Config:
    """A fusion with its weight: ``alpha`` in ``weighted``, ``dense_weight`` in ``rrf``, a constant in ``auto``."""

    fusion: Fusion
    dense_weight: float

    @property
    def settings(self) -> Mapping[str, str | float]:
        """The configuration as settings."""
        if self.fusion == "auto":
            return {"fusion": "auto"}
        return {"fusion": self.fusion, "alpha" if self.fusion == "weighted" else "dense_weight": self.dense_weight}

    def as_toml(self) -> str:
        """Return the settings as lines of braid.toml."""
        return "\n".join(
            f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value:g}"
            for name, value in self.settings.items()
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}"
            for name, value in self.settings.items()
        )


AUTO = Config("auto", AUTO_DENSE_WEIGHT)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A configuration's nDCG@10, and by how much it differs from the default's, query by query."""

    config: Config
    ndcg: Interval
    difference: Interval

    def as_json(self) -> dict[str, Any]:
        """Return the settings beside the figures."""
        return {**self.config.settings, "ndcg@10": asdict(self.ndcg), "difference": asdict(self.difference)}


@dataclass(frozen=True, slots=True)
class TuningReport:
    """All configurations, and the score to expect of the best one on questions that it was not chosen by."""

    default: Outcome
    best: Outcome
    outcomes: tuple[Outcome, ...]
    """All configurations with the default, best first. Figures are of the questions they are compared by."""
    expected: Interval
    """nDCG@10 of the chosen configuration on the questions that were left out (cross-validation)."""
    expected_difference: Interval
    queries: int
    sets: Mapping[str, Mapping[str, float]]
    """Set name → nDCG@10 of the ``default`` and of the ``best``."""
    degraded: tuple[str, ...] = ()
    """Reasons why searches were incomplete, each once; the figures are then useless."""

    @property
    def pays(self) -> bool:
        """Whether the best configuration is not the default and its gain is more than chance."""
        return self.expected_difference.low > 0 and self.best.config != self.default.config and not self.degraded

    @property
    def proposal(self) -> str:
        """Lines for braid.toml; empty when the default should stay."""
        return self.best.config.as_toml() if self.pays else ""

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "queries": self.queries,
            "default": self.default.as_json(),
            "best": self.best.as_json(),
            "cross_validated": {"ndcg@10": asdict(self.expected), "difference": asdict(self.expected_difference)},
            "proposal": dict(self.best.config.settings) if self.pays else None,
            "sets": {name: dict(figures) for name, figures in self.sets.items()},
            "outcomes": [outcome.as_json() for outcome in self.outcomes],
            "degraded": list(self.degraded),
        }


def tune(
    folders: Sequence[Path],
    *,
    scratch_dir: Path,
    embedding_model: str | EmbeddingModel,
    default: Config,
    each: bool = False,
    languages: tuple[str, ...] = ("en",),
    on_progress: OnProgress = lambda _: None,
) -> TuningReport:
    """Compare configurations with ``default`` on the judged folders; see `braid.core.evaluation.evaluation.evaluate`
    for the rest.

    Raises InvalidInputError for an error in a folder, and for too few judged queries.
    """
    with stored_sets(
        read_sets([Path(folder) for folder in folders]),
        scratch_dir=Path(scratch_dir),
        embedding_model=embedding_model,
        languages=languages,
        on_progress=on_progress,
    ) as stored:
        judged, degraded = collect(stored, each=each, on_progress=on_progress)
    return compare(judged, default=default, degraded=degraded)


# ---------------------------------------------------------------- comparing, in memory


def configurations(default: Config) -> list[Config]:
    """Return the configurations to try; the default comes first and so wins every tie."""
    weights = [step / STEPS for step in range(STEPS + 1)]
    grid = [Config("rrf", weight) for weight in weights] + [Config("weighted", weight) for weight in weights]
    return list(dict.fromkeys([default, AUTO, *grid]))


def fused_documents(judged: Judged, config: Config) -> list[str]:
    """Return the documents in the order of the fused list, as `braid.core.search.ranking.fuse` makes it."""
    both: Mapping[Leg, float] = {"dense": config.dense_weight, "bm25": 1.0 - config.dense_weight}
    weights = {leg: weight for leg, weight in both.items() if weight > 0}  # what weighs nothing finds nothing
    fused = fusion.add_contributions(_contributions(judged, config.fusion, leg, weights[leg]) for leg in weights)
    of_text: dict[str, list[str]] = {}
    ties = fusion.rrf_ties([(judged.rankings[leg], weight) for leg, weight in weights.items()])
    for hit in fusion.by_score_then_id(fused, ties):
        of_text.setdefault(judged.shown_as[hit.chunk_id], []).append(judged.documents[hit.chunk_id])
    return list(dict.fromkeys(document for documents in of_text.values() for document in documents))


def _contributions(judged: Judged, name: Fusion, leg: Leg, weight: float) -> dict[str, float]:
    ranking = judged.rankings[leg]
    if name == "auto":
        if leg == "dense":
            return fusion.dense_standout(ranking, weight, judged.spread)
        return fusion.bm25_standout(ranking, weight, DEPTH)
    return (fusion.min_max_contributions if name == "weighted" else fusion.rrf_contributions)(ranking, weight)


def ndcg_scores(judged: Sequence[Judged], config: Config) -> Scores:
    """Return nDCG@10 per query, (queries,)."""
    found = {str(n): fused_documents(query, config)[:10] for n, query in enumerate(judged)}
    scores = scores_of(found, {str(n): query.grades for n, query in enumerate(judged)}, {"ndcg@10": NDCG})
    return np.array([score["ndcg@10"] for score in scores.values()])


def compare(judged: Sequence[Judged], *, default: Config, degraded: tuple[str, ...] = ()) -> TuningReport:
    """Try every configuration on the collected rankings. Raises InvalidInputError for fewer than 10 queries."""
    if len(judged) < 2 * FOLDS:
        raise InvalidInputError(
            f"{len(judged)} judged queries are too few to tune on; give folders with at least {2 * FOLDS} in all"
        )
    configs = configurations(default)
    scores = np.stack([ndcg_scores(judged, config) for config in configs])
    names = list(dict.fromkeys(query.set_name for query in judged))
    groups = np.array([names.index(query.set_name) for query in judged])
    bootstrap = Bootstrap(groups.tolist())
    held_out = cross_validate(scores, folds_of(groups))
    outcomes = [
        Outcome(config, bootstrap.interval(row), bootstrap.interval(row - scores[0]))
        for config, row in zip(configs, scores, strict=True)
    ]
    best = choose(scores)
    return TuningReport(
        default=outcomes[0],
        best=outcomes[best],
        outcomes=tuple(sorted(outcomes, key=lambda outcome: -outcome.ndcg.mean)),
        expected=bootstrap.interval(held_out),
        expected_difference=bootstrap.interval(held_out - scores[0]),
        queries=len(judged),
        sets={
            name: {
                "default": float(scores[0, groups == number].mean()),
                "best": float(scores[best, groups == number].mean()),
            }
            for number, name in enumerate(names)
        },
        degraded=degraded,
    )


def choose(scores: Scores) -> int:
    """Return the row of (configurations, queries) with the highest mean; the first of equals."""
    return int(np.argmax(np.round(scores.mean(axis=1), 9)))


def folds_of(groups: NDArray[np.int64], seed: int = 0) -> NDArray[np.int64]:
    """Return a fold per query, dealt out in random order within each set."""
    random = np.random.default_rng(seed)
    folds = np.zeros(len(groups), dtype=np.int64)
    dealt = 0
    for group in np.unique(groups):
        members = random.permutation(np.flatnonzero(groups == group))
        folds[members] = (dealt + np.arange(len(members))) % FOLDS
        dealt += len(members)
    return folds


def cross_validate(scores: Scores, folds: NDArray[np.int64]) -> Scores:
    """Return each query's score under the configuration that the other folds choose, (queries,)."""
    held_out = np.zeros(scores.shape[1])
    for fold in np.unique(folds):
        here = folds == fold
        held_out[here] = scores[choose(scores[:, ~here]), here]
    return held_out


# ---------------------------------------------------------------- the figure


def plot(report: TuningReport, path: Path) -> None:
    """Draw nDCG@10 over the weight of the dense leg, with confidence intervals, into a png, svg or pdf file.

    Raises InvalidInputError when the file cannot be written.
    """
    with drawn(path, width=7.0, height=4.5) as axes:
        for name, label in PLOTTED.items():
            line = sorted((o for o in report.outcomes if o.config.fusion == name), key=lambda o: o.config.dense_weight)
            dense_weights = [outcome.config.dense_weight for outcome in line]
            axes.plot(dense_weights, [outcome.ndcg.mean for outcome in line], marker="o", label=label)
            low, high = ([getattr(outcome.ndcg, bound) for outcome in line] for bound in ("low", "high"))
            axes.fill_between(dense_weights, low, high, alpha=0.15)
        auto = next(outcome for outcome in report.outcomes if outcome.config == AUTO)
        axes.axhline(auto.ndcg.mean, color="gray", linestyle="--", label="auto")
        for name, outcome, marker in (("default", report.default, "s"), ("best", report.best, "*")):
            axes.plot(outcome.config.dense_weight, outcome.ndcg.mean, marker, markersize=12, color="black", label=name)
        axes.set_xlabel("weight of the dense leg (0: keywords, 1: meaning)")
        axes.set_ylabel(f"nDCG@10, {report.queries} queries")
        axes.grid(alpha=0.3)
        axes.legend()
