"""Text of model servers as it comes, in pieces: whole characters and lines, ends held back, the mark of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from braid.core.errors import N_, Reason


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


MARKS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""Names under which providers give the reason for the end: OpenAI's and most, Anthropic's, Ollama's, Bedrock's, and
that of OpenAI's interface of responses."""
TOO_LONG = frozenset({"length", "max_tokens", "MAX_TOKENS", "incomplete"})
"""Reasons that mean the model reached its limit."""
WITHHELD = frozenset(
    {
        *("content_filter", "content_filtered", "guardrail_intervened", "refusal"),
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    }
)
"""Reasons that mean a filter ended the answer: OpenAI's, Bedrock's and Anthropic's, and those of Gemini."""
WITHHELD_TEMPLATE = N_("the answer of the model %(model)s was ended by its provider's filter")
MARKING_PACKAGES = frozenset(
    {
        "langchain_anthropic",
        "langchain_deepseek",
        "langchain_google_genai",
        "langchain_groq",
        "langchain_mistralai",
        "langchain_ollama",
        "langchain_openai",
    }
)
"""Packages whose streams end with a mark. The streams of other packages may end without one."""


class FinishMark:
    """Watches a stream for its mark. ``model`` is the object whose package says whether to expect one."""

    def __init__(self, model: object) -> None:
        self._is_expected = type(model).__module__.partition(".")[0] in MARKING_PACKAGES
        self._reason = ""

    def watch(self, metadata: Mapping[str, Any]) -> None:
        """Take the metadata of the next piece."""
        self._reason = next((str(metadata[name]) for name in MARKS if metadata.get(name)), self._reason)

    def problem(self, name: str) -> str:
        """Return why the answer of the model ``name`` is not complete; empty if it is, as far as one can tell."""
        if self._reason in TOO_LONG:
            return Reason("the model %(model)s reached its limit of words", model=name)
        if self._reason in WITHHELD:
            return Reason(WITHHELD_TEMPLATE, model=name)
        if self._is_expected and not self._reason:
            return Reason("the model %(model)s ended without the mark that its answer is complete", model=name)
        return ""
