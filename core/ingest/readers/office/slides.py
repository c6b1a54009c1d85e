"""PowerPoint presentations: a section per slide, with tables, groups and speaker notes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import pptx
from pptx.exc import PythonPptxError
from pptx.shapes.base import BaseShape
from pptx.shapes.group import GroupShape
from pptx.slide import Slide
from pptx.table import _Cell

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, first_title, one_line
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.table_rows import bars

ERRORS = (*PACKAGE_ERRORS, PythonPptxError)


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per slide that has text; its title is the heading."""
    open_archive(file).close()
    presentation = pptx.Presentation(io.BytesIO(file.content))
    sections: list[Section] = []
    of_slide = ""
    for number, slide in enumerate(presentation.slides, start=1):
        title = _title(slide)
        of_slide = of_slide or title
        text = "\n".join(_slide_lines(slide)) or title
        sections.append(Section(text, title, page=number))
    properties = presentation.core_properties
    title = first_title(properties.title, of_slide)
    return ParsedDocument(title, "pptx", tuple(sections), {"author": properties.author, "slides": str(len(sections))})


def _title(slide: Slide) -> str:
    shape = slide.shapes.title
    return one_line(shape.text_frame.text) if shape is not None else ""


def _slide_lines(slide: Slide) -> Iterator[str]:
    title = slide.shapes.title
    title_id = title.shape_id if title is not None else None
    yield from _lines(shape for shape in slide.shapes if shape.shape_id != title_id)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        yield "\n" + _paragraphs(notes.text)


def _lines(shapes: Iterable[BaseShape]) -> Iterator[str]:
    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _lines(shape.shapes)
        elif shape.has_text_frame:
            if text := _paragraphs(shape.text_frame.text):  # type: ignore[attr-defined]
                yield text
        elif shape.has_table:
            rows = [[cell for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]  # type: ignore[attr-defined]
            yield from map(bars, laid_out([list(map(_cell, row)) for row in rows]))


def _cell(cell: _Cell) -> Cell:
    return Cell(one_line(cell.text), cell.span_width, cell.span_height)


def _paragraphs(text: str) -> str:
    """Return the lines that are not empty; a vertical tab is a line break within a paragraph."""
    return "\n".join(line.strip() for line in text.replace("\v", "\n").split("\n") if line.strip())
