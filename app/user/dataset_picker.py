"""The dataset picker: which datasets may be searched, their size, and whether they are completely indexed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flask_babel import format_decimal
from flask_babel import gettext as _

from braid.app.user.datasets import Readable
from braid.core.indexes.leg_progress import LegProgress
from braid.core.options import ALL, Datasets
from braid.core.types import Dataset

State = Literal["ready", "indexing", "failed", "empty", ""]
NOT_SHOWN: tuple[State, str] = ("", "")
MANY = 8
"""From this number on the picker has a filter, and empty datasets are folded away."""
CHIPS = 4
"""Chosen datasets named above the question box; the others are counted."""


@dataclass(frozen=True, slots=True)
class PickedDataset:
    """A dataset with the state of the collection that it is indexed in; an empty state is not shown."""

    dataset: Dataset
    ticked: bool
    languages: str
    state: State
    state_text: str


@dataclass(frozen=True, slots=True)
class PickerGroup:
    """The personal or the shared datasets: ticked ones first, then those used last."""

    rows: tuple[PickedDataset, ...]
    folded: tuple[PickedDataset, ...]
    """Empty ones, when there are many datasets."""


@dataclass(frozen=True, slots=True)
class Picker:
    """Personal and shared datasets of the picker."""

    personal: PickerGroup
    shared: PickerGroup

    @property
    def all(self) -> tuple[PickedDataset, ...]:
        """All datasets."""
        return (*self.personal.rows, *self.personal.folded, *self.shared.rows, *self.shared.folded)

    @property
    def offered(self) -> str:
        """The ids of all datasets, with commas: what a form could choose from when it was shown."""
        return ",".join(str(picked.dataset.id) for picked in self.all)

    @property
    def chosen(self) -> list[PickedDataset]:
        """The ticked datasets."""
        return [picked for picked in self.all if picked.ticked]

    @property
    def ticked(self) -> int:
        """Number of chosen datasets."""
        return len(self.chosen)

    @property
    def is_large(self) -> bool:
        """Whether there are so many datasets that they need a filter."""
        return len(self.all) >= MANY


def is_everything(chosen: Iterable[str], readable: Collection[int], offered: str = "") -> bool:
    """Return whether the values of the field ``d`` are all datasets: those readable, or those that the form offered.

    ``offered`` is the form's field of this name, `Picker.offered`: the form may be older than a dataset. The script
    of the picker sends ``all`` instead.
    """
    given = set(chosen)
    whole = ({str(dataset_id) for dataset_id in readable}, set(filter(None, offered.split(","))))
    return ALL in given or any(ids and ids <= given for ids in whole)


def make_picker(
    readable: Readable,
    chosen: Datasets,
    languages: Mapping[int, str],
    *,
    progress: Iterable[LegProgress] | None = None,
    recent: Sequence[int] = (),
) -> Picker:
    """Return the picker, with the chosen datasets ticked.

    ``progress`` is of the readable datasets alone, None for a picker without states. ``recent`` are ids of datasets,
    the one used last first.
    """
    parts: dict[str, list[LegProgress]] = {}
    for part in progress or ():
        parts.setdefault(part.collection, []).append(part)
    totals: dict[str, int] = {}
    for dataset in readable.all:
        totals[dataset.collection] = totals.get(dataset.collection, 0) + dataset.chunks
    places = {dataset_id: place for place, dataset_id in enumerate(recent)}

    def pick(dataset: Dataset) -> PickedDataset:
        of_parts, total = parts.get(dataset.collection, []), totals[dataset.collection]
        state, text = _state(dataset, of_parts, total) if progress is not None else NOT_SHOWN
        return PickedDataset(dataset, chosen.has(dataset.id), languages.get(dataset.id, ""), state, text)

    def group(datasets: Sequence[Dataset]) -> PickerGroup:
        rows = [pick(dataset) for dataset in datasets]
        rows.sort(key=lambda row: (not row.ticked, places.get(row.dataset.id, len(places))))
        folded = [row for row in rows if is_large and not row.dataset.documents]
        return PickerGroup(tuple(row for row in rows if row not in folded), tuple(folded))

    is_large = len(readable.all) >= MANY
    return Picker(group(readable.personal), group(readable.shared))


def _state(dataset: Dataset, parts: Sequence[LegProgress], total: int) -> tuple[State, str]:
    if not dataset.documents:
        return "empty", ""
    if any(part.state == "failed" or part.error for part in parts):
        return "failed", _("not fully indexed: an index failed")
    waiting = max((part.pending for part in parts), default=0)
    if waiting:
        done = format_decimal(max(0, total - waiting))
        return "indexing", _("indexing: %(done)s of %(total)s passages", done=done, total=format_decimal(total))
    return "ready", _("ready")
