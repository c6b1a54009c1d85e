"""Servers of chat models and of a reranker: connecting, fetching models, using, removing."""

from __future__ import annotations

from dataclasses import replace

from flask import flash, redirect, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.pages.admin.model_tests import test_reranker, typed_server
from braid.app.pages.admin.models import choose_for_everyone, models_page, typed_reranker
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.core.accounts.model_connections import Connection
from braid.core.errors import InvalidInputError, ModelError, NotFoundError
from braid.core.models.chat import ROLES, Role
from braid.core.models.model_servers import LOCAL_SERVERS, fetch_models


@admin.post("/models/servers")
def connect_server() -> Response:
    """Store a server's address and key, if it answers, with the list of its models."""
    typed = {name: request.form.get(name, "") for name in ("provider", "base_url")}
    connections = site().models.connections
    with refusing(models_page, connecting=typed, on=(InvalidInputError, ModelError)):
        made = connections.prepare(typed["provider"], typed["base_url"], request.form.get("key", ""))
        made = _with_models(made)
        connections.put(made)
    audit("models.connected", made.name, made.base_url)
    return _done_at(made, _("%(name)s connected. Choose a model.", name=made.host))


@admin.post("/models/servers/<name>/fetch")
def fetch_server(name: str) -> Response:
    """Fetch the list of a server's models again."""
    found = _get(name)
    with refusing(models_page, on=ModelError):
        found = _with_models(found)
    site().models.connections.set_models(name, found.base_url, found.models)
    return _done_at(found, _("Model list updated."))


@admin.post("/models/servers/<name>/remove")
def remove_server(name: str) -> Response:
    """Remove a server with its key, and its models from every menu."""
    removed = site().models.connections.remove(name)
    for role in ROLES:
        _forget(role, f"{name}:")
    audit("models.disconnected", name, removed.base_url)
    return admin.done(_("%(name)s and its key have been deleted.", name=removed.host), "models")


@admin.post("/models/local/<name>")
def use_local(name: str) -> Response:
    """Connect a server that runs on this computer, and let its model write the answers. Then the chat is shown.

    Queries are left as they are: a model on one's own computer would make each search wait.
    """
    server = next((known for known in LOCAL_SERVERS if known.name == name), None)
    if server is None:
        raise NotFoundError(f"there is no usual model server {name[:60]!r}")
    connections = site().models.connections
    with refusing(models_page, on=(InvalidInputError, ModelError)):
        made = _with_models(connections.prepare(server.provider, server.base_url))
        model = request.form.get("model") or made.models[0]
        if model not in made.models:
            raise InvalidInputError(
                _("%(name)s no longer has the model %(model)s.", name=server.label, model=repr(model[:100]))
            )
        connections.put(made)
    audit("models.connected", made.name, made.base_url)
    choose_for_everyone(["summary"], f"{made.name}:{model}")
    flash(_("%(name)s now writes the answers.", name=model))
    return redirect(url_for("braid.chat.page"))


@admin.post("/models/reranker")
def use_reranker() -> tuple[str, int] | Response:
    """Have every search ask the reranker of a server, if it answers and knows the right passage in some language."""
    typed = typed_reranker()
    with refusing(models_page, reranking=typed):
        server = typed_server(request.form)
        tested = test_reranker(server)
    if tested.error or len(tested.mistaken) + len(tested.tied) == len(tested.told):
        return models_page(tested=tested, reranking=typed), 400
    site().models.choose_reranker(server)
    audit("models.chosen", "reranker", f"{server.name} {server.address}")
    if tested.mistaken:
        languages = _(", ").join(tested.mistaken)
        flash(_("A wrong passage is first in: %(languages)s. Stop using it if you search these.", languages=languages))
    return admin.done(_("%(name)s now reranks every search.", name=server.name), "models", _anchor="reranker-title")


@admin.post("/models/reranker/reset")
def reset_reranker() -> Response:
    """Leave the reranker to the settings again; the address and the key are deleted."""
    site().models.choose_reranker(None)
    audit("models.chosen", "reranker", "settings")
    name = site().reranker
    said = _("%(name)s of the settings is used again.", name=name) if name else _("Searches are not reranked any more.")
    return admin.done(said, "models", _anchor="reranker-title")


def _get(name: str) -> Connection:
    found = site().models.connections.get(name)
    if found is None:
        raise NotFoundError(f"no model server {name[:60]!r} is connected")
    return found


def _with_models(server: Connection) -> Connection:
    """Return the server with the models that it lists. Raises ModelError if it lists none."""
    models = fetch_models(server.provider, server.base_url, server.key)
    if not models:
        raise ModelError(_("%(name)s is responding, but has no model yet. Load a model there first.", name=server.host))
    return replace(server, models=models)


def _forget(role: Role, prefix: str) -> None:
    here = site().models
    if here.default(role).startswith(prefix):
        here.choose(role, "")
    here.offer(role, [offered for offered in here.offered_besides(role) if not offered.startswith(prefix)])


def _done_at(server: Connection, text: str) -> Response:
    """Redirect to the server's card, with the text."""
    flash(text)
    return redirect(url_for("braid.admin.models", _anchor=f"server-{server.name}"))
