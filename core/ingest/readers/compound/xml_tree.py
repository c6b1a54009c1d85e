"""XML: feeds by their entries, articles and books by their titles, other documents as ``name: value`` lines.

Entities that a document defines are neither expanded nor read, and nothing that it refers to is fetched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from braid.core.errors import Reason
from braid.core.ingest.readers.document import Outline, ParsedDocument, Section, SourceFile, first_title, one_line
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html import add_html, parse_html
from braid.core.ingest.readers.html import read as read_html
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.office.open_document import read as read_open_document
from braid.core.ingest.readers.parts.equation import write_equations
from braid.core.ingest.readers.parts.html_tags import MAX_ATTRIBUTES, has_too_many_attributes
from braid.core.ingest.readers.parts.xml import attribute, local, parse_xml
from braid.core.ingest.readers.rows import row_of
from braid.core.ingest.readers.table_rows import add_table, records

ERRORS = (etree.LxmlError, SyntaxError)

_DECLARATION = re.compile(r"\A\s{0,99}<\?xml\b[^>]{0,300}\?>")
_DECLARED = re.compile(rb"""\A\s{0,99}<\?xml[^>]{1,300}?encoding\s{0,9}=\s{0,9}["']([\w.-]{1,40})""")
_REFERENCE = re.compile(r"&(?:(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);|([A-Za-z][\w.-]{0,60});)?")
_GREEK_NAMES = (
    "agr bgr ggr dgr egr zgr eegr thgr igr kgr lgr mgr ngr xgr ogr pgr rgr sfgr sgr tgr ugr phgr khgr psgr ohgr"
)
_GREEK = dict(zip(_GREEK_NAMES.split(), "αβγδεζηθικλμνξοπρςστυφχψω", strict=True))
_GREEK |= {name[:-2].upper() + "gr": letter.upper() for name, letter in _GREEK.items() if letter != "ς"}
"""Greek letters as the standard of SGML names them (ISOgrk1), which articles, patents and manuals go on using."""
_TITLES = frozenset({"title", "head", "heading", "article-title", "doctitle", "invention-title"})
_PROSE = frozenset(
    {"p", "para", "simpara", "li", "item", "listitem", "line", "l", "abstract", "caption", "quote", "blockquote"}
    | {"seg", "note", "claim-text", "text", "td", "th", "entry", "shortdesc", "cmd", "body", "description", *_TITLES}
)
_PARAGRAPHS = frozenset({"p", "para", "simpara", "paragraph"})
_IN_PARAGRAPHS = _PARAGRAPHS | {"table", "list", "ul", "ol", "li", "item", "listitem", "entry"}
_SKIPPED = frozenset({"script", "style", "binary-data", "binData", "graphic", "Signature"})
_CUT_OFF = (
    etree.ErrorTypes.ERR_TAG_NOT_FINISHED,
    etree.ErrorTypes.ERR_CDATA_NOT_FINISHED,
    etree.ErrorTypes.ERR_COMMENT_NOT_FINISHED,
    etree.ErrorTypes.ERR_GT_REQUIRED,
    etree.ErrorTypes.ERR_LT_REQUIRED,
)
_ENTRIES = frozenset({"item", "entry"})
_TEXTS = ("encoded", "content", "description", "summary")
_FACTS = {"pubDate": "Date", "published": "Date", "updated": "Date", "date": "Date", "author": "Author"} | {
    "creator": "Author",
    "category": "Category",
}
_TECHNICAL = ("id", "class", "style", "lang", "type")
"""Attributes that say nothing of a value; units, currencies and eras do."""
MAX_ATTRIBUTE = 100
"""Characters of an attribute that is said with a value."""
MAX_LEVEL = 6
MAX_CELLS = 1_000
"""Of a row of a workbook in XML."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per entry or title. Pages and OpenDocument files in XML are read as what they are."""
    match = _DECLARED.search(file.content[:1000])
    text = _plain(decode(file.content, match[1].decode("ascii") if match else ""))
    if has_too_many_attributes(text):
        raise file.unreadable(
            "%(name)s has an element with more than %(most)s attributes; save it in a simpler form",
            most=format(MAX_ATTRIBUTES, ","),
        )
    root = _root(file, text.encode("utf-8", "replace"))
    write_equations(root)
    kind = local(root)
    if kind in ("html", "xhtml"):
        return read_html(file)
    if kind == "document" and "opendocument" in (etree.QName(root).namespace or ""):
        return read_open_document(replace(file, content=text.encode("utf-8", "replace")))
    if kind in ("rss", "RDF", "feed") and any(local(each) in _ENTRIES for each in root.iter(etree.Element)):
        return _feed(file, root)
    outline = Outline()
    if kind == "Workbook" and any(local(each) == "Worksheet" for each in root):
        return ParsedDocument(file.stem, file.file_type, tuple(_sheets(root)))
    _add(root, outline, 1)
    title = next((each for each in root.iter(etree.Element) if local(each) in _TITLES), None)
    return ParsedDocument(
        first_title(_all_text(title) if title is not None else ""), file.file_type, outline.sections()
    )


