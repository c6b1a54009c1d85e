"""The list of assistants; one is made, changed, shared, handed over, deleted, and asked for its datasets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.search.filters import KINDS
from braid.app.pages.sharing import SharedThings, add_sharing, sharing_of_assistant
from braid.app.site import site
from braid.app.user.assistants import (
    UsableAssistant,
    assistant_of,
    editable_assistant,
    its_datasets,
    its_model,
    own_assistant,
    usable_assistants,
)
from braid.app.user.dataset_picker import make_picker
from braid.app.user.datasets import readable_datasets
from braid.app.user.models import NO_MODEL, choose_models, offered_models
from braid.app.user.sharing import hand_over_assistant
from braid.app.user.strategy_menu import strategy_choices
from braid.app.words.languages import language_names
from braid.core.datasets.assistants import (
    COLORS,
    MAX_ASSISTANT_INSTRUCTION_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SIGN_CHARS,
    MOST_QUESTIONS,
    Assistant,
)
from braid.core.errors import InvalidInputError
from braid.core.options import MAX_K, Datasets
from braid.core.search.strategies import strategy_named
from braid.core.types import MAX_NAME_CHARS, Filters

assistants = Routes("assistants", __name__, "user", url_prefix="/assistants")
ONE = "/<int:assistant_id>"


@assistants.get("")
def index() -> str:
    """List the assistants that the user may use."""
    found = usable_assistants(readable_datasets(identity().account))
    return render_template("braid/assistants/index.html", assistants=found)


@assistants.get("/new")
def new() -> str:
    """Show the form of a new assistant."""
    return _page(None)


@assistants.post("")
def add() -> tuple[str, int] | Response:
    """Make an assistant."""
    me = identity().account
    try:
        given = read_assistant(request.form, None)
        added = site().assistants.add(me.id, given)
    except InvalidInputError as error:
        return _page(None, problem=explain(error)), 400
    return assistants.done(_("“%(name)s” is ready.", name=added.name), "assistant", assistant_id=added.id)


@assistants.get(ONE)
def assistant(assistant_id: int) -> str:
    """Show an assistant: what it is for, who can use it, and to who may change it the form."""
    return _page(assistant_of(assistant_id))


@assistants.post(ONE)
def change(assistant_id: int) -> tuple[str, int] | Response:
    """Change an assistant."""
    found = editable_assistant(assistant_id)
    try:
        site().assistants.change(found.assistant, read_assistant(request.form, found.assistant))
    except InvalidInputError as error:
        return _page(found, problem=explain(error)), 400
    return assistants.done(_("Saved."), "assistant", assistant_id=assistant_id)


@assistants.post(f"{ONE}/delete")
def delete(assistant_id: int) -> Response:
    """Delete an assistant; its datasets stay."""
    found = own_assistant(assistant_id)
    site().assistants.remove(found.id)
    return assistants.done(_("“%(name)s” is deleted. Its datasets are still there.", name=found.name), "index")


@assistants.post(f"{ONE}/ask-access")
def ask_access(assistant_id: int) -> Response:
    """Ask those who may share them for the datasets of an assistant that are not open to the user."""
    found = assistant_of(assistant_id)
    for dataset_id in found.closed_ids:
        site().shares.ask(identity().account.id, dataset_id)
    return assistants.done(_("You have asked for access."), "assistant", assistant_id=assistant_id)


add_sharing(
    assistants,
    ONE,
    SharedThings(
        find=lambda id_: assistant_of(id_).assistant,
        sharable=own_assistant,
        own=own_assistant,
        name_of=lambda found: found.name,
        page=lambda found, problem: _page(assistant_of(found.id), problem=problem),
        address=lambda found: url_for("braid.assistants.assistant", assistant_id=found.id),
        hand_over=hand_over_assistant,
    ),
)


def _page(found: UsableAssistant | None, *, problem: str = "") -> str:
    """Render the page of an assistant, or of a new one, with what was typed where there is a problem."""
    user = identity().account
    readable, is_given = readable_datasets(user), bool(problem) and "name" in request.form and "color" in request.form
    shown = found.assistant if found else None
    chosen = request.form.getlist("d") if is_given else shown.dataset_ids if shown else ()
    ticked = Datasets.of(map(int, filter(_is_id, map(str, chosen))))
    filters = (shown.options.get("filters") if shown else None) or Filters()
    names = {dataset.id: dataset.name for dataset in readable.all}
    return render_template(
        "braid/assistants/assistant.html",
        found=found,
        shown=shown,
        is_given=is_given,
        problem=problem,
        names=[names[each] for each in found.dataset_ids] if found else [],
        picker=make_picker(readable, ticked, language_names(readable.all)),
        sharing=sharing_of_assistant(found) if found else None,
        asked=bool(found and found.closed_ids <= site().shares.asked_by(user.id)),
        kinds=KINDS,
        chosen_kinds=set(request.form.getlist("kind")) if is_given else kinds_of(filters),
        source_prefix=request.form.get("source", "") if is_given else filters.source_prefix,
        k=request.form.get("k", "") if is_given else shown.options.get("k", "") if shown else "",
        models=[*offered_models().summary, NO_MODEL],
        strategies=strategy_choices(with_model=choose_models(user).search is not None),
        colors={color: _color_name(color) for color in COLORS},
        questions=_questions(request.form.getlist("question") if is_given else shown.questions if shown else ()),
        max_k=MAX_K,
        max_name=MAX_NAME_CHARS,
        max_sign=MAX_SIGN_CHARS,
        max_description=MAX_DESCRIPTION_CHARS,
        max_instruction=MAX_ASSISTANT_INSTRUCTION_CHARS,
        max_question=MAX_QUESTION_CHARS,
    )


def _questions(given: list[str] | tuple[str, ...]) -> list[str]:
    """Return the values of the fields for opening questions."""
    return [*given, *[""] * MOST_QUESTIONS][:MOST_QUESTIONS]


def _is_id(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and text.strip("-0") != "" and len(text) < 12


def _color_name(color: str) -> str:
    names = {
        "blue": _("Blue"),
        "green": _("Green"),
        "amber": _("Amber"),
        "red": _("Red"),
        "purple": _("Purple"),
        "gray": _("Gray"),
    }
    return str(names[color])


# ---------------------------------------------------------------- the form


BLANK = Filters()


def read_assistant(form: MultiDict[str, str], before: Assistant | None) -> Assistant:
    """Return the assistant of a form. What the form does not show stays as it was ``before``: datasets that the user
    may not read, and options that programs have set.

    Raises InvalidInputError.
    """
    strategy = form.get("strategy", "basic")
    strategy_named(strategy)
    values: dict[str, Any] = {
        "name": form.get("name", ""),
        "dataset_ids": its_datasets([_number("dataset_ids", each) for each in form.getlist("d")], before),
        "description": form.get("description", ""),
        "sign": form.get("sign", ""),
        "color": form.get("color", ""),
        "instruction": form.get("instruction", ""),
        "shows_instruction": form.get("shows_instruction") == "1",
        "strategy": strategy,
        "options": _options(form, dict(before.options) if before else {}),
        "model": its_model(form.get("model", ""), before),
        "questions": tuple(form.getlist("question")),
    }
    return replace(before, **values) if before else Assistant(**values)


def kinds_of(filters: Filters) -> frozenset[str]:
    """Return the kinds of files that filters let through whole."""
    return frozenset(kind for kind, (_name, types) in KINDS.items() if types <= filters.file_types)


def explain(error: InvalidInputError) -> str:
    """Return what is wrong with the form, in the page's language."""
    known = {
        "name": _("Enter a name of 1 to %(most)s visible characters.", most=MAX_NAME_CHARS),
        "dataset_ids": _("Choose at least one dataset."),
        "sign": _("Enter one letter or one emoji."),
    }
    return str(known.get(error.field or "", error))


def _options(form: MultiDict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    filters: Filters = options.pop("filters", BLANK)
    others = filters.file_types - frozenset[str]().union(*(KINDS[kind][1] for kind in kinds_of(filters)))
    kinds = [kind for kind in form.getlist("kind") if kind in KINDS]
    chosen = replace(
        filters,
        file_types=others.union(*(KINDS[kind][1] for kind in kinds)),
        source_prefix=form.get("source", "").strip(),
    )
    options.pop("k", None)
    return {
        **options,
        **({"filters": chosen} if chosen else {}),
        **({"k": _number("k", form["k"])} if form.get("k") else {}),
    }


def _number(name: str, given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a number", field=name) from None
