"""Export of a user's feedback as a judged set in BEIR layout, for `evaluate` and `tune`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from braid.core.batches import batches
from braid.core.chat.feedback import FeedbackStore, judgements_of
from braid.core.data_directory import DataDirectory
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.evaluation.beir import CORPUS, QRELS, QUERIES
from braid.core.types import Passage

IDS_PER_SCOPE = 500
Judgements = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Counts of what was written, and of what was left out."""

    folder: Path
    queries: int
    judgements: int
    passages: int
    deleted: int
    """Judgements of passages that are gone, or that the user may no longer read."""
    left_out_queries: int
    """Questions without a good passage left."""


def export_qrels(braid: DataDirectory, user_id: int, folder: Path) -> ExportReport:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` of this user's feedback alone into a new folder.

    The corpus is every passage of the datasets that the judged searches were in, if the user may still read them.
    Raises InvalidInputError when the folder has files or there is nothing to write, NotFoundError when there is no
    such user.
    """
    if braid.ledger.user(user_id) is None:
        raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} is there already and not empty; name a new folder", field="out")
    store = FeedbackStore(braid.ledger)
    judged = judgements_of(store.all(user_id))
    datasets = _readable_datasets(braid, user_id, {number for one in store.all(user_id) for number in one.scope})
    readable = _readable_judgements(braid, judged, datasets)
    kept = {query: grades for query, grades in readable.items() if max(grades.values(), default=0) > 0}
    if not kept:
        raise InvalidInputError(
            f"there is nothing to export: of {len(judged)} judged questions none has a passage that is there and good; "
            "give thumbs up to passages first"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return ExportReport(
        folder=folder,
        queries=_write_lines(folder / QUERIES, map(_query_line, kept)),
        judgements=_write_lines(folder / QRELS, _judgement_lines(kept)) - 1,
        passages=_write_lines(folder / CORPUS, map(_document_line, _passages(braid, datasets))),
        deleted=_count(judged) - _count(readable),
        left_out_queries=len(judged) - len(kept),
    )


def _readable_datasets(braid: DataDirectory, user_id: int, dataset_ids: Iterable[int]) -> frozenset[int]:
    """Return those of the datasets that the user may read now. Asks in parts, because a scope has a limit of ids."""
    braid.mirror_registry()
    readable: set[int] = set()
    for part in batches(sorted(dataset_ids), IDS_PER_SCOPE):
        readable |= resolve_scope(braid.ledger, braid.registry, user_id=user_id, dataset_ids=part).dataset_ids
    return frozenset(readable)


def _readable_judgements(braid: DataDirectory, judged: Judgements, datasets: frozenset[int]) -> Judgements:
    """Leave out judgements of passages that are gone or that the user may no longer read."""
    chunk_ids = {chunk_id for grades in judged.values() for chunk_id in grades}
    readable = braid.ledger.passages(chunk_ids, datasets)
    return {
        query: {chunk_id: grade for chunk_id, grade in grades.items() if chunk_id in readable}
        for query, grades in judged.items()
    }


def _count(judgements: Judgements) -> int:
    return sum(map(len, judgements.values()))


def _passages(braid: DataDirectory, dataset_ids: Iterable[int]) -> Iterator[Passage]:
    for dataset_id in sorted(dataset_ids):
        for document in braid.ledger.documents(dataset_id):
            yield from braid.ledger.document_passages(document.id, [dataset_id])


def _document_line(passage: Passage) -> str:
    title = " > ".join(part for part in (passage.title, passage.heading_path) if part)
    metadata = {"collection": passage.collection, "dataset_id": passage.dataset_id, "source": passage.source}
    document = {"_id": passage.chunk_id, "title": title, "text": passage.text, "metadata": metadata}
    return json.dumps(document, ensure_ascii=False)


def _query_line(query: str) -> str:
    return json.dumps({"_id": _id(query), "text": query}, ensure_ascii=False)


def _judgement_lines(judgements: Judgements) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for query, grades in judgements.items():
        for chunk_id, grade in grades.items():
            yield f"{_id(query)}\t{chunk_id}\t{grade}"


def _id(query: str) -> str:
    """Return the same id for the same question in every export."""
    return hashlib.sha256(query.encode()).hexdigest()[:16]


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            written += 1
    return written
