"""Index health: progress of each index, the findings of an examination, repair and rebuild."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from flask import render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.wrappers import Response

from braid.app.pages.admin.blueprint import admin, audit, page_in, searched
from braid.app.site import site
from braid.app.words.values import dataset_name
from braid.core.accounts.account_list import account_names, users_named_like
from braid.core.doctor import Problem
from braid.core.errors import InvalidInputError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import Leg

LEGS: tuple[Leg, ...] = ("bm25", "dense")
PER_PAGE = 25
MOST_FINDINGS = 50
ILL, WORKING, READY = range(3)
"""The order in which collections are listed."""
NAMED_DATASETS = 3
"""Datasets of a collection that are named; the others are counted."""
PROBLEMS: Mapping[Problem, str] = {
    "ledger": _l("The database is damaged"),
    "behind": _l("The index is behind"),
    "broken": _l("The index is damaged"),
    "missing": _l("Passages are missing"),
    "extra": _l("Deleted passages are still in the index"),
    "not_embedded": _l("Passages are not embedded"),
    "orphan": _l("An index that nothing uses"),
    "unlisted": _l("A shared dataset is missing from the list"),
    "counter": _l("A count is wrong"),
    "original": _l("An original file is missing or damaged"),
    "unclaimed": _l("Many original files belong to no document"),
}
REPAIRS: Mapping[str, str] = {
    "rebuild the index": _l("Repair rebuilds the index from the database."),
    "embed them": _l("Repair embeds them."),
    "move them to lost/": _l("Repair moves them to the folder lost/, where they are kept for 30 days."),
    "delete it": _l("Repair deletes it."),
    "count again": _l("Repair recounts."),
    "": _l("This needs your decision."),
}


@dataclass(frozen=True, slots=True)
class LegRow:
    """Progress of one leg's index of a collection, in passages."""

    leg: Leg
    state: Literal["ready", "indexing", "checking", "rebuilding", "failed"]
    done: int
    total: int
    error: str


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection with its datasets and both of its indexes."""

    name: str
    datasets: tuple[str, ...]
    passages: int
    user_id: int | None = None
    owner: str = ""
    """Name of the user whose datasets they are; empty for shared ones."""
    legs: tuple[LegRow, ...] = ()


@admin.get("/indexes")
def indexes() -> str:
    """Show the collections that hold passages, those in trouble first, and the last examination."""
    text, checkup = searched(), site().checkup.state
    latest = {(progress.leg, progress.collection): progress for progress in site().braid.indexer.progress()}
    found = _found(text, latest)
    page = page_in(len(found), PER_PAGE)
    shown = _rows(found[PER_PAGE * page : PER_PAGE * (page + 1)])
    moving = checkup.running or any(_rank(progress) == WORKING for progress in latest.values())
    return render_template(
        "braid/admin/indexes.html",
        rows=shown,
        total=len(found),
        text=text,
        page=page,
        more=len(found) > PER_PAGE * (page + 1),
        checkup=checkup,
        moving=bool(moving),
        most_names=NAMED_DATASETS,
        findings=checkup.findings[:MOST_FINDINGS],
        problems=PROBLEMS,
        repairs=REPAIRS,
        repairable=any(finding.repair for finding in checkup.findings),
        embedding_model=site().settings.embedding_model,
    )


@admin.post("/indexes/examine")
def examine_indexes() -> Response:
    """Start an examination."""
    if not site().checkup.examine():
        return admin.done(_("A check or repair is already running."), "indexes")
    return admin.done(_("Check started."), "indexes")


@admin.post("/indexes/repair")
def repair_indexes() -> Response:
    """Repair the findings of the last examination."""
    found = site().checkup.state.findings
    if not site().checkup.repair():
        return admin.done(_("A check or repair is already running."), "indexes")
    audit("indexes.repaired", f"{len(found)} findings", ", ".join(sorted({finding.problem for finding in found})))
    return admin.done(_("Repair started. Search keeps working in the meantime."), "indexes")


@admin.post("/indexes/rebuild")
def rebuild_index() -> Response:
    """Rebuild one leg's index of a collection; stored embeddings are reused."""
    leg, collection = request.form.get("leg", ""), request.form.get("collection", "")
    chosen = next((known for known in LEGS if known == leg), None)
    if chosen is None:
        raise InvalidInputError(f"leg is {leg[:20]!r}; choose bm25 or dense", field="leg")
    if collection not in {dataset.collection for dataset in site().braid.ledger.all_datasets()}:
        raise InvalidInputError(f"there is no collection {collection[:100]!r}", field="collection")
    site().braid.indexer.rebuild(chosen, collection)
    audit("index.rebuilt", f"{chosen} {collection}")
    return admin.done(_("Rebuilding the index. Until it is done, searches use the other one."), "indexes")


def _found(text: str, latest: Mapping[tuple[Leg, str], LegProgress]) -> list[CollectionRow]:
    """Return the collections that have the text in their name, their datasets' or their user's, without their indexes.

    Those come first whose index has failed or misses passages, then those at work.
    """
    braid, part = site().braid, text.casefold()
    users = users_named_like(braid.ledger.database, text) if text else set()
    names: dict[str, list[str]] = {}
    passages: Counter[str] = Counter()
    owners: dict[str, int | None] = {}
    wanted: set[str] = set()
    for dataset in braid.ledger.all_datasets():
        listed = names.setdefault(dataset.collection, [])
        shown = dataset_name(dataset.name)
        if dataset.conversation_id is None:
            listed.append(shown)
        passages[dataset.collection] += dataset.chunks
        owners[dataset.collection] = dataset.user_id
        if part in dataset.collection.casefold() or part in shown.casefold() or dataset.user_id in users:
            wanted.add(dataset.collection)
    ranks = {name: min(_rank(latest.get((leg, name))) for leg in LEGS) for name in wanted}
    listed_names = sorted((name for name in wanted if passages[name] or ranks[name] < READY), key=_by_number)
    listed_names.sort(key=lambda name: ranks[name])
    return [CollectionRow(name, tuple(names[name]), passages[name], owners[name]) for name in listed_names]


def _rank(progress: LegProgress | None) -> int:
    if progress is None:
        return READY
    if progress.state == "failed" or progress.error or (progress.left_out and not progress.pending):
        return ILL
    return READY if progress.state == "ready" and not progress.pending else WORKING


def _by_number(name: str) -> tuple[str, int]:
    """Sort ``user_9`` before ``user_10``."""
    head, _, tail = name.rpartition("_")
    return (head, int(tail)) if tail.isascii() and tail.isdecimal() else (name, 0)


def _rows(found: Sequence[CollectionRow]) -> list[CollectionRow]:
    """Return the rows with both of their indexes and their owners' names."""
    owners = account_names(site().braid.ledger.database, {row.user_id for row in found if row.user_id})
    states = site().braid.indexer.states([(leg, row.name) for row in found for leg in LEGS])
    legs = {(progress.leg, progress.collection): progress for progress in states}
    return [
        replace(
            row,
            owner=owners.get(row.user_id or 0, ""),
            legs=tuple(_leg_row(legs[leg, row.name], row.passages) for leg in LEGS),
        )
        for row in found
    ]


def _leg_row(progress: LegProgress, total: int) -> LegRow:
    waiting = min(total, progress.pending + progress.left_out)
    state: Literal["ready", "indexing", "checking", "rebuilding", "failed"] = progress.state
    if state == "ready" and progress.pending:
        state = "indexing"
    return LegRow(progress.leg, state, total - waiting, total, progress.error or progress.shortfall)
