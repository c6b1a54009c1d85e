"""Ownership of a data directory: one process alone touches its indexes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from braid.core.errors import NotOwnerError
from braid.core.ledger.durable import replace_whole

NOTE = "owner.json"


@dataclass(frozen=True, slots=True)
class OwnerNote:
    """What the owner notes for other processes of its user: where its pages are, and what it was opened with."""

    pid: int
    url: str = ""
    opened_with: Mapping[str, str] = field(default_factory=dict)


class OwnerLock:
    """The lock of a data directory. The operating system releases it when the owner dies, however it dies."""

    def __init__(self, data_dir: Path) -> None:
        # one thread takes it, another gives it up
        self._lock = FileLock(str(data_dir / "owner.lock"), thread_local=False)
        self._data_dir = data_dir
        self._note = OwnerNote(os.getpid())
        self._noting = threading.Lock()
        self._crash_noted = False

    def acquire(self) -> bool:
        """Become the owner. True when the last owner was killed. Raises NotOwnerError, which names the owner."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            owner = self._who()
            raise NotOwnerError(
                f"{owner} has the data directory {str(self._data_dir)!r} open and alone may search its indexes; "
                "search there, or stop it first",
                owner=owner,
            ) from None
        self._crash_noted = (self._data_dir / NOTE).exists()
        self.publish(OwnerNote(os.getpid()))
        return self._crash_noted

    def announce(self, url: str) -> None:
        """Record for other processes where the owner's pages are."""
        self.publish(replace(self._note, url=url))

    def publish(self, note: OwnerNote) -> None:
        """Record the note; nobody reads half of it, and only the user of this process reads it at all."""
        with self._noting:
            self._note = note
            replace_whole(self._data_dir / NOTE, json.dumps(asdict(note)).encode())

    def note_recovery(self) -> None:
        """Record that everything a killed owner left has been checked; each owner checks it again until then."""
        self._crash_noted = False

    def release(self) -> None:
        """Give up ownership."""
        if not self._crash_noted:
            (self._data_dir / NOTE).unlink(missing_ok=True)
        self._lock.release()

    def forget(self) -> None:
        """Close this process's copy of the lock, in the child of a fork, which leaves it to the parent.

        Later versions of filelock do this by themselves; earlier ones would keep it after the parent's end, and give up
        the parent's lock when the child ends.
        """
        context: Any = self._lock._context
        descriptor = getattr(context, "lock_file_fd", None)
        if descriptor is not None:
            os.close(descriptor)
            context.lock_file_fd = None

    def _who(self) -> str:
        note = read_note(self._data_dir)
        if note is None:
            return "another process"
        return f"process {note.pid}" + (f" at {note.url}" if note.url else "")


@contextmanager
def alone(data_dir: Path, why: str) -> Iterator[None]:
    """Keep others from opening the data directory until the block ends.

    Raises NotOwnerError for one that is open; ``why`` is the end of the sentence that begins with who has it open.
    """
    lock = OwnerLock(data_dir)
    try:
        lock.acquire()
    except NotOwnerError as error:
        raise NotOwnerError(
            f"{error.owner} has the data directory {str(data_dir)!r} open{why}; nothing was changed", owner=error.owner
        ) from None
    try:
        yield
    finally:
        lock.release()


def read_note(data_dir: Path) -> OwnerNote | None:
    """Return what the owner of a data directory has noted; None when there is no owner or its note says nothing."""
    try:
        fields = json.loads((data_dir / NOTE).read_text(encoding="utf-8"))
        return OwnerNote(int(fields["pid"]), str(fields.get("url", "")), dict(fields.get("opened_with", {})))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def owner_url(data_dir: Path) -> str:
    """Return where the owner's pages are; empty when it serves none or is unknown."""
    note = read_note(data_dir)
    return note.url if note else ""
