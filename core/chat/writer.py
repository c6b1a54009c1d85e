"""Answers written by a model, piece by piece: citations checked, thoughts left out, "not found" understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from braid.core.errors import ModelError
from braid.core.models.citations import CitationFilter
from braid.core.models.passage_block import NOT_FOUND
from braid.core.models.reasoning import spoken

_SAYS_NOT_FOUND = re.compile(rf"{NOT_FOUND}\W")
_WRAPPING = " \t\r\n\"'`*_.「」。"


@dataclass(frozen=True, slots=True)
class Written:
    """A whole answer. ``found`` is False when the model said so; the text is empty then."""

    text: str
    found: bool
    cited: tuple[int, ...] = ()
    removed: int = 0
    cut: bool = False
    """The model stopped within a thought, so that the end of its answer may be missing."""


def write(
    pieces: Iterable[str], given: frozenset[int], show: Callable[[str], None], withdraw: Callable[[str], None]
) -> Written:
    """Hand on what can be shown as it comes, and withdraw it when it turns out to have been a thought.

    Raises ModelError when nothing comes, or in the middle.
    """
    draft, cut = _Draft(given, show), False
    for said in spoken(pieces):
        if said.anew:
            if draft.shown:
                withdraw("the text so far was a thought of the model")
            draft = _Draft(given, show)
        draft.feed(said.text)
        cut = said.cut
        if draft.says_not_found:
            return Written("", False)
    draft.finish()
    if draft.says_not_found:
        return Written("", False, cut=cut)
    text = "".join(draft.shown).strip()
    if not text:
        raise ModelError("the model stopped within a thought" if cut else "the model gave an empty answer")
    return Written(text, True, tuple(draft.citations.cited), draft.citations.removed, cut)


class _Draft:
    """What is shown of an answer, and its beginning, which is held back while it may become "not found"."""

    def __init__(self, given: frozenset[int], show: Callable[[str], None]) -> None:
        self.citations = CitationFilter(given)
        self.shown: list[str] = []
        self.says_not_found = False
        self._show = show
        self._opening: str | None = ""

    def feed(self, piece: str) -> None:
        if self._opening is None:
            self._hand_on(self.citations.feed(piece))
            return
        self._opening += piece
        start = self._opening.lstrip(_WRAPPING)
        self.says_not_found = bool(_SAYS_NOT_FOUND.match(start))
        if not NOT_FOUND.startswith(start):  # an empty start begins everything
            self._open()

    def finish(self) -> None:
        if self._opening is not None:
            self.says_not_found = self._opening.strip(_WRAPPING) == NOT_FOUND
            if self.says_not_found:
                return
            self._open()
        self._hand_on(self.citations.flush().rstrip())

    def _open(self) -> None:
        if not self.says_not_found and self._opening is not None:
            opening, self._opening = self._opening.lstrip(), None
            self._hand_on(self.citations.feed(opening))

    def _hand_on(self, text: str) -> None:
        if text:
            self.shown.append(text)
            self._show(text)
