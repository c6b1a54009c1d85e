"""Questions to begin with: about the user's own documents, made of their titles and headings without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from flask_babel import gettext as _

from braid.app.opening import SAMPLE_NAME
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.app.user.questions import question_about, spoken_title, tells
from braid.core.datasets.outlines import DocumentOutline
from braid.core.types import Dataset

STARTERS = 4
SEEN_DOCUMENTS = 12


def starters(readable: Readable) -> list[str]:
    """Return up to `STARTERS` questions in the page's language.

    They are about the newest personal documents, then shared ones; about the guide while there are no others.
    """
    own = [dataset for dataset in readable.shared if dataset.name != SAMPLE_NAME]
    for datasets in (readable.personal, own):
        outlines = site().outlines.newest(datasets, limit=SEEN_DOCUMENTS)
        if questions := list(dict.fromkeys(_questions(outlines)))[:STARTERS]:
            return questions
    return _about_the_guide(readable.shared)


def _about_the_guide(shared: Sequence[Dataset]) -> list[str]:
    """Return questions that the sample answers."""
    if not any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in shared):
        return []
    return [
        _("When can a new document be found?"),
        _("What happens when a dataset is deleted?"),
        _("How large may a file be?"),
    ]


def _questions(outlines: Sequence[DocumentOutline]) -> Iterator[str]:
    """Yield questions, one about each document before the second one about any."""
    for asked_together in zip_longest(*map(_questions_about, outlines)):
        yield from (question for question in asked_together if question)


def _questions_about(outline: DocumentOutline) -> Iterator[str]:
    title = spoken_title(outline)
    about = [question for heading in outline.headings if (question := question_about(title, heading))]
    yield from about
    if not about and tells(title):
        yield _("What is “%(title)s” about?", title=title)
