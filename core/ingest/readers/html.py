"""Web pages: a section per heading, without scripts, styles and menus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from lxml import etree

from braid.core.ingest.readers.document import (
    STRIKE,
    HeadingStack,
    Outline,
    ParsedDocument,
    SourceFile,
    first_title,
    join_cjk_lines,
    mark_struck,
    one_line,
)
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html_menus import menus_of
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.parts.equation import write_equations
from braid.core.ingest.readers.parts.html_tags import MAX_ATTRIBUTES, has_too_many_attributes
from braid.core.ingest.readers.parts.numerals import numeral
from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.symbols import signs
from braid.core.ingest.readers.parts.xml import finder
from braid.core.ingest.readers.table_rows import add_table, in_cell

ERRORS = (etree.LxmlError,)

_SKIPPED = frozenset(
    {"script", "style", "nav", "noscript", "noframes", "template", "svg", "iframe", "object", "button", "head"}
    | {"rt", "rp"}
)
_FIELDS = ("input", "select", "textarea")
_ENTERED = ("", "text", "date", "datetime-local", "email", "month", "number", "tel", "time", "url", "week")
"""Types of fields whose values a person has typed."""
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NUMBERED = {"a": "a", "A": "A", "i": "i", "I": "I"}
_MARKED = finder("//*[@style or @hidden or @face]")
_LINKS = finder(
    "//*[contains(@class, 'mw-editsection') or contains(@class, 'mw-jump-link') or contains(@class, 'skip-link')]"
)
"""Links to edit a section, within its heading, and to skip what is above the text."""
_STRUCK = ("del", "s", "strike")
_STRIKING = re.compile(r"text-decoration(?:-line)?\s*:[^;]{0,100}line-through", re.IGNORECASE)
_FONT = re.compile(r"(?<![\w-])font-family\s*:\s*[\"']?(symbol|wingdings)\b", re.IGNORECASE)
_BOX = re.compile(
    r"(?<![a-z])(?:aside|sidebar|infobox|ads?|advert\w*|promo\w*|sponsor\w*|related|recommend\w*|teaser|callout|newsletter)(?![a-z])",
    re.IGNORECASE,
)
"""Within the class or name of a block beside the text."""
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li", "main", "ol", "p"}
    | {"pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"}
)
_LAYOUT = ("table", "ul", "ol", "dl", "blockquote", "pre", *sorted(_HEADINGS))
_LAYING = frozenset({*_LAYOUT, "caption"}) - {"table"}
_DECLARED = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?([\w-]+)|<\?xml[^>]+encoding=["']([\w-]+)""", re.IGNORECASE)
_LINE_BREAK, _KEPT_SPACE = "\x1e", "\x1f"
_INNER_ROW, _INNER_CELL = "\x1a", "\x1b"
"""Stand before the rows and cells of a table in a cell."""
MAX_INNER = 500
"""Elements of a row with tables in its cells; a longer one lays a page out."""
_SPACE = re.compile(r"[^\S\x1e\x1f\u3000]{2,}|[^\S \x1e\x1f\u3000]")
"""White space of source that is not a single space already."""
_PREFORMATTED = str.maketrans({"\n": _LINE_BREAK, " ": _KEPT_SPACE, "\t": _KEPT_SPACE * 4})
_BREAKS = re.compile(r"(?<! ) *+\x1e *")


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading."""
    match = _DECLARED.search(file.content[:4096])
    declared = next(filter(None, match.groups()), b"").decode("ascii") if match else ""
    root = parse_html(file, decode(file.content, declared))
    if root is None:
        return ParsedDocument(file.stem, file.file_type, ())
    outline = Outline()
    add_html(root, outline)
    sections = outline.sections()
    if not sections:  # a page that is nothing but a menu
        outline = Outline()
        add_html(root, outline, with_menus=True)
        sections = outline.sections()
    title = first_title(root.findtext(".//title"), outline.first_heading)
    return ParsedDocument(title, file.file_type, sections, _metadata(root))


def parse_html(file: SourceFile, text: str) -> etree._Element | None:
    """Return the tree of a page, None for one without anything.

    Raises UnreadableDocumentError when it is nested deeper than the parser goes, which would leave the rest out, and
    for an element with more attributes than any page has.
    """
    if has_too_many_attributes(text):
        raise file.unreadable(
            "%(name)s has an element with more than %(most)s attributes; save it in a simpler form",
            most=format(MAX_ATTRIBUTES, ","),
        )
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    root: etree._Element | None = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise file.unreadable("%(name)s is nested too deeply to be read; save it in a simpler form")
    if root is not None:
        write_equations(root)
    return root


def add_html(root: etree._Element, outline: Outline, *, with_menus: bool = False) -> None:
    """Add the headings and paragraphs of a page to an outline."""
    paragraphs = _Paragraphs(outline)
    menus = frozenset[etree._Element]() if with_menus else menus_of(root).union(_LINKS(root))
    marked = set(_MARKED(root))
    walker = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    skipped: etree._Element | None = None
    for event, element in walker:
        if event == "start":
            tag, is_marked = element.tag, element in marked
            if tag in _SKIPPED or tag in _FIELDS or element in menus or (is_marked and _is_hidden(element)):
                paragraphs.text(_entered(element))
                skipped = element
                walker.skip_subtree()
            else:
                marks = [RAISE] if tag == "sup" else []
                marks += [STRIKE] if tag in _STRUCK or (is_marked and _is_struck(element)) else []
                paragraphs.begin(element, marks + ([_symbol_font(element)] if is_marked else []))
            continue
        if event == "end" and element is not skipped:
            paragraphs.end(element)
        if tail := element.tail:
            paragraphs.text(tail)
    paragraphs.end_all()


def _is_hidden(element: etree._Element) -> bool:
    if element.tag in _SKIPPED or element.get("hidden") is not None:
        return True
    style = element.get("style")
    is_hiding = style is not None and _HIDING.search(style) is not None
    return is_hiding and not _is_equation(element)  # of which a picture is shown instead


def _is_equation(element: etree._Element) -> bool:
    """Return whether nothing but one equation is in an element."""
    beside = (element.text, *(child.tail for child in element))
    return len(element) == 1 and element[0].tag == "math" and not any(text and text.strip() for text in beside)


def _description(image: etree._Element) -> str:
    """Return what is said of a picture; nothing for one of an equation that is there as text as well."""
    text = image.get("alt") or ""
    parent = image.getparent()
    is_there = text.startswith("{\\displaystyle") and parent is not None and parent.find(".//math") is not None
    return "" if is_there else text


def _entered(field: etree._Element) -> str:
    """Return what a field of a form shows that somebody has filled in; empty for other elements."""
    if field.tag not in _FIELDS or _is_hidden(field):
        return ""
    if field.tag == "input":
        kind = (field.get("type") or "").lower()
        if kind in ("checkbox", "radio"):
            return "☒ " if field.get("checked") is not None else ""  # pages use others as buttons of menus
        return f"{field.get('value') or ''} " if kind in _ENTERED else ""
    if field.tag == "textarea":
        return f"{field.text or ''} "
    chosen = (each for each in field.iter("option") if each.get("selected") is not None)
    return " ".join("".join(map(str, each.itertext())) for each in chosen) + " "


def _symbol_font(element: etree._Element) -> str:
    """Return the name of the symbol font that an element's text has; empty for others."""
    if found := _FONT.search(element.get("style") or ""):
        return found[1]
    face = (element.get("face") or "").strip() if element.tag == "font" else ""
    return face if face.lower() in ("symbol", "wingdings") else ""


