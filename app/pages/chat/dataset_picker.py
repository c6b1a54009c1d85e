"""The dataset picker: which datasets may be searched, their size, and whether they are completely indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flask_babel import format_decimal
from flask_babel import gettext as _

from braid.app.user.datasets import Readable
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import Dataset

State = Literal["ready", "indexing", "failed", "empty"]


@dataclass(frozen=True, slots=True)
class PickedDataset:
    """A dataset with the state of the collection that it is indexed in."""

    dataset: Dataset
    ticked: bool
    languages: str
    state: State
    state_text: str


@dataclass(frozen=True, slots=True)
class Picker:
    """Personal and shared datasets of the picker."""

    personal: tuple[PickedDataset, ...]
    shared: tuple[PickedDataset, ...]

    @property
    def ticked(self) -> int:
        """Number of chosen datasets."""
        return sum(picked.ticked for picked in (*self.personal, *self.shared))


def make_picker(
    readable: Readable,
    chosen: Sequence[int] | None,
    progress: Iterable[LegProgress],
    languages: Mapping[int, str],
) -> Picker:
    """Return the picker. ``chosen`` None ticks all; ``progress`` is of the readable datasets alone."""
    parts: dict[str, list[LegProgress]] = {}
    for part in progress:
        parts.setdefault(part.collection, []).append(part)
    totals: dict[str, int] = {}
    for dataset in readable.all:
        totals[dataset.collection] = totals.get(dataset.collection, 0) + dataset.chunks

    def pick(dataset: Dataset) -> PickedDataset:
        total = totals[dataset.collection]
        state, text = _state(dataset, parts.get(dataset.collection, []), total)
        ticked = chosen is None or dataset.id in chosen
        return PickedDataset(dataset, ticked, languages.get(dataset.id, ""), state, text)

    return Picker(tuple(map(pick, readable.personal)), tuple(map(pick, readable.shared)))


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
