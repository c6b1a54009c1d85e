"""What surrounds the migrations of a ledger: one process at a time, nobody at work in the directory, a copy first."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from braid.core.backup.make import Sources, locked, make_backup
from braid.core.backup.manifest import SETTINGS, SHARED_DBS, BackupError
from braid.core.errors import InvalidInputError
from braid.core.ledger.owners.owner import alone
from braid.core.ledger.schema import Upgrading, current_revision, newest_revision
from braid.core.version import version

FOLDER = "backups"
"""Folder in the data directory of the copies that Braid makes by itself."""
LOCK = "upgrade.lock"
BUSY = "another process is upgrading this data directory; wait for it"
WHY_ALONE = " with an earlier version; stop it before the ledger is upgraded"
PATIENCE_S = 600.0
"""Longest time that a process waits for another one that upgrades the same directory."""

logger = logging.getLogger(__name__)


def refusing(_engine: Engine, current: str) -> Iterator[None]:
    """Refuse to upgrade, in words that say who does."""
    raise InvalidInputError(
        f"the ledger has the tables of revision {current}, and this braid ({version()}) needs {newest_revision()}; run "
        "`python -m app db migrate`, which copies it first, or start the app, which does the same; nothing was changed"
    )


def upgrading(
    data_dir: Path, shared_dbs: Path, *, migrate: bool = True, copy: bool = True, files: bool = True
) -> Upgrading:
    """Return what surrounds the migrations of a data directory's ledger.

    Without ``migrate`` it refuses. Otherwise other processes that open the directory wait, and a backup is written into
    its folder ``backups`` first, unless ``copy`` is False; without uploads and originals, which no migration changes,
    unless ``files``. Raises NotOwnerError while a process has the indexes open, and BackupError when the ledger cannot
    be copied; nothing is changed then.
    """
    if not migrate:
        return contextmanager(refusing)

    @contextmanager
    def surround(engine: Engine, current: str) -> Iterator[None]:
        with locked(data_dir / LOCK, BUSY, patience_s=PATIENCE_S):
            with engine.connect() as connection:
                done = current_revision(connection) == newest_revision()
            if done:  # by another process, meanwhile
                yield
                return
            with alone(data_dir, WHY_ALONE):
                made = _copy(engine, data_dir, shared_dbs, files=files) if copy else None
                yield
            logger.warning("event=upgraded from=%s to=%s copy=%s", current, newest_revision(), made or "none")

    return surround


def copies(data_dir: Path) -> list[Path]:
    """Return the copies that were made before migrations, the newest first."""
    return sorted((data_dir / FOLDER).glob("before-*.zip"), key=lambda path: path.stat().st_mtime, reverse=True)


def _copy(engine: Engine, data_dir: Path, shared_dbs: Path, *, files: bool) -> Path:
    """Write a backup in place of the one that an attempt before made, so that attempts do not fill the disk."""
    folder = data_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    before = list(folder.glob(f"before-{newest_revision()}-*.zip"))
    target = folder / f"before-{newest_revision()}-{time.strftime('%Y%m%d-%H%M%S')}.zip"
    texts = {SETTINGS: f'data_dir = "."\nshared_dbs = "{SHARED_DBS}"\n'}
    url = engine.url.render_as_string(hide_password=False)
    logger.warning("event=upgrading copy=%s", target)
    try:
        if target not in before:
            make_backup(Sources(data_dir, shared_dbs, url, texts, with_files=files), target, note=False)
    except BackupError as error:
        raise BackupError(
            f"the ledger is not upgraded, since it cannot be copied first: {error}. With a backup of your own, "
            "`python -m app db migrate --no-copy` upgrades it without one"
        ) from error
    for path in before:
        if path != target:
            path.unlink(missing_ok=True)
    return target
