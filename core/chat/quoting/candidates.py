"""What may be quoted: the sentences and table rows of passages, with the terms that they are found by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.quoting.kinds import CURRENCIES, WHEN
from braid.core.chat.quoting.parts import (
    TextPart,
    asks_for_figure,
    begins_within,
    parts_of,
    points_back,
    subject_of,
)
from braid.core.chat.quoting.tables import QuotedRow, split_tables
from braid.core.chat.quoting.wanted import Wanted, is_question, section_of, without_asking
from braid.core.chat.texts import Language
from braid.core.lru import lazy
from braid.core.text.analyzer import Analyzer
from braid.core.text.contents import section_number
from braid.core.text.dates import dates_in
from braid.core.text.scripts import HANGUL, HIRAGANA, KANA
from braid.core.types import Passage

_TIME = re.compile(
    r"(?P<before>午前|午後|오전|오후)? ?(?<!\d)(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?!\d)(?::\d\d)?"
    r" ?(?P<after>[ap]m\b|[ap]\.m\.)?",
    re.IGNORECASE,
)
_KANA = re.compile(f"[{HIRAGANA}]|^[{KANA}]$")
NO_TERMS: frozenset[str] = frozenset()
LEAST_HEADED = 0.5
"""Least likeness of a question and a heading for the heading to count as what is asked."""
EARLIER_WEIGHT = 0.3
"""Weight of a term of earlier questions, relative to those of the follow-up itself."""
LEAST_QUOTED = 6
"""Fewest characters of a sentence that is taken for quoted where an answer has it."""
MOST_ANSWERS = 12
"""Earlier answers in which a sentence is looked for."""
_MARKS = re.compile(r"\[\d+\]|[\s*\\]+")
RAREST = 0.9
"""Least weight of a word that is one of the rarest of a question, as a part of that of the rarest."""
CODE = re.compile(r"[A-Za-z]{1,5}-?\d[\dA-Za-z-]{0,20}|\d{1,4}(?:\.\d{1,4}){1,3}")
HANGUL_WORD = re.compile(f"[{HANGUL}]{{2}}")
_BEFORE_NOUN = re.compile(r"\b(?:an?|the|my|your|our|their|for|of|in|at|on|by|with|from)\s+$", re.IGNORECASE)
_OF_NOUN = re.compile(r"..(?:[을를의]|에게|한테|에서[는도의]?|에[는도]|으로|까지|부터|(?<![아어여해])도)$")
_BEHIND_NOUN = re.compile(r"[はがをにのでもと]")
LEADS = (1.0, 0.5)
"""What the first sentences below a heading have of its likeness."""
Around = Callable[[Passage], tuple[str, str]]
"""A passage → the texts of those before and after it in its document, under the same heading; empty at an end."""


_NUMBERED = re.compile(
    r"(?<!\d)()(\d{1,4}) ?(人部屋|号室|人用|年生|인실|호실|인용|학년)"
    rf"|(?<![A-Za-z\d])(?!{CURRENCIES})([A-Za-z]{{1,5}}-?)(\d{{1,4}})(?![A-Za-z\d]|\.\d)"
    rf"|(?<![\d.,$€£¥₩-])(?<!{CURRENCIES})(?<!(?:{CURRENCIES}) )()((?:19|20)\d\d)"
    rf"(?![\d.,]*\d|-\d| ?(?:[円名人원명号호]|yen|won|people|{CURRENCIES}))"
    r"|(?<![年년\d])(?<!년 )()(\d\d?)([月월])(?! ?\d)"
)
"""Numbers that name one of several: of a room, a grade, a model, a year, a month."""
_BOUND = re.compile(
    r"[~〜～–—]|\d-\d|\b(?:since|until|till|from|before|after|by|through|up to)\b"
    r"|\b(?:older|newer|earlier|later|higher|lower)\b|から|まで|以[上下降前後]|より|부터|까지|이[상하전후]|보다",
    re.IGNORECASE,
)
"""What makes a number the end of many."""
_WHEN = re.compile(
    rf"{WHEN}|\b(?:what|which) (?:date|day|year|month)\b|いつ|何[年月日]|언제|몇 ?[년월]|며칠", re.IGNORECASE
)


def numbered(text: str) -> dict[str, frozenset[str]]:
    """Return the numbers of a text that name one of several, by what stands before or behind them.

    >>> numbered("DH-20, 2026")
    {'DH-': frozenset({'20'}), '': frozenset({'2026'})}
    """
    found: dict[str, frozenset[str]] = {}
    for each in _NUMBERED.finditer(unicodedata.normalize("NFKC", text)):
        kind, number, unit = [*(group for group in each.groups() if group is not None), ""][:3]
        found[kind + unit] = found.get(kind + unit, NO_TERMS) | {number}
    return found


def nothing_around(passage: Passage) -> tuple[str, str]:
    """Return no texts: the passage stands alone."""
    return "", ""


@dataclass(frozen=True)
class Asked:
    """A question with its terms, weighed by idf, and the language of the answer."""

    text: str
    weights: Mapping[str, float]
    language: Language
    question: str = ""
    """A follow-up as it was typed; empty for any other question."""
    own: frozenset[str] = frozenset()
    """Of a follow-up the first term of each word that it has itself."""
    quoted: str = ""
    """Of a follow-up the last answers, bare."""
    last: str = ""
    """Of a follow-up the last answer, bare."""
    new: tuple[frozenset[str], ...] = ()
    """Of a follow-up the terms of each word that the last answer has not."""
    earlier: frozenset[str] = NO_TERMS
    """Of a follow-up the terms of earlier questions."""
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The question's own words as it has them, each with its terms; empty where they are not known."""

    def going_on(
        self, question: str, own: Mapping[str, frozenset[str]], answers: Sequence[str], analyzer: Analyzer
    ) -> Asked:
        """Return the question as one that goes on from answers: its own terms, by the first of each word, weigh more
        than those of earlier questions.
        """
        terms = frozenset[str]().union(*own.values())
        if terms.isdisjoint(self.weights):
            return self
        last = bare(answers[-1]) if answers else ""
        words = [_telling(first, of_word) for first, of_word in own.items()]
        told = frozenset(analyzer.tokens(answers[-1])) if answers else NO_TERMS
        weights = {term: weight * (1.0 if term in terms else EARLIER_WEIGHT) for term, weight in self.weights.items()}
        return replace(
            self,
            weights=weights,
            question=question,
            own=frozenset(own),
            quoted=bare("\n".join(answers[-MOST_ANSWERS:])),
            last=last,
            new=tuple(word for word in words if not has_word(word, told)),
            earlier=_content(self.weights.keys() - terms) if self.weights.keys() - terms else NO_TERMS,
        )

    def share_of(self, terms: frozenset[str]) -> float:
        """Return the share of the question's words that are among the terms, by weight, 0.0–1.0."""
        words = _content(self.weights.keys())
        words = frozenset(word for word in words if len(word) > 1) or words  # a sign of 社長 is in other words, too
        total = sum(self.weights[term] for term in words)
        return sum(self.weights[term] for term in words & terms) / total if total else 0.0

    def lacks_kind(self, text: str) -> bool:
        """Return whether a text lacks a kind of answer that this question itself needs, and not an earlier one."""
        return (Wanted.of(self.question) if self.question else self.wanted).lacks_kind(text)

    def own_share(self, each: Candidate) -> float:
        """Return the share of a follow-up's own words that a candidate has which was quoted before; 1.0 for any other
        candidate.
        """
        if not self.own or not self.quoted or bare(each.text) not in self.quoted:
            return 1.0
        return len(self.own & (each.terms | each.heading)) / len(self.own)

    def place_in_last(self, each: Candidate) -> int:
        """Return where the last answer quotes a candidate; -1 where it does not."""
        text = bare(each.text)
        return self.last.find(text) if len(text) >= LEAST_QUOTED else -1

    @lazy
    def told_by(self) -> Mapping[str, frozenset[str]]:
        """The terms that tell where each word is: of a code the whole, of a word of Hangul, which has endings, its
        beginning, of others what is no single sign.
        """
        found: dict[str, frozenset[str]] = {}
        for word, terms in self.words.items():
            begin = word[:2]
            one = max(terms, key=len) if CODE.fullmatch(word) else begin if HANGUL_WORD.match(begin) else ""
            found[word] = frozenset((one,)) if one in terms else frozenset(t for t in terms if len(t) > 1) or terms
        return found

    @lazy
    def codes(self) -> tuple[str, ...]:
        """Its words that are codes, such as E-104."""
        return tuple(word for word in self.words if CODE.fullmatch(word))

    @lazy
    def rarest(self) -> tuple[str, ...]:
        """Its codes, and its words that are about as rare as the rarest one."""
        weight = {word: max(self.weights.get(t, 0.0) for t in terms) for word, terms in self.told_by.items()}
        least = RAREST * max(weight.values(), default=0.0)
        return tuple(word for word in weight if weight[word] >= least or word in self.codes)

    def said_in(self, words: Collection[str], terms: frozenset[str]) -> list[str]:
        """Return those of its words that a text with these terms has."""
        return [word for word in words if 2 * len(self.told_by[word] & terms) > len(self.told_by[word])]

    def is_noun(self, word: str) -> bool:
        """Return whether a word of the question is a noun by what is beside it, a preposition, article or particle."""
        at = self.text.find(word)
        before, after = self.text[:at], self.text[at + len(word) :]
        if HANGUL_WORD.match(word):
            return _OF_NOUN.search(word) is not None or after.startswith(("은", "는", "이", "가", "을", "를", "의"))
        if word.isascii():  # what follows *to* is a verb, but for a plural
            is_plural = word.endswith("s") and not word.endswith("ss") and before.endswith(" to ")
            return is_plural or (_BEFORE_NOUN.search(before) is not None and not word.endswith("ly"))
        return len(word) > 1 or _BEHIND_NOUN.match(after) is not None

    def stands_before(self, word: str, terms: frozenset[str]) -> bool:
        """Return whether a word of the question, no adverb, stands right before one that a text's terms have."""
        if word.isascii() and word.endswith("ly"):
            return False
        behind = self.text[self.text.find(word) + len(word) :].lstrip()
        behind = behind if word.isascii() else behind.removeprefix("の")  # PC の may be パソコンの
        return any(behind.startswith(other) for other in self.said_in(self.words, terms))

    def names_another(self, text: str, document: str) -> bool:
        """Return whether a text is about another number than the question names: a model that it has not itself, or a
        year, a month or the like that its document lacks. A number with a bound, such as *since 2019*, is about more.
        """
        asked = numbered(self.text)
        if not asked or _BOUND.search(text) or _WHEN.search(self.text):
            return False
        there, known = numbered(text), numbered(document)
        for kind, numbers in asked.items():
            others = there.get(kind, NO_TERMS)
            also = NO_TERMS if kind[:1].isascii() and kind else known.get(kind, NO_TERMS)
            if others and numbers.isdisjoint(others | also):
                return True
        return False

    @lazy
    def wanted(self) -> Wanted:
        """What the question wants to hear."""
        return Wanted.of(self.text)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, or cells of a table row, with the terms that it is found by."""

    number: int
    """The number of the citation that the candidate is from."""
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    """The terms of the title, and of the headings above it."""
    around: frozenset[str] = NO_TERMS
    """The terms of the sentences before and after it."""
    meant: frozenset[str] = NO_TERMS
    """The terms of the sentence before it, where it points back to that, and of its mail's subject."""
    value: str = ""
    """The quoted cells of a row; empty for a sentence."""
    name: frozenset[str] = NO_TERMS
    """The terms of a row's first cell."""
    cells: frozenset[str] = NO_TERMS
    """The terms of all cells of a row, without the names of columns."""
    is_named: bool = False
    """Whether the question names the column of the cells."""
    is_whole: bool = True
    """Whether the candidate is a whole sentence, and no piece of one that is cut off."""
    headed: float = 0.0
    """How well the heading right above says what is asked, 0.0–1.0."""
    lead: float = 0.0
    """The same, for what stands right below that heading."""
    is_caption: bool = False
    """Whether this is the caption of a figure or table that the question does not ask for."""
    is_section: bool = False
    """Whether it is of the section whose number is asked for."""
    subject: str = ""
    """What the mail is about that it is of."""
    later: int = 0
    """How many later mails of a thread follow the one that it is of."""


