"""Splits a marked text into sentences, reads them without their marks, and tells which of them state something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from braid.core.chat.marks import MARKS, cited_in, number_of
from braid.core.chat.support.reading import Sentence, read_sentence
from braid.core.text.analyzer import Analyzer
from braid.core.text.sentences import sentences

Span = tuple[int, int]
LEAST_CHARS = 12
"""Shortest English text that states something; half of it in the other languages."""
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


def pieces_of(marked: str, first: int = 0) -> list[Span]:
    """Return the places of the sentences of a marked text outside of code, from character ``first`` on.

    A citation behind the end of a sentence belongs to it.
    """
    pieces: list[Span] = []
    for start, end in _outside_code(marked, first):
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
    return pieces


def lent_to(marked: str, pieces: Sequence[Span]) -> list[tuple[int, ...]]:
    """Return for each sentence what it cites, or else what the next one of its paragraph does that cites something."""
    found: list[tuple[int, ...]] = []
    lent: tuple[int, ...] = ()
    for start, end in reversed(pieces):
        lent = () if ends_paragraph(marked[start:end]) else lent
        lent = cited_in(marked[start:end]) or lent
        found.append(lent)
    return found[::-1]


def ends_paragraph(written: str) -> bool:
    """Return whether what follows a sentence is another paragraph, or item of a list."""
    return "\n" in written.lstrip()


def _outside_code(marked: str, first: int) -> Iterator[Span]:
    start, inside = first, False
    for fence in _FENCE.finditer(marked, first):
        if not inside:
            yield start, fence.start()
        inside, start = not inside, fence.end()
    if not inside:
        yield start, len(marked)


def added(marked: str, start: int, end: int) -> int:
    """Return how many characters longer the text from ``start`` to ``end`` is where it is shown."""
    return sum(len(str(number_of(found[0]))) + 1 for found in MARKS.finditer(marked, start, end))


def read_piece(marked: str, at: int, analyzer: Analyzer) -> tuple[Sentence, tuple[int, int]]:
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


def says_something(written: str, said: Sentence) -> bool:
    """Return whether a sentence states something: not a heading, a row of a table, a question, or a mere lead-in."""
    plain = MARKS.sub("", written).strip()
    if len(plain) < (LEAST_CHARS if said.language == "en" else LEAST_CHARS // 2) or not said.terms:
        return False
    is_heading = plain.startswith(("#", "|")) or (plain.startswith("**") and plain.endswith("**"))
    return not is_heading and not _NO_STATEMENT.search(plain.strip("*_ ")[:600])
