"""Renders a model's Markdown as safe HTML. The text is untrusted: the model has read strangers' documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, isMdAsciiPunct, isPunctChar
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from braid.core.chat.marks import MARKS, marked, number_of, shown

Href = Callable[[int], str]
"""Number of a citation → address of its passage; empty if there is nothing to link to. It is called once for each
citation, in the order of the text."""
Span = tuple[int, int, str]
"""The first character of a part of a text, the one behind it, and the class with which it is marked."""

SCHEMES = ("http", "https", "mailto")
FIRST_HEADING = 3
"""Headings of an answer rank below those of the page."""
MAX_FORMULA_CHARS = 2_000
MAX_COLUMNS = 256
"""Columns that a table may get for rows that have more cells than its head."""
MAX_FORMULA_LINES = 50
_FORMULA_END = {"\\(": "\\)", "\\[": "\\]", "$$": "$$", "$": "$"}
_DOLLARS = re.compile(r"\$(?!\s|\d[\d,.]*+[\s*])[^$]*(?<!\s)\$(?!\w)")
_OPEN, _CLOSE = "\U0010fffe", "\U0010ffff"
"""Around a part that is marked: characters of the plane of citations, which outside texts lose."""
_PARTS = re.compile(rf"{MARKS.pattern}|{_OPEN}|{_CLOSE}|[^{MARKS.pattern[1:-1]}{_OPEN}{_CLOSE}]+")
_BEFORE_WORDS = re.compile(r"^\s*(?:>\s*)*(?:[-*+]\s+|\d{1,9}[.)]\s+)?[*_~]*")
_ADDED = re.compile(rf"[{_OPEN}{_CLOSE}]")
_MARK = re.compile(r"</?mark[^<>]*>")
_BAR = re.compile(r"(?<!\\)\|")
_ENDS_IN_BAR = re.compile(r"(?<!\\)\|$")
_BEFORE_ROW = re.compile(r"^[\s>]*+(?:[-*+]|\d{1,9}[.)])?[\s>]*+")
_NEWLINES = re.compile(r"\r\n?")
_CJK = re.compile(
    rf"[{MARKS.pattern[1:-1]}\u1100-\u11ff\u2e80-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    r"\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffee\U00020000-\U0003ffff]"
)
"""Letters and punctuation of Chinese, Japanese and Korean, the full-width forms included, and citations."""


def answer_html(text: str, href: Href = lambda number: "") -> Markup:
    """Render a marked text (see `braid.core.chat.marks`) as HTML, with its citations as links.

    It has no embedded HTML and no pictures, and links to web and mail only.

    A citation without an address stays visible, as ``[1]``.
    """
    return Markup(_MARKDOWN.render(text, {"href": href}))


def answer_tokens(text: str) -> list[Token]:
    """Return the blocks of a marked text as `answer_html` renders them, with citations of their own type."""
    return _MARKDOWN.parse(_with_wide_heads(text, _MARKDOWN.parse(text, {})), {})


def checked_html(text: str, marks: Sequence[int] | None, spans: Sequence[Span], new_href: Callable[[], Href]) -> Markup:
    """Render an answer, with its citations at ``marks``, as `answer_html` does, and mark parts of it.

    Where marks would change what else is shown, as in some tables and code, there are none.
    """
    plain = answer_html(marked(text, marks), new_href())
    if not spans:
        return plain
    around = _with_spans(text, marks, spans)
    found = _MARKDOWN.render(around, {"href": new_href(), "classes": [name for _, _, name in spans]})
    return Markup(found) if _MARK.sub("", found) == plain else plain


def _with_spans(text: str, marks: Sequence[int] | None, spans: Sequence[Span]) -> str:
    """Return the marked text with a sign at both ends of each span, within the marks of lists and emphasis."""
    parts: list[str] = []
    end = 0

    def add(until: int, sign: str) -> None:
        nonlocal end
        within = None if marks is None else [place - end for place in marks if end <= place < until]
        parts.append(marked(text[end:until], within) + sign)
        end = until

    for first, last, _ in spans:
        inner = text[first:last]
        begins = first + len(inner) - len(_BEFORE_WORDS.sub("", inner, count=1))
        ends = first + len(inner.rstrip("*_~ \t\n"))
        if end <= begins < ends:
            add(begins, _OPEN)
            add(ends, _CLOSE)
    add(len(text), "")
    return "".join(parts)


def _is_link(address: str) -> bool:
    """Return whether links to this address are allowed. Addresses without a scheme would lead to Braid's own pages."""
    try:
        return urlsplit(address.strip()).scheme.lower() in SCHEMES
    except ValueError:
        return False