def _is_struck(element: etree._Element) -> bool:
    return _STRIKING.search(element.get("style") or "") is not None


def _is_box(block: etree._Element) -> bool:
    """Return whether a block stands beside the text around it, which goes on behind it below its own heading."""
    if block.tag == "aside" or block.get("role") in ("complementary", "note"):
        return True
    return block.tag in ("div", "section") and _BOX.search(f"{block.get('class')} {block.get('id')}") is not None


class _Paragraphs:
    """The paragraph that is being put together while a page is walked."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._parts: list[str] = []
        self._prefix = ""
        self._tight = False
        self._row: etree._Element | None = None
        self._cells: list[Cell] = []
        self._rows: list[list[Cell]] = []
        """The rows of the table so far, which are added when it ends, or something else comes between them."""
        self._caption = ""
        self._inner = 0
        """How many tables are open within a cell."""
        self._pre = 0
        self._marks: list[tuple[etree._Element, str]] = []
        """The open elements that strike their text out (`STRIKE`), raise it (`RAISE`), or name a symbol font."""
        self._numbers: list[int] = []
        """The number of the next item of each open numbered list."""
        self._boxes: list[tuple[etree._Element, HeadingStack]] = []
        """The boxes that are open, with the headings from before them."""

    def begin(self, element: etree._Element, marks: Iterable[str] = ()) -> None:
        """Enter an element, and take its first text."""
        tag = element.tag
        self._marks += ((element, mark) for mark in marks if mark)
        if self._row is not None and (tag == "table" or (self._inner and tag in ("tr", "td", "th"))):
            self._inner += tag == "table"
            self._parts.append(_INNER_CELL if tag in ("td", "th") else _INNER_ROW)
        elif tag == "tr" and self._row is None and self._is_row(element):
            self.flush()
            self._row, self._cells = element, []
        elif tag in ("td", "th"):
            self._begin_cell(element)
        elif tag == "table":
            self.flush()
            self._end_table()
        elif tag in _BLOCKS:
            self._break()
            if self._row is None and _is_box(element):
                self._boxes.append((element, self._outline.headings()))
        if tag == "li":
            self._prefix = self._item(element)
        elif tag == "ol":
            self._numbers.append(_whole(element.get("start"), 1))
        elif tag == "pre":
            self._pre += 1
        elif tag == "br":
            self._parts.append(" " if self._row is not None else _LINE_BREAK)
        elif tag == "img":
            self._parts.append(_description(element))
        self.text(element.text)

    def end(self, element: etree._Element) -> None:
        """Leave an element."""
        tag = element.tag
        if element is self._row:
            self._end_cell()
            self._row = None
            self._rows.append(self._cells)
        elif tag == "table" and self._inner:
            self._inner -= 1
            self._parts.append(_INNER_ROW)
        elif tag == "table":
            self.flush()
            self._end_table()
        elif tag == "caption":
            self._caption = self._join()
            self.flush()
        elif tag in _HEADINGS and self._row is None:
            title, self._parts = self._join(), []
            self._end_table()
            self._outline.heading(int(tag[1]), title.replace("\n", " "))
        elif tag in _BLOCKS:
            self._break()
            if self._boxes and self._boxes[-1][0] is element:
                self._end_table()
                self._outline.go_back(self._boxes.pop()[1])
        if tag == "pre":
            self._pre -= 1
        elif tag == "ol":
            self._numbers.pop()
        while self._marks and self._marks[-1][0] is element:
            self._marks.pop()

    def _is_row(self, row: etree._Element) -> bool:
        """Return whether a row is one of a table and lays nothing out: no list is in it, and if a table is, it follows
        a row of several cells.
        """
        if next(row.iter(*_LAYOUT), None) is None:
            return True
        if not self._rows or len(self._rows[-1]) < 2:
            return False
        within = [each.tag for each in islice(row.iter(), MAX_INNER + 1)]
        return len(within) <= MAX_INNER and not any(tag in _LAYING for tag in within)

    def _item(self, item: etree._Element) -> str:
        """Return what a browser shows before an item of a list."""
        parent = item.getparent()
        if parent is None or parent.tag != "ol" or not self._numbers:
            return "- "
        number = _whole(item.get("value"), self._numbers[-1])
        self._numbers[-1] = number + 1
        return f"{numeral(number, _NUMBERED.get(parent.get('type') or '', 'decimal'))}. "

    def text(self, text: str | None) -> None:
        """Take a piece of text."""
        if text:
            text = text.translate(_PREFORMATTED) if self._pre else text
            for _, mark in self._marks:
                text = signs(text, mark, letters=True) if mark.isalpha() else text
            for kind in (RAISE, STRIKE):
                text = f"{kind}{text}{kind}" if any(mark == kind for _, mark in self._marks) else text
            self._parts.append(text)

    def end_all(self) -> None:
        """End the last paragraph and table."""
        self.flush()
        self._end_table()

    def flush(self) -> None:
        """End the paragraph."""
        if text := self._join():
            if self._rows:  # this stands between two rows
                self._end_table()
            self._outline.add(self._prefix + text, tight=bool(self._prefix))
            self._prefix = ""
        self._parts = []

    def _break(self) -> None:
        if self._row is not None:
            self._parts.append(" ")
        elif self._parts:
            self.flush()

    def _begin_cell(self, element: etree._Element) -> None:
        if self._row is None:
            self.flush()
            return
        self._end_cell()
        self._cells.append(Cell("", _span(element, "colspan"), _span(element, "rowspan")))

    def _end_cell(self) -> None:
        """Take the text so far as that of the open cell; a row may have a text before its first."""
        rows, self._parts = self._join().split(_INNER_ROW), []
        text = in_cell(row.split(_INNER_CELL) for row in rows) if len(rows) > 1 else one_line(rows[0])
        if self._cells:
            last = self._cells[-1]
            self._cells[-1] = Cell(" ".join(filter(None, (last.text, text))), last.columns, last.rows)
        elif text:
            self._cells.append(Cell(text))

    def _end_table(self) -> None:
        """Add the rows so far."""
        if all(len(row) <= 1 for row in self._rows):  # a frame around a text
            for text in filter(None, (self._caption, *(cell.text for row in self._rows for cell in row))):
                self._outline.add(text)
        elif self._rows:
            add_table(self._outline, laid_out(self._rows), self._caption, tight=True)
        self._rows, self._caption = [], ""

    def _join(self) -> str:
        """Return the text so far. In source, a line break is a space, but none between Japanese characters."""
        text = "".join(self._parts)
        if not text.strip(" \n\u200b"):
            return ""
        text = _SPACE.sub(" ", join_cjk_lines(mark_struck(mark_raised(text))))
        if _LINE_BREAK in text:
            text = _BREAKS.sub("\n", text)
        return text.strip(" \n").replace(_KEPT_SPACE, " ")


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch("-?[0-9]{1,6}", text.strip()) else default


def _span(element: etree._Element, name: str) -> int:
    """Return the number of columns or rows that a cell covers."""
    text = (element.get(name) or "").strip()
    return max(1, int(text)) if re.fullmatch("[0-9]{1,4}", text) else 1


def _metadata(root: etree._Element) -> dict[str, str]:
    names = ("author", "description", "keywords", "date")
    found: Iterator[tuple[str, str]] = (
        ((meta.get("name") or "").lower(), meta.get("content") or "") for meta in root.iter("meta")
    )
    metadata = {name: content for name, content in found if name in names}
    if language := root.get("lang"):
        metadata["language"] = language
    return metadata
