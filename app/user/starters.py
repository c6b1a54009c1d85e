"""Questions to begin with: about the user's own documents, made of their titles and headings without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from flask_babel import gettext as _

from braid.app.opening import SAMPLE_NAME
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.core.datasets.outlines import Outline
from braid.core.types import Dataset

STARTERS = 4
SEEN_DOCUMENTS = 12
MAX_TITLE_CHARS = 44
MAX_HEADING_CHARS = 60
MIN_LETTERS = 2

_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_QUESTION = re.compile(r"[?？]$")
_NUMBERING = re.compile(
    r"^(?:\d+(?:\.\d+)*[.):]?|[(（]\d+[)）]|第\s*[0-9一二三四五六七八九十]+\s*[章節条]|제\s*\d+\s*[장절조])\s+"
)
_SAYS_NOTHING = re.compile(
    r"(?:sheet|page|slide|table|figure|chapter|section|part|シート|ページ|スライド|表|図|시트|페이지|슬라이드|표|그림)\s*\d*"
    r"|(?:table of )?contents|index|introduction|overview|references|appendix|summary|conclusion"
    r"|目次|はじめに|概要|参考文献|付録|まとめ|목차|머리말|서론|개요|참고\s?문헌|부록|결론",
    re.IGNORECASE,
)


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


def _questions(outlines: Sequence[Outline]) -> Iterator[str]:
    """Yield questions, one about each document before the second one about any."""
    for asked_together in zip_longest(*map(_questions_about, outlines)):
        yield from (question for question in asked_together if question)


def _questions_about(outline: Outline) -> Iterator[str]:
    title = _title(outline)
    headings = [heading for each in outline.headings if (heading := _NUMBERING.sub("", each)) and _tells(heading)]
    headings = [heading for heading in headings if heading.casefold() != title.casefold()]
    for heading in headings:
        if _QUESTION.search(heading):
            yield heading
        elif title:
            yield _("What does “%(title)s” say about “%(heading)s”?", title=title, heading=heading)
    if title and not headings:
        yield _("What is “%(title)s” about?", title=title)


def _tells(heading: str) -> bool:
    letters = sum(letter.isalpha() for letter in heading)
    is_short = len(heading) <= MAX_HEADING_CHARS
    return is_short and letters >= MIN_LETTERS and not _SAYS_NOTHING.fullmatch(heading)


def _title(outline: Outline) -> str:
    """Return the title as one would say it: without a file's ending; empty when it says nothing or is too long."""
    name = outline.title or outline.source.rpartition("/")[2]
    spoken = _EXTENSION.sub("", name).replace("_", " ").strip() if name in outline.source else name.strip()
    is_name = sum(letter.isalpha() for letter in spoken) >= MIN_LETTERS and len(spoken) <= MAX_TITLE_CHARS
    return spoken if is_name else ""
