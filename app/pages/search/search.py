"""The search page, which only reads; its blueprint, and functions that the search pages share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from flask import Response, render_template, request
from flask_babel import gettext
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.search.answer import build_answer
from braid.app.pages.search.filters import COMPARISONS, KINDS, PARTS
from braid.app.pages.search.form import NUMBERS, SearchForm, keys_of, read_form
from braid.app.pages.status import status_of
from braid.app.site import site
from braid.app.user.dataset_picker import make_picker
from braid.app.user.datasets import Readable, readable_datasets
from braid.app.user.models import choose_models, model_shelf
from braid.app.user.preferences import preferences_of
from braid.app.user.starters import starters
from braid.app.user.strategy_menu import strategy_choices
from braid.app.words.languages import language_names
from braid.core.metadata.gaps import GAPS, SCAN_CONFIDENCE, SCANNED_PAGES
from braid.core.metadata.printed_pages import PRINTED_PAGES
from braid.core.options import ABOUT, MAX_K, MAX_QUERY_CHARS, Mode
from braid.core.types import SearchResult

search = Routes("search", __name__, "user")


def form_of_request(mode: Mode | None = None) -> SearchForm:
    """Return the submitted form; the user's preferences fill in what is left out."""
    account = identity().account
    return read_form(request.values, preferences_of(account), readable_datasets(account), mode=mode)


def search_with(form: SearchForm) -> SearchResult:
    """Search as the user who sends this request, and count the search."""
    account, here = identity().account, site()
    models = model_shelf().search_models(choose_models(account))
    result = here.braid.manager.search(
        form.text,
        user_id=account.id,
        dataset_ids=form.datasets.given,
        strategy=form.strategy,
        models=models,
        question_filters="on",
        filter_words=form.filter_words,
        **form.options(here.options),
    )
    here.usage.count(account.id, "search")
    here.metrics.count_search(result)
    return result


def template_values(form: SearchForm) -> dict[str, Any]:
    """Return the values that the template of every search form needs."""
    account, here, readable = identity().account, site(), form.readable
    return {
        "form": form,
        "personal": readable.personal,
        "shared": readable.shared,
        "picker": make_picker(readable, form.datasets, language_names(readable.all)),
        "strategies": strategy_choices(with_model=choose_models(account).search is not None),
        "metadata_keys": _metadata_keys(form),
        "comparisons": COMPARISONS.items(),
        "kinds": [(kind, name) for kind, (name, _) in KINDS.items()],
        "parts": list(PARTS.items()),
        "reranker": here.reranker,
        "registry_problem": here.braid.registry.problem(),
        "max_query_chars": MAX_QUERY_CHARS,
        "max_k": MAX_K,
        "numbers": {name: gettext(ABOUT[name].label) for name in NUMBERS},
        "ways": list(_ways(form)),
        "choices_key": choices_key(form),
    }


_OF_READING = {*GAPS, PRINTED_PAGES, SCANNED_PAGES, SCAN_CONFIDENCE, "running_heads"}
"""Keys that say how a file was read, by which nobody looks for documents."""


def _metadata_keys(form: SearchForm) -> list[tuple[bool, list[str]]]:
    """Return the keys of metadata to choose from: those of the selected datasets, and those of the others alone."""
    every = [dataset.id for dataset in form.readable.all]
    selected = keys_of(each for each in every if form.datasets.has(each))
    others = keys_of(every).keys() - selected.keys()
    chosen = {condition.key for condition in form.filters.conditions} - others
    groups = [(True, sorted(chosen | selected.keys() - _OF_READING)), (False, sorted(others - _OF_READING))]
    return [(is_selected, keys) for is_selected, keys in groups if keys]


def choices_key(form: SearchForm) -> str:
    """Return the key under which the browser remembers choices.

    The key names the user and their preferences, so choices are forgotten when the preferences change.
    """
    mine = preferences_of(identity().account)
    parts = (mine.mode, mine.fusion, mine.alpha, mine.k, mine.strategy, mine.datasets.given)
    return ":".join(map(str, (identity().account.id, *parts)))


def address(endpoint: str, carried: Mapping[str, Any], **more: Any) -> str:
    """Return the address of a page with the arguments of a search."""
    return url_for(endpoint, **{**carried, **more})


def examples(endpoint: str, readable: Readable) -> list[tuple[str, str]]:
    """Return questions about the user's documents, or about the guide, each with its address on this page."""
    ids = [dataset.id for dataset in readable.all]
    return [(question, url_for(endpoint, q=question, d=ids)) for question in starters(readable)]


def back_address(form: SearchForm) -> str:
    """Return the address that led to a document: a search, a search by three fields, or a conversation."""
    conversation = request.args.get("conversation", type=int)
    if conversation is not None:
        return url_for("braid.chat.conversation", conversation_id=conversation)
    if token := request.args.get("shared"):
        return url_for("braid.chat.read_shared", token=token)
    if "purpose" in request.args:
        return address("braid.search.fields", form.query_arguments() | three_fields())
    return address("braid.search.index", form.query_arguments())


def three_fields() -> dict[str, str]:
    """Return the non-empty fields of the request: purpose, materials, methods and instruction."""
    names = ("purpose", "materials", "methods", "instruction")
    return {name: text for name in names if (text := request.values.get(name, "").strip())}


def _ways(form: SearchForm) -> Iterator[tuple[str, str]]:
    """Yield (endpoint, address) of the ways to search, with the same choices."""
    for endpoint in ("braid.search.index", "braid.search.fields", "braid.search.compare"):
        yield endpoint, address(endpoint, form.query_arguments() if form.text else {})


__all__ = ["search"]


@search.get("/")
def home() -> Redirect:
    """Redirect to the chat, the page that most people want."""
    return redirect(url_for("braid.chat.page"))


@search.get("/search")
def index() -> str:
    """Show the search page, with the answer if there is a query."""
    form = form_of_request()
    return render_template(
        "braid/search.html",
        answer=build_answer(search_with(form), form) if form.text else None,
        status=status_of(site(), form.readable.all),
        examples=[] if form.text else examples("braid.search.index", form.readable),
        compare_href=address("braid.search.compare", form.query_arguments()),
        why_not_href=address("braid.search.why_not", form.query_arguments()),
        **template_values(form),
    )


@search.get("/status.json")
def status() -> Response:
    """Return the indexing status as JSON, for the page's script."""
    found = status_of(site(), readable_datasets(identity().account).all)
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")
