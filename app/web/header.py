"""The pages that the caller may open from every page."""

from __future__ import annotations

from collections.abc import Iterator

from flask import request
from flask_babel import gettext as _

from braid.app.auth.access import rule_of
from braid.app.auth.identity import identity
from braid.app.mounted import endpoint_here

OPENED_FROM = ("conversation", "shared")
"""Arguments of a source's address that name the conversation that it was opened from."""


def place_here() -> str:
    """Return the blueprint of this page's place in the header; for a source that was opened from a chat, the chat's."""
    place = endpoint_here().rpartition(".")[0]
    is_of_chat = place == "braid.search" and any(name in request.args for name in OPENED_FROM)
    return "braid.chat" if is_of_chat else place


def places() -> Iterator[tuple[str, str]]:
    """Yield (endpoint, name) of the pages in the header."""
    names = {
        "braid.chat.page": _("Chat"),
        "braid.search.index": _("Search"),
        "braid.datasets.index": _("Datasets"),
        "braid.settings.page": _("Settings"),
        "braid.admin.index": _("Admin"),
    }
    for endpoint, name in names.items():
        stated = rule_of(endpoint)
        if stated and (stated.who != "admin" or identity().is_admin):
            yield endpoint, name
