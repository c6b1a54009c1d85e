"""Jupyter notebooks: texts and code by the headings of the texts, with what the code printed. Nothing is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from braid.core.ingest.readers.document import HeadingStack, ParsedDocument, Section, SourceFile, first_title
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.markdown import sections_under

ERRORS: tuple[type[Exception], ...] = (AttributeError, KeyError, TypeError, ValueError)

MAX_OUTPUT_CHARS = 5_000
"""Of what a cell printed; the rest are logs and data."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading and cell, in order. Pictures and widgets are left out."""
    notebook = json.loads(decode(file.content))
    cells = (
        notebook["cells"]
        if "cells" in notebook
        else [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
    )
    stack = HeadingStack()
    sections = tuple(section for cell in cells for section in _cell(cell, stack))
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "")
    title = next((section.heading_path for section in sections if section.heading_path), "").split(" > ")[0]
    return ParsedDocument(first_title(title), "ipynb", sections, {"language": str(language)})


def _cell(cell: dict[str, Any], stack: HeadingStack) -> Iterator[Section]:
    source = _joined(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "markdown":
        yield from sections_under(source, stack)
    elif kind == "heading":  # of the third version of the format
        stack.enter(int(cell.get("level", 1)), source)
    elif source.strip():
        yield Section(source, stack.path, kind="code" if kind == "code" else "prose")
    printed = "\n".join(filter(str.strip, map(_printed, cell.get("outputs", ()))))
    if printed.strip():
        yield Section(printed[:MAX_OUTPUT_CHARS], stack.path, kind="code")


def _printed(output: dict[str, Any]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return _joined(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