def _root(file: SourceFile, content: bytes) -> etree._Element:
    """Return the root of a document; where its elements do not match, as in some feeds, as far as it can be made out.

    Raises UnreadableDocumentError for one that was cut off, and lxml's errors for what is no XML.
    """
    try:
        return parse_xml(file, content)
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) in _CUT_OFF:  # which its stub lacks
            raise file.unreadable(
                "%(name)s is damaged, or is not %(other)s; copy or export it again",
                other=Reason("an XML document"),
                code="cut_off",
            ) from error
        root = parse_xml(file, content, recover=True)
        if root is None or not len(root):
            raise
        return root


def _plain(text: str) -> str:
    """Return XML without declaration and document type, and with characters in place of references that pages know.

    Other references, to entities that the document defines, become their names.
    """
    text = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1)
    start = text.find("<!DOCTYPE")
    if start >= 0:
        bracket, end = text.find("[", start), text.find(">", start)
        if 0 <= bracket < end:
            closing = text.find("]", bracket)
            while closing >= 0 and not text[closing + 1 : closing + 50].lstrip().startswith(">"):
                closing = text.find("]", closing + 1)
            end = text.find(">", closing) if closing >= 0 else -1
        text = text[:start] + (text[end + 1 :] if end >= 0 else "")
    return _REFERENCE.sub(_character, text)


def _character(reference: re.Match[str]) -> str:
    if reference[1]:
        return reference[0]
    if reference[2]:
        known = _GREEK.get(reference[2]) or html.unescape(reference[0])
        return html.escape(known if known != reference[0] else reference[2], quote=False)
    return "&amp;"


def _all_text(element: etree._Element) -> str:
    return one_line("".join(map(str, element.itertext())))


def _children(element: etree._Element) -> list[etree._Element]:
    return [each for each in element.iterchildren(tag=etree.Element) if local(each) not in _SKIPPED]


# ------------------------------------------------------------ feeds


def _feed(file: SourceFile, root: etree._Element) -> ParsedDocument:
    outline = Outline()
    channel = next((each for each in root.iter(etree.Element) if local(each) == "channel"), root)
    title = _first(channel, "title")
    outline.add("\n".join(filter(None, (title, _first(channel, "description") or _first(channel, "subtitle")))))
    for entry in root.iter(etree.Element):
        if local(entry) not in _ENTRIES:
            continue
        outline.heading(1, _first(entry, "title") or _first(entry, "link") or "…")
        outline.add("\n".join(_facts(entry)))
        body = next((each for name in _TEXTS for each in _children(entry) if local(each) == name), None)
        if body is not None:
            _add_body(file, body, outline)
    return ParsedDocument(first_title(title), file.file_type, outline.sections())


def _first(parent: etree._Element, name: str) -> str:
    return next((_all_text(each) for each in _children(parent) if local(each) == name), "")


def _facts(entry: etree._Element) -> Iterator[str]:
    for each in _children(entry):
        name = local(each)
        if name == "link" and (link := attribute(each, "href") or _all_text(each)):
            yield link
        elif name in _FACTS and (text := _all_text(each) or attribute(each, "term")):
            yield f"{_FACTS[name]}: {text}"


def _add_body(file: SourceFile, body: etree._Element, outline: Outline) -> None:
    """Add the text of an entry, which is a page: escaped, or as elements."""
    if len(body):
        add_html(_without_names(body), outline)
        return
    root = parse_html(file, body.text) if body.text and body.text.strip() else None
    if root is not None:
        add_html(root, outline)


def _without_names(body: etree._Element) -> etree._Element:
    for each in body.iter(etree.Element):
        each.tag = local(each).lower()
    body.tag = "div"
    return body


# ------------------------------------------------------------ workbooks


def _sheets(root: etree._Element) -> Iterator[Section]:
    """Yield a record per row of a workbook as Excel 2002 and 2003 write it in XML."""
    for sheet in (each for each in _children(root) if local(each) == "Worksheet"):
        rows = (row_of(_cells(row)) for row in sheet.iter(etree.Element) if local(row) == "Row")
        yield from records(rows, attribute(sheet, "Name"))


