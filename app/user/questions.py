"""Questions about sections of documents, which are tried before they are offered: their text has to be found."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from flask_babel import get_locale, gettext

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.chat.asking.askable import Askable, Kind, askables, heading_of
from braid.core.datasets.outlines import OutlineSection, says_something
from braid.core.errors import BraidError
from braid.core.text.scripts import question_language

MAX_TITLE_CHARS = 44
FOUND_WITHIN = 5
"""Rank within which a search has to find the section."""
MOST_SEEN = 40
"""Sections of a document that are looked through for questions."""
MOST_TRIED = 16
"""Questions that are tried for a few ones."""
PATTERN_CHARS = 5
KEPT_DOCUMENTS = 200
"""Documents whose questions are kept, as long as their sections are the same."""

_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_ARTICLE = re.compile(r"^(?:an?|the) ", re.IGNORECASE)
_NUMBER_ALONE = re.compile(r"\d+\s")
_LATIN_END = re.compile(r"(?<=[A-Za-z0-9])$")
_ORDER: Mapping[Kind, int] = {kind: at for at, kind in enumerate(get_args(Kind))}
_TEXTS: Mapping[str, Mapping[str, str]] = {
    "question": dict.fromkeys(("en", "ja", "ko"), "%(what)s"),
    "definition": {
        "en": "What is %(what)s?",
        "ja": "%(what)sとは何ですか？",
        "ko": "%(what)s(이)란 무엇인가요?",
    },
    "steps": {
        "en": "How do I %(what)s?",
        "ja": "%(what)sにはどうすればよいですか？",
        "ko": "%(what)s 어떻게 해야 하나요?",
    },
    "way": {"ja": "%(what)sを教えてください", "ko": "%(what)s을(를) 알려 주세요"},
    "case": {
        "en": "What should I do %(what)s?",
        "ja": "%(what)sはどうすればよいですか？",
        "ko": "%(what)s에는 어떻게 해야 하나요?",
    },
    "outcome": {"ja": "%(what)sどうなりますか？", "ko": "%(what)s 어떻게 되나요?"},
    "price": {
        "en": "How much does %(what)s cost?",
        "ja": "%(what)sはいくらですか？",
        "ko": "%(what)s은(는) 얼마인가요?",
    },
    "amount": {"ja": "%(what)sは何%(more)sですか？", "ko": "%(what)s은(는) %(more)s인가요?"},
    "length": {"en": "How long does %(what)s %(more)s?"},
    "value": {"en": "What is %(what)s?", "ja": "%(what)sを教えてください", "ko": "%(what)s을(를) 알려 주세요"},
    "cell": {
        "en": "What is the %(more)s of %(what)s?",
        "ja": "%(what)sの%(more)sを教えてください",
        "ko": "%(what)s의 %(more)s을(를) 알려 주세요",
    },
    "topic": {
        "en": "What should I know about %(what)s?",
        "ja": "%(what)sについて教えてください",
        "ko": "%(what)s은(는) 무엇인가요?",
    },
    "topic, again": {
        "en": "What do I need to know about %(what)s?",
        "ja": "%(what)sについて教えてもらえますか？",
        "ko": "%(what)s을(를) 알려 주세요",
    },
    "title": {
        "en": "What is “%(what)s” about?",
        "ja": "「%(what)s」はどんな内容ですか？",
        "ko": "“%(what)s” 문서는 어떤 내용인가요?",
    },
}
"""Questions by kind, in the language of what is asked about; of names in Latin letters in the page's."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    question: str
    section: OutlineSection
    said: str
    is_heading: bool
    """Whether the document itself asks the question."""

    @property
    def pattern(self) -> str:
        """How the question is worded: by its first two words in English, and by its end in Japanese and Korean."""
        is_english = question_language(self.question) == "en"
        return " ".join(self.question.split()[:2]) if is_english else self.question.rstrip("?？")[-PATTERN_CHARS:]


def question_of(asked: Askable, page: str, *, again: bool = False) -> str:
    """Return the question in words: in the language of what is asked about, or of ``page`` for a name in Latin letters;
    empty where it is English and the page is not. ``again`` words one about a topic in another way.
    """
    language, what, more = asked.language or page, asked.what, asked.more
    if asked.language == "en" != page:
        if asked.kind not in ("definition", "price", "value"):
            return ""
        language, what = page, _ARTICLE.sub("", what)
    if asked.kind == "question" and language == "ko" and asked.language:
        what = f"{what}요?"
    elif asked.kind == "topic":
        what = more if language == "en" else what.removesuffix("について")
    elif asked.kind == "cell" and language == "en":
        more = more if more.isupper() else more.lower()
    elif asked.kind == "amount" and language == "ko":
        more = re.sub(r"(?=이[내상하])", " ", f"몇 {more}".replace("몇 일", "며칠"))
    if language == "ja" and asked.kind not in ("question", "title"):
        what, more = _LATIN_END.sub(" ", what), _LATIN_END.sub(" ", more)
    text = _TEXTS["topic, again" if again else asked.kind][language]
    if what.endswith("때"):
        text = text.replace("에는", "는")
    return str(gettext(text, what=what, more=more))  # which chooses the Korean particles


