"""The record of the last backup, in the data directory."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from braid.core.ledger.durable import replace_whole

NOTE = "last_backup.json"


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last backup that was made: the moment whose state it has (seconds since the epoch), its file, its size."""

    at: float
    file: str
    size_bytes: int


def note_backup(data_dir: Path, last: LastBackup) -> None:
    """Record a backup. Nobody reads half of the record."""
    replace_whole(data_dir / NOTE, json.dumps(asdict(last)).encode())


def last_backup(data_dir: Path) -> LastBackup | None:
    """Return the last backup of a data directory; None when none is recorded."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        form = json.loads((data_dir / NOTE).read_text(encoding="utf-8"))
        return LastBackup(float(form["at"]), str(form["file"]), int(form["size_bytes"]))
    return None
