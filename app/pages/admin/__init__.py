"""The pages of administrators: one file per page and its actions.

May import: what `app.pages` may, and `app.pages.account` and `app.pages.datasets`.
Way in: `blueprint.admin`, the blueprint.
"""

from __future__ import annotations

from braid.app.pages.admin import (  # noqa: F401 - their routes are the blueprint's
    activity,
    audit_log,
    backup,
    folders,
    groups,
    indexes,
    joining,
    model_servers,
    models,
    overview,
    registry_file,
    scans,
    see_as,
    shared,
    sign_ins,
    user,
    users,
)
from braid.app.pages.admin.blueprint import admin

__all__ = ["admin"]
