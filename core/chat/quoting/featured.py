"""A featured passage: whole, consecutive sentences around the one that answers, or the whole list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from braid.core.chat.citations import Citation, Featured
from braid.core.chat.marks import literal
from braid.core.chat.quoting.candidates import Around, Candidate, headings_of, nothing_around
from braid.core.chat.quoting.parts import (
    LIST_MARK,
    LONGEST_HEADING,
    TextPart,
    begins_within,
    ends,
    introduces,
    parts_of,
    points_back,
)
from braid.core.chat.quoting.tables import split_tables
from braid.core.chat.quoting.wanted import is_question, section_of
from braid.core.text.scripts import HAN, KANA
from braid.core.text.token_budget import cut

MOST_SENTENCES = 4
MOST_CHARS = 600
"""Longest featured passage; a list, and a single sentence, may be longer."""
MOST_SENTENCE_TOKENS = 600
MOST_LIST_CHARS, MOST_STEPS_CHARS = 6_000, 2_000
"""Longest list that is asked for, and longest part of one that leads to the step that answers."""
LEFT_OUT = "… "
"""Before a step of a list whose steps before it are not shown, and before an item far behind the first."""
MOST_LINES_ABOVE = 5
"""Most lines of a list above the one that answers."""
OVERLAP_CHARS = 600
LEAST_OVERLAP = 12
_CJK = re.compile(f"[{KANA}{HAN}]")
_NO_SPACE = re.compile(f"[{KANA}{HAN}、。「」『』（）！？：；・，．]$")


@dataclass(frozen=True, slots=True)
class Place:
    """A passage, continued from its neighbours, as parts, and which of these are its own sentences."""

    citation: Citation
    parts: tuple[TextPart, ...]

    def find(self, text: str) -> int | None:
        """Return the place of the part that is, or goes on, the given sentence; None where there is none."""
        whole = [at for at, part in enumerate(self.parts) if part.text == text and part.kind != "furniture"]
        return next(iter(whole or (at for at, part in enumerate(self.parts) if text in part.text)), None)

    def is_prose(self, at: int) -> bool:
        """Return whether a part can be quoted beside another: neither a heading nor a question."""
        part = self.parts[at] if 0 <= at < len(self.parts) else None
        return part is not None and part.kind in ("sentence", "item") and not is_question(part.text)

    def is_later_step(self, at: int) -> bool:
        """Return whether a part is a numbered step that is not the first."""
        mark = self.parts[at].mark
        return mark[:-1].isdecimal() and int(mark[:-1]) > 1

    def begins_section(self, at: int) -> bool:
        """Return whether a part begins an article or a numbered paragraph: 第4条, or 4.2 behind 4.1."""
        number = section_of(self.parts[at].text) if self.parts[at].kind == "sentence" else ""
        above, _, last = number.rpartition(".")
        if not (above and last.isdigit()):
            return number != "" and not number.isdigit()
        beside = (f"{above}.{int(last) - 1}", f"{above}.{int(last) + 1}")
        return any(section_of(part.text) in beside for part in self.parts)

    def goes_on(self, shown: range, at: int) -> bool:
        """Return whether a part beside those that are shown is of the same section, and of the same paragraph unless
        one sentence would stand alone.
        """
        if not self.is_prose(at) or self.begins_section(max(at, shown[0])):
            return False
        edge = self.parts[shown[0] if at < shown[0] else shown[-1]]
        is_apart = self.parts[at].kind == edge.kind == "sentence" and self.parts[at].paragraph != edge.paragraph
        return not is_apart or len(shown) == 1

    def length(self, shown: range) -> int:
        """Return the number of characters of these parts, as they are shown."""
        return len(_text(self.parts, shown))

    def list_at(self, at: int) -> range | None:
        """Return the parts of the list that a part belongs to, or that follows it; None where there is no list."""
        start = at if self.parts[at].kind == "item" else at + 1
        while start and start <= at and self.parts[start - 1].kind == "item":
            start -= 1
        end = start
        while end < len(self.parts) and self.parts[end].kind == "item":
            end += 1
        items = sum(bool(part.mark) for part in self.parts[start:end])
        return range(start, end) if items > 1 else None

    def steps_to(self, at: int, most: int) -> range | None:
        """Return the parts of a numbered list up to a step, with what leads to it, of at most so many characters;
        None for a part that is no step behind another one.
        """
        items = self.list_at(at) if self.parts[at].kind == "item" else None
        if items is None or not any(part.mark[:1].isdigit() for part in self.parts[items[0] + 1 : at + 1]):
            return None
        start, room = at, most - len(self.parts[at].line)
        for n in range(at - 1, items[0] - 1 - self.is_prose(items[0] - 1), -1):
            room -= len(self.parts[n].line) + 1
            if room < 0:
                break
            start = n if self.parts[n].mark or n < items[0] else start
        return range(start, at + 1)

    def unit_at(self, at: int, main: range) -> range:
        """Return what is shown with a part, or not at all: the list that it belongs to, unless ``main`` is within that
        list and the whole of it is too long.
        """
        whole = self.list_at(at) if self.parts[at].kind == "item" else None
        if whole is None or (main[0] in whole and len(_text(self.parts, whole)) > MOST_CHARS):
            return range(at, at + 1)
        return whole


def place_of(citation: Citation, around: Around = nothing_around) -> Place:
    """Return a cited passage as parts; sentences that are cut at its ends are continued from its neighbours."""
    before, after = around(citation.passage)
    text = joined(joined(before, citation.text), after)
    parts = parts_of(split_tables(text)[0], headings_of(citation))
    if before and parts and begins_within(parts[0].text):
        parts = parts[1:]
    if after and parts and not parts[-1].is_whole:
        parts = parts[:-1]
    return Place(citation, tuple(parts))


def joined(before: str, after: str) -> str:
    """Return two neighbouring pieces of a text as one, without what is in both.

    >>> joined("It is red. It has two wheels.", "It has two wheels. It is old.")
    'It is red. It has two wheels. It is old.'
    """
    if not (before and after):
        return before or after
    start = before.rfind(after[:LEAST_OVERLAP], max(0, len(before) - OVERLAP_CHARS))
    if start >= 0 and after.startswith(before[start:]):
        return before[:start] + after
    return before + ("\n" if _is_cut(before.rsplit("\n", 1)[-1], after) else "\n\n") + after


def _is_cut(last: str, after: str) -> bool:
    """Return whether a sentence goes on from the last line of a passage to the next passage."""
    if ends(last) or LIST_MARK.match(after):
        return False
    is_long = len(last) > (LONGEST_HEADING // 4 if _CJK.search(last) else LONGEST_HEADING)
    return begins_within(after) or is_long


def feature(chosen: Candidate, place: Place, score: Callable[[str], float], *, alone: bool = False) -> Featured:
    """Return up to four sentences around a chosen one, at most 600 characters if there is a choice, and of a list all
    or nothing. What a sentence leads to, such as a list, is marked with it; ``alone``, where only the mark is shown,
    also what it points back to.
    """
    at = place.find(chosen.text)
    if chosen.value or at is None:
        line = one_line(chosen.text)
        return Featured(line, 0, len(line), place.citation.number)
    steps = place.steps_to(at, MOST_CHARS if alone else MOST_STEPS_CHARS)
    if steps and (alone or len(_text(place.parts, place.list_at(at) or steps)) > MOST_CHARS):
        return shown_of(place, steps, steps if alone else range(at, at + 1))
    first, last = at, at
    if introduces(chosen.text) and (place.parts[at].kind != "item" or chosen.text.rstrip()[-1:] in (":", "：")):
        items = place.list_at(at) or ()
        if place.is_prose(at + 1) or at + 1 in items:
            last += 1
        while last + 1 in items and len(_text(place.parts, range(first, last + 2))) <= MOST_CHARS:
            last += 1
    first = _start_of(place, first, last)
    main = range(first if alone else at, last + 1)
    size = 1 + at - first
    while size < MOST_SENTENCES:
        around = range(first, last + 1)
        beside = [place.unit_at(n, main) for n in (first - 1, last + 1) if place.goes_on(around, n)]
        for unit in sorted(beside, key=lambda unit: (-max(score(place.parts[n].text) for n in unit), -unit[0])):
            wider = range(min(first, unit[0]), max(last, unit[-1]) + 1)
            if len(_text(place.parts, wider)) <= MOST_CHARS:
                first, last, size = wider[0], wider[-1], size + 1
                break
        else:
            break
    start = _start_of(place, first, last)
    if start < first and size == MOST_SENTENCES and last > main[-1] and place.parts[last].kind != "item":
        last -= 1
    if start == first < main[0] and place.parts[first].kind != "item" and points_back(place.parts[first].text):
        start = next(n for n in range(first, main[0] + 1) if n == main[0] or not points_back(place.parts[n].text))
    return shown_of(place, range(start, last + 1), main)


def _start_of(place: Place, first: int, last: int) -> int:
    """Return where what is shown has to begin for its first sentence to be understood, if there is room for that."""
    while points_back(place.parts[first].text) and place.is_prose(first - 1):
        before = place.unit_at(first - 1, range(first, last + 1))[0]
        if last - before >= 2 * MOST_SENTENCES or len(_text(place.parts, range(before, last + 1))) > MOST_CHARS:
            break
        first = before
    return first


def feature_list(place: Place, items: range) -> Featured:
    """Return a whole list, with the sentence that leads to it."""
    start = items[0] - 1 if place.is_prose(items[0] - 1) else items[0]
    last = items[-1]
    while last > items[0] and len(_text(place.parts, range(start, last + 1))) > MOST_LIST_CHARS:
        last -= 1
    return shown_of(place, range(start, last + 1), range(items[0], last + 1))


def one_line(text: str) -> str:
    """Put a sentence on one line, literally; a very long one is cut."""
    line = literal(" ".join(text.split()))
    return cut(line, MOST_SENTENCE_TOKENS) or line[: 2 * MOST_SENTENCE_TOKENS] + " …"


def shown_of(place: Place, shown: range, main: range) -> Featured:
    """Return these parts of a place, of which the ``main`` ones answer."""
    lines = [n for n in range(shown[0], main[0]) if place.parts[n].mark]
    first = lines[-MOST_LINES_ABOVE] if len(lines) > MOST_LINES_ABOVE else shown[0]
    sign = LEFT_OUT if first > shown[0] or place.is_later_step(first) else ""
    shown = range(first, shown[-1] + 1)
    before = _text(place.parts, range(shown[0], main[0]))
    text = _text(place.parts, shown)
    start = len(before) + len(_gap(place.parts, main[0])) if before else 0
    end = len(_text(place.parts, range(shown[0], main[-1] + 1)))
    return Featured(sign + text, len(sign) + start, len(sign) + end, place.citation.number)


def _text(parts: Sequence[TextPart], shown: Iterable[int]) -> str:
    text = ""
    for at in shown:
        text += (_gap(parts, at) if text else "") + one_line(parts[at].line)
    return text


def _gap(parts: Sequence[TextPart], at: int) -> str:
    """Return what is between a part and the one before it."""
    if parts[at].paragraph != parts[at - 1].paragraph:
        return "\n"
    return "" if _NO_SPACE.search(parts[at - 1].text) else " "
