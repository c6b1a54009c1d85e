"""Two searches side by side for one query: hits that moved, appeared and disappeared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flask import render_template, request
from werkzeug.datastructures import MultiDict

from braid.app.auth.identity import identity
from braid.app.pages.search.answer import Answer, build_answer
from braid.app.pages.search.form import SearchForm, read_form
from braid.app.pages.search.search import examples, search, search_with, template_values
from braid.app.user.datasets import readable_datasets
from braid.app.user.preferences import Preferences, preferences_of
from braid.core.types import Hit

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
def compare() -> str:
    """Show two configurations, and the results of both if there is a query."""
    account = identity().account
    preferred, readable = preferences_of(account), readable_datasets(account)
    forms = [read_form(_arguments_of_side(name, preferred), preferred, readable) for name in SIDES]
    sides = [Side(name, form) for name, form in zip(SIDES, forms, strict=True)]
    if forms[0].text:
        sides = _search_sides(forms)
    shown = [side.answer for side in sides if side.answer]
    return render_template(
        "braid/compare.html",
        sides=sides,
        kept=sum(move.kind == "kept" for move in sides[0].moves),
        compared=bool(shown),
        examples=[] if shown else examples("braid.search.compare", readable),
        **template_values(forms[0]),
    )


def _search_sides(forms: list[SearchForm]) -> list[Side]:
    results = [search_with(form) for form in forms]
    marks = moves(results[0].hits, results[1].hits)
    return [
        Side(name, form, build_answer(result, form), tuple(side_marks))
        for name, form, result, side_marks in zip(SIDES, forms, results, marks, strict=True)
    ]


def _arguments_of_side(name: str, preferred: Preferences) -> MultiDict[str, str]:
    """Return the arguments of one side.

    Coming from the search page, the first side is that search and the second one searches by keyword alone,
    or in hybrid mode if the first one is a keyword search.
    """
    if not any(argument.startswith("a_") for argument in request.args):
        changed = MultiDict(request.args)
        if name == "b":
            changed["mode"] = "keyword" if (changed.get("mode") or preferred.mode) != "keyword" else "hybrid"
        return changed
    both = [(key, value) for key, value in request.args.items(multi=True) if key in BOTH]
    prefix = f"{name}_"
    own = [(key.removeprefix(prefix), value) for key, value in request.args.items(multi=True) if key.startswith(prefix)]
    return MultiDict([*both, *own, ("offered", "")])  # as the search's form says, where none is ticked


@dataclass(frozen=True, slots=True)
class Move:
    """A hit's move between two results.

    ``places`` is 0 except for ``up`` and ``down``. ``kept`` and ``gone`` mark hits of the first result, the others hits
    of the second.
    """

    kind: Literal["up", "down", "same", "new", "gone", "kept"]
    places: int = 0


def moves(first: Sequence[Hit], second: Sequence[Hit]) -> tuple[list[Move], list[Move]]:
    """Return the marks of both results, one per hit.

    Two hits are the same if they share a chunk, also as one of several places of the same text.
    """
    before, after = _ranks(first), _ranks(second)
    left = [Move("kept" if _rank(hit, after) else "gone") for hit in first]
    right = [_move(_rank(hit, before), rank) for rank, hit in enumerate(second, start=1)]
    return left, right


def _ranks(hits: Sequence[Hit]) -> dict[str, int]:
    return {chunk_id: rank for rank, hit in enumerate(hits, start=1) for chunk_id in _chunks(hit)}


def _chunks(hit: Hit) -> tuple[str, ...]:
    return (hit.passage.chunk_id, *(place.chunk_id for place in hit.also_in))


def _rank(hit: Hit, ranks: dict[str, int]) -> int | None:
    return next((ranks[chunk_id] for chunk_id in _chunks(hit) if chunk_id in ranks), None)


def _move(before: int | None, now: int) -> Move:
    if before is None:
        return Move("new")
    if before == now:
        return Move("same")
    return Move("up", before - now) if before > now else Move("down", now - before)
