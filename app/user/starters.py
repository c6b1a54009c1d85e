"""Questions to begin with: about the user's own documents, made of what these say without a model."""

from __future__ import annotations

from collections.abc import Sequence

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
_KEPT: LeastRecentlyUsed[tuple[int, str], tuple[tuple[DocumentOutline, ...], list[str]]] = LeastRecentlyUsed(256)
"""Questions by account and language, with the outlines that they were made of."""


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
    """Return questions about these documents; tried again only when one of them changes, or there are too few."""
    key = identity().account.id, str(get_locale())
    kept = _KEPT.get(key)
    if kept is None or kept[0] is not outlines:
        questions = tried([outline.sections for outline in outlines], most=STARTERS)
        kept = (outlines, questions)
        if len(questions) == STARTERS:
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
