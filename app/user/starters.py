"""Questions to begin with: about the user's own documents, made of what these say without a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from flask_babel import get_locale
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.opening import SAMPLE_NAME
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.app.user.questions import tried
from braid.core.datasets.outlines import DocumentOutline
from braid.core.lru import LeastRecentlyUsed
from braid.core.types import Dataset

STARTERS = 4
SEEN_DOCUMENTS = 12
AGAIN_S = 60.0
"""Seconds after which fewer questions than are wanted are looked for again: an index may have come since."""
_KEPT: LeastRecentlyUsed[tuple[int, str], tuple[tuple[DocumentOutline, ...], list[str], float]] = LeastRecentlyUsed(64)
"""Questions by account and language, with the outlines that they were made of, and when."""


def is_guide_alone(datasets: Iterable[Dataset]) -> bool:
    """Return whether the guide is all that there is to ask."""
    return {dataset.name for dataset in datasets if dataset.documents} == {SAMPLE_NAME}


def starters(readable: Readable) -> list[str]:
    """Return up to `STARTERS` questions, each of which a search answers.

    They are about the newest personal documents, then shared ones; about the guide while there are no others.
    """
    own = [dataset for dataset in readable.shared if dataset.name != SAMPLE_NAME]
    for datasets in (readable.personal, own):
        if questions := _about(site().outlines.newest(datasets, limit=SEEN_DOCUMENTS)):
            return questions
    return _about_the_guide(readable.shared)


def _about(outlines: tuple[DocumentOutline, ...]) -> list[str]:
    """Return questions about these documents; tried again when one of them changes, too few ones after a minute."""
    key, now = (identity().account.id, str(get_locale())), time.monotonic()
    kept = _KEPT.get(key)
    if kept is None or kept[0] is not outlines or (len(kept[1]) < STARTERS and now - kept[2] >= AGAIN_S):
        kept = (outlines, tried([outline.sections for outline in outlines], most=STARTERS), now)
        _KEPT.put(key, kept)
    return kept[1]


def _about_the_guide(shared: Sequence[Dataset]) -> list[str]:
    """Return questions that the sample answers."""
    if not any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in shared):
        return []
    return [
        _("When can a new document be found?"),
        _("What happens when a dataset is deleted?"),
        _("How large may a file be?"),
    ]
