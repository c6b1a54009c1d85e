"""Search quality and speed on judged sets: nDCG@10, recall, reciprocal rank, milliseconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import RR, Measure, Qrel, R, ScoredDoc, nDCG

from braid.core.errors import InvalidInputError
from braid.core.evaluation.beir import JudgedSet, read_sets
from braid.core.evaluation.judged_store import EvaluationProgress, OnProgress, StoredSets, stored_sets
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel, embed_query
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.types import LEGS_OF_MODE, Occurrence, Passage, SearchOptions, SearchResult

__all__ = ["EvaluationProgress", "EvaluationReport", "evaluate", "measure", "plot"]

MEASURES: Mapping[str, Measure] = {
    "ndcg@10": nDCG @ 10,
    "recall@10": R @ 10,
    "recall@100": R @ 100,
    "mrr@10": RR @ 10,
}
DEPTH = 100
"""Hits per query, as many as the deepest measure needs."""
TIMED_EMBEDDINGS = 30


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Figures by name, per set and, in ``all``, over all queries.

    ``p50_ms`` and ``p95_ms`` include the embedding of the query by the real model, ``p50_ms_search`` does not. Where
    vectors.npz has the queries' vectors, the first two are of up to 30 queries per set, whose embedding is timed
    separately and added.
    """

    sets: Mapping[str, Mapping[str, float]]
    all: Mapping[str, float]
    degraded: tuple[str, ...] = ()
    """Reasons why answers were incomplete, each once; the figures are then too low."""
    ndcg: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """nDCG@10 of each query by set, in the order of its queries."""

    def as_json(self) -> dict[str, Any]:
        """Return ``{"sets": {folder: {figure: value}}, "all": {figure: value}}``."""
        return {"sets": {name: dict(figures) for name, figures in self.sets.items()}, "all": dict(self.all)}


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to one query. ``embed_ms`` is None when the real model did not embed the query."""

    found: tuple[str, ...]
    search_ms: float
    embed_ms: float | None
    degraded: tuple[str, ...]


def evaluate(
    folders: Sequence[Path],
    *,
    scratch_dir: Path,
    embedding_model: str | EmbeddingModel,
    each: bool,
    strategy: str = "basic",
    options: Mapping[str, Any] | None = None,
    languages: tuple[str, ...] = ("en",),
    on_progress: OnProgress = lambda _: None,
    rerankers: Rerankers | None = None,
    models: ChatModels | None = None,
    prompts: Prompts | None = None,
) -> EvaluationReport:
    """Search for every judged query of these folders in BEIR layout, in ``scratch_dir``, which is kept and reused.

    With ``each`` a query searches the collections of its own folder, otherwise those of all folders at once.
    ``options`` are the fields of `braid.core.types.SearchOptions`; each query asks for at least 100 hits.
    Raises InvalidInputError for an error in a folder or an option.

    >>> report = evaluate([judged_dir], scratch_dir=data_dir, embedding_model=model, each=True)
    >>> report.all["recall@10"]
    1.0
    """
    options = dict(options or {})
    mode = SearchOptions().changed(options).mode
    sets = read_sets([Path(folder) for folder in folders])
    with stored_sets(
        sets,
        scratch_dir=Path(scratch_dir),
        embedding_model=embedding_model,
        legs=LEGS_OF_MODE[mode],
        languages=languages,
        on_progress=on_progress,
        rerankers=rerankers,
        models=models,
        prompts=prompts,
    ) as stored:
        return measure(stored, each=each, strategy=strategy, options=options, on_progress=on_progress)


def measure(
    stored: StoredSets,
    *,
    each: bool,
    strategy: str = "basic",
    options: Mapping[str, Any] | None = None,
    timed_embeddings: int = TIMED_EMBEDDINGS,
    on_progress: OnProgress = lambda _: None,
) -> EvaluationReport:
    """Measure sets that are stored already; see `evaluate`.

    Where vectors.npz has the queries' vectors, ``timed_embeddings`` queries per set (at least one) are embedded to take
    the time.
    """
    checked = SearchOptions().changed(options or {})
    options = {**(options or {}), "k": max(DEPTH, checked.k)}
    everywhere = stored.dataset_ids()
    if "dense" in LEGS_OF_MODE[checked.mode]:
        embed_query(stored.model, "the first call loads the model")
    answers: dict[str, dict[str, _Answer]] = {}
    for judged in stored.sets:
        dataset_ids = list(stored.datasets[judged.name]) if each else everywhere
        arguments = {"user_id": None, "dataset_ids": dataset_ids, "strategy": strategy, **options}
        answers[judged.name] = _answer_set(stored, judged, arguments, timed_embeddings, on_progress)
    return _report(stored.sets, answers)


# ---------------------------------------------------------------- searching


def _answer_set(
    stored: StoredSets,
    judged: JudgedSet,
    arguments: Mapping[str, Any],
    timed_embeddings: int,
    on_progress: OnProgress,
) -> dict[str, _Answer]:
    set_of = {dataset_id: name for name, ids in stored.datasets.items() for dataset_id in ids}
    answers: dict[str, _Answer] = {}
    for number, (query_id, text) in enumerate(judged.queries.items(), start=1):
        result = stored.braid.manager.search(text, **arguments)
        embed_ms: float | None = result.timings_ms.get("embed", 0.0)
        search_ms = result.timings_ms["total"] - (embed_ms or 0.0)
        if text in stored.known_queries and "dense" in LEGS_OF_MODE[result.query.mode]:
            embed_ms = _embedding_ms(stored.model, text) if number <= timed_embeddings else None
        reasons = tuple(f"{part.leg} {part.collection}: {part.reason}" for part in result.degraded)
        answers[query_id] = _Answer(_ranked_documents(result, set_of), search_ms, embed_ms, reasons)
        on_progress(EvaluationProgress("search", judged.name, number, len(judged.queries)))
    return answers


def _ranked_documents(result: SearchResult, set_of: Mapping[int, str]) -> tuple[str, ...]:
    """Return ``set/document`` in the order of the hits; other occurrences of an equal text follow directly."""
    occurrences: list[Passage | Occurrence] = []
    for hit in result.hits:
        occurrences += [hit.passage, *hit.also_in]
    return tuple(dict.fromkeys(f"{set_of[occurrence.dataset_id]}/{occurrence.source}" for occurrence in occurrences))


def _embedding_ms(model: EmbeddingModel, text: str) -> float:
    started = time.perf_counter()
    embed_query(model, text)
    return 1000 * (time.perf_counter() - started)


# ---------------------------------------------------------------- figures


def _report(sets: Sequence[JudgedSet], answers: Mapping[str, Mapping[str, _Answer]]) -> EvaluationReport:
    scores = {judged.name: _scores(judged, answers[judged.name]) for judged in sets}
    figures = {name: _figures(list(scores[name].values()), list(given.values())) for name, given in answers.items()}
    every_answer = [answer for given in answers.values() for answer in given.values()]
    every_score = [score for of_set in scores.values() for score in of_set.values()]
    reasons = dict.fromkeys(reason for answer in every_answer for reason in answer.degraded)
    ndcg = {name: tuple(score["ndcg@10"] for score in of_set.values()) for name, of_set in scores.items()}
    return EvaluationReport(figures, _figures(every_score, every_answer), tuple(reasons), ndcg)


def _scores(judged: JudgedSet, answers: Mapping[str, _Answer]) -> dict[str, dict[str, float]]:
    """Return query id → measure → value."""
    grades = {
        query_id: {f"{judged.name}/{document_id}": grade for document_id, grade in of_query.items()}
        for query_id, of_query in judged.judgements.items()
    }
    return scores_of({query_id: answer.found for query_id, answer in answers.items()}, grades, MEASURES)


def scores_of(
    found: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]], measures: Mapping[str, Measure]
) -> dict[str, dict[str, float]]:
    """Return query id → name of the measure → value, of the documents found, best first. A query without hits has 0."""
    qrels = [Qrel(query_id, document, g) for query_id, of_query in grades.items() for document, g in of_query.items()]
    run = [
        ScoredDoc(query_id, document, -float(rank))
        for query_id, documents in found.items()
        for rank, document in enumerate(documents, start=1)
    ]
    scores = {query_id: dict.fromkeys(measures, 0.0) for query_id in found}
    names = {measure: name for name, measure in measures.items()}
    for metric in ir_measures.iter_calc(list(names), qrels, run):
        if metric.query_id in scores:
            scores[metric.query_id][names[metric.measure]] = float(metric.value)
    return scores


def _figures(scores: Sequence[Mapping[str, float]], answers: Sequence[_Answer]) -> dict[str, float]:
    figures = {name: statistics.fmean(score[name] for score in scores) for name in MEASURES}
    timed = [answer.search_ms + answer.embed_ms for answer in answers if answer.embed_ms is not None]
    p50, p95 = np.percentile(timed, [50, 95])
    search = [answer.search_ms for answer in answers]
    return {
        **figures,
        "p50_ms": float(p50),
        "p95_ms": float(p95),
        "p50_ms_search": float(np.percentile(search, 50)),
    }


def plot(report: EvaluationReport, path: Path) -> None:
    """Draw the measures by set as bars into a png, svg or pdf file.

    Raises InvalidInputError when the file cannot be written.
    """
    rows = {**report.sets, "all": report.all}
    with drawn(path, width=max(6.0, 1.4 * len(rows)), height=4.0) as axes:
        width = 0.8 / len(MEASURES)
        for number, name in enumerate(MEASURES):
            left = [place + number * width for place in range(len(rows))]
            axes.bar(left, [figures[name] for figures in rows.values()], width, label=name)
        axes.set_xticks([place + 0.4 - width / 2 for place in range(len(rows))], list(rows), rotation=20, ha="right")
        axes.set_ylim(0.0, 1.0)
        axes.legend(ncols=len(MEASURES), loc="lower center", bbox_to_anchor=(0.5, 1.0))


@contextmanager
def drawn(path: Path, *, width: float, height: float) -> Iterator[Any]:
    """Yield axes of a figure of this size, in inches, which is written to ``path`` at the end.

    Raises InvalidInputError when the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure.add_subplot()
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise InvalidInputError(
            f"the plot {path} cannot be written: {error}; name a .png, .svg or .pdf file"
        ) from error
