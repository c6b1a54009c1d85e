"""Ownership of a data directory: one process alone touches its indexes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from filelock import FileLock, Timeout

from braid.core.errors import NotOwnerError


class OwnerLock:
    """The lock of a data directory. The operating system releases it when the owner dies, however it dies."""

    def __init__(self, data_dir: Path) -> None:
        self._lock = FileLock(str(data_dir / "owner.lock"))
        self._note = data_dir / "owner.json"
        self._crash_noted = False

    def acquire(self) -> bool:
        """Become the owner. True when the last owner was killed. Raises NotOwnerError, which names the owner."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            owner = self._who()
            raise NotOwnerError(
                f"{owner} has the data directory {str(self._note.parent)!r} open and alone may search its indexes; "
                "search there, or stop it first",
                owner=owner,
            ) from None
        self._crash_noted = self._note.exists()
        self.announce("")
        return self._crash_noted

    def announce(self, url: str) -> None:
        """Record for other processes where the owner answers."""
        self._note.write_text(json.dumps({"pid": os.getpid(), "url": url}), encoding="utf-8")

    def note_recovery(self) -> None:
        """Record that everything a killed owner left has been checked; until then the next owner checks it, too."""
        self._crash_noted = False

    def release(self) -> None:
        """Give up ownership."""
        if not self._crash_noted:
            self._note.unlink(missing_ok=True)
        self._lock.release()

    def _who(self) -> str:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            return f"process {int(note['pid'])}" + (f" at {note['url']}" if note["url"] else "")
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


def owner_url(data_dir: Path) -> str:
    """Return where the owner of a data directory answers; empty when it serves nothing or is unknown."""
    try:
        return str(json.loads((data_dir / "owner.json").read_text(encoding="utf-8"))["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
