"""Checks a backup: every hash, and the ledger in it, opened and counted."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from braid.core.backup.archive import ArchiveReader, Progress, open_backup
from braid.core.backup.manifest import LEDGER, SECRET_KEY, BackupError, BackupManifest
from braid.core.backup.snapshot import count_rows
from braid.core.backup.soundness import require_whole
from braid.core.errors import LedgerDamagedError


def verify_backup(path: Path, *, on_progress: Progress = lambda what, done, total: None) -> BackupManifest:
    """Read a backup whole, check the hash of each file, open its ledger and count what is in it.

    The ledger is unpacked into the system's folder for temporary files (``TMPDIR``). Raises BackupError, which says
    what is wrong.
    """
    with open_backup(path) as archive, tempfile.TemporaryDirectory(prefix="braid-verify-") as folder:
        manifest, ledger = archive.manifest, Path(folder) / LEDGER
        require_complete(archive)
        names = [*manifest.files, *archive.originals]
        for number, name in enumerate(names):
            on_progress("checking", number, len(names))
            with (ledger if name == LEDGER else Path(os.devnull)).open("wb") as file:
                for block in archive.blocks(name):
                    file.write(block)
        check_ledger(ledger, manifest)
        on_progress("checking", len(names), len(names))
    return manifest


def require_complete(archive: ArchiveReader) -> None:
    """Raise BackupError when the archive lacks the ledger, or has what its manifest does not list."""
    manifest = archive.manifest
    if strangers := archive.strangers():
        raise BackupError(f"it has a file that its manifest does not list: {strangers[0][:80]!r}")
    if len(archive.originals) != manifest.originals:
        raise BackupError(f"it has {len(archive.originals)} originals of documents, and had {manifest.originals}")
    if LEDGER not in manifest.files:
        raise BackupError(f"{LEDGER} is missing from it")


def check_ledger(path: Path, manifest: BackupManifest) -> None:
    """Open an unpacked ledger and compare it with the manifest. Raises BackupError."""
    try:
        with closing(sqlite3.connect(path)) as database:
            require_whole(database)
            found = count_rows(database)
    except (sqlite3.Error, LedgerDamagedError) as error:
        raise BackupError(f"the ledger in it is damaged: {error}") from error
    for table in sorted({*manifest.rows, *found}):
        if manifest.rows.get(table) != found.get(table):
            has, had = found.get(table, "no"), manifest.rows.get(table, "none")
            raise BackupError(f"the table {table} in it has {has} rows, and had {had} when the backup was made")


def lacks(manifest: BackupManifest) -> list[str]:
    """Return what a backup does not have, in words for its administrator."""
    lacking = []
    if not manifest.documents:
        lacking.append(
            "documents: the ledger has none. Where the site has some, name its data directory, and keep its earlier "
            "backups"
        )
    if SECRET_KEY not in manifest.files:
        lacking.append(
            "secret_key: unless the setting of this name has it, everybody signs in again, and stored keys of models "
            "are entered again"
        )
    if manifest.missing:
        lacking.append(f"{len(manifest.missing)} files that were gone: of uploads that waited, or of documents")
    return lacking
