"""The apps that a user has connected, with what each may read, and the end of it."""

from __future__ import annotations

from dataclasses import dataclass

from flask import flash, redirect, render_template
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.auth.challenge import base_address
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.oauth.redirects import destination
from braid.app.pages.account.mine import account
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.words.values import dataset_name
from braid.core.accounts.connected_apps import Grant


@dataclass(frozen=True, slots=True)
class ShownApp:
    """A grant with what a reader sees of it."""

    grant: Grant
    destination: str
    """Host that the code was sent to; empty for a program on the user's computer."""
    names: tuple[str, ...]
    """Names of the datasets that the app reads."""
    gone: int
    """Datasets that the user let it read, and can no longer read."""


@account.get("/account/apps")
@rule("user")
def apps() -> str:
    """List the connected apps."""
    me = identity().account
    readable = {dataset.id: dataset_name(dataset.name) for dataset in readable_datasets(me).all}
    shown = [_shown(grant, readable) for grant in site().connected_apps.of_user(me.id)]
    return render_template("braid/connected_apps.html", apps=shown, address=f"{base_address()}/mcp")


@account.post("/account/apps/<int:grant_id>/disconnect")
@rule("user")
def disconnect_app(grant_id: int) -> Response:
    """End an app's access, at once."""
    me = identity().account
    ended = site().connected_apps.disconnect(me.id, grant_id)
    site().audit.add(me.name, "app.disconnected", me.name, f"{ended.app[:60]!r}, by the user")
    flash(_("%(name)s is disconnected.", name=ended.app))
    return redirect(url_for("braid.account.apps"))


def _shown(grant: Grant, readable: dict[int, str]) -> ShownApp:
    names = tuple(name for dataset_id, name in readable.items() if dataset_id in grant.dataset_ids)
    return ShownApp(grant, destination(grant.redirect_uri), names, len(grant.dataset_ids) - len(names))
