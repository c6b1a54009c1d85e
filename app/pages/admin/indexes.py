"""Index health: progress of each index, the findings of an examination, repair and rebuild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from flask import render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.pages.admin.blueprint import admin, audit, done
from braid.app.site import site
from braid.app.words.dataset_names import dataset_name
from braid.core.doctor import Problem
from braid.core.errors import InvalidInputError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import Leg

LEGS: tuple[Leg, ...] = ("bm25", "dense")
NAMED_DATASETS = 3
"""Datasets of a collection that are named; the others are counted."""
PROBLEMS: Mapping[Problem, str] = {
    "behind": _l("The index is behind"),
    "broken": _l("The index is damaged"),
    "missing": _l("Passages are missing"),
    "extra": _l("Deleted passages are still in the index"),
    "not_embedded": _l("Passages are not embedded"),
    "orphan": _l("An index that nothing uses"),
    "unlisted": _l("A shared dataset is missing from the list"),
    "counter": _l("A count is wrong"),
    "original": _l("An original file is missing or damaged"),
}
REPAIRS: Mapping[str, str] = {
    "rebuild the index": _l("Repair rebuilds the index from the database."),
    "embed them": _l("Repair embeds them."),
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
    legs: tuple[LegRow, ...]


@admin.get("/indexes")
@rule("admin")
def indexes() -> str:
    """Show all collections that hold passages, and the last examination."""
    rows, checkup = _rows(), site().checkup.state
    moving = checkup.running or any(leg.state not in ("ready", "failed") for row in rows for leg in row.legs)
    return render_template(
        "braid/admin/indexes.html",
        rows=rows,
        checkup=checkup,
        moving=bool(moving),
        most_names=NAMED_DATASETS,
        problems=PROBLEMS,
        repairs=REPAIRS,
        repairable=any(finding.repair for finding in checkup.findings),
        embedding_model=site().settings.embedding_model,
    )


@admin.post("/indexes/examine")
@rule("admin")
def examine_indexes() -> Response:
    """Start an examination."""
    if not site().checkup.examine():
        return done(_("A check or repair is already running."), "indexes")
    return done(_("Check started."), "indexes")


@admin.post("/indexes/repair")
@rule("admin")
def repair_indexes() -> Response:
    """Repair the findings of the last examination."""
    found = site().checkup.state.findings
    if not site().checkup.repair():
        return done(_("A check or repair is already running."), "indexes")
    audit("indexes.repaired", f"{len(found)} findings", ", ".join(sorted({finding.problem for finding in found})))
    return done(_("Repair started. Search keeps working in the meantime."), "indexes")


@admin.post("/indexes/rebuild")
@rule("admin")
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
    return done(_("Rebuilding the index. Until it is done, searches use the other one."), "indexes")


def _rows() -> list[CollectionRow]:
    braid = site().braid
    names: dict[str, list[str]] = {}
    passages: dict[str, int] = {}
    for dataset in braid.ledger.all_datasets():
        listed = names.setdefault(dataset.collection, [])
        if dataset.conversation_id is None:
            listed.append(dataset_name(dataset.name))
        passages[dataset.collection] = passages.get(dataset.collection, 0) + dataset.chunks
    rows = [
        CollectionRow(
            name,
            tuple(names[name]),
            passages[name],
            tuple(_leg_row(braid.indexer.leg_progress(leg, name), passages[name]) for leg in LEGS),
        )
        for name in sorted(names)
    ]
    return [row for row in rows if row.passages or any(leg.state != "ready" for leg in row.legs)]


def _leg_row(progress: LegProgress, total: int) -> LegRow:
    waiting = min(total, progress.pending + progress.left_out)
    state: Literal["ready", "indexing", "checking", "rebuilding", "failed"] = progress.state
    if state == "ready" and progress.pending:
        state = "indexing"
    return LegRow(progress.leg, state, total - waiting, total, progress.error or progress.shortfall)
