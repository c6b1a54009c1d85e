"""The list of datasets: found by name, sorted, a page at a time, with empty ones folded away when there are many."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from flask import request

from braid.app.pages.datasets.blueprint import visible_datasets
from braid.app.site import site
from braid.app.user.dataset_picker import MANY
from braid.core.datasets.listing import Overview, overviews
from braid.core.types import Dataset

PER_PAGE = 100
MAX_FOLDED = 200
"""Empty datasets that are listed; more of them are found by name."""
MAX_PAGE = 10**6

Order = Literal["added", "newest", "name", "documents", "size"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A line of the list. ``enabled`` is false for a shared dataset that only administrators see; ``is_lent`` says that
    the user shares their own.
    """

    dataset: Dataset
    overview: Overview
    enabled: bool
    is_lent: bool
    unreadable: int
    """Files that could not be read; to who may not add any, those that are documents."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it, and nothing on its way or unreadable."""
        return not (self.dataset.documents or self.overview.busy or self.unreadable)


@dataclass(frozen=True, slots=True)
class DatasetList:
    """One page of the datasets. ``folded`` are empty ones, of which the page shows the first `MAX_FOLDED`."""

    personal: tuple[DatasetRow, ...]
    shared: tuple[DatasetRow, ...]
    folded: tuple[DatasetRow, ...]
    hidden: int
    """Empty datasets beyond those."""
    total: int
    """All datasets of the user, found or not."""
    page: int
    more: bool
    name: str
    order: Order
    busy: bool

    @property
    def is_large(self) -> bool:
        """Whether there are so many that they need a filter."""
        return self.total >= MANY

    @property
    def arguments(self) -> dict[str, str]:
        """Query arguments that select the same datasets."""
        order = "" if self.order == ORDERS[0] else self.order
        return {key: value for key, value in (("name", self.name), ("order", order)) if value}


KEYS: Mapping[Order, Callable[[DatasetRow], Any]] = {
    "newest": lambda row: -abs(row.dataset.id),
    "name": lambda row: _fold(row.dataset.name),
    "documents": lambda row: -row.dataset.documents,
    "size": lambda row: -row.overview.size_bytes,
}


def dataset_list() -> DatasetList:
    """Return the list that the request asks for."""
    name = request.args.get("name", "")[:200].strip()
    wanted, page = request.args.get("order", ""), min(max(0, request.args.get("page", 0, type=int)), MAX_PAGE)
    order = next((known for known in ORDERS if known == wanted), ORDERS[0])
    braid = site().braid
    about = overviews(
        braid.ledger.database,
        visible_datasets().readable().all,
        index_names=braid.index_names,
        fingerprint_of=braid.fingerprint_of,
    )
    readable = visible_datasets().readable()  # read afterwards, so that the counts of idle datasets are final
    found = _found(readable.all, about, name, order)
    folds = len(readable.all) >= MANY and not name
    folded = [row for row in found if folds and row.is_empty]
    listed = [row for row in found if not (folds and row.is_empty)]
    rows = listed[page * PER_PAGE : (page + 1) * PER_PAGE]
    return DatasetList(
        personal=tuple(row for row in rows if not row.dataset.of_others),
        shared=tuple(row for row in rows if row.dataset.of_others),
        folded=tuple(folded[:MAX_FOLDED]),
        hidden=max(0, len(folded) - MAX_FOLDED),
        total=len(readable.all),
        page=page,
        more=len(listed) > (page + 1) * PER_PAGE,
        name=name,
        order=order,
        busy=any(each.busy for each in about.values()),
    )


def _found(datasets: Sequence[Dataset], about: Mapping[int, Overview], name: str, order: Order) -> list[DatasetRow]:
    enabled = {entry.id for entry in site().braid.registry.entries() if entry.enabled}
    lent = site().shares.shared_among([each.id for each in datasets if not each.of_others])
    words = _fold(name).split()
    files = site().background.store.unreadable_files([each.id for each in datasets], also_faults=True)
    rows = []
    for each in datasets:
        if all(word in _fold(f"{each.name} {each.description}") for word in words):
            found = about.get(each.id, Overview())
            unreadable = files.get(each.id, 0)
            if unreadable != found.failed and not visible_datasets().may_write(each):
                unreadable = found.failed
            rows.append(DatasetRow(each, found, each.id > 0 or each.id in enabled, each.id in lent, unreadable))
    return sorted(rows, key=lambda row: (row.dataset.of_others, KEYS[order](row))) if order in KEYS else rows


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
