"""The routes. Every one is a GET that changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace

from flask import Blueprint, Response, current_app, render_template, request, url_for

from app.cli_common import LOCAL_USER
from app.first_start import SAMPLE_NAME
from app.pages.answer import build_answer
from app.pages.form import SearchForm, read_form
from app.pages.marking import PROSE, flow, language_of, mark, wanted_tokens
from app.pages.status import IndexStatus, index_status
from config.settings import Settings
from core.analyzer import Analyzer
from core.braid import Braid
from core.errors import IndexUnavailableError, NotFoundError
from core.ledger import User
from core.scope import readable_shared
from core.types import MAX_K, MAX_QUERY_CHARS, Dataset, Passage

PASSAGES_PER_PAGE = 50
MAX_START = 10**9

EXAMPLES = (
    ("en", "How are the two rankings fused?"),
    ("ja", "データセットを削除するとどうなりますか"),
    ("ko", "파일을 읽을 수 없을 때는 어떻게 하나요?"),
)

blueprint = Blueprint("pages", __name__)


@blueprint.get("/")
def index() -> str:
    """The search page, with the answer when there is a query."""
    braid, settings = _braid(), _settings()
    form = read_form(request.args, settings)
    user = _user(braid)
    personal, shared = braid.ledger.datasets(user.id), _shared_datasets(braid, user)
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
        "index.html",
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


@blueprint.get("/documents/passage/<chunk_id>")
def document(chunk_id: str) -> str:
    """The document around a passage. Not found when the passage is not the user's to read."""
    braid, form = _braid(), read_form(request.args, _settings())
    user = _user(braid)
    datasets = {d.id: d for d in [*braid.ledger.datasets(user.id), *_shared_datasets(braid, user)]}
    cited = braid.ledger.passages([chunk_id], datasets.keys()).get(chunk_id)
    if cited is None:
        raise NotFoundError("there is no such passage, or it is not yours; search again, it may have been replaced")
    start = min(max(0, request.args.get("start", cited.position - PASSAGES_PER_PAGE // 2, type=int)), MAX_START)
    found = braid.ledger.document_passages(
        cited.document_id, datasets.keys(), limit=PASSAGES_PER_PAGE + 1, offset=start
    )
    return render_template(
        "document.html",
        cited=cited,
        dataset=datasets[cited.dataset_id],
        passages=list(_shown_passages(braid.analyzer, found[:PASSAGES_PER_PAGE], form)),
        earlier=_neighbour(cited, form, start - PASSAGES_PER_PAGE) if start else None,
        later=_neighbour(cited, form, start + PASSAGES_PER_PAGE) if len(found) > PASSAGES_PER_PAGE else None,
        back=url_for("pages.index", **form.carried()),  # type: ignore[arg-type]
    )


@blueprint.get("/status.json")
def status() -> Response:
    """How far indexing is, for the live line."""
    braid = _braid()
    user = _user(braid)
    found = _status(braid, [*braid.ledger.datasets(user.id), *_shared_datasets(braid, user)])
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")


@blueprint.get("/healthz")
def health() -> Response:
    """Whether the app answers and its ledger can be read."""
    _braid().ledger.users()
    return Response('{"status": "ok"}', mimetype="application/json")


# ---------------------------------------------------------------- what the routes share


def _braid() -> Braid:
    braid: Braid | None = current_app.extensions["braid"]
    if braid is None:
        raise IndexUnavailableError("the data directory is not open yet; try again in a moment")
    return braid


def _settings() -> Settings:
    settings: Settings = current_app.extensions["settings"]
    return settings


def _user(braid: Braid) -> User:
    user = braid.ledger.user_named(LOCAL_USER)
    if user is None:
        raise IndexUnavailableError("the first start is not finished; try again in a moment")
    return user


def _shared_datasets(braid: Braid, user: User) -> list[Dataset]:
    braid.mirror_registry()
    entries = readable_shared(braid.ledger, braid.registry, user.id)
    stored = {d.id: d for d in braid.ledger.datasets_in({entry.collection_name for entry in entries})}
    return [replace(stored[entry.id], description=entry.description) for entry in entries if entry.id in stored]


def _status(braid: Braid, datasets: list[Dataset]) -> IndexStatus:
    collections = {dataset.collection for dataset in datasets}
    progress = [part for part in braid.indexer.progress() if part.collection in collections]
    return index_status(progress, sum(d.chunks for d in braid.ledger.datasets_in(collections)))


def _examples(datasets: list[Dataset]) -> Iterator[tuple[str, str, str]]:
    """Questions that the sample answers, each with its language and address."""
    if any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in datasets):
        ids = [dataset.id for dataset in datasets]
        for language, question in EXAMPLES:
            yield language, question, url_for("pages.index", q=question, d=ids)


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
    return url_for("pages.document", chunk_id=cited.chunk_id, start=max(0, start), **form.carried())  # type: ignore[arg-type]
