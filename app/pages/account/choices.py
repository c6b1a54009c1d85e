"""Saved choices of datasets on the settings page, for other apps that ask Braid."""

from __future__ import annotations

from dataclasses import asdict

from flask import flash, redirect, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.account.settings import DATASET_ID, settings, settings_page
from braid.app.user.dataset_choices import MAX_CHOICE_NAME_CHARS, remove_choice, save_choice
from braid.app.user.preferences import preferences_of
from braid.core.errors import InvalidInputError


@settings.post("/settings/choices")
@rule("user")
def add_choice() -> tuple[str, int] | Response:
    """Save the ticked datasets as a choice under the name in the form."""
    account, name = identity().account, request.form.get("name", "").strip()
    ticked = [int(given) for given in request.form.getlist("d") if DATASET_ID.fullmatch(given)]
    try:
        save_choice(account, name, ticked)
    except InvalidInputError as error:
        shown = asdict(preferences_of(account))
        return settings_page(shown, problem=_problem(error), field=f"choice-{error.field}"), 400
    flash(_("The choice %(name)s is saved.", name=name))
    return redirect(url_for("braid.settings.page", _anchor="apps"))


@settings.post("/settings/choices/<name>/remove")
@rule("user")
def drop_choice(name: str) -> Response:
    """Remove a saved choice; its datasets stay."""
    remove_choice(identity().account, name)
    flash(_("The choice %(name)s has been removed.", name=name))
    return redirect(url_for("braid.settings.page", _anchor="apps"))


def _problem(error: InvalidInputError) -> str:
    if error.field == "dataset_ids":
        return str(_("Select at least one dataset."))
    return str(
        _(
            "Choose another name: 1 to %(most)s characters, no comma, colon or slash, not a number.",
            most=MAX_CHOICE_NAME_CHARS,
        )
    )
