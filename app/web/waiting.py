"""What is said of passages that an index does not have yet: how many, of which datasets, and for how long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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


def waiting(reasons: Iterable[str], datasets: Sequence[Dataset]) -> list[str]:
    """Return those reasons that say which passages an index lacks as one sentence for each leg, with the names of the
    user's ``datasets`` in it; then the others as they are.

    A sentence is Markup, which needs no translation.
    """
    legs: dict[Leg, dict[str, _Waiting]] = {}
    others: list[str] = []
    for reason in dict.fromkeys(reasons):
        found, mine = _read(reason, datasets)
        if found is None or not mine:
            others.append(reason)
        else:
            legs.setdefault(found.leg, {})[found.collection] = found
    return [*(_sentence(leg, found, datasets) for leg, found in legs.items()), *others]


def _sentence(leg: Leg, found: Mapping[str, _Waiting], datasets: Sequence[Dataset]) -> str:
    mine = [dataset for dataset in datasets if dataset.collection in found and dataset.chunks]
    totals = Counter[str]()
    for dataset in mine:
        totals[dataset.collection] += dataset.chunks
    count = sum(min(found[each].passages, total) for each, total in totals.items())
    values = {"count": format_decimal(count), "total": format_decimal(totals.total()), "names": _names(mine)}
    if leg == "dense":
        text = _("%(count)s of %(total)s passages of %(names)s are not ready for search by meaning yet", **values)
    else:
        text = _("%(count)s of %(total)s passages of %(names)s are not ready for search by keyword yet", **values)
    is_own = not any(dataset.of_others for dataset in mine)  # how others' documents go on is not told
    left = [site().braid.indexer.leg_progress(leg, each).seconds_left for each in totals] if is_own else [None]
    seconds = [each for each in left if each is not None]
    if len(seconds) == len(left):
        time = format_timedelta(timedelta(seconds=max(1, round(max(seconds)))), granularity="second", threshold=2)
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
