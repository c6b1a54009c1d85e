"""A user's feedback as a judged set in BEIR layout, which `braid.core.evaluation.evaluation` and
`braid.core.evaluation.tuning` read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from braid.core.batches import batches
from braid.core.braid import Braid
from braid.core.chat.feedback import FeedbackStore, judgements_of
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.evaluation.beir import CORPUS, QRELS, QUERIES
from braid.core.types import Passage

IDS_PER_SCOPE = 500
Judgements = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written, and what was left out."""

    folder: Path
    queries: int
    judgements: int
    passages: int
    deleted: int
    """Judgements of passages that are not there any more, or that the user may no longer read."""
    left_out_queries: int
    """Questions for which nothing good is left."""


def export_qrels(braid: Braid, user_id: int, folder: Path) -> ExportReport:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` of this user's feedback alone into a new folder.

    The corpus is every passage of the datasets that the judged searches were in and that the user may read now.
    Raises InvalidInputError when the folder has files, or when there is nothing to write; NotFoundError when there is
    no such user.
    """
    if braid.ledger.user(user_id) is None:
        raise NotFoundError(f"there is no user {user_id}")
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} is there already and not empty; name a new folder", field="out")
    said = FeedbackStore(braid.ledger).of_user(user_id)
    asked = judgements_of(said)
    datasets = _readable(braid, user_id, {dataset_id for feedback in said for dataset_id in feedback.scope})
    readable = braid.ledger.passages({c for grades in asked.values() for c in grades}, datasets)
    alive = {query: {c: g for c, g in grades.items() if c in readable} for query, grades in asked.items()}
    kept = {query: grades for query, grades in alive.items() if any(grade > 0 for grade in grades.values())}
    if not kept:
        raise InvalidInputError(
            f"there is nothing to export: of {len(asked)} judged questions none has a passage that is there and good; "
            "give thumbs up to passages first"
        )
    folder.mkdir(parents=True, exist_ok=True)
    passages = _write_lines(folder / CORPUS, map(_document, _passages(braid, datasets)))
    _write_lines(folder / QUERIES, (json.dumps({"_id": _id(q), "text": q}, ensure_ascii=False) for q in kept))
    judgements = _write_lines(folder / QRELS, _qrels(kept)) - 1
    return ExportReport(
        folder=folder,
        queries=len(kept),
        judgements=judgements,
        passages=passages,
        deleted=sum(map(len, asked.values())) - sum(map(len, alive.values())),
        left_out_queries=len(asked) - len(kept),
    )


def _readable(braid: Braid, user_id: int, dataset_ids: Iterable[int]) -> frozenset[int]:
    """What is still open to the user of these datasets, asked in parts: a scope has a limit, their union has none."""
    braid.mirror_registry()
    wanted = sorted(dataset_ids)
    readable: set[int] = set()
    for part in batches(wanted, IDS_PER_SCOPE):
        readable |= resolve_scope(braid.ledger, braid.registry, user_id=user_id, dataset_ids=part).dataset_ids
    return frozenset(readable)


def _passages(braid: Braid, dataset_ids: Iterable[int]) -> Iterator[Passage]:
    for dataset_id in sorted(dataset_ids):
        for document in braid.ledger.documents(dataset_id):
            yield from braid.ledger.document_passages(document.id, [dataset_id])


def _document(passage: Passage) -> str:
    title = " > ".join(part for part in (passage.title, passage.heading_path) if part)
    metadata = {"collection": passage.collection, "dataset_id": passage.dataset_id, "source": passage.source}
    document = {"_id": passage.chunk_id, "title": title, "text": passage.text, "metadata": metadata}
    return json.dumps(document, ensure_ascii=False)


def _qrels(judgements: Judgements) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for query, grades in judgements.items():
        for chunk_id, grade in grades.items():
            yield f"{_id(query)}\t{chunk_id}\t{grade}"


def _id(query: str) -> str:
    """The same for the same question in every export."""
    return hashlib.sha256(query.encode()).hexdigest()[:16]


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            written += 1
    return written