def spoken_title(section: OutlineSection) -> str:
    """Return the document's title as one would say it: without a file's ending, or a chapter's number ("2.3."), but
    with other numbers ("2024 in figures"); empty when it says nothing or is too long.
    """
    name = section.title or section.source.rpartition("/")[2]
    spoken = _EXTENSION.sub("", name).replace("_", " ").strip() if name in section.source else name.strip()
    told = heading_of(spoken)
    spoken = spoken if told and _NUMBER_ALONE.match(spoken) else told
    return spoken if len(spoken) <= MAX_TITLE_CHARS else ""


def tried(
    documents: Iterable[Sequence[OutlineSection]],
    *,
    most: int,
    but: Collection[str] = (),
    languages: Collection[str] = (),
) -> list[str]:
    """Return up to ``most`` questions about sections that a search of their dataset answers with the section.

    Each document, given by its sections, is asked about before one is asked about twice, and no section is asked about
    twice; two questions in a row are worded by different patterns, but for headings that ask themselves where there is
    nothing else. Up to `MOST_TRIED` questions, or as many as there are documents, are tried. ``but`` are questions that
    were asked already; with ``languages`` others are not asked.
    """
    page = str(get_locale() or "en")[:2]
    every = (_candidates(tuple(sections), page) for sections in documents)
    queues = [deque(e for e in some if not languages or question_language(e.question) in languages) for some in every]
    found: list[_Candidate] = []
    left = max(MOST_TRIED, len(queues))
    while any(queues) and left > 0 and len(found) < most:
        before = len(found)
        for queue in queues:
            while left > 0 and (candidate := _next(queue, found)) is not None:
                if candidate.question in but or candidate.question in [each.question for each in found]:
                    continue
                left -= 1
                if _finds(candidate):
                    found.append(candidate)
                    break
            if len(found) == most:
                break
        if len(found) == before:
            break
    return [each.question for each in found]


def _next(queue: deque[_Candidate], found: Sequence[_Candidate]) -> _Candidate | None:
    """Take the first candidate that is worded unlike the last question, else the first heading that asks itself; none
    about a section that has a question already.
    """
    last = found[-1].pattern if found else ""
    taken = {each.section for each in found}
    new = [candidate for candidate in queue if candidate.section not in taken]
    unlike = [candidate for candidate in new if candidate.pattern != last]
    for candidate in unlike or [candidate for candidate in new if candidate.is_heading]:
        queue.remove(candidate)
        return candidate
    return None


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _candidates(sections: tuple[OutlineSection, ...], page: str) -> tuple[_Candidate, ...]:
    """Return the questions about a document, those in the page's language, and by which one sees the most, first."""
    found: list[tuple[bool, int, _Candidate]] = []
    about = [(section, asked) for section in sections[:MOST_SEEN] for asked in askables(section.path, section.text)]
    if sections and (title := spoken_title(sections[0])):
        language = question_language(title)
        about.append((sections[0], Askable("title", title, "" if language == "en" else language)))
    for section, asked in about:
        for again in (False, True)[: 1 + (asked.kind == "topic")]:
            if question := question_of(asked, page, again=again):
                is_foreign = question_language(question) != page
                found.append(
                    (
                        is_foreign,
                        _ORDER[asked.kind],
                        _Candidate(question, section, asked.said, asked.kind == "question"),
                    )
                )
    return tuple(candidate for *_, candidate in sorted(found, key=lambda each: each[:2]))


def _finds(candidate: _Candidate) -> bool:
    """Return whether a search by keyword finds the section, or one in it, with the text that answers it."""
    section = candidate.section
    try:
        found = site().braid.manager.search(
            candidate.question,
            user_id=identity().account.id,
            dataset_ids=[section.dataset_id],
            mode="keyword",
            k=FOUND_WITHIN,
        )
    except BraidError:  # the index is not there: nothing is offered that could not be tried
        return False
    return any(
        passage.document_id == section.document_id
        and f"{passage.heading_path} > ".startswith(f"{section.path} > " if section.path else "")
        and candidate.said in passage.text
        and says_something(passage.text)
        for passage in (hit.passage for hit in found.hits)
    )
