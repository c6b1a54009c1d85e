"""Links and pictures in an answer, which a document may have told the model to write: pictures and HTML become text,
and a link stays one only if its address is in a cited passage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from braid.core.models.held_text import HeldText

_LINK = r"\](?=\((?P<link>[^\s<>()]++(?:\([^\s<>()]*+\)[^\s<>()]*+)?)\))"
_AUTOLINK = r"<(?=[a-z][\w+.-]*:|[^\s<>;]*@)(?=(?P<autolink>[^\s<>]++)>)"
_TAG = r"<(?=[!?]|/?[a-z][\w-]*[\s/:]|/?(?:style|script)\b)"
_ACTIVE = re.compile(rf"(?<!\\)(?P<slashes>\\*+)(?:!\[|{_LINK}|\](?=[(:])|{_AUTOLINK}|{_TAG})", re.IGNORECASE)
_HTML_LINE = re.compile(r"^(\s*)<(?=[A-Za-z/!?])(?![a-z][^\s<>]*:)", re.IGNORECASE)
"""HTML at the beginning of a line, where it could contain what looks like code."""
_BEGUN_LINK = r"\](?:\([^\s<>()]*+(?:\([^\s<>()]*+\)?[^\s<>()]*+)?)?"
_UNFINISHED = re.compile(rf"(?<!\\)\\*+(?:!|{_BEGUN_LINK}|<[^\s<>]*+)?\r?$")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
"""A line that begins a block of code. An indented one does not count: in a list, the block ends where the list does."""
_UNCLEAR = re.compile(r"\s*+(?:(?:`*+|~*+)[ \t]*+\r?|<[^\s<>]*+\r?)|`{3,}[^`]*|~{3,}.*")
"""A line that may become a fence or HTML."""
_LINE_END = re.compile(r"\r\n|\r(?=.)|\n", re.DOTALL)
_SCHEMES = ("http://", "https://", "mailto:")


@dataclass(slots=True)
class LinkFilter:
    """Takes Markdown piece by piece, and writes it without pictures, HTML and links, except links to known addresses.

    Text and address of another link remain as text: ``[text] (address)``. Code between fences is left as it is. What
    may be the beginning of a link is held back until it is complete. Text that was filtered is not changed again.
    """

    quoted: Sequence[str] = ()
    """Texts of the cited passages. An address that is in one of them may be linked."""
    _held: HeldText = field(default_factory=HeldText)
    _fence: str = ""
    _begun: bool = False
    """Whether the beginning of the current line has been returned."""

    @property
    def fence(self) -> str:
        """The fence of the code that the text is in; empty outside of code."""
        return self._fence

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that can be shown now."""
        text, start, shown = self._held.add(piece), 0, list[str]()
        if not text:
            return ""
        for end in _LINE_END.finditer(text):
            shown.append(self._end_line(text[start : end.end()]))
            start = end.end()
        rest = text[start:]
        cut = self._finished(rest)
        self._held.hold(rest[cut:])
        return "".join([*shown, self._show(rest[:cut])])

    def flush(self) -> str:
        """Return the rest, and the end of code that has none, so that it takes in nothing that follows."""
        shown = self._end_line(self._held.take())
        fence, self._fence = self._fence, ""
        return f"{shown}\n{fence}" if fence else shown

    def _end_line(self, line: str) -> str:
        """Return a line, or the rest of one, and note whether code begins or ends there."""
        bare = line.rstrip("\r\n")
        fence = None if self._begun or self._fence else _FENCE.match(bare)
        ends = not self._begun and self._fence and _is_end_of(self._fence, bare)
        shown = line if fence else self._show(line)
        self._begun = False
        if fence or ends:
            self._fence = fence[0] if fence else ""
        return shown

    def _finished(self, rest: str) -> int:
        """Return how much of an incomplete line can be shown."""
        if not self._begun and _UNCLEAR.fullmatch(rest):
            return 0
        unfinished = None if self._fence else _UNFINISHED.search(rest)
        return unfinished.start() if unfinished else len(rest.removesuffix("\r"))

    def _show(self, text: str) -> str:
        starts, self._begun = not self._begun, self._begun or bool(text)
        if self._fence:
            return text
        html = _HTML_LINE.match(text) if starts else None
        text = _ACTIVE.sub(self._rewrite, text)
        if html and text.startswith(html[0]):
            return f"{html[1]}&lt;{text[len(html[0]) :]}"
        return text

    def _rewrite(self, found: re.Match[str]) -> str:
        slashes, active = found["slashes"], found[0].lstrip("\\")
        if self._is_quoted(found["link"] or found["autolink"] or ""):
            return found[0]
        if active != "![":
            return slashes + {"]": "] ", "<": "&lt;"}[active]
        return found[0] if len(slashes) % 2 else f"{slashes}\\{active}"

    def _is_quoted(self, address: str) -> bool:
        """Return whether a passage has this address as a whole, not as the beginning of a longer one."""
        if not address.lower().startswith(_SCHEMES):
            return False
        whole = re.compile(rf"(?<!\w){re.escape(address)}(?![\w/?#&=%+~@$-]|[.,:;!)]\w)", re.ASCII)
        return any(address in text and whole.search(text) for text in self.quoted)


def _is_end_of(fence: str, line: str) -> bool:
    mark = line.rstrip(" \t").removeprefix(" ").removeprefix(" ").removeprefix(" ")  # indented by at most three
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def check_links(text: str, quoted: Sequence[str] = ()) -> str:
    """Return a whole text as `LinkFilter` writes it.

    >>> check_links("![chart](https://a.example/c) [manual](https://b.example)", ["See https://b.example."])
    '\\\\![chart] (https://a.example/c) [manual](https://b.example)'
    """
    checked = LinkFilter(quoted)
    return checked.feed(text) + checked.flush()