def _cells(row: etree._Element) -> list[str]:
    """Return the texts of a row; a cell may say in which column it is, or how many more it covers."""
    cells: list[str] = []
    for cell in (each for each in _children(row) if local(each) == "Cell"):
        if len(cells) >= MAX_CELLS:
            break
        cells += [""] * (min(_span(cell, "Index"), MAX_CELLS) - 1 - len(cells))
        cells.append(" ".join(_all_text(each) for each in _children(cell) if local(each) == "Data"))
        if attribute(cell, "MergeAcross"):
            cells += [""] * _span(cell, "MergeAcross")
    return cells[:MAX_CELLS]


# ------------------------------------------------------------ other documents


def _add(element: etree._Element, outline: Outline, level: int) -> None:
    """Add an element: a text, a table, a record of values, or a part with a title and others in it."""
    name, children = local(element), _children(element)
    own = _has_text(element)
    if name in ("table", "tgroup", "informaltable") and (rows := _rows(element)):
        add_table(outline, laid_out(rows), next((_all_text(each) for each in children if local(each) in _TITLES), ""))
    elif not children or own or _is_paragraph(element):
        text = _all_text(element)
        if text or not children:
            outline.add(_named(element, text), tight=name in ("li", "item", "listitem", "line", "l"))
    elif _is_record(children):
        values = (_named(each, _all_text(each)) for each in children)
        outline.add("\n".join(filter(None, (*_attributes(element), *values))))
    else:
        _add_part(element, children, outline, level)


def _has_text(element: etree._Element) -> bool:
    return bool((element.text or "").strip()) or any((each.tail or "").strip() for each in element)


def _is_record(children: list[etree._Element]) -> bool:
    """Return whether elements are values, of which those with others in their text have names of their own."""
    names = [local(each) for each in children]
    if not _PROSE.isdisjoint(names):
        return False
    mixed = [each for each in children if _children(each)]
    return not mixed or (len(set(names)) == len(names) and all(map(_has_text, mixed)))


def _is_paragraph(element: etree._Element) -> bool:
    """Return whether an element is a paragraph whose words are all in elements of it, as of patents."""
    if local(element).lower() not in _PARAGRAPHS:
        return False
    return all(local(each).lower() not in _IN_PARAGRAPHS for each in element.iterdescendants(etree.Element))


def _add_part(element: etree._Element, children: list[etree._Element], outline: Outline, level: int) -> None:
    title = next((each for each in children[:3] if local(each) in _TITLES), None)
    if title is not None:
        label = next((_all_text(each) for each in children[:3] if local(each) == "label"), "")
        outline.heading(min(level, MAX_LEVEL), " ".join(filter(None, (label, _all_text(title)))))
        children = [each for each in children if each is not title and local(each) != "label"]
    else:
        outline.add("\n".join(_attributes(element)))
    for child in children:
        _add(child, outline, level + (title is not None))


def _named(element: etree._Element, text: str) -> str:
    """Return the text of an element after its name, or the name that it is given, and its attributes; alone where it is
    prose.
    """
    if not text:
        return "\n".join(f"{local(element)} {line}" for line in _attributes(element))
    if local(element) in _PROSE or local(element).lower() in _PROSE:
        return text
    given = next((name for name in ("name", "key") if attribute(element, name)), "")
    said = (line for line in _attributes(element) if line.partition(":")[0] not in (given, *_TECHNICAL))
    more = ", ".join(line for line in said if len(line) <= MAX_ATTRIBUTE)
    return f"{attribute(element, given) or local(element)}{f' ({more})' if more else ''}: {text}"


def _attributes(element: etree._Element) -> Iterator[str]:
    for key, value in element.attrib.items():
        if not str(key).startswith("{") and (text := one_line(str(value))):
            yield f"{key!s}: {text}"


def _rows(table: etree._Element) -> list[list[Cell]]:
    rows = (each for each in table.iter(etree.Element) if local(each) in ("tr", "row"))
    return [
        [
            Cell(_all_text(cell), _span(cell, "colspan"), _span(cell, "rowspan"))
            for cell in _children(row)
            if local(cell) in ("td", "th", "entry")
        ]
        for row in rows
    ]


def _span(cell: etree._Element, name: str) -> int:
    text = attribute(cell, name)
    return max(1, int(text)) if re.fullmatch("[0-9]{1,4}", text) else 1
