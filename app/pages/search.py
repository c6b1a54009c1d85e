"""The search page and the document around a passage. They only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from flask import Blueprint, Response, render_template, request, url_for
from werkzeug.utils import redirect

from app.access import rule
from app.first_start import SAMPLE_NAME
from app.identity import identity
from app.pages.answer import build_answer
from app.pages.form import SearchForm, read_form
from app.pages.marking import PROSE, flow, language_of, mark, wanted_tokens
from app.pages.status import IndexStatus, index_status
from app.scoping import readable_datasets
from app.site import site
from core.analyzer import Analyzer
from core.braid import Braid
from core.errors import NotFoundError
from core.types import MAX_K, MAX_QUERY_CHARS, Dataset, Passage

PASSAGES_PER_PAGE = 50
MAX_START = 10**9

EXAMPLES = (
    ("en", "How are the two rankings fused?"),
    ("ja", "データセットを削除するとどうなりますか"),
    ("ko", "파일을 읽을 수 없을 때는 어떻게 하나요?"),
)

search = Blueprint("search", __name__)


@search.get("/")
@rule("user")
def home() -> Response:
    """To the page that most people want."""
    return redirect(url_for("braid.chat.page"))


@search.get("/search")
@rule("user")
def index() -> str:
    """The search page, with the answer when there is a query."""
    braid, settings = site().braid, site().settings
    form = read_form(request.args, settings)
    user = identity().account
    personal, shared = readable_datasets(user)
    answer = None
    if form.text:
        result = braid.manager.search(
            form.text,
            user_id=user.id,
            dataset_ids=form.dataset_ids or None,
            mode=form.mode,
            k=form.k,
            fusion=form.used_fusion,
            alpha=form.used_alpha,
            dense_weight=settings.dense_weight,
            reranker=settings.reranker,
        )
        answer = build_answer(result, form, [*personal, *shared], braid.analyzer)
    return render_template(
        "braid/search.html",
        form=form,
        personal=personal,
        shared=shared,
        answer=answer,
        examples=list(_examples([*personal, *shared])),
        status=_status(braid, [*personal, *shared]),
        registry_problem=braid.registry.problem(),
        max_query_chars=MAX_QUERY_CHARS,
        max_k=MAX_K,
    )


@search.get("/documents/passage/<chunk_id>")
@rule("user")
def document(chunk_id: str) -> str:
    """The document around a passage. Not found when the passage is not the user's to read."""
    braid, form = site().braid, read_form(request.args, site().settings)
    user = identity().account
    datasets = readable_datasets(user).by_id
    cited = braid.ledger.passages([chunk_id], datasets.keys()).get(chunk_id)
    if cited is None:
        raise NotFoundError("there is no such passage, or it is not yours; search again, it may have been replaced")
    start = min(max(0, request.args.get("start", cited.position - PASSAGES_PER_PAGE // 2, type=int)), MAX_START)
    found = braid.ledger.document_passages(
        cited.document_id, datasets.keys(), limit=PASSAGES_PER_PAGE + 1, offset=start
    )
    return render_template(
        "braid/document.html",
        cited=cited,
        dataset=datasets[cited.dataset_id],
        passages=list(_shown_passages(braid.analyzer, found[:PASSAGES_PER_PAGE], form)),
        earlier=_neighbour(cited, form, start - PASSAGES_PER_PAGE) if start else None,
        later=_neighbour(cited, form, start + PASSAGES_PER_PAGE) if len(found) > PASSAGES_PER_PAGE else None,
        back=url_for("braid.search.index", **form.carried()),  # type: ignore[arg-type]
    )


@search.get("/status.json")
@rule("user")
def status() -> Response:
    """How far indexing is, for the live line."""
    braid = site().braid
    user = identity().account
    found = _status(braid, readable_datasets(user).all)
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")


# ---------------------------------------------------------------- what the routes share


def _status(braid: Braid, datasets: list[Dataset]) -> IndexStatus:
    collections = {dataset.collection for dataset in datasets}
    progress = [part for part in braid.indexer.progress() if part.collection in collections]
    return index_status(progress, sum(d.chunks for d in braid.ledger.datasets_in(collections)))


def _examples(datasets: list[Dataset]) -> Iterator[tuple[str, str, str]]:
    """Questions that the sample answers, each with its language and address."""
    if any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in datasets):
        ids = [dataset.id for dataset in datasets]
        for language, question in EXAMPLES:
            yield language, question, url_for("braid.search.index", q=question, d=ids)


def _shown_passages(analyzer: Analyzer, passages: list[Passage], form: SearchForm) -> Iterator[dict[str, object]]:
    wanted = wanted_tokens(analyzer, form.text)
    for passage in passages:
        yield {
            "passage": passage,
            "segments": mark(analyzer, flow(passage.text, passage.file_type), wanted),
            "prose": passage.file_type in PROSE,
            "language": language_of(passage.text),
        }


def _neighbour(cited: Passage, form: SearchForm, start: int) -> str:
    return url_for("braid.search.document", chunk_id=cited.chunk_id, start=max(0, start), **form.carried())  # type: ignore[arg-type]
