"""The passage that an address names, its document for readers of its dataset, and what every page of it shows."""

from __future__ import annotations

from typing import Any

from flask import request
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.search.form import SearchForm
from braid.app.pages.search.marking import SENTENCE, sentence_range
from braid.app.pages.search.search import address, back_address, three_fields
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.web.header import OPENED_FROM, place_here
from braid.core.errors import NotFoundError, Reason
from braid.core.text.scripts import display_language
from braid.core.types import Document, Passage


def cited_passage(chunk_id: str) -> Passage:
    """Return the passage. Raises NotFoundError if the user may not read it."""
    datasets = readable_datasets(identity().account).by_id
    found = site().braid.ledger.passages([chunk_id], datasets.keys()).get(chunk_id)
    if found is None:
        raise NotFoundError(
            Reason("there is no such passage, or it is not yours; search again, it may have been replaced")
        )
    return found


def document_of(passage: Passage) -> Document:
    """Return the passage's document. Raises NotFoundError if it was deleted just now."""
    found = site().braid.ledger.document_with_id(passage.document_id, [passage.dataset_id])
    if found is None:
        raise NotFoundError("the document was deleted just now; search again")
    return found


def supporting_sentence(passage: Passage) -> tuple[int, int] | None:
    """Return the characters of the passage that support the answer which this page was opened from, if it says so."""
    return sentence_range(request.args.get(SENTENCE, ""), passage.text)


def source_values(cited: Passage, document: Document, form: SearchForm, *, page: int | None = None) -> dict[str, Any]:
    """Return the values that the template of each page of a source needs; ``page`` is the one that is shown, if one."""
    return {
        "cited": cited,
        "title_language": display_language(cited.title),
        "dataset": readable_datasets(identity().account).by_id[cited.dataset_id],
        "has_original": bool(site().background.originals.ids_with_file([document])),
        "as_text": source_address("braid.search.document", cited, form, **{"as": "text"}),
        "back": back_address(form),
        "from_chat": place_here() == "braid.chat",
        "ask_about": _ask_about(document, page),
    }


def _ask_about(document: Document, page: int | None) -> dict[str, Any]:
    """Return how a question names the document or this page of it, and where it is asked."""
    key, name = f"document:{document.id}", document.title or document.source
    if page is not None:
        key, name = f"{key}:{page}", str(_("%(title)s, page %(number)s", title=name, number=page))
    conversation_id = request.args.get("conversation", type=int)
    href = (
        url_for("braid.chat.conversation", conversation_id=conversation_id, about=key)
        if conversation_id
        else url_for("braid.chat.page", about=key)
    )
    return {"key": key, "name": name, "href": href, "page": page}


def source_address(endpoint: str, cited: Passage, form: SearchForm, **more: Any) -> str:
    """Return the address of a page of the source, which leads back to where this one was opened from."""
    conversation = {name: request.args[name] for name in (*OPENED_FROM, SENTENCE) if name in request.args}
    fields = three_fields()
    carried = {**(form.query_arguments() if form.text or fields else {}), **fields, **conversation}
    return address(endpoint, carried, chunk_id=cited.chunk_id, **more)
