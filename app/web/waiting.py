"""What is said of passages that an index does not have yet: how many, of which datasets, and for how long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple, cast

from flask_babel import format_decimal, format_timedelta, ngettext
from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.site import site
from braid.app.words.reasons import known_reason
from braid.app.words.values import dataset_name
from braid.core.options import Leg
from braid.core.types import Dataset

MOST_NAMED = 2
_WAITING = re.compile(r"^%\(count\)s passages of %\(collection\)s are not in the (dense|bm25) index yet")


def waiting(reason: str, datasets: Sequence[Dataset]) -> str:
    """Return a reason that names a collection with the names of the user's ``datasets`` in it; others as they are.

    The result is Markup, which needs no translation, if the reason is such a one.
    """
    found, mine = _read(reason, datasets)
    if found is None or not mine:
        return reason
    total = sum(dataset.chunks for dataset in mine)
    count = format_decimal(min(found.passages, total))
    values = {"count": count, "total": format_decimal(total), "names": _names(mine)}
    if found.leg == "dense":
        text = _("%(count)s of %(total)s passages of %(names)s are not ready for search by meaning yet", **values)
    else:
        text = _("%(count)s of %(total)s passages of %(names)s are not ready for search by keyword yet", **values)
    is_own = not any(dataset.of_others for dataset in mine)  # how others' documents go on is not told
    left = site().braid.indexer.leg_progress(found.leg, found.collection).seconds_left if is_own else None
    if left is not None:
        time = format_timedelta(timedelta(seconds=max(1, round(left))), granularity="second", threshold=2)
        text = _("%(said)s (about %(time)s).", said=text, time=time)
    else:
        text = _("%(said)s.", said=text)
    return Markup.escape(text)


def is_over(reason: str, datasets: Sequence[Dataset]) -> bool:
    """Return whether an index has by now all passages of the user's own ``datasets`` that a reason says it lacks."""
    found, mine = _read(reason, datasets)
    if found is None or not mine or any(dataset.of_others for dataset in mine):
        return False
    now = site().braid.indexer.leg_progress(found.leg, found.collection)
    return now.state == "ready" and not now.pending


class _Waiting(NamedTuple):
    """What an index lacks."""

    leg: Leg
    collection: str
    passages: int


def _read(reason: str, datasets: Sequence[Dataset]) -> tuple[_Waiting | None, list[Dataset]]:
    """Return what the reason says, and which of the datasets it is about."""
    known = known_reason(reason)
    found = _WAITING.match(known.template) if known is not None else None
    if known is None or found is None or not known.parts["count"].isdecimal():
        return None, []
    said = _Waiting(cast(Leg, found[1]), known.parts["collection"], int(known.parts["count"]))
    return said, [dataset for dataset in datasets if dataset.collection == said.collection and dataset.chunks]


def _names(datasets: Sequence[Dataset]) -> str:
    if len(datasets) > MOST_NAMED:
        said: str = ngettext("%(num)s dataset", "%(num)s datasets", len(datasets))
        return said
    return str(_(", ").join(_("“%(name)s”", name=dataset_name(dataset.name)) for dataset in datasets))
