"""Text of model servers as whole characters: some send an emoji as two halves, one in each piece of a stream."""

from __future__ import annotations


class WholeText:
    """Takes a text piece by piece and joins the halves of characters that are split between two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return the piece with its characters whole; half of one at its end waits for the next piece."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """Return what waits; call it once, after the last piece."""
        half, self._half = self._half, ""
        return whole(half)


def whole(text: str) -> str:
    """Return a text with its surrogate pairs joined, and U+FFFD for each half that is alone.

    >>> whole("\\ud83d\\ude00 and \\ud83d") == "😀 and \ufffd"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
