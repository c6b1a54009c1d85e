"""What a data directory remembers of its last backup."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

NOTE = "last_backup.json"


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last backup that was made: the moment whose state it has (seconds since the epoch), its file, its size."""

    at: float
    file: str
    size_bytes: int


def note_backup(data_dir: Path, last: LastBackup) -> None:
    """Record a backup. Nobody reads half of the record."""
    new = data_dir / f"{NOTE}.new"
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(last), file)
    new.replace(data_dir / NOTE)


def last_backup(data_dir: Path) -> LastBackup | None:
    """Return the last backup of a data directory; None when none is recorded."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        form = json.loads((data_dir / NOTE).read_text(encoding="utf-8"))
        return LastBackup(float(form["at"]), str(form["file"]), int(form["size_bytes"]))
    return None
