"""The doctor: compares the ledger with the indexes and with the copy in Chroma, reports what differs, repairs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select, update

from braid.core.backup.soundness import damage_in
from braid.core.braid import Braid
from braid.core.errors import IndexUnavailableError, internal
from braid.core.indexes.base import IndexName, LegIndex
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.tables import ChunkRow, DatasetRow, DocumentRow
from braid.core.originals.store import Originals
from braid.core.types import Leg

CATCH_UP_S = 30.0
SETTLE_S = 5.0
MOST_LOOKS = 5
INDEXES: tuple[IndexName, ...] = ("bm25", "dense", "chroma")
NAMES = {"bm25": "the bm25 index", "dense": "the dense index", "chroma": "the copy in Chroma"}
Problem = Literal[
    "ledger",
    "behind",
    "broken",
    "missing",
    "extra",
    "not_embedded",
    "orphan",
    "unlisted",
    "counter",
    "original",
    "unclaimed",
]

DIFFERENCES = frozenset({"missing", "extra", "not_embedded"})
"""Kinds of findings that may be seen for a moment while somebody writes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference. ``repair`` says what `--repair` does about it; empty when a person has to decide."""

    problem: Problem
    collection: str
    detail: str
    repair: str = ""
    leg: Leg | None = None
    waits: bool = False
    """Whether the difference is work still to be done, which needs no repair, and no damage."""


def examine(
    braid: Braid, *, wait_s: float | None = None, on_progress: Callable[[int, int], object] = lambda done, total: None
) -> list[Finding]:
    """Return all differences, after the indexes have had up to ``wait_s`` seconds, or 30, to follow the ledger.

    The ledger is read whole first; where it is damaged, nothing is compared with it, and `damaged` is what is found.
    Works beside the process that owns the indexes, and while it writes; what the copy in Chroma has, only the owner can
    compare. ``on_progress`` is called with the number of collections that are done, and of all.
    """
    if damage := damage_in(braid.ledger.database):
        return list(map(damaged, damage))
    braid.indexer.wait(CATCH_UP_S if wait_s is None else wait_s, INDEXES)
    changes = ChangeLog(braid.ledger.database)
    collections = sorted(changes.heads())
    findings = [*_counters(braid), *_find_unlisted(braid)]
    for done, collection in enumerate(collections):
        on_progress(done, len(collections))
        findings += _examine_while_written(braid, changes, collection)
    findings += [Finding("original", "", said) for said in Originals(braid).damaged()]
    held, there = Originals(braid).held()
    if held:
        detail = f"no document has {held:,} of {there:,} original files: look whether this is the right ledger"
        findings.append(Finding("unclaimed", "", detail, "move them to lost/"))
    return [*findings, *_orphans(braid, collections)]


def damaged(said: str) -> Finding:
    """Return the finding that the ledger is damaged, as ``said`` by its database."""
    return Finding(
        "ledger",
        "",
        internal("the ledger is damaged: %(error)s; restore a backup with `python -m app restore`", error=said),
    )


def _examine_while_written(braid: Braid, changes: ChangeLog, collection: str) -> list[Finding]:
    """Look until a difference is there twice: what is written meanwhile reaches the ledger before the indexes."""
    last: tuple[int, list[Finding]] | None = None
    for _ in range(MOST_LOOKS):
        head = changes.heads().get(collection, 0)
        found = _examine_collection(braid, changes, collection)
        doubtful = [finding for finding in found if finding.problem in DIFFERENCES and not finding.waits]
        if not doubtful or (head, found) == last:
            return found
        last = head, found
        braid.indexer.wait(SETTLE_S, INDEXES)
    steady = [finding for finding in found if finding not in doubtful]
    return [*steady, Finding("behind", collection, f"{collection} is being written to all the time", waits=True)]


def _examine_collection(braid: Braid, changes: ChangeLog, collection: str) -> list[Finding]:
    indexer, found = braid.indexer, list[Finding]()
    expected = changes.chunk_ids(collection)
    embedded = changes.embedded_ids(collection, braid.model_of(collection).fingerprint)
    dense = _progress(braid, "dense", collection)
    found += _compare("bm25", braid.bm25, _progress(braid, "bm25", collection), expected)
    found += _compare("dense", braid.dense, dense, embedded)
    if braid.chroma is not None:
        found += _compare("chroma", braid.chroma, indexer.copy_progress(collection), embedded)
    elif braid.keeps_copy:  # another process has it open, and alone may read it
        found += _behind(indexer.copy_progress(collection))
    if expected - embedded:
        detail = f"{len(expected - embedded)} of {len(expected)} passages of {collection} have no vector"
        if collection in braid.to_reembed:
            detail += f" of {braid.model_of(collection).fingerprint} yet, which is another model than before"
        found.append(Finding("not_embedded", collection, detail, "embed them", "dense", _is_at_work(dense)))
    return found


def _progress(braid: Braid, leg: Leg, collection: str) -> LegProgress:
    """Return the last report of a leg; where it lacks passages, how far the leg is by now."""
    last = braid.indexer.leg_progress(leg, collection)
    return braid.indexer.states([(leg, collection)])[0] if last.pending else last


def repair(
    braid: Braid,
    findings: Iterable[Finding],
    *,
    timeout_s: float = 3600.0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> bool:
    """Do the repairs that the findings propose, and wait for them. False when one was not done in time."""
    rebuilds: dict[tuple[Leg, str], None] = {}
    for finding in findings:
        if finding.problem == "counter":
            _recount(braid)
        elif finding.problem == "unclaimed":
            originals = Originals(braid)
            originals.sweep(originals.rules(any_number=True))
        elif finding.leg and finding.problem == "orphan":
            for index in _stored(braid)[finding.leg]:
                if finding.collection in index.collections():
                    index.drop(finding.collection)
        elif finding.leg and finding.repair and not finding.waits:
            rebuilds[finding.leg, finding.collection] = None
    for leg, collection in rebuilds:
        braid.indexer.rebuild(leg, collection)
    return braid.indexer.wait(timeout_s, INDEXES, on_progress=on_progress)


def _is_at_work(progress: LegProgress) -> bool:
    return not progress.error and (progress.state in ("checking", "rebuilding") or progress.pending > 0)


def _stored(braid: Braid) -> dict[Leg, list[LegIndex]]:
    """Return what each leg has on disk, or on a server, as far as this process may read it."""
    copy: list[LegIndex] = [] if braid.chroma is None else [braid.chroma]
    return {"dense": [braid.dense, *copy], "bm25": [braid.bm25]}


def _compare(name: IndexName, index: LegIndex, progress: LegProgress, expected: set[str]) -> Iterable[Finding]:
    leg, collection = progress.leg, progress.collection
    if behind := list(_behind(progress)):
        yield from behind
        return
    try:
        broken = index.check(collection)
        present = expected if broken else set(index.ids(collection))
    except IndexUnavailableError as error:
        present, broken = expected, str(error)
    if broken:
        yield Finding("broken", collection, broken, "rebuild the index", leg)
    differences: tuple[tuple[Problem, str, set[str]], ...] = (
        ("missing", "are missing from", expected - present),
        ("extra", "are gone from the ledger but still in", present - expected),
    )
    for problem, words, ids in differences:
        if ids:
            detail = f"{len(ids)} passages {words} {NAMES[name]} of {collection}, for example {min(ids)}"
            yield Finding(problem, collection, detail, "rebuild the index", leg)


def _behind(progress: LegProgress) -> Iterable[Finding]:
    if why := progress.obstacle or progress.shortfall:
        yield Finding("behind", progress.collection, why, "rebuild the index", progress.leg, _is_at_work(progress))


def _orphans(braid: Braid, collections: list[str]) -> Iterable[Finding]:
    for leg, indexes in _stored(braid).items():
        stored = set[str]()
        for index in indexes:
            try:
                stored.update(index.collections())
            except IndexUnavailableError as error:
                yield Finding("broken", "", str(error), leg=leg)
        for collection in sorted(stored):
            if collection not in collections:
                detail = f"the {leg} index has a collection {collection!r} that no dataset lives in"
                yield Finding("orphan", collection, detail, "delete it", leg)


def _find_unlisted(braid: Braid) -> Iterable[Finding]:
    listed = {entry.id for entry in braid.registry.entries()}
    for dataset in braid.ledger.all_datasets():
        if dataset.shared and dataset.id not in listed:
            yield Finding(
                "unlisted",
                dataset.collection,
                f"shared dataset {dataset.id} ({dataset.name}) with {dataset.documents} documents is not in "
                f"{braid.registry.name}, so nobody can read it; put its entry back, or delete it with "
                f"shared-db remove {dataset.id}",
            )


def _counters(braid: Braid) -> Iterable[Finding]:
    """Yield datasets whose counts are wrong; all is counted in one statement, since documents may come meanwhile."""
    documents, chunks = (
        select(table.dataset_id, func.count().label("rows")).group_by(table.dataset_id).subquery()
        for table in (DocumentRow, ChunkRow)
    )
    counted = func.coalesce(documents.c.rows, 0), func.coalesce(chunks.c.rows, 0)
    statement = (
        select(DatasetRow.id, DatasetRow.collection, DatasetRow.documents, DatasetRow.chunks, *counted)
        .outerjoin(documents, documents.c.dataset_id == DatasetRow.id)
        .outerjoin(chunks, chunks.c.dataset_id == DatasetRow.id)
        .where(DatasetRow.removed_at.is_(None))
        .where((DatasetRow.documents != counted[0]) | (DatasetRow.chunks != counted[1]))
        .order_by(DatasetRow.id)
    )
    found = braid.ledger.database.fetch(statement)
    for dataset_id, collection, noted, noted_chunks, has, has_chunks in found:
        detail = (
            f"dataset {dataset_id} is noted with {noted} documents and {noted_chunks} passages, but has {has} "
            f"documents and {has_chunks} passages"
        )
        yield Finding("counter", collection, detail, "count again")


def _recount(braid: Braid) -> None:
    documents = select(func.count()).where(DocumentRow.dataset_id == DatasetRow.id).scalar_subquery()
    chunks = select(func.count()).where(ChunkRow.dataset_id == DatasetRow.id).scalar_subquery()
    braid.ledger.database.change(
        update(DatasetRow).where(DatasetRow.removed_at.is_(None)).values(documents=documents, chunks=chunks)
    )
