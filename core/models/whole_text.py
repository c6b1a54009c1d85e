"""Text of model servers as whole characters and lines: some send an emoji as two halves, one per piece of a stream."""

from __future__ import annotations


class WholeText:
    """Takes a text piece by piece and joins what is split between two pieces: halves of characters, ends of lines."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the piece as `whole` does; half a character, or end of a line, at its end waits for the next piece."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" or text[-1:] == "\r" else ""
        return whole(text[: len(text) - len(self._held)])

    def flush(self) -> str:
        """Return what waits; call it once, after the last piece."""
        held, self._held = self._held, ""
        return whole(held)


def whole(text: str) -> str:
    """Return a text with its surrogate pairs joined, U+FFFD for each half that is alone, and lines that end with a line
    feed; without NUL, which no database stores.

    >>> whole("\\ud83d\\ude00\\r\\nand \\ud83d\\x00") == "😀\\nand \ufffd"
    True
    """
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
