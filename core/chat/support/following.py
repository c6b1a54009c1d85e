"""Checks an answer while it is written: each sentence as soon as the next one has begun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from braid.core.chat.citations import Citation
from braid.core.chat.marks import shown
from braid.core.chat.support.check import Checker, context_of
from braid.core.chat.support.findings import Support
from braid.core.chat.support.splitting import ends_paragraph, lent_to, pieces_of
from braid.core.text.analyzer import Analyzer

MAX_WAITING_CHARS = 4_000
"""Longest text that waits for an end of a sentence or of code, or for a citation; no more is checked than that."""
_ENDS = re.compile(r"[.!?。！？｡．…\n]")
_WORD = re.compile(r"\w")


class Following:
    """Takes the pieces of an answer, and returns its sentences, checked.

    A sentence is what `check_answer` says of it in the whole answer, but for what is only cited later: that it stands
    in such a passage is not known yet. A sentence that cites nothing is returned when its paragraph cites something,
    or ends.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._checker = Checker({}, analyzer)
        self._text = "\n"
        """The marked text that waits, behind one character of what was before."""
        self._at = -1
        """Where in the shown text it begins."""
        self._is_ended = self._is_over = False

    def feed(self, marked: str, cited: Sequence[Citation]) -> Iterator[Support]:
        """Yield the sentences that are known since this piece. ``cited`` is what the text so far cites."""
        if self._is_over:
            return
        self._text += marked
        for each in cited:
            self._checker.add(each.number, each.text, context_of(each))
        first, *others = (bool(_WORD.search(part)) for part in _ENDS.split(marked))
        if any(others) or (first and self._is_ended):
            yield from self._known()
        self._is_ended = not others[-1] if others else self._is_ended and not first
        self._is_over = len(self._text) > MAX_WAITING_CHARS

    def _known(self) -> Iterator[Support]:
        pieces = pieces_of(self._text, 1)
        begun = pieces.pop()[0] if pieces else 1
        lent = lent_to(self._text, pieces)
        known = len(pieces)
        while known and not lent[known - 1] and not ends_paragraph(self._text[slice(*pieces[known - 1])]):
            known -= 1
        yield from self._checker.check(self._text, pieces[:known], lent[:known], shift=self._at)
        rest = pieces[known][0] if known < len(pieces) else begun
        self._at += len(shown(self._text[: rest - 1])[0])
        self._text = self._text[rest - 1 :]
