"""Checks the sentences of an answer against the passages that they cite, without asking a model.

A sentence is compared with the sentences of its passages that have most of its words, weighed by rarity. What is found
is what differs in a nearly literal sentence: another number, unit or date, a denial, an opposite. A free paraphrase is
left open. No verdict says that a sentence is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import MARKS, CitationFilter, cited_in, number_of, shown
from braid.core.chat.support.comparing import compare
from braid.core.chat.support.evidence import LEAST_COVERAGE, Evidence, Window
from braid.core.chat.support.findings import Finding, Source, Support, Verdict
from braid.core.chat.support.reading import Sentence, read_sentence
from braid.core.errors import InvalidInputError
from braid.core.text.analyzer import Analyzer
from braid.core.text.sentences import sentences

STANDS = 0.95
"""Share of a sentence's terms from which, with all its facts, it is nearly in the words of the passage."""
ELSEWHERE = 0.55
"""Share of a sentence's terms below which it is looked for in other passages than those that it cites."""
LENT = 0.5
"""Share of a sentence's terms from which a citation behind a later sentence of its paragraph is meant for it, too."""
MAX_TEXT_CHARS = 100_000
MAX_PASSAGES = 100
"""Limits of what other programs may have checked; the passages have together as many characters as the text may."""
LEAST_CHARS = 12
MAX_SENTENCES = 400
MAX_LOOKS = 120_000
"""Sentences of an answer that are checked, and looks at sentences and facts of passages for them; what follows is not
checked."""
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^\n]*(?:\n|$)", re.MULTILINE)
_AT_START = re.compile(rf"[ \t]*{MARKS.pattern}(?:[ \t]*{MARKS.pattern})*[ \t]*[.。]?\s*")
_NO_STATEMENT = re.compile(
    r"[?？:：]$"  # a question, or what leads to a list
    r"|\b(?:as follows|following)\b[^.]{0,40}\.?$|(?:次|以下)の(?:とおり|通り|よう)|다음과 같|아래와 같"
    r"|\blet me know\b|\bhope this\b|\bfeel free\b|お知らせください|お気軽に|말씀해 주|알려 주"  # to the reader
    r"|\b(?:passages?|documents?|sources?|context|texts?)\b.{0,60}(?:\bnot?\b|n['’]t\b)"  # that nothing is said of it
    r"|(?:パッセージ|抜粋|文書|資料|出典|文脈).{0,60}(?:ません|ない)|(?:구절|단락|문서|자료|출처).{0,60}(?:없|않)",
    re.IGNORECASE,
)
"""Sentences that state nothing of the passages' matter."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A text with its citations as ``[1]``, and its sentences. ``marks`` is where the citations begin."""

    text: str
    marks: tuple[int, ...]
    sentences: tuple[Support, ...]


def check(text: str, passages: Sequence[str], *, analyzer: Analyzer | None = None) -> Checked:
    """Check each sentence of a text against the passages that it cites, as ``[1]`` for the first and so on.

    >>> checked = check("The warranty is 35 days [1].", ["The warranty is 30 days."])
    >>> checked.sentences[0].verdict, checked.sentences[0].findings[0].there
    ('differs', '30 days')
    """
    given = dict(enumerate(passages, start=1))
    marked = CitationFilter(frozenset(given)).read(text)
    checker = Checker(given, analyzer or Analyzer())
    written, marks = shown(marked)
    return Checked(written, marks, tuple(checker.sentences(marked)))


