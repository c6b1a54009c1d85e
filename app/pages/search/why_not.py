"""Explains why a document is, or is not, in a search result, by following its best passage through the search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from flask import Response, render_template, request
from flask_babel import format_decimal, ngettext
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.pages.search.answer import document_href
from braid.app.pages.search.card import is_prose, readable
from braid.app.pages.search.form import SearchForm
from braid.app.pages.search.marking import Segment, snippet, wanted_tokens
from braid.app.pages.search.search import address, back_address, form_of_request, search, template_values
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.models import choose_models, model_shelf
from braid.app.words.values import dataset_name
from braid.core.datasets.listing import documents_named
from braid.core.errors import NotFoundError, Reason
from braid.core.ledger.database import Database
from braid.core.search.explain import FORGOTTEN, best_passage
from braid.core.text.scripts import display_language
from braid.core.types import LEGS_OF_MODE, MAX_ID, MAX_K, Document, Explanation, Leg, Passage, indexed_text

OFFERED = 20
FETCHED_AT_MOST = 2 * MAX_K


@dataclass(frozen=True, slots=True)
class Why:
    """An explanation in the page's language."""

    found: bool
    verdict: str
    steps: tuple[str, ...]
    """What each leg says, one sentence per leg."""
    detail: str
    """The explanation of the core in English, with all numbers."""
    passage: Passage
    snippet: tuple[Segment, ...]
    language: str
    prose: bool
    href: str


@search.get("/search/why-not")
def why_not() -> str:
    """Show the form that finds a document by part of its name, and explain why the document is, or is not, found."""
    form = form_of_request()
    names = {dataset.id: dataset_name(dataset.name) for dataset in form.readable.all}
    name = request.args.get("name", "").strip()
    document = _choose_document(names) if "document" in request.args else None
    found = documents_named(_database(), names, name, limit=OFFERED) if name and document is None else []
    if len(found) == 1:
        document = found[0]
    return render_template(
        "braid/why_not.html",
        name=name,
        document=document,
        why=_why(form, document) if document and document.chunks and form.text else None,
        found=[(each, names[each.dataset_id], _address_of(form, each)) for each in found],
        newest=[] if name or document else list(_newest(form)),
        names=names,
        back=back_address(form),
        carried=list(_pairs(form)),
        **template_values(form),
    )


def _newest(form: SearchForm) -> Iterator[tuple[str, str, str]]:
    """Yield (title, source, address of the explanation) of the newest documents, for who does not know a name."""
    for outline in site().outlines.newest(form.readable.all, limit=OFFERED):
        href = address("braid.search.why_not", form.query_arguments(), name=outline.source)
        yield outline.title or outline.source, outline.source, href


@search.get("/search/documents.json")
def documents() -> Response:
    """Return documents whose name contains the typed text as JSON, for the list below the field."""
    readable = readable_datasets(identity().account).by_id
    found = documents_named(_database(), readable.keys(), request.args.get("name", ""), limit=OFFERED)
    listed = [{"id": each.id, "source": each.source, "title": each.title} for each in found]
    return Response(json.dumps(listed, ensure_ascii=False), mimetype="application/json")


def _database() -> Database:
    return site().braid.ledger.database


def _choose_document(names: dict[int, str]) -> Document:
    wanted = request.args.get("document", 0, type=int)
    document = site().braid.ledger.document_with_id(wanted, names) if 0 < wanted <= MAX_ID else None
    if document is None:
        raise NotFoundError(Reason("there is no such document, or it is not yours; it may have been deleted"))
    return document


def _address_of(form: SearchForm, document: Document) -> str:
    return address("braid.search.why_not", form.query_arguments(), document=document.id)


def _pairs(form: SearchForm) -> Iterator[tuple[str, str]]:
    """Yield the search's arguments as hidden fields."""
    for name, value in form.query_arguments().items():
        for each in value if isinstance(value, list) else [value]:
            yield name, each


# ---------------------------------------------------------------- the explanation