def headings_of(citation: Citation) -> tuple[str, ...]:
    """Return the title of a cited passage, and the headings above it."""
    return (citation.passage.title, *citation.passage.heading_path.split(" > "))


@dataclass(frozen=True, slots=True)
class CandidateReader:
    """Makes the candidates of passages."""

    asked: Asked
    analyzer: Analyzer
    around: Around = nothing_around

    def candidates(self, citations: Sequence[Citation]) -> list[Candidate]:
        """Return the sentences and table rows of the passages, each text of a passage once."""
        found: dict[tuple[int, str], Candidate] = {}
        for citation in citations:
            give_way()
            heading = self.terms(f"{citation.passage.title} {citation.passage.heading_path}")
            prose, rows = split_tables(citation.text)
            for each in self._of_prose(citation, parts_of(prose, headings_of(citation)), heading):
                found.setdefault((each.number, each.text), each)
            for row in rows:
                each = self._of_row(citation.number, row, heading)
                found.setdefault((each.number, each.text), each)
        return list(found.values())

    def terms(self, text: str) -> frozenset[str]:
        """Return the terms of a text."""
        return frozenset(self.analyzer.tokens(text)) if text.strip() else NO_TERMS

    def headed(self, heading: str) -> float:
        """Return how well a heading says what is asked: the harmonic mean of the question's share of it, and of its
        share of the question, by weight; 0.0 where less than half is common.
        """
        weights = {term: self.asked.weights[term] for term in _content(self.asked.weights.keys())}
        terms = _content(self.terms(without_asking(section_number(heading)[1])))
        common = sum(weights[term] for term in terms & weights.keys())
        total = sum(weights.values())
        if not common:
            return 0.0
        others = len(terms - weights.keys()) * total / len(weights)
        mean = 2 * common / (total + common + others)
        return mean if mean >= LEAST_HEADED else 0.0

    def _of_prose(self, citation: Citation, parts: Sequence[TextPart], heading: frozenset[str]) -> Iterator[Candidate]:
        own = [self.terms(p.text) if p.kind in ("sentence", "item", "caption") else NO_TERMS for p in parts]
        local = NO_TERMS
        headed = self.headed(headings_of(citation)[-1] or citation.passage.title)
        below = 0 if headed and not self.around(citation.passage)[0] else len(LEADS)
        mails = _later_mails(parts)
        later, subject = 0, ""
        section = section_of(headings_of(citation)[-1])
        begins = not self.around(citation.passage)[0]
        for at, part in enumerate(parts):
            if part.kind != "item" and (own_section := section_of(part.text)):
                section, begins = own_section, True
            if part.kind == "head":
                later, subject = mails[at], subject_of(part.text)
                local = self.terms(part.text) - self.terms(subject)
            elif part.kind == "heading" or is_question(part.text):
                local = self.terms(part.text)
                if (near := self.headed(part.text)) >= headed and near:
                    headed, below = near, 0
            elif part.kind != "furniture":
                around = (own[at - 1] if at else NO_TERMS) | (own[at + 1] if at + 1 < len(own) else NO_TERMS)
                is_cut = (at == 0 and begins_within(part.text)) or (at == len(parts) - 1 and not part.is_whole)
                meant = own[at - 1] if at and points_back(part.text) and parts[at - 1].kind != "caption" else NO_TERMS
                is_caption = part.kind == "caption"
                below -= bool(meant and below)  # as near to the heading as what it points back to
                lead = headed * LEADS[below] if below < len(LEADS) and not is_caption else 0.0
                below += not is_caption
                is_section = section in self.asked.wanted.sections
                if is_section and begins:
                    lead, begins = 1.0, False
                yield Candidate(
                    citation.number,
                    part.text,
                    own[at],
                    heading | local,
                    around,
                    meant | self.terms(subject),
                    is_whole=not is_cut,
                    headed=headed,
                    lead=lead,
                    is_caption=is_caption and not asks_for_figure(self.asked.text),
                    is_section=is_section,
                    subject=subject,
                    later=later,
                )

    def _of_row(self, number: int, row: QuotedRow, heading: frozenset[str]) -> Candidate:
        """Return the cells of the columns that the question names, or the whole row."""
        own, name = self.terms(" ".join(row.cells)), self.terms(row.cells[0])
        scores = {
            position: self._said(column) + sum(self.asked.weights.get(term, 0.0) for term in self.terms(column) - name)
            for position, column in enumerate(row.columns[: len(row.cells)])
            if position
        }
        best = max(scores.values(), default=0.0)
        whole = self.named_columns(row)
        named = whole if len(whole) > 1 else [at for at, score in scores.items() if score == best > 0 and row.cells[at]]
        positions = named or range(1, len(row.cells))
        columns = self.terms(" ".join(row.columns[position] for position in named))
        value = " ".join(row.cells[position] for position in positions)
        text = row.quote(positions)
        return Candidate(
            number, text, own | columns, heading, value=value or row.text, name=name, cells=own, is_named=bool(named)
        )

    def named_columns(self, row: QuotedRow) -> list[int]:
        """Return the columns of a row, but for the first one, whose whole names the question has: D450 and D460."""
        named = [(at, self.terms(column)) for at, column in enumerate(row.columns[: len(row.cells)]) if at]
        return [at for at, terms in named if terms and terms <= self.asked.weights.keys() and row.cells[at]]

    def _said(self, column: str) -> float:
        """Return the number of letters of a column's name that the question has, of a script without spaces."""
        return len(column) if column and not column.isascii() and column in self.asked.text else 0.0


