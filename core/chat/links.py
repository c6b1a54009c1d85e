"""Links and pictures in an answer, which a document may have told the model to write: pictures and HTML become text,
and a link stays one only if its address is in a cited passage."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from braid.core.models.pieces import HeldText

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
_LEADS = " \t\r\n\f\v>*+-.)0123456789"
_CLOSES = re.compile(r"(?<!\\)(?:\\\\)*+\]")
_TICKS = re.compile(r"`++")
_BESIDE_CODE = re.compile(r"`++|<(?=[A-Za-z/!?])|\$|\\[`(\[]")
"""What begins inline code, or makes it doubtful what a backtick after it is: HTML, a formula, an escape."""
_CODE_CHARS = 300
"""Inline code that is longer counts as text."""
_SCHEMES = ("http://", "https://", "mailto:")


@dataclass(slots=True)
class LinkFilter:
    """Takes Markdown piece by piece, and writes it without pictures, HTML and links, except links to known addresses.

    Text and address of another link remain as text: ``[text] (address)``. Code is left as it is, between fences, and
    in a line where nothing makes it doubtful that it is code. What may be the beginning of a link or of code is held
    back until it is complete. Text that was filtered is not changed again.
    """

    quoted: Sequence[str] = ()
    """Texts of the cited passages. An address that is in one of them may be linked."""
    _held: HeldText = field(default_factory=HeldText)
    _fence: str = ""
    _begun: bool = False
    """Whether the beginning of the current line has been returned."""
    _leads: bool = True
    """Whether the line has had nothing but white space and the marks of lists and quotes so far."""
    _is_blank: bool = True
    """Whether the line has had nothing but white space so far."""
    _may_define: bool = False
    """Whether a line of the paragraph began with a bracket that is still open: ``]:`` may name the target of a link."""
    _is_doubtful: bool = False
    """Whether the paragraph has had what makes it doubtful where code begins and ends."""
    _has_dollar: bool = False
    """Whether the paragraph has had a dollar sign outside of code, so that a formula could end at one within code."""
    _may_be_html: bool = False
    """Whether the text has had what may begin a block of HTML, in which nothing is code."""

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
        if self._is_blank:
            self._may_define = self._is_doubtful = self._has_dollar = False
        self._leads = self._is_blank = True
        if fence or ends:
            self._fence = fence[0] if fence else ""
        return shown

    def _finished(self, rest: str) -> int:
        """Return how much of an incomplete line can be shown."""
        if not self._begun and _UNCLEAR.fullmatch(rest):
            return 0
        if self._fence:
            return len(rest.removesuffix("\r"))
        unfinished = _UNFINISHED.search(rest)
        cut = unfinished.start() if unfinished else len(rest)
        if self._is_doubtful or self._may_be_html:
            return cut
        at = 0
        for start, end in _code_ends(rest).items():
            if at <= start < cut:
                at = end
                if (end or len(rest)) == len(rest) <= start + _CODE_CHARS or cut < end:
                    return len(rest[:start].rstrip("\\"))
        return cut

    def _show(self, text: str) -> str:
        starts, self._begun = not self._begun, self._begun or bool(text)
        until = self._look_for_definition(text)
        if self._fence:
            return text
        html = _HTML_LINE.match(text) if starts else None
        code = self._find_code(text)
        text = _ACTIVE.sub(partial(self._rewrite, code=code, until=until), text)
        if html and text.startswith(html[0]):
            return f"{html[1]}&lt;{text[len(html[0]) :]}"
        return text

    def _look_for_definition(self, text: str) -> int:
        """Return up to where in the text ``]:`` may name the target of a link: its bracket is the first to close."""
        self._is_blank = self._is_blank and not text.strip(" \t\r\n")
        first = text.lstrip(_LEADS)[:1]
        if self._leads and first:
            self._leads = False
            self._may_define = self._may_define or first == "["
        if not self._may_define:
            return 0
        closes = _CLOSES.search(text)
        self._may_define = closes is None
        return closes.end() if closes else len(text)

    def _find_code(self, text: str) -> list[range]:
        """Return where the text is inline code whatever stands around it, and note what makes later code doubtful."""
        ends, found, at = _code_ends(text), list[range](), 0
        for token in _BESIDE_CODE.finditer(text):
            start = token.start()
            if start < at:
                continue
            end = ends.get(start, 0)
            if token[0] in "<$":
                self._may_be_html |= token[0] == "<"
                self._has_dollar |= token[0] == "$"
                continue
            # a cell of a table ends where its line has a bar, also between backticks
            ends_within = "|" in text[start:end] or (self._has_dollar and "$" in text[start:end])
            self._is_doubtful |= ends_within or not start < end <= start + _CODE_CHARS
            if not self._is_doubtful and not self._may_be_html:
                found.append(range(start, end))
                at = end
        return found

    def _rewrite(self, found: re.Match[str], code: Sequence[range], until: int) -> str:
        slashes, active = found["slashes"], found[0].lstrip("\\")
        if self._is_quoted(found["link"] or found["autolink"] or ""):
            return found[0]
        defines = active == "]" and found.string.startswith(":", found.end())
        if found.end() > until if defines else _is_within(code, found.start()):
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


def _code_ends(line: str) -> dict[int, int]:
    """Return where the inline code ends that each run of backticks may begin: 0 if it begins none."""
    following: dict[int, int] = {}
    ends: dict[int, int] = {}
    for run in reversed([*_TICKS.finditer(line)]):
        ends[run.start()] = following.get(len(run[0]), 0)
        following[len(run[0])] = run.end()
    return dict(reversed(ends.items()))


def _is_within(ranges: Sequence[range], at: int) -> bool:
    after = bisect_right(ranges, at, key=lambda each: each.start)
    return after > 0 and at in ranges[after - 1]


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
