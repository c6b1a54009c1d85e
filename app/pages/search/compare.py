"""Two searches side by side for one query: hits that moved, appeared and disappeared."""

from __future__ import annotations

from dataclasses import dataclass

from flask import render_template, request
from werkzeug.datastructures import MultiDict

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.pages.search.answer import Answer, build_answer
from braid.app.pages.search.blueprint import form_of_request, search, search_with, template_values
from braid.app.pages.search.form import SearchForm, read_form
from braid.app.pages.search.moves import Move, moves
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.preferences import preferences_of
from braid.core.types import Dataset, Mode

SIDES = ("a", "b")
BOTH = ("q", "k", "kind", "source", "from", "to", "rerank", "group", "part", "mkey", "mis", "mvalue")
"""Arguments that both sides share."""


@dataclass(frozen=True, slots=True)
class Side:
    """One configuration and, if there is a query, its answer with a mark per hit."""

    name: str
    form: SearchForm
    answer: Answer | None = None
    moves: tuple[Move, ...] = ()


@search.get("/search/compare")
@rule("user")
def compare() -> str:
    """Show two configurations, and the results of both if there is a query."""
    forms = [_form_of_side(name) for name in SIDES]
    readable = readable_datasets(identity().account)
    sides = [Side(name, form) for name, form in zip(SIDES, forms, strict=True)]
    if forms[0].text:
        sides = _search_sides(forms, readable.all)
    shown = [side.answer for side in sides if side.answer]
    return render_template(
        "braid/compare.html",
        sides=sides,
        kept=sum(move.kind == "kept" for move in sides[0].moves),
        compared=bool(shown),
        **template_values(forms[0], readable),
    )


def _search_sides(forms: list[SearchForm], readable: list[Dataset]) -> list[Side]:
    results = [search_with(form) for form in forms]
    marks = moves(results[0].hits, results[1].hits)
    return [
        Side(name, form, build_answer(result, form, readable, site().braid.analyzer), tuple(side_marks))
        for name, form, result, side_marks in zip(SIDES, forms, results, marks, strict=True)
    ]


def _form_of_side(name: str) -> SearchForm:
    """Return the form of one side.

    Coming from the search page, the first side is that search and the second one searches by keyword alone,
    or in hybrid mode if the first one is a keyword search.
    """
    preferred, readable = preferences_of(identity().account), readable_datasets(identity().account)
    if not any(argument.startswith("a_") for argument in request.args):
        given = form_of_request()
        other: Mode = "keyword" if given.mode != "keyword" else "hybrid"
        changed = MultiDict(request.args)
        if name == "b":
            changed["mode"] = other
        return read_form(changed, preferred, readable)
    both = [(key, value) for key, value in request.args.items(multi=True) if key in BOTH]
    prefix = f"{name}_"
    own = [(key.removeprefix(prefix), value) for key, value in request.args.items(multi=True) if key.startswith(prefix)]
    return read_form(MultiDict([*both, *own]), preferred, readable)
