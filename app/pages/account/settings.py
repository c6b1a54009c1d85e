"""The settings page: a user's preferences, saved choices of datasets, and their own keys for model providers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args
from urllib.parse import urlsplit

from flask import flash, redirect, render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes, wants_json
from braid.app.auth.identity import identity
from braid.app.mounted import cookie_path, url_for
from braid.app.site import site
from braid.app.user.dataset_choices import MAX_CHOICE_NAME_CHARS, remove_choice, save_choice, saved_choices
from braid.app.user.datasets import Readable, readable_datasets
from braid.app.user.models import NO_MODEL, choose_models, offered_models, site_default, takes_own_keys
from braid.app.user.preferences import LANGUAGES, THEMES, TYPED, preferences_of, site_preferences
from braid.app.user.strategy_menu import strategy_choices
from braid.app.words.languages import LANGUAGE_COOKIE
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ROLES
from braid.core.options import Datasets
from braid.core.search.strategies import strategies
from braid.core.types import MAX_K, Dataset, Fusion, Mode

KEYLESS = ("ollama", "bedrock", "bedrock_converse", "google_vertexai")
"""Providers that take no key, or more than one."""
SECTIONS = ("models", "search", "expert", "look")
DATASET_ID = re.compile(r"-?[0-9]{1,10}")

settings = Routes("settings", __name__, "user")


@settings.get("/settings")
def page() -> str:
    """Show all preferences in one form, and the keys."""
    return settings_page(asdict(preferences_of(identity().account)))


@settings.post("/settings")
def save() -> tuple[str, int] | Response:
    """Check and store the preferences in the form, of one section or of all; stores none if one is invalid."""
    account = identity().account
    try:
        changes = _read_preferences(request.form)
    except InvalidInputError as error:
        if wants_json():
            raise
        return settings_page(
            asdict(preferences_of(account)) | _typed_values(), problem=str(error), field=error.field
        ), 400
    site().accounts.set_preferences(account.id, changes)
    if wants_json():
        response = Response("{}", mimetype="application/json")
    else:
        flash(_("Settings saved."))
        section = request.form.get("section")
        response = redirect(url_for("braid.settings.page", _anchor=section if section in SECTIONS else None))
    if "language" in changes:
        response.delete_cookie(LANGUAGE_COOKIE, path=cookie_path())
    return response


@settings.post("/settings/reset")
def reset() -> Response:
    """Reset every preference to the site's default."""
    account = identity().account
    site().accounts.set_preferences(account.id, dict.fromkeys((*TYPED, "dataset_ids")))
    return settings.done(_("Settings reset to defaults."), "page")


@settings.post("/settings/keys/<provider>")
def set_key(provider: str) -> tuple[str, int] | Response:
    """Store the user's own key for a provider."""
    account = identity().account
    try:
        if provider not in {key.provider for key in _keys() if not key.host}:
            raise InvalidInputError(
                _("No models from %(name)s are available here.", name=provider[:60]), field="provider"
            )
        site().provider_keys.set(account.id, provider, request.form.get("key", ""))
    except InvalidInputError as error:
        told = (
            _("This does not look like a key. Copy it again, without spaces.") if error.field == "key" else str(error)
        )
        return settings_page(asdict(preferences_of(account)), problem=told, field=f"key-{provider}"), 400
    site().audit.add(account.name, "key.stored", provider)
    told = _("Your key for %(name)s is saved and encrypted. It will not be shown again.", name=provider)
    return settings.done(told, "page", _anchor="keys")


@settings.post("/settings/keys/<provider>/remove")
def remove_key(provider: str) -> Response:
    """Remove the user's own key for a provider."""
    account = identity().account
    site().provider_keys.remove(account.id, provider)
    site().audit.add(account.name, "key.removed", provider)
    return settings.done(_("Your key for %(name)s has been removed.", name=provider), "page", _anchor="keys")


# ---------------------------------------------------------------- what was typed


