"""The pages that the caller may open from every page."""

from __future__ import annotations

from collections.abc import Iterator

from flask_babel import gettext as _

from braid.app.auth.access import rule_of
from braid.app.auth.identity import identity


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
