"""Backups on the administrators' first page: the age of the last one, and a button for another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from flask_babel import format_timedelta
from flask_babel import gettext as _
from sqlalchemy import func, select
from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.site import site
from braid.core.background.backups import KEPT, BackupState
from braid.core.backup.record import LastBackup, last_backup
from braid.core.ledger.tables import UserRow

DAY_S = 86_400
GRACE_DAYS = 3
"""Age of a site from which the page warns when it was never backed up."""
OLD_DAYS = 8
"""Days after which the page warns: a weekly backup is late."""


@dataclass(frozen=True, slots=True)
class BackupView:
    """What the page shows. ``age`` is in words."""

    state: BackupState
    last: LastBackup | None
    age: str
    folder: str
    kept: int = KEPT


def backup_view() -> BackupView:
    """Return the state of backups of this site."""
    here, last = site(), last_backup(site().braid.data_dir)
    age = format_timedelta(timedelta(seconds=last.at - time.time()), add_direction=True) if last else ""
    return BackupView(here.backups.state, last, age, str(here.backups.folder))


def backup_is_old() -> bool:
    """Return whether there were backups and the last one is older than `OLD_DAYS`."""
    last = last_backup(site().braid.data_dir)
    return last is not None and time.time() - last.at > OLD_DAYS * DAY_S


def never_backed_up() -> bool:
    """Return whether a site that has had users for `GRACE_DAYS` has no backup.

    Where files are in a bucket nobody knows: a backup may be noted on another machine.
    """
    if site().braid.bucket is not None or last_backup(site().braid.data_dir) is not None:
        return False
    began = site().braid.ledger.database.find(select(func.min(UserRow.created_at)))
    return began is not None and time.time() - began > GRACE_DAYS * DAY_S


@admin.get("/backup")
def backup() -> Response:
    """Lead to the backup's part of the overview."""
    return redirect(url_for("braid.admin.index", _anchor="backup-title"))


@admin.post("/backup")
def make_backup() -> Response:
    """Start a backup."""
    if not site().backups.start():
        return admin.done(_("A backup is already running."), "index")
    audit("backup.started", str(site().backups.folder))
    return admin.done(_("Backup started."), "index")
