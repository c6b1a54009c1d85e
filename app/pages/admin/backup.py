"""Backups on the administrators' first page: the age of the last one, and a button for another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from flask_babel import format_timedelta
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.pages.admin.blueprint import admin, audit, done
from braid.app.site import site
from braid.core.background.backups import KEPT, BackupState
from braid.core.backup.record import LastBackup, last_backup

DAY_S = 86_400
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


@admin.post("/backup")
@rule("admin")
def make_backup() -> Response:
    """Start a backup."""
    if not site().backups.start():
        return done(_("A backup is already running."), "index")
    audit("backup.started", str(site().backups.folder))
    return done(_("Backup started."), "index")
