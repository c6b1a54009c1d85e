"""Indexing status in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from flask_babel import format_decimal, format_timedelta, ngettext
from flask_babel import gettext as _

from braid.app.site import Site
from braid.app.user.index_progress import progress_with
from braid.app.words.reasons import translated
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import Dataset, Leg


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Progress of the indexes as one localized sentence, and the numbers of passages behind it."""

    state: Literal["ready", "indexing", "failed"]
    text: str
    total: int
    waiting: dict[Leg, int]


def status_of(here: Site, datasets: Sequence[Dataset]) -> IndexStatus:
    """Return how far reading and indexing of these datasets is."""
    unread = here.background.store.unread([dataset.id for dataset in datasets])
    total = sum(dataset.chunks for dataset in datasets)
    return index_status(progress_with(here.braid, datasets), total, unread)


def index_status(progress: Sequence[LegProgress], total: int, unread: int = 0) -> IndexStatus:
    """Return the status of the given indexes, which should hold ``total`` passages per leg.

    ``unread`` is the number of files that are still to be read.
    """
    waiting: dict[Leg, int] = {
        leg: min(total, sum(part.pending for part in progress if part.leg == leg)) for leg in ("bm25", "dense")
    }
    failed = [part for part in progress if part.state == "failed" or part.error]
    if failed:
        return IndexStatus("failed", _failure(failed[0]), total, waiting)
    if unread:
        return IndexStatus("indexing", unread_files(unread), total, waiting)
    if waiting["bm25"] or waiting["dense"]:
        return IndexStatus("indexing", _progress(progress, total, waiting), total, waiting)
    if any(part.state in ("checking", "rebuilding") for part in progress):
        return IndexStatus("indexing", _("Checking the indexes…"), total, waiting)
    return IndexStatus("ready", _readiness(total), total, waiting)


def unread_files(number: int) -> str:
    """Return the sentence that this many files cannot be found yet."""
    sentence: str = ngettext(
        "%(num)s file is still being read and cannot be found yet.",
        "%(num)s files are still being read and cannot be found yet.",
        number,
    )
    return sentence


def _failure(part: LegProgress) -> str:
    if part.leg == "dense":
        return str(_("Search by meaning is incomplete: %(reason)s", reason=translated(part.error) or part.error))
    return str(_("Search by keyword is incomplete: %(reason)s", reason=translated(part.error) or part.error))


def _progress(progress: Sequence[LegProgress], total: int, waiting: dict[Leg, int]) -> str:
    text: str
    if waiting["bm25"]:
        text = _(
            "Indexing: %(done)s of %(total)s passages can be found by keyword.",
            done=format_decimal(total - waiting["bm25"]),
            total=format_decimal(total),
        )
        return text
    text = _(
        "Search by keyword is ready. %(done)s of %(total)s passages are ready for search by meaning",
        done=format_decimal(total - waiting["dense"]),
        total=format_decimal(total),
    )
    left = [part.seconds_left for part in progress if part.leg == "dense" and part.seconds_left is not None]
    if not left:
        return text + "…"
    time = format_timedelta(timedelta(seconds=max(1, round(sum(left)))), granularity="second", threshold=2)
    return str(_("%(done)s, about %(time)s left.", done=text, time=time))


def _readiness(total: int) -> str:
    if not total:
        return str(_("There are no documents yet."))
    text: str = ngettext(
        "Ready: %(count)s passage can be searched.",
        "Ready: %(count)s passages can be searched.",
        total,
        count=format_decimal(total),
    )
    return text
