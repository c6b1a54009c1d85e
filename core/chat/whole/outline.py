"""The outline of a document without a model: the most central sentence of each section, or all its dates or amounts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import mark
from braid.core.chat.quoting.candidates import headings_of
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.quoting.featured import one_line
from braid.core.chat.quoting.kinds import AMOUNT
from braid.core.chat.quoting.parts import begins_within, parts_of
from braid.core.chat.quoting.tables import split_tables
from braid.core.chat.texts import Language, say
from braid.core.chat.whole.find import Asks, WholeDocument
from braid.core.text.analyzer import Analyzer

MOST_LINES = 40
"""Sections, or sentences with dates or amounts, that are quoted."""
MOST_PARTS = 4_000
"""Sentences of a document that are compared."""
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|(?:19|20)\d\d ?[年년]|\d{1,2} ?[月월]"
    r"|\d{1,6} ?(?:日|か月|ヶ月|週間|年間|営業日|시간|일|개월|주|년)|영업일"
    r"|\b(?:\d{1,6}|one|two|three|four|five|six|ten|thirty|sixty|ninety) (?:working |business |calendar )?"
    r"(?:days?|weeks?|months?|years?|hours?)\b"
    r"|\b(?:January|February|March|April|June|July|August|September|October|November|December|May \d)\b"
    r"|\b(?:deadline|no later than|due (?:on|by|date))\b|期限|締め?切り?|기한|마감",
    re.IGNORECASE,
)
_CUT = ("…", "...")
"""Ends of headings that a page repeats as far as they fit."""
_FACTS: Mapping[Asks, re.Pattern[str]] = {"dates": _DATE, "amounts": AMOUNT}


@dataclass(frozen=True, slots=True)
class _Line:
    section: str
    text: str
    number: int
    """The number of the citation that shows the part."""
    terms: Counter[str]


def outline(whole: WholeDocument, citations: Sequence[Citation], analyzer: Analyzer, language: Language) -> Extract:
    """Return the sections in order, each with its most central sentence; or, where dates or amounts are asked for, the
    sentences that have some. Every line cites its passage, and the first line says whether this is all of it.
    """
    lines = _lines(citations, analyzer, by_document=whole.by_document)
    fact = _FACTS.get(whole.asks)
    sections = _sections(lines)
    chosen = [line for line in lines if fact.search(line.text)] if fact else _central(lines, _joined(sections))
    if not chosen:
        return Extract("", False)
    shown = chosen[:MOST_LINES]
    is_all = whole.is_whole and len(citations) == len(whole.hits) and len(shown) == len(chosen)
    title = say(
        f"whole_{whole.asks}" if is_all else f"part_{whole.asks}",
        language,
        title=one_line(whole.title),
        read=len(citations),
        total=whole.total,
    )
    parts = [title, ""]
    if not fact and len(sections) > len(chosen):
        parts = [f"{title} {say('sections_joined', language, sections=len(sections), lines=len(chosen))}", ""]
    for line in shown:
        named = f"**{one_line(line.section)}** — " if line.section else ""
        parts.append(f"- {named}{one_line(line.text)} {mark(line.number)}")
    return Extract("\n".join(parts), True)


def _lines(citations: Sequence[Citation], analyzer: Analyzer, *, by_document: bool) -> list[_Line]:
    """Return the sentences and table rows, with the last heading above each, or the title of the document."""
    found: list[_Line] = []
    for citation in citations:
        give_way()
        passage = citation.passage
        section = (passage.title or passage.source) if by_document else passage.heading_path.rpartition(" > ")[2]
        prose, rows = split_tables(citation.text)
        parts = parts_of(prose, headings_of(citation)) if passage.chunk_kind != "contents" else []
        if parts and begins_within(parts[0].text):
            parts = parts[1:]
        texts = [part.text for part in parts if part.kind in ("sentence", "item") and not part.text.endswith(_CUT)]
        for text in (*texts, *(row.text for row in rows)):
            found.append(_Line(section, text, citation.number, Counter(analyzer.tokens(text))))
            if len(found) == MOST_PARTS:
                return found
    return found


def _sections(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the lines of each section, in order."""
    sections: dict[str, list[_Line]] = {}
    for line in lines:
        sections.setdefault(line.section, []).append(line)
    return list(sections.values())


def _joined(sections: list[list[_Line]]) -> list[list[_Line]]:
    """Join neighbouring sections where there are more than an outline has lines, so that it spans the document."""
    if len(sections) <= MOST_LINES:
        return sections
    bounds = [number * len(sections) // MOST_LINES for number in range(MOST_LINES + 1)]
    return [list(chain.from_iterable(sections[first:end])) for first, end in pairwise(bounds)]


def _central(lines: Sequence[_Line], sections: Sequence[Sequence[_Line]]) -> list[_Line]:
    """Return the line of each section that is nearest to the section and to the document, by words weighed by how few
    lines have them; the first of equals.
    """
    having = Counter(term for line in lines for term in line.terms)
    weights = {term: math.log(1 + len(lines) / count) for term, count in having.items()}
    whole, chosen = _sum(lines), list[_Line]()
    for own in sections:
        section = _sum(own)
        scores = [_nearness(line, section, whole, weights) for line in own]
        chosen.append(own[scores.index(max(scores))])
    return chosen


def _sum(lines: Sequence[_Line]) -> Counter[str]:
    total: Counter[str] = Counter()
    for line in lines:
        total.update(line.terms.keys())
    return total


def _nearness(line: _Line, section: Counter[str], whole: Counter[str], weights: Mapping[str, float]) -> float:
    """Return how much of the section's and the document's words a line has, for its length."""
    if not line.terms:
        return 0.0
    shared = sum(weights[term] * (section[term] - 1 + 0.1 * (whole[term] - 1)) for term in line.terms)
    return shared / math.sqrt(len(line.terms) + 4)
