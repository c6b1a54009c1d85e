"""Reads a model's answer piece by piece: checks citations and links, leaves out reasoning, recognizes "not found"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from braid.core.chat.links import LinkFilter
from braid.core.chat.marks import CitationFilter
from braid.core.chat.passage_block import NOT_FOUND
from braid.core.errors import ModelError, Reason
from braid.core.models.chat import MAX_ANSWER_CHARS
from braid.core.models.reasoning import answer_pieces

_SAYS_NOT_FOUND = re.compile(rf"{NOT_FOUND}\W")
_WRAPPING = " \t\r\n\"'`*_.「」。"


@dataclass(frozen=True, slots=True)
class Written:
    """A whole answer as a marked text, its links unchecked.

    ``found`` is False, and the text empty, if the model found nothing.
    """

    text: str
    found: bool
    cited: tuple[int, ...] = ()
    removed: int = 0
    cut: bool = False
    """The model stopped within its reasoning, so that the end of its answer may be missing."""
    ended: str = ""
    """Why the answer was ended before the model's end; empty if it was not."""


Show = Callable[[str, tuple[int, ...]], None]
"""Takes the next piece of the answer, a marked text, and the numbers of the passages that the text so far cites."""


def write(
    pieces: Iterable[str],
    citations: Callable[[], CitationFilter],
    show: Show,
    withdraw: Callable[[str], None],
    *,
    begun: str = "",
) -> Written:
    """Show the answer as it comes, without links, and withdraw it if it turns out to have been reasoning, or to have
    had brackets that are no citations.

    ``citations`` makes the filter of a draft, ``begun`` is the text that the pieces continue, with the numbers of the
    prompt. Raises ModelError when the answer is empty, or breaks off.
    """
    draft, cut, ended = _Draft(citations(), show, withdraw, begun), False, ""
    for piece in answer_pieces(pieces):
        if piece.restart:
            if draft.written:
                withdraw("the text so far was a thought of the model")
            draft = _Draft(citations(), show, withdraw, begun)
        draft.feed(piece.text[: MAX_ANSWER_CHARS - draft.chars])
        cut = piece.cut
        if draft.says_not_found:
            return Written("", False)
        if draft.chars >= MAX_ANSWER_CHARS:
            ended = Reason(
                "the answer was cut after %(most)s characters, which is the limit", most=format(MAX_ANSWER_CHARS, ",")
            )
            break
    draft.finish()
    if draft.says_not_found:
        return Written("", False, cut=cut)
    text = "".join(draft.written).strip()
    if not text:
        raise ModelError(
            Reason("the model stopped within a thought") if cut else Reason("the model gave an empty answer")
        )
    return Written(text, True, tuple(draft.citations.cited), draft.citations.removed, cut, ended)


def _joined(begun: str, piece: str) -> str:
    """Return the first piece of a continuation with the space, if any, that it needs after what was there."""
    if begun[-1].isspace():
        return piece.lstrip(" ")
    return f" {piece}" if begun[-1] in ".,;:!?)]" and piece[0].isalnum() and piece[0].isascii() else piece


class _Draft:
    """An answer so far. Its beginning is held back while it may become "not found".

    It is shown without links, since the passages that it cites are known at its end.
    """

    def __init__(self, citations: CitationFilter, show: Show, withdraw: Callable[[str], None], begun: str = "") -> None:
        self.citations = citations
        self.written: list[str] = []
        self._raw: list[str] = []
        self.says_not_found = False
        self.chars = 0
        """Length of what was fed."""
        self._links = LinkFilter()
        self._show, self._withdraw = show, withdraw
        self._opening: str | None = ""
        self._begun = begun
        self.feed(begun)

    def feed(self, piece: str) -> None:
        self.chars += len(piece)
        if self._begun and piece and piece is not self._begun:
            piece, self._begun = _joined(self._begun, piece), ""
        if self._opening is None:
            self._read(piece)
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
        rest = self.citations.flush()
        if self.citations.is_mixed:
            self._read_again()
            rest = self.citations.flush()
        self._write(rest.rstrip())
        self._show_more(self._links.flush())

    def _open(self) -> None:
        if not self.says_not_found and self._opening is not None:
            opening, self._opening = self._opening.lstrip(), None
            self._read(opening)

    def _read(self, piece: str) -> None:
        self._raw.append(piece)
        text = self.citations.feed(piece)
        if self.citations.is_mixed:
            self._read_again()
        else:
            self._write(text)

    def _read_again(self) -> None:
        """Show the text so far as what it is: its marks tell that the brackets before them are no citations."""
        self._withdraw("the text so far had brackets that are no citations")
        self.citations, self._links = self.citations.strict(), LinkFilter()
        self.written.clear()
        self._write(self.citations.feed("".join(self._raw)))

    def _write(self, text: str) -> None:
        if text:
            self.written.append(text)
            self._show_more(self._links.feed(text))

    def _show_more(self, text: str) -> None:
        if text:
            self._show(text, tuple(self.citations.cited))