def _why(form: SearchForm, document: Document) -> Why:
    account, here = identity().account, site()
    models = model_shelf().search_models(choose_models(account))
    options = {**form.options(here.options), "strategy": form.strategy, "models": models}
    manager = here.braid.manager
    passage = best_passage(manager.search, here.braid.ledger, document, form.text, user_id=account.id, **options)
    explanation = manager.explain(
        form.text,
        chunk_id=passage.chunk_id,
        user_id=account.id,
        dataset_ids=form.datasets.given,
        question_filters="on",
        filter_words=form.filter_words,
        **options,
    )
    wanted = wanted_tokens(here.braid.analyzer, form.text)
    return Why(
        found=explanation.found,
        verdict=_verdict(explanation, form),
        steps=tuple(_steps(explanation, form, passage)),
        detail=explanation.detail,
        passage=passage,
        snippet=snippet(here.braid.analyzer, readable(passage.text, passage.file_type), wanted),
        language=display_language(passage.text),
        prose=is_prose(passage.file_type),
        href=document_href(passage.chunk_id, form.query_arguments()),
    )


def _verdict(explanation: Explanation, form: SearchForm) -> str:
    rank, said = explanation.rank, ""
    match explanation.reason:
        case "found":
            said = _("It is in the results, at rank %(rank)s.", rank=rank)
        case "not_in_scope":
            said = _("Its dataset was not searched. Select the dataset and search again.")
        case "filtered":
            said = _("The filters exclude it.")
        case "deduplicated":
            said = _("Another document contains the same text. It is shown once, at rank %(rank)s.", rank=rank)
        case "merged":
            said = _("It is shown as part of a longer section, at rank %(rank)s.", rank=rank)
        case "grouped":
            said = _("Another passage of it fits better and is shown for the document, at rank %(rank)s.", rank=rank)
        case "below_min_score":
            said = _("Its score is too low to be shown.")
        case "cut_by_k":
            said = _cut(rank, form.k)
        case "not_reached":
            said = _("The search did not reach it.")
    return str(said)


def _cut(rank: int | None, k: int) -> str:
    if rank is not None and rank > k:
        said = ngettext(
            "It is at rank %(rank)s, but only %(num)s passage is shown. Increase the number of passages.",
            "It is at rank %(rank)s, but only %(num)s passages are shown. Increase the number of passages.",
            k,
            rank=rank,
        )
        return str(said)
    return str(_("It is at rank %(rank)s, but the strategy or the reranker did not select it.", rank=rank))


def _steps(explanation: Explanation, form: SearchForm, passage: Passage) -> Iterator[str]:
    if explanation.reason in ("not_in_scope", "filtered"):
        return
    scores = {score.leg: score for score in explanation.legs}
    for leg in LEGS_OF_MODE[form.mode]:
        if leg in scores:
            yield _describe_rank(leg, scores[leg].rank)
        elif explanation.reason == "not_reached" or explanation.legs:
            yield _describe_absence(leg, form, passage)
    if explanation.reranker:
        yield str(_("The reranker %(name)s put the first results in order.", name=explanation.reranker))
    if FORGOTTEN in explanation.detail:
        yield str(_("What the model wrote for this search is no longer available. Search again, then try this again."))


def _describe_rank(leg: Leg, rank: int) -> str:
    shown = format_decimal(rank)
    if leg == "dense":
        return str(_("By meaning: rank %(rank)s.", rank=shown))
    return str(_("By keyword: rank %(rank)s.", rank=shown))


def _describe_absence(leg: Leg, form: SearchForm, passage: Passage) -> str:
    limit = format_decimal(FETCHED_AT_MOST)
    if leg == "dense":
        return str(_("By meaning: not among the up to %(limit)s passages examined.", limit=limit))
    analyzer = site().braid.analyzer
    there = set(analyzer.tokens(indexed_text(passage.title, passage.heading_path, passage.text)))
    if not there & set(analyzer.tokens(form.text)):
        return str(_("By keyword: not found, because it contains no word of the query."))
    return str(_("By keyword: not among the up to %(limit)s passages examined.", limit=limit))
