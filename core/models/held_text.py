"""The end of a text that comes in pieces, held back by a filter until it is clear what it is."""

from __future__ import annotations

from dataclasses import dataclass, field

_SHORT = 400
"""Characters that may be looked at again with every piece."""
_GROWTH = 4


@dataclass(slots=True)
class HeldText:
    """Holds a text, and the pieces that came since.

    A long text is looked at again only when it has grown by a quarter, so that all looks together take time by its
    length, however small the pieces are.
    """

    _text: str = ""
    _pieces: list[str] = field(default_factory=list)
    _chars: int = 0

    def add(self, piece: str) -> str:
        """Add a piece; return the whole text if it is to be looked at, else an empty one."""
        self._pieces.append(piece)
        self._chars += len(piece)
        return self.take() if _GROWTH * self._chars >= len(self._text) - _SHORT else ""

    def hold(self, text: str) -> None:
        """Hold this text back."""
        self._text = text

    def take(self) -> str:
        """Return the whole text and hold nothing any more."""
        text = self._text + "".join(self._pieces)
        self._text, self._chars = "", 0
        self._pieces.clear()
        return text