def _read_preferences(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the preferences in the form as they are stored; None for the site's default. Raises InvalidInputError."""
    readers: dict[str, Callable[[], Any]] = {
        "search_model": lambda: _choice(form, "search_model", ("", *offered_models().search, NO_MODEL)),
        "summary_model": lambda: _choice(form, "summary_model", ("", *offered_models().summary, NO_MODEL)),
        "mode": lambda: _choice(form, "mode", get_args(Mode)),
        "fusion": lambda: _choice(form, "fusion", get_args(Fusion)),
        "alpha": lambda: _number(form, "alpha", 0, 1),
        "k": lambda: _whole_number(form, "k", 1, MAX_K),
        "strategy": lambda: _choice(form, "strategy", tuple(strategies())),
        "language": lambda: _choice(form, "language", ("", *LANGUAGES)),
        "theme": lambda: _choice(form, "theme", THEMES),
        "datasets": _datasets,
    }
    found: dict[str, Any] = {name: read() for name, read in readers.items() if name in form}
    if "datasets" in found:
        found["dataset_ids"] = found.pop("datasets")
    default = site_preferences()
    return {name: None if value == getattr(default, name, None) else value for name, value in found.items()}


def _typed_values() -> dict[str, Any]:
    """Return the submitted values, valid or not, to show them again."""
    typed: dict[str, Any] = {name: request.form[name] for name in TYPED if name in request.form}
    ticked = [int(given) for given in request.form.getlist("d") if DATASET_ID.fullmatch(given)]
    chosen = request.form.get("datasets")
    return typed if chosen is None else typed | {"datasets": Datasets(tuple(ticked), chosen != "these")}


def _choice(form: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = form.get(name, choices[0])
    if value not in choices:
        raise InvalidInputError(
            _("%(value)s is not one of the options. Choose again.", value=repr(value[:60])), field=name
        )
    return value


def _number(form: Mapping[str, str], name: str, low: float, high: float) -> float:
    try:
        value = float(form.get(name, ""))
    except ValueError:
        value = high + 1
    if not low <= value <= high:
        raise InvalidInputError(
            _("The balance must be a number from %(low)s to %(high)s.", low=low, high=high), field=name
        )
    return value


def _whole_number(form: Mapping[str, str], name: str, low: int, high: int) -> int:
    given = form.get(name, "").strip()
    if not given.isascii() or not given.isdecimal() or not low <= int(given[:10]) <= high:
        raise InvalidInputError(
            _("The number of passages must be a whole number from %(low)s to %(high)s.", low=low, high=high), field=name
        )
    return int(given)


def _datasets() -> list[int] | None:
    """Return the ids of the datasets selected by default; None for all."""
    if request.form.get("datasets", "all") == "all":
        return None
    readable = readable_datasets(identity().account).by_id
    chosen = [dataset_id for dataset_id in _typed_values()["datasets"].ids if dataset_id in readable]
    if not chosen:
        raise InvalidInputError(_("Select at least one dataset, or choose all."), field="datasets")
    return chosen


# ---------------------------------------------------------------- what is shown


@dataclass(frozen=True, slots=True)
class _Key:
    """A provider with the state of the user's key, which goes to the provider alone. ``host`` is where its models are
    asked in place of that, without the key; empty where they are asked there.
    """

    provider: str
    state: str
    host: str


def settings_page(shown: Mapping[str, Any], *, problem: str = "", field: str = "") -> str:
    """Return the page with these values, and what is wrong with one of them."""
    here, account = site(), identity().account
    personal, shared = readable_datasets(account)
    return render_template(
        "braid/settings.html",
        shown=shown,
        problem=problem,
        field=field,
        menus=[(role, offered_models().of(role), site_default(role)) for role in ROLES],
        no_model=NO_MODEL,
        strategies=strategy_choices(with_model=choose_models(account).search is not None),
        languages=LANGUAGES,
        max_k=MAX_K,
        personal=personal,
        shared=shared,
        keys=_keys(),
        choices=_choices(readable_datasets(account)),
        typed_choice=request.form.get("name", "") if field.startswith("choice") else "",
        embedding_model=here.settings.embedding_model,
        passages=sum(d.chunks for d in here.braid.ledger.all_datasets()),
        me=identity(),
    )


def _choices(readable: Readable) -> list[tuple[str, list[Dataset]]]:
    """Return the saved choices by name, each with those of its datasets that are still there."""
    known = readable.by_id
    saved = saved_choices(identity().account)
    return [(name, [known[each] for each in ids if each in known]) for name, ids in saved.items()]


def _keys() -> list[_Key]:
    kept = site().provider_keys.of_user(identity().account.id)
    offered = offered_models()
    wanted = {name.partition(":")[0] for name in (*offered.search, *offered.summary) if takes_own_keys(name)}
    wanted -= set(KEYLESS)
    return [_key(provider, kept) for provider in sorted(wanted | kept.keys())]


def _key(provider: str, kept: Mapping[str, str]) -> _Key:
    state = "none" if provider not in kept else "set" if kept[provider] else "lost"
    models = (site().models.model(role, f"{provider}:any") for role in ROLES)
    hosts = {urlsplit(model.base_url).hostname or "" for model in models if model and model.base_url}
    return _Key(provider, state, "" if takes_own_keys(f"{provider}:any") else ", ".join(sorted(hosts)))


@settings.post("/settings/choices")
def add_choice() -> tuple[str, int] | Response:
    """Save the ticked datasets as a choice under the name in the form."""
    account, name = identity().account, request.form.get("name", "").strip()
    ticked = [int(given) for given in request.form.getlist("d") if DATASET_ID.fullmatch(given)]
    try:
        save_choice(account, name, ticked)
    except InvalidInputError as error:
        shown = asdict(preferences_of(account))
        return settings_page(shown, problem=_problem(error), field=f"choice-{error.field}"), 400
    return settings.done(_("The choice %(name)s is saved.", name=name), "page", _anchor="apps")


@settings.post("/settings/choices/<name>/remove")
def drop_choice(name: str) -> Response:
    """Remove a saved choice; its datasets stay."""
    remove_choice(identity().account, name)
    return settings.done(_("The choice %(name)s has been removed.", name=name), "page", _anchor="apps")


def _problem(error: InvalidInputError) -> str:
    if error.field == "dataset_ids":
        return str(_("Select at least one dataset."))
    return str(
        _(
            "Choose another name: 1 to %(most)s characters, no comma, colon or slash, not a number.",
            most=MAX_CHOICE_NAME_CHARS,
        )
    )
