"""Checks the sentences of an answer against the passages that they cite, without asking a model.

A sentence is compared with the sentences of its passages that have most of its words, weighed by rarity. What is found
is what differs in a nearly literal sentence: another number, unit or date, a denial, an opposite. A free paraphrase is
left open. No verdict says that a sentence is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import CitationFilter, cited_in, shown
from braid.core.chat.support.comparing import compare
from braid.core.chat.support.evidence import LEAST_COVERAGE, Evidence, ReadPassage, Window, read_passage
from braid.core.chat.support.findings import Finding, Support, SupportingSentence, Verdict
from braid.core.chat.support.reading import Sentence
from braid.core.chat.support.splitting import Span, added, lent_to, pieces_of, read_piece, says_something
from braid.core.errors import InvalidInputError
from braid.core.text.analyzer import Analyzer

STANDS = 0.95
"""Share of a sentence's terms from which, with all its facts, it is nearly in the words of the passage."""
ELSEWHERE = 0.55
"""Share of a sentence's terms below which it is looked for in other passages than those that it cites."""
LENT = 0.5
"""Share of a sentence's terms from which a citation behind a later sentence of its paragraph is meant for it, too."""
MAX_TEXT_CHARS = 100_000
MAX_PASSAGES = 100
"""Limits of what other programs may have checked; the passages have together as many characters as the text may."""
MAX_SENTENCES = 400
MAX_LOOKS = 120_000
"""Sentences of an answer that are checked, and looks at sentences and facts of passages for them; what follows is not
checked."""


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text with its citations as ``[1]``, and its sentences. ``marks`` is where the citations begin."""

    text: str
    marks: tuple[int, ...]
    sentences: tuple[Support, ...]
    removed_citations: int = 0
    """Number of citations of passages that were not given, which the text has no more."""


def check(text: str, passages: Sequence[str], *, analyzer: Analyzer | None = None) -> CheckedText:
    """Check each sentence of a text against the passages that it cites, as ``[1]`` for the first and so on.

    Raises InvalidInputError for passages that are no list of texts.

    >>> checked = check("The warranty is 35 days [1].", ["The warranty is 30 days."])
    >>> checked.sentences[0].verdict, checked.sentences[0].findings[0].there
    ('differs', '30 days')
    """
    if isinstance(passages, str) or not all(isinstance(each, str) for each in passages):
        raise InvalidInputError("passages is no list of texts; give each passage as one text", field="passages")
    given = dict(enumerate(passages, start=1))
    citations = CitationFilter(frozenset(given))
    marked = citations.read(text)
    checker = Checker(given, analyzer or Analyzer())
    written, marks = shown(marked)
    return CheckedText(written, marks, tuple(checker.sentences(marked)), citations.removed)


def check_given(text: str, passages: Sequence[str], analyzer: Analyzer) -> CheckedText:
    """Check a text of another program, within limits. Raises InvalidInputError for more than that."""
    if not text.strip() or len(text) > MAX_TEXT_CHARS:
        raise InvalidInputError(
            f"the text has {len(text):,} characters; 1 to {MAX_TEXT_CHARS:,} can be checked", field="text"
        )
    if not 1 <= len(passages) <= MAX_PASSAGES:
        raise InvalidInputError(f"there are {len(passages):,} passages; give 1 to {MAX_PASSAGES}", field="passages")
    if (chars := sum(map(len, passages))) > MAX_TEXT_CHARS:
        raise InvalidInputError(
            f"the passages have {chars:,} characters together; give at most {MAX_TEXT_CHARS:,}, those that are cited",
            field="passages",
        )
    return check(text, passages, analyzer=analyzer)


def check_answer(marked_text: str, citations: Sequence[Citation], analyzer: Analyzer) -> tuple[Support, ...]:
    """Check each sentence of an answer against the passages that it cites; characters are those of its shown text."""
    checker = Checker({}, analyzer)
    for each in citations:
        checker.add(each.number, each.text, context_of(each))
    return tuple(checker.sentences(marked_text))


def context_of(citation: Citation) -> str:
    """Return the title and the headings of a passage that is cited, as one text."""
    return " > ".join(filter(None, (citation.passage.title, citation.passage.heading_path)))


class Checker:
    """Checks sentences against passages, which are read once. Not for several threads at a time."""

    def __init__(
        self,
        passages: Mapping[int, str],
        analyzer: Analyzer,
        contexts: Mapping[int, str] | None = None,
        *,
        looks: int = MAX_LOOKS,
    ) -> None:
        self._looks = looks
        self._left = MAX_SENTENCES
        self._analyzer = analyzer
        self._read: dict[int, ReadPassage] = {}
        self._evidence: dict[tuple[int, ...], Evidence] = {}
        for number, text in passages.items():
            self.add(number, text, (contexts or {}).get(number, ""))

    def add(self, number: int, text: str, context: str = "") -> None:
        """Read a passage, with its title and headings as ``context``; does nothing for a number that is known."""
        if number not in self._read:
            self._read[number] = read_passage(number, text, self._analyzer, context=context)

    def sentences(self, marked: str) -> Iterator[Support]:
        """Yield the first sentences of a marked text; their characters are those of the text as `shown`."""
        pieces = pieces_of(marked)
        return self.check(marked, pieces, lent_to(marked, pieces))

    def check(
        self, marked: str, pieces: Sequence[Span], lent: Sequence[Sequence[int]], *, shift: int = 0
    ) -> Iterator[Support]:
        """Yield these sentences of a marked text, which is shown ``shift`` characters behind the text's beginning."""
        last = 0
        for (start, end), others in zip(pieces, lent, strict=True):
            give_way()
            shift += added(marked, last, start)
            last = start
            said, span = read_piece(marked[start:end], start + shift, self._analyzer)
            self._left -= 1
            if others:
                self._looks -= sum(one.looks(said) for one in self._read.values())
            if self._left < 0 or self._looks < 0:
                return
            yield self._sentence(marked[start:end], said, span, others)

    def _of(self, numbers: Sequence[int]) -> Evidence:
        known = tuple(number for number in numbers if number in self._read)
        if known not in self._evidence:
            self._evidence[known] = Evidence([self._read[number] for number in known])
        return self._evidence[known]

    def _sentence(self, written: str, said: Sentence, span: Span, lent: Sequence[int]) -> Support:
        """Check a sentence, as it is written with its marks. ``lent`` is what `lent_to` gives it."""
        evidence = self._of(cited_in(written))
        if not evidence.numbers:
            if not says_something(written, said):
                return Support(*span, "open")
            evidence = self._of(lent)
            if evidence.window(said).coverage < LENT:
                return Support(*span, "uncited")
        cited, window = evidence.numbers, evidence.window(said)
        findings = compare(said, window, evidence)
        verdict = _verdict(said, window, findings)
        if (
            verdict != "stands"
            and (findings or window.coverage < ELSEWHERE)
            and (other := self._elsewhere(said, cited))
        ):
            one = other.sentences[0]
            found = Finding("source", *span, said.text.strip(), one.passage, *one.whole, one.text.strip())
            return Support(*span, "elsewhere", cited, (SupportingSentence(one.passage, *one.whole),), (found,))
        return Support(*span, verdict, cited, self._sources(said, cited, window), tuple(findings))

    def _elsewhere(self, said: Sentence, cited: Sequence[int]) -> Window | None:
        """Return where the sentence stands in a passage that it does not cite, if it does."""
        for number in sorted(self._read.keys() - set(cited)):
            evidence = self._of((number,))
            window = evidence.window(said)
            if _verdict(said, window, ()) == "stands" and not compare(said, window, evidence):
                return window
        return None

    def _sources(self, said: Sentence, cited: Sequence[int], window: Window) -> tuple[SupportingSentence, ...]:
        found = [each for each in window.sentences if _is_meant(window, said)]
        for number in cited:
            if not any(each.passage == number for each in found):
                alone = self._of((number,)).window(said)
                if _is_meant(alone, said):
                    found += alone.sentences[:1]
        return tuple(SupportingSentence(each.passage, *each.whole) for each in found)


def _verdict(said: Sentence, window: Window, findings: Sequence[Finding]) -> Verdict:
    if any(each.differs for each in findings):
        return "differs"
    if findings:
        return "not_found"
    if not window.sentences or said.is_long or not said.terms or window.coverage < STANDS:
        return "open"
    first = window.sentences[0]
    alike = first.language == said.language and len(first.negations) % 2 == len(said.negations) % 2
    return "stands" if alike else "open"


def _is_meant(window: Window, said: Sentence) -> bool:
    if window.coverage >= LEAST_COVERAGE:
        return True
    first = window.sentences[0] if window.sentences else None
    return first is not None and first.language != said.language