def _later_mails(parts: Sequence[TextPart]) -> dict[int, int]:
    """Return where the heads of mails are, and how many of the other mails are later; none where that is not told."""
    heads = {at: part.text for at, part in enumerate(parts) if part.kind == "head"}
    days, times = [dates_in(text)[:1] for text in heads.values()], [_time_in(text) for text in heads.values()]
    moments = dict(zip(heads, zip(days, times if all(times) else repeat(""), strict=False), strict=True))
    if not all(days) or not moments or moments[min(moments)] == moments[max(moments)]:
        return dict.fromkeys(heads, 0)
    is_newest_first = moments[min(moments)] > moments[max(moments)]
    in_order = sorted(reversed(moments) if is_newest_first else moments, key=moments.__getitem__)
    return {at: number for number, at in enumerate(reversed(in_order))}


def _time_in(text: str) -> str:
    """Return the first time of day in a text; empty where there is none.

    >>> _time_in("3 March 2026 9:05"), _time_in("2026년 3월 3일 오후 5:30"), _time_in("March 3, 2026 at 12:10 AM")
    ('09:05', '17:30', '00:10')
    """
    found = _TIME.search(text)
    if found is None:
        return ""
    half, hour = (found["before"] or found["after"] or "").lower(), int(found["hour"])
    if half:
        hour = hour % 12 + 12 * (half in ("pm", "p.m.", "午後", "오후"))
    return f"{hour:02}:{found['minute']}"


def has_word(word: frozenset[str], terms: Collection[str]) -> bool:
    """Return whether terms have a word: half of the terms by which it is told from others."""
    return 2 * len(word & frozenset(terms)) >= len(word)


def _telling(first: str, terms: frozenset[str]) -> frozenset[str]:
    """Return the terms by which a word is told from others: its first one, or the pairs of signs of one without spaces.

    >>> sorted(_telling("大", frozenset(("大", "阪", "大阪")))), sorted(_telling("tokyo", frozenset(("tokyo",))))
    (['大阪'], ['tokyo'])
    """
    pairs = frozenset(term for term in terms if len(term) > 1)
    return pairs if pairs and (len(first) == 1 or _KANA.search(first)) else frozenset((first,))


def bare(text: str) -> str:
    """Return a text without what an answer adds to it: marks, emphasis, lines."""
    return _MARKS.sub("", text)


def _content(terms: Collection[str]) -> frozenset[str]:
    """Return the terms without those of Japanese that have hiragana or are one sign of kana: particles and endings."""
    return frozenset(term for term in terms if not _KANA.search(term)) or frozenset(terms)
