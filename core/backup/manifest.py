"""The manifest of a backup: what is in the file, and how it is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from braid.core.errors import BraidError

FORMAT = 2
"""Number of the format of backups; a higher one is refused. In the first, which no release wrote, a ledger of
PostgreSQL was in another form."""
MANIFEST = "manifest.json"
LEDGER = "ledger.db"
SECRET_KEY = "secret_key"
SHARED_DBS = "shared_dbs.json"
SETTINGS = "braid.toml"
PROMPTS = "prompts.toml"
UPLOADS = "uploads/"
ORIGINALS = "originals/"
"""Folder of the files that documents were read from: each is named by its hash, so the manifest only counts them."""
MAX_MANIFEST_BYTES = 64 * 2**20
_NAMES = re.compile(
    rf"{re.escape(LEDGER)}|{SECRET_KEY}|{re.escape(SHARED_DBS)}|{re.escape(SETTINGS)}|{re.escape(PROMPTS)}"
    rf"|{UPLOADS}[0-9a-f]{{32}}"
)


class BackupError(BraidError):
    """A backup or a move cannot be made, read or restored; the message says why, and what was left as it was."""


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup. ``sha256`` is that of its bytes, in hexadecimal."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The contents of a backup: its files, and the number of rows of each table of the ledger."""

    made_at: float
    """Seconds since the epoch, of the state that the backup has."""
    braid: str
    """Version of Braid that made it."""
    revision: str
    """Revision of the ledger's tables."""
    database: str
    """``sqlite`` or ``postgresql``: where the ledger was. In the file it is a database of SQLite in any case."""
    with_keys: bool
    """Whether the settings are in it with their keys and passwords."""
    files: Mapping[str, BackupFile]
    rows: Mapping[str, int]
    """Table → rows."""
    missing: tuple[str, ...] = ()
    """Uploads that waited to be read, and originals of documents, whose file was not there."""
    originals: int = 0
    """Number of files that documents were read from."""

    @property
    def uploads(self) -> int:
        """Number of uploaded files that had not been read."""
        return sum(name.startswith(UPLOADS) for name in self.files)

    @property
    def documents(self) -> int:
        """Number of documents in the ledger."""
        return self.rows.get("documents", 0)

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode()


def read_manifest(content: bytes) -> BackupManifest:
    """Return the manifest that `BackupManifest.to_bytes` wrote. Raises BackupError."""
    try:
        form: dict[str, Any] = json.loads(content)
        number = form.pop("format")
        if number != FORMAT and (number, form["database"]) != (1, "sqlite"):
            raise BackupError(f"its format is {number!r} and this Braid reads {FORMAT}; use the Braid that made it")
        manifest = BackupManifest(
            made_at=float(form["made_at"]),
            braid=str(form["braid"]),
            revision=str(form["revision"]),
            database=str(form["database"]),
            with_keys=bool(form["with_keys"]),
            files={
                str(name): BackupFile(int(one["size_bytes"]), str(one["sha256"])) for name, one in form["files"].items()
            },
            rows={str(table): int(count) for table, count in form["rows"].items()},
            missing=tuple(map(str, form["missing"])),
            originals=int(form["originals"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError("its manifest.json is damaged") from error
    strange = next((name for name in manifest.files if not _NAMES.fullmatch(name)), None)
    if strange is not None:
        raise BackupError(f"it has a file that no backup has: {strange[:80]!r}")
    return manifest
