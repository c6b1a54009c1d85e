"""Search by purpose, materials and methods: writes one query from them, and compares the passages with them.

The answer is a page or, for a script, server-sent events: ``stage``, ``query`` and ``search`` (progress in words) →
``text`` (the comparison so far, as HTML) → ``answer`` (the whole result, as HTML), or ``error``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from flask import Response, render_template
from flask_babel import gettext as _
from flask_babel import ngettext
from markupsafe import Markup

from braid.app.auth.access import rule, wants_json
from braid.app.auth.identity import identity
from braid.app.pages.search.answer import build_answer, document_href
from braid.app.pages.search.form import Carried, SearchForm
from braid.app.pages.search.search import form_of_request, search, template_values, three_fields
from braid.app.pages.status import status_of
from braid.app.site import site
from braid.app.user.models import choose_models, model_shelf
from braid.app.web.errors import answer, failure_of
from braid.app.web.event_stream import event
from braid.app.web.live_turns import StreamForm, result_of, run_turn, stream_of
from braid.app.web.markdown import answer_html
from braid.app.web.turn_progress import RENDER_EVERY_S, AnswerSoFar, stage_text
from braid.app.words.languages import current_language
from braid.core.chat.comparison import MAX_INSTRUCTION_CHARS, ThreeFields
from braid.core.chat.marks import marked
from braid.core.chat.types import (
    ChatRequest,
    ChatResult,
    Event,
    QueryWritten,
    Searched,
    StageStarted,
)
from braid.core.types import Mode

DEFAULT_MODE: Mode = "semantic"
MAX_CARRIED_CHARS = 1_500
"""Longest fields, in characters altogether, that the links of the result repeat."""


@search.get("/search/fields")
def fields() -> str:
    """Show the form, filled in from the address. A script sends a filled form at once; this view searches nothing."""
    form = form_of_request(DEFAULT_MODE)
    return _page(form, "", starts=bool(_filled_fields()))


@search.post("/search/fields")
@rule("user", "read")
def fields_answer() -> str | Response:
    """Return the comparison, as a page or as events."""
    form, account = form_of_request(DEFAULT_MODE), identity().account
    asked = ChatRequest(
        account.id,
        fields=ThreeFields(**three_fields()),
        dataset_ids=form.datasets.given,
        strategy=form.strategy,
        options=form.options(site().options),
        language=current_language(),  # type: ignore[arg-type]
    )
    conversation = model_shelf().conversation(choose_models(account))
    turn = run_turn(asked, conversation.stream(asked), counted="search")
    if not wants_json():
        return _page(form, _result(form, result_of(turn)))
    return stream_of(turn, StreamForm(partial(_describe, form), _problem, AnswerSoFar().event, RENDER_EVERY_S))


def _page(form: SearchForm, result: str, *, starts: bool = False) -> str:
    return render_template(
        "braid/fields.html",
        status=status_of(site(), form.readable.all),
        fields=three_fields(),
        result=result,
        starts=starts,
        max_instruction_chars=MAX_INSTRUCTION_CHARS,
        **template_values(form),
    )


def _result(form: SearchForm, done: ChatResult) -> Markup:
    """Render the result part of the page."""
    carried = _query_arguments(form)
    chunk_ids = {citation.number: citation.passage.chunk_id for citation in done.citations}

    def href(number: int) -> str:
        return document_href(chunk_ids[number], carried) if number in chunk_ids else ""

    found = replace(done.search, degraded=done.degraded)
    html = render_template(
        "braid/_fields_answer.html",
        done=done,
        text=answer_html(marked(done.text, done.marks), href),
        answer=build_answer(found, form, carried=carried),
        form=form,
    )
    return Markup(html)


def _filled_fields() -> dict[str, str]:
    return {name: text for name, text in three_fields().items() if name != "instruction"}


def _query_arguments(form: SearchForm) -> Carried:
    """Return the query arguments that lead back to this form."""
    given = three_fields()
    short = sum(map(len, given.values())) <= MAX_CARRIED_CHARS
    kept = {name: value for name, value in form.query_arguments().items() if name != "q"}
    return {**kept, "purpose": "", **(given if short else {})}


# ---------------------------------------------------------------- as events


def _describe(form: SearchForm, happened: Event) -> str:
    """Return progress in words, or the result."""
    match happened:
        case StageStarted():
            return event("stage", {"text": stage_text(happened.stage, of_fields=True)})
        case QueryWritten():
            return event("query", {"text": _("Searched for: %(query)s", query=happened.query)})
        case Searched():
            found = len(happened.result.hits)
            return event("search", {"text": ngettext("%(num)s passage", "%(num)s passages", found)})
        case ChatResult():
            return event("answer", {"html": _result(form, happened)})
        case _:
            return ""


def _problem(error: Exception) -> str:
    """Return an error as the page shows it. Errors are problem details here, since a script asks."""
    problem = answer(failure_of(error)).get_json()
    return event("error", {"html": render_template("braid/_fields_problem.html", problem=problem)})