def _cite(state: StateCore) -> None:
    """Replace citations in the text, outside links and code, with tokens of their own; elsewhere write them out."""
    marking = _Marking(iter(state.env.get("classes", ())))
    for block in state.tokens:
        if block.type == "inline":
            block.children = list(_link_citations(block.children or [], marking))
        block.content = _written(block.content)


@dataclass
class _Marking:
    """The class that text is marked with at the current place."""

    classes: Iterator[str]
    now: str = ""

    def pass_over(self, signs: str) -> None:
        """Go on behind some text."""
        for sign in _ADDED.findall(signs):
            self.now = next(self.classes, "") if sign == _OPEN else ""


def _written(content: str) -> str:
    return _ADDED.sub("", shown(content)[0])


def _link_citations(tokens: Sequence[Token], marking: _Marking) -> Iterator[Token]:
    within = 0
    for token in tokens:
        within += token.type == "link_open"
        within -= token.type == "link_close"
        if token.type != "text" or within:
            marking.pass_over(token.content)
            token.content = _written(token.content)
            yield token
            continue
        for part in _PARTS.findall(token.content):
            if MARKS.fullmatch(part):
                yield Token("citation", "a", 0, content=str(number_of(part)), info=marking.now)
            elif _ADDED.fullmatch(part):
                marking.pass_over(part)
            else:
                yield Token("marked" if marking.now else "text", "", 0, content=part, info=marking.now)


def _tame(state: StateCore) -> None:
    """Put headings in order below the page's own, and turn inline styles, which are forbidden, into classes."""
    levels = sorted({token.tag for token in state.tokens if token.type == "heading_open"})
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, FIRST_HEADING + levels.index(token.tag))}"
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).replace("text-align:", "align-"))