def check_given(text: str, passages: Sequence[str], analyzer: Analyzer) -> Checked:
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
    contexts = {
        each.number: " > ".join(filter(None, (each.passage.title, each.passage.heading_path))) for each in citations
    }
    checker = Checker({each.number: each.text for each in citations}, analyzer, contexts)
    return tuple(checker.sentences(marked_text))


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
        self._evidence = Evidence(passages, analyzer, contexts)
        self._analyzer = analyzer

    def sentences(self, marked: str) -> Iterator[Support]:
        """Yield the first sentences of a marked text; their characters are those of the text as `shown`."""
        shift = last = looks = 0
        for start, end, lent in _split(marked)[:MAX_SENTENCES]:
            give_way()
            shift += _added(marked, last, start)
            last = start
            said, span = _read(marked[start:end], start + shift, self._analyzer)
            if cited_in(marked[start:end]) or lent:
                looks += self._evidence.looks(said)
            if looks > self._looks:
                return
            yield self._sentence(marked[start:end], said, span, lent)

    def _sentence(self, written: str, said: Sentence, span: tuple[int, int], lent: Sequence[int]) -> Support:
        """Check a sentence, as it is written with its marks. ``lent`` is what the next citation of its paragraph
        cites.
        """
        cited = tuple(number for number in cited_in(written) if number in self._evidence.sentences)
        if not cited:
            if not _says_something(written, said):
                return Support(*span, "open")
            window = self._evidence.window(said, lent)
            if not lent or window.coverage < LENT:
                return Support(*span, "uncited")
            cited = tuple(lent)
        window = self._evidence.window(said, cited)
        findings = compare(said, cited, window, self._evidence)
        verdict = self._verdict(said, window, findings)
        if (
            verdict != "stands"
            and (findings or window.coverage < ELSEWHERE)
            and (other := self._elsewhere(said, cited))
        ):
            one = other.sentences[0]
            found = Finding("source", *span, said.text.strip(), one.passage, *one.whole, one.text.strip())
            return Support(*span, "elsewhere", cited, (Source(one.passage, *one.whole),), (found,))
        return Support(*span, verdict, cited, self._sources(said, cited, window), tuple(findings))

    def _elsewhere(self, said: Sentence, cited: Sequence[int]) -> Window | None:
        """Return where the sentence stands in a passage that it does not cite, if it does."""
        for number in sorted(self._evidence.sentences.keys() - set(cited)):
            window = self._evidence.window(said, (number,))
            stands = window.coverage >= STANDS and self._verdict(said, window, ()) == "stands"
            if stands and not compare(said, (number,), window, self._evidence):
                return window
        return None

    def _sources(self, said: Sentence, cited: Sequence[int], window: Window) -> tuple[Source, ...]:
        found = [each for each in window.sentences if _is_meant(window, said)]
        for number in cited:
            if not any(each.passage == number for each in found):
                alone = self._evidence.window(said, (number,))
                if _is_meant(alone, said):
                    found += alone.sentences[:1]
        return tuple(Source(each.passage, *each.whole) for each in found)

    def _verdict(self, said: Sentence, window: Window, findings: Sequence[Finding]) -> Verdict:
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


def _added(marked: str, start: int, end: int) -> int:
    """Return how many characters longer the text from ``start`` to ``end`` is where it is shown."""
    return sum(len(str(number_of(found[0]))) + 1 for found in MARKS.finditer(marked, start, end))


def _read(marked: str, at: int, analyzer: Analyzer) -> tuple[Sentence, tuple[int, int]]:
    """Read a marked sentence, which is shown at ``at``, without its marks; characters are those of the shown text."""
    first = at + len(marked) - len(marked.lstrip())
    kept: list[str] = []
    places: list[int] = []
    end = 0
    for found in [*MARKS.finditer(marked), None]:
        part = marked[end : found.start() if found else len(marked)]
        kept.append(part)
        places += range(at, at + len(part))
        at += len(part)
        if found:
            at += len(str(number_of(found[0]))) + 2
            end = found.end()
    last = at - (len(marked) - len(marked.rstrip()))
    return read_sentence("".join(kept), 0, analyzer, keep=places), (first, max(first, last))


def _says_something(written: str, said: Sentence) -> bool:
    """Return whether a sentence states something: not a heading, a row of a table, a question, or a mere lead-in."""
    plain = MARKS.sub("", written).strip()
    if len(plain) < (LEAST_CHARS if said.language == "en" else LEAST_CHARS // 2) or not said.terms:
        return False
    is_heading = plain.startswith(("#", "|")) or (plain.startswith("**") and plain.endswith("**"))
    return not is_heading and not _NO_STATEMENT.search(plain.strip("*_ ")[:600])


def _split(marked: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return the sentences outside of code: start, end, and the citations of the next one of its paragraph."""
    pieces: list[tuple[int, int]] = []
    for start, end in _outside_code(marked):
        at = start
        for part in sentences(marked[start:end]):
            moved = _AT_START.match(part) if pieces and at > start else None
            if moved:
                pieces[-1] = (pieces[-1][0], at + moved.end())
                if moved.end() < len(part):
                    pieces.append((at + moved.end(), at + len(part)))
            elif part.strip():
                pieces.append((at, at + len(part)))
            at += len(part)
    found: list[tuple[int, int, tuple[int, ...]]] = []
    lent: tuple[int, ...] = ()
    for start, end in reversed(pieces):
        if "\n" in marked[start:end].lstrip():
            lent = ()
        lent = cited_in(marked[start:end]) or lent
        found.append((start, end, lent))
    return found[::-1]


def _outside_code(marked: str) -> Iterator[tuple[int, int]]:
    start, inside = 0, False
    for fence in _FENCE.finditer(marked):
        if not inside:
            yield start, fence.start()
        inside, start = not inside, fence.end()
    if not inside:
        yield start, len(marked)
