"""The process that writes an answer, by a name that is stored with it: others can tell whether it still lives.

In a fleet it is the name of the member, and the ledger has those that live.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from braid.core.ledger.database import Database

KEY = "writer"
"""Where the name is in the settings of an answer that is being written."""

_named: dict[int, str] = {}


def this_writer() -> str:
    """Return the name of this process, which no other process has, not even a later one with the same number."""
    pid = os.getpid()  # another one in the child of a fork
    return _named.get(pid) or _named.setdefault(pid, f"{pid}-{secrets.token_hex(4)}")


def writer_in(database: Database) -> str:
    """Return the name under which this process writes answers to the database."""
    return database.process_name() or this_writer()


def lives(writer: str) -> bool:
    """Return whether the process with this name may still write. On Windows only this one does: no other is asked."""
    number = writer.partition("-")[0]
    if writer == this_writer() or not number.isdigit():
        return writer == this_writer()
    if int(number) == os.getpid() or os.name == "nt":
        return False
    with suppress(PermissionError):  # it is another user's, and so not one of ours; but it is there
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, OverflowError):
            return False
    return True