def _render_citation(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    number, name = int(tokens[position].content), tokens[position].info
    address = env["href"](number)
    if address:
        link = Markup('<a class="cite" href="{}" data-number="{}">[{}]</a>').format(address, number, number)
    else:
        link = Markup('<span class="cite">[{}]</span>').format(number)
    return str(Markup('<mark class="{}">{}</mark>').format(name, link) if name else link)


def _render_marked(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[position]
    return str(Markup('<mark class="{}">{}</mark>').format(token.info, Markup(escapeHtml(token.content))))


def _render_link(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[position].attrSet("rel", "noopener noreferrer nofollow")
    tokens[position].attrSet("target", "_blank")
    return renderer.renderToken(tokens, position, options, env)


class _Inline(StateInline):
    """Finds emphasis beside Chinese, Japanese and Korean text, which has no spaces around it, and beside citations.

    The rule of https://github.com/tats-u/markdown-cjk-friendly: punctuation of these scripts counts as a letter, and
    beside their letters other punctuation hinders nothing. A citation counts as such a letter.
    """

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Return whether the run of marks at ``start`` can open and close emphasis, and its length."""
        found = super().scanDelims(start, canSplitWord)
        end = start + found.length
        before, after = self.src[start - 1 : start] or " ", self.src[end : end + 1] or " "
        if not (_CJK.match(before) or _CJK.match(after)):
            return found
        opens = not after.isspace() and (bool(_CJK.match(after)) or not _is_punctuation(after) or _parts(before))
        closes = not before.isspace() and (bool(_CJK.match(before)) or not _is_punctuation(before) or _parts(after))
        if not canSplitWord:
            opens, closes = (
                opens and (not closes or _is_punctuation(before)),
                closes and (not opens or _is_punctuation(after)),
            )
        return Scanned(opens, closes, found.length)


class _InlineParser(ParserInline):
    """Parses the text of a block with `_Inline`."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Append the block's tokens."""
        state = _Inline(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _parts(character: str) -> bool:
    """Return whether emphasis that has punctuation at its edge may begin or end beside this character."""
    return character.isspace() or _is_punctuation(character) or bool(_CJK.match(character))


def _is_punctuation(character: str) -> bool:
    return isPunctChar(character) or isMdAsciiPunct(ord(character)) or MARKS.match(character) is not None


def _formula(state: StateInline, silent: bool) -> bool:
    r"""Leave ``\(…\)``, ``\[…\]``, ``$…$`` and ``$$…$$`` as they are written: their backslashes are no escapes, their
    ``*`` no emphasis.

    As in Pandoc, a formula between single dollar signs neither begins nor ends with a space, and no letter or digit
    follows it: prices, and names of variables, are none.
    """
    src, begin = state.src, state.pos
    opened = src[begin : begin + 2] if src[begin : begin + 2] in _FORMULA_END else src[begin]
    end = _FORMULA_END.get(opened)
    if end is None:
        return False
    found = src.find(end, begin + len(opened), begin + MAX_FORMULA_CHARS)
    if found < 0 or (opened == "$" and not _DOLLARS.match(src[begin : found + 2])):
        return False
    if not silent:
        written = src[begin : found + len(end)]
        state.pending += written.replace("&lt;", "<")  # as links and HTML are made text
    state.pos = found + len(end)
    return True


def _formula_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Keep the lines of a formula together that begins with a line: one of them may look like an item of a list."""
    begin = state.bMarks[first] + state.tShift[first]
    opened = state.src[begin : begin + 2]
    if opened not in ("\\[", "$$") or state.is_code_block(first):
        return False
    for line in range(first, min(end, first + MAX_FORMULA_LINES)):
        if line > first and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            return False
        start = begin + 2 if line == first else state.bMarks[line]
        if state.src.find(_FORMULA_END[opened], start, state.eMarks[line]) >= 0:
            break
    else:
        return False
    if not silent:
        state.push("paragraph_open", "p", 1).map = [first, line + 1]
        inline = state.push("inline", "", 0)
        inline.content = state.getLines(first, line + 1, state.blkIndent, False).strip()
        inline.map, inline.children = [first, line + 1], []
        state.push("paragraph_close", "p", -1)
        state.line = line + 1
    return True


def _with_wide_heads(text: str, tokens: Sequence[Token]) -> str:
    """Return the text with further columns in the heads of the tables that have rows with more cells."""
    tables = [token.map for token in tokens if token.type == "table_open" and token.map]
    if not tables:
        return text
    lines = _NEWLINES.sub("\n", text).split("\n")
    for first, end in tables:
        cells = [_cells(line) for line in lines[first:end]]
        if (missing := min(max(cells), MAX_COLUMNS) - cells[0]) > 0:
            for at, cell in ((first, "  |"), (first + 1, "---|")):
                line = lines[at].rstrip()
                lines[at] = line + ("" if _ENDS_IN_BAR.search(line) else "|") + missing * cell
    return "\n".join(lines)


def _cells(line: str) -> int:
    """Return the number of cells of a row: its bars that are not escaped part them."""
    row = _BEFORE_ROW.sub("", line.rstrip()).removeprefix("|")
    return len(_BAR.findall(row)) + (not _ENDS_IN_BAR.search(row))


class _Markdown(MarkdownIt):
    """CommonMark with tables and strikethrough, restricted to what is safe."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "linkify": False, "breaks": True})
        self.inline = _InlineParser()
        self.configure("commonmark", {"html": False, "linkify": False, "breaks": True})
        self.enable(["table", "strikethrough"])
        self.inline.ruler.before("escape", "formula", _formula)
        self.block.ruler.before("list", "formula", _formula_block, {"alt": ["paragraph", "blockquote", "list"]})
        # `[1]: address` would turn every [1] into a link; pictures tell their server who reads what.
        self.disable(["reference", "html_block", "html_inline", "image"])
        self.core.ruler.push("citations", _cite)
        self.core.ruler.push("tame", _tame)
        self.add_render_rule("citation", _render_citation)
        self.add_render_rule("marked", _render_marked)
        self.add_render_rule("link_open", _render_link)
        self.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
        self.add_render_rule("table_close", lambda *_: "</table></div>")

    def render(self, src: str, env: EnvType | None = None) -> str:
        """Return the HTML of a text. Tables get columns for all cells: a row's last ones would be left out."""
        env = {} if env is None else env
        tokens = self.parse(src, env)
        wider = _with_wide_heads(src, tokens)
        return str(self.renderer.render(tokens if wider == src else self.parse(wider, env), self.options, env))

    def validateLink(self, url: str) -> bool:
        """Return whether this may be a link; if not, it stays text."""
        return _is_link(url)


_MARKDOWN = _Markdown()
