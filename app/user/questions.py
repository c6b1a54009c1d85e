"""Questions about sections of documents, which are tried before they are offered: their text has to be found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext

from flask_babel import force_locale
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.datasets.outlines import DocumentOutline, OutlineSection, says_something
from braid.core.errors import BraidError
from braid.core.text.scripts import question_language

MAX_TITLE_CHARS = 44
MAX_HEADING_CHARS = 60
MIN_LETTERS = 2
FOUND_WITHIN = 3
"""Rank within which a search has to find the section."""
MOST_TRIED = 9
"""Sections that are tried for a few questions."""

_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_QUESTION = re.compile(r"[?？]$")
_NUMBERING = re.compile(
    r"^(?:\d+(?:\.\d+)*[.):]?|[(（]\d+[)）]|第\s*[0-9一二三四五六七八九十]+\s*[章節条]|제\s*\d+\s*[장절조])\s+"
)
_NUMBER_ALONE = re.compile(r"\d+\s")
_SAYS_NOTHING = re.compile(
    r"(?:sheet|page|slide|table|figure|chapter|section|part|シート|ページ|スライド|表|図|시트|페이지|슬라이드|표|그림)\s*\d*"
    r"|(?:table of )?contents|index|introduction|overview|references|appendix|summary|conclusion|navigation|menu|search"
    r"|目次|はじめに|概要|参考文献|付録|まとめ|ナビゲーション|メニュー|検索"
    r"|목차|머리말|서론|개요|참고\s?문헌|부록|결론|내비게이션|메뉴|검색",
    re.IGNORECASE,
)


def question_about(title: str, heading: str) -> str:
    """Return a question about a section; empty where neither title nor heading says enough. It is in the language of a
    heading with Japanese or Korean words, else in the page's.

    ``title`` is the document's as `spoken_title` returns it. A heading that is a question is asked as it is.
    """
    heading = _NUMBERING.sub("", heading)
    if not tells(heading) or heading.casefold() == title.casefold():
        return ""
    if _QUESTION.search(heading):
        return heading
    if not title:
        return ""
    language = question_language(heading)
    with force_locale(language) if language != "en" else nullcontext():
        return str(_("What does “%(title)s” say about “%(heading)s”?", title=title, heading=heading))


def spoken_title(document: DocumentOutline | OutlineSection) -> str:
    """Return the title as one would say it: without a file's ending, or a chapter's number ("2.3."), but with other
    numbers ("2024 in figures"); empty when it says nothing or is too long.
    """
    name = document.title or document.source.rpartition("/")[2]
    spoken = _EXTENSION.sub("", name).replace("_", " ").strip() if name in document.source else name.strip()
    if not _NUMBER_ALONE.match(spoken):
        spoken = _NUMBERING.sub("", spoken)
    is_name = sum(letter.isalpha() for letter in spoken) >= MIN_LETTERS and len(spoken) <= MAX_TITLE_CHARS
    return spoken if is_name else ""


def tried(sections: Iterable[OutlineSection], *, most: int, but: Collection[str] = ()) -> list[str]:
    """Return up to ``most`` questions about the sections that a search of their dataset answers with the section.

    Up to `MOST_TRIED` sections are tried. ``but`` are questions that were asked already.
    """
    found: list[str] = []
    for number, (section, question) in enumerate(_asked(sections)):
        if len(found) == most or number == MOST_TRIED:
            break
        if question not in but and question not in found and _finds(question, section):
            found.append(question)
    return found


def _asked(sections: Iterable[OutlineSection]) -> Iterator[tuple[OutlineSection, str]]:
    for section in sections:
        if question := question_about(spoken_title(section), section.heading):
            yield section, question


def _finds(question: str, section: OutlineSection) -> bool:
    """Return whether a search by keyword finds a text of the section among its first hits."""
    try:
        found = site().braid.manager.search(
            question,
            user_id=identity().account.id,
            dataset_ids=[section.dataset_id],
            mode="keyword",
            k=FOUND_WITHIN,
        )
    except BraidError:  # the index is not there: nothing is offered that could not be tried
        return False
    passages = (hit.passage for hit in found.hits)
    return any(
        passage.document_id == section.document_id
        and passage.heading_path == section.path
        and says_something(passage.text)
        for passage in passages
    )


def tells(heading: str) -> bool:
    """Return whether a heading or a title says what its text is about, as "Contents" and "table" do not."""
    letters = sum(letter.isalpha() for letter in heading)
    is_short = len(heading) <= MAX_HEADING_CHARS
    return is_short and letters >= MIN_LETTERS and not _SAYS_NOTHING.fullmatch(heading)
