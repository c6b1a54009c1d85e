"""The document around a passage: its pages as they look where they can be drawn, else its text as a document."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from flask import Response, render_template, request
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.identity import identity
from braid.app.pages.search.cited import (
    cited_passage,
    document_of,
    source_address,
    source_values,
    supporting_sentence,
)
from braid.app.pages.search.document_view import PASSAGES_PER_PAGE, page_of, sections_of, show_document
from braid.app.pages.search.form import SearchForm
from braid.app.pages.search.marking import wanted_tokens, word_ranges
from braid.app.pages.search.page_picture import draws, has_pages
from braid.app.pages.search.search import form_of_request, search, three_fields
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.web.transfers import original_file
from braid.app.words.gaps import gaps
from braid.core.types import Document, Passage

MAX_START = 10**9
MAX_SECTIONS = 300
"""Longest list of contents."""


@search.get("/documents/passage/<chunk_id>")
def document(chunk_id: str) -> str | Redirect:
    """Show the document around a passage. Raises NotFoundError if the user may not read the passage."""
    cited, form = cited_passage(chunk_id), form_of_request()
    whole = document_of(cited)
    wants_text = request.args.get("as") == "text" or "start" in request.args
    looks = ""
    if cited.page is not None and has_pages(whole):
        looks = source_address("braid.search.page", cited, form, number=cited.page)
        if not wants_text and draws(whole, cited.page):
            return redirect(looks)
    return render_template(
        "braid/document.html",
        **source_values(cited, whole, form),
        **_shown(cited, whole, form),
        gaps=gaps(whole.metadata),
        looks=looks,
        not_drawn=bool(looks) and not wants_text,
    )


@search.get("/documents/passage/<chunk_id>/original")
def original(chunk_id: str) -> Response:
    """Return the file that a passage was read from."""
    return original_file(document_of(cited_passage(chunk_id)))


def _shown(cited: Passage, whole: Document, form: SearchForm) -> dict[str, Any]:
    """Return the parts of the text to show, the passages before and after them, and the list of contents."""
    ledger, datasets = site().braid.ledger, readable_datasets(identity().account).by_id.keys()
    begin = request.args.get("start", cited.position - PASSAGES_PER_PAGE // 2, type=int)
    start = min(max(0, begin), MAX_START)
    found = ledger.document_passages(cited.document_id, datasets, limit=PASSAGES_PER_PAGE, offset=start)
    passages = page_of(found, cited.chunk_id if "start" not in request.args else "")
    first, after = (passages[0].position, passages[-1].position + 1) if passages else (start, start)
    is_long = whole.chunks > len(passages)
    sentence = supporting_sentence(cited)
    parts = show_document(passages, cited.chunk_id, [sentence] if sentence else _words(cited, form))
    headings = ledger.headings(whole.id, datasets, limit=MAX_SECTIONS) if is_long else []
    return {
        "parts": [(is_list, list(group)) for is_list, group in groupby(parts, key=lambda part: part.kind == "item")],
        "has_sentence": sentence is not None,
        "is_there": any(passage.chunk_id == cited.chunk_id for passage in passages),
        "earlier": _at(cited, form, max(0, first - PASSAGES_PER_PAGE)) if first else None,
        "later": _at(cited, form, after) if after < whole.chunks else None,
        "sections": [(title, _at(cited, form, position)) for title, position in sections_of(headings)],
    }


def _words(cited: Passage, form: SearchForm) -> list[tuple[int, int]]:
    analyzer = site().braid.analyzer
    return word_ranges(analyzer, cited.text, wanted_tokens(analyzer, " ".join([form.text, *three_fields().values()])))


def _at(cited: Passage, form: SearchForm, start: int) -> str:
    return source_address("braid.search.document", cited, form, start=start)
