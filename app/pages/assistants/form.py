"""The form of an assistant, read from a request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from braid.app.pages.search.filters import KINDS
from braid.app.user.assistants import its_datasets, its_model
from braid.core.datasets.assistants import Assistant
from braid.core.errors import InvalidInputError
from braid.core.search.strategies import strategy_named
from braid.core.types import MAX_NAME_CHARS, Filters

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
