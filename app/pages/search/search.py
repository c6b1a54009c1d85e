"""The search page and the page of a document around a passage. Both only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from flask import Response, render_template, request
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.opening import SAMPLE_NAME
from braid.app.pages.search.answer import build_answer
from braid.app.pages.search.blueprint import (
    address,
    back_address,
    form_of_request,
    search,
    search_with,
    status_of,
    template_values,
    three_fields,
)
from braid.app.pages.search.cited import cited_passage, document_of
from braid.app.pages.search.form import SearchForm
from braid.app.pages.search.marking import PROSE, flow, mark, wanted_tokens
from braid.app.pages.search.page_picture import has_pages
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.web.originals import original_file
from braid.app.words.gaps import gaps
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import display_language
from braid.core.types import Dataset, Passage

__all__ = ["search"]

PASSAGES_PER_PAGE = 50
MAX_START = 10**9

EXAMPLES = (
    ("en", "How large may a file be?"),
    ("ja", "データセットを削除するとどうなりますか"),
    ("ko", "파일을 읽을 수 없을 때는 어떻게 하나요?"),
)


@search.get("/")
@rule("user")
def home() -> Redirect:
    """Redirect to the chat, the page that most people want."""
    return redirect(url_for("braid.chat.page"))


@search.get("/search")
@rule("user")
def index() -> str:
    """Show the search page, with the answer if there is a query."""
    form = form_of_request()
    readable = readable_datasets(identity().account)
    answer = None
    if form.text:
        answer = build_answer(search_with(form), form, readable.all, site().braid.analyzer)
    return render_template(
        "braid/search.html",
        answer=answer,
        status=status_of(site(), readable.all),
        examples=list(_examples(readable.all)),
        compare_href=address("braid.search.compare", form.query_arguments()),
        why_not_href=address("braid.search.why_not", form.query_arguments()),
        **template_values(form, readable),
    )


@search.get("/documents/passage/<chunk_id>")
@rule("user")
def document(chunk_id: str) -> str:
    """Show the document around a passage. Raises NotFoundError if the user may not read the passage."""
    braid, form = site().braid, form_of_request()
    datasets = readable_datasets(identity().account).by_id
    cited = cited_passage(chunk_id)
    whole = document_of(cited)
    start = min(max(0, request.args.get("start", cited.position - PASSAGES_PER_PAGE // 2, type=int)), MAX_START)
    found = braid.ledger.document_passages(
        cited.document_id, datasets.keys(), limit=PASSAGES_PER_PAGE + 1, offset=start
    )
    return render_template(
        "braid/document.html",
        cited=cited,
        cited_language=display_language(cited.title),
        has_original=bool(site().background.originals.ids_with_file([whole])),
        gaps=gaps(whole.metadata),
        has_pages=cited.page is not None and has_pages(whole),
        dataset=datasets[cited.dataset_id],
        passages=list(_show_passages(braid.analyzer, found[:PASSAGES_PER_PAGE], form)),
        earlier=_neighbour(cited, form, start - PASSAGES_PER_PAGE) if start else None,
        later=_neighbour(cited, form, start + PASSAGES_PER_PAGE) if len(found) > PASSAGES_PER_PAGE else None,
        back=back_address(form),
        from_chat="conversation" in request.args,
    )


@search.get("/documents/passage/<chunk_id>/original")
@rule("user")
def original(chunk_id: str) -> Response:
    """Return the file that a passage was read from."""
    return original_file(document_of(cited_passage(chunk_id)))


@search.get("/status.json")
@rule("user")
def status() -> Response:
    """Return the indexing status as JSON, for the page's script."""
    found = status_of(site(), readable_datasets(identity().account).all)
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")


# ---------------------------------------------------------------- what the routes share


def _examples(datasets: list[Dataset]) -> Iterator[tuple[str, str, str]]:
    """Yield questions that the sample answers, each with its language and address."""
    if any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in datasets):
        ids = [dataset.id for dataset in datasets]
        for language, question in EXAMPLES:
            yield language, question, url_for("braid.search.index", q=question, d=ids)


def _show_passages(analyzer: Analyzer, passages: list[Passage], form: SearchForm) -> Iterator[dict[str, object]]:
    wanted = wanted_tokens(analyzer, " ".join([form.text, *three_fields().values()]))
    for passage in passages:
        yield {
            "passage": passage,
            "segments": mark(analyzer, flow(passage.text, passage.file_type), wanted),
            "prose": passage.file_type in PROSE,
            "language": display_language(passage.text),
        }


def _neighbour(cited: Passage, form: SearchForm, start: int) -> str:
    more = {name: request.args[name] for name in ("conversation",) if name in request.args}
    carried = {**form.query_arguments(), **three_fields(), **more}
    return address("braid.search.document", carried, chunk_id=cited.chunk_id, start=max(0, start))
