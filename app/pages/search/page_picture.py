"""The page of a PDF or a picture around a passage, as it looks, with the passage marked."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from flask import Response, render_template, request

from braid.app.auth.identity import identity
from braid.app.pages.search.cited import (
    cited_passage,
    document_of,
    source_address,
    source_values,
    supporting_sentence,
)
from braid.app.pages.search.search import form_of_request, search
from braid.app.site import site
from braid.app.web.transfers import filename
from braid.app.words.gaps import gaps
from braid.core.errors import FilesUnavailableError, NotFoundError, UnreadableDocumentError
from braid.core.ingest.formats import PICTURES
from braid.core.ingest.parse_pool import PagePicture, ParserUnavailableError
from braid.core.ingest.scans.reading import PageReading
from braid.core.ledger.outages import log_failure
from braid.core.metadata.gaps import SCANNED_PAGES
from braid.core.metadata.printed_pages import printed_page
from braid.core.originals.placing import Box, boxes_of_lines, find_passage, lines_of
from braid.core.types import Document, Passage

WITH_PAGES = frozenset({"pdf", *PICTURES})
ZOOMS = (100, 150, 200)
"""Percent of the width of the page's column."""

logger = logging.getLogger(__name__)


class Line(NamedTuple):
    """A line of a page's text, and where it stands."""

    text: str
    box: Box


@search.get("/documents/passage/<chunk_id>/page/<int:number>")
def page(chunk_id: str, number: int) -> str:
    """Show a page of the file that a passage was read from; its text lies over the picture, to be selected."""
    cited, form = cited_passage(chunk_id), form_of_request()
    document = document_of(cited)
    reading = _reading(document, number)
    drawn = _with_reading(_drawn(document, number, reading), reading)
    carried = partial(source_address, "braid.search.page", cited, form)
    lines = (
        (drawn.text[found.start : found.stop], boxes_of_lines(drawn.boxes, found)) for found in lines_of(drawn.text)
    )
    is_cited = cited.page is not None and cited.page <= number <= (cited.page_end or cited.page)
    zoom, sentence = request.args.get("zoom", 100, type=int), supporting_sentence(cited)
    return render_template(
        "braid/page.html",
        **source_values(cited, document, form, page=number),
        at=lambda number, zoom: carried(number=number, zoom=zoom if zoom != ZOOMS[0] else None),
        gaps=gaps(document.metadata),
        number=number,
        printed=printed_page(document.metadata, number),
        drawn=drawn,
        reading=reading,
        is_cited=is_cited,
        marks=_marks(cited, cited.text, drawn) if is_cited else [],
        sentence=_marks(cited, cited.text[slice(*sentence)], drawn) if is_cited and sentence else [],
        lines=[Line(text, boxes[0]) for text, boxes in lines if boxes],
        zoom=zoom if zoom in ZOOMS else ZOOMS[0],
        zooms=ZOOMS,
    )


@search.get("/documents/passage/<chunk_id>/page/<int:number>.png")
def page_picture(chunk_id: str, number: int) -> Response:
    """Return the picture of a page."""
    document = document_of(cited_passage(chunk_id))
    drawn = _drawn(document, number, _reading(document, number))
    response = Response(drawn.picture, mimetype="image/png")
    response.cache_control.private, response.cache_control.max_age = True, 3600
    return response


def draws(document: Document, number: int) -> bool:
    """Return whether this page of the document can be drawn now; if so, it is remembered."""
    try:
        _drawn(document, number, _reading(document, number))
    except (NotFoundError, ParserUnavailableError):
        return False
    except FilesUnavailableError as error:  # the passage is shown as text
        log_failure(logger, "drawing a page", error)
        return False
    return True


def has_pages(document: Document) -> bool:
    """Return whether pages of the document can be shown, now or when its file can be fetched again."""
    try:
        return document.file_type in WITH_PAGES and site().background.originals.find(document) is not None
    except FilesUnavailableError:
        return True


def _drawn(document: Document, number: int, reading: PageReading | None) -> PagePicture:
    """Return the page, upright where a machine has found how it lies."""
    background, turn = site().background, reading.turn if reading else 0
    path = background.originals.find(document) if document.file_type in WITH_PAGES else None
    if path is None:
        raise NotFoundError(f"the pages of document {document.id} cannot be shown: its file is not kept, or has none")
    draw = partial(background.parse_now.draw_page, filename=filename(document), turn=turn)
    is_ahead = request.headers.get("Purpose") == "prefetch"  # by panel.js: nobody waits for it, and it for nobody
    hold = partial(background.parse_now.turn, identity().account.id, waits=not is_ahead)
    try:
        return background.pages.get(path, document.content_hash, number, draw, turn=turn, hold=hold)
    except UnreadableDocumentError as error:
        raise NotFoundError(str(error)) from error


def _reading(document: Document, number: int) -> PageReading | None:
    """Return what a machine has read on the page; None where the file has the text itself."""
    found = site().background.scans.store.get(document, number) if SCANNED_PAGES in document.metadata else None
    return found if found and found.words else None


def _with_reading(drawn: PagePicture, reading: PageReading | None) -> PagePicture:
    """Return the page with the text that was read, in place of its own, or after it where that was read, too."""
    if reading is None:
        return drawn
    text, boxes = reading.characters()
    across, down = drawn.width / reading.width, drawn.height / reading.height
    scaled = [
        (round(left * across), round(top * down), round(right * across), round(bottom * down))
        for left, top, right, bottom in boxes
    ]
    if reading.is_part:
        return replace(drawn, text=f"{drawn.text}\n{text}", boxes=[*drawn.boxes, (0, 0, 0, 0), *scaled])
    return replace(drawn, text=text, boxes=scaled)


def _marks(cited: Passage, text: str, drawn: PagePicture) -> list[Box]:
    """Return where the passage, or a text of it, is on the page."""
    in_part = cited.page != (cited.page_end or cited.page)
    found = find_passage(text, drawn.text, in_part=in_part)
    return [box for each in found for box in boxes_of_lines(drawn.boxes, each)]
