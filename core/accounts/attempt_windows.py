"""Moving windows of attempts in the ledger, which all processes count together."""

from __future__ import annotations

import hashlib
import struct

from sqlalchemy import Connection, delete, select, update

from braid.core.ledger.database import clock, execute
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.prepared import ADD_ATTEMPT_WINDOW
from braid.core.ledger.tables import AttemptWindowRow

SWEEP_EVERY = 1024
"""Attempts of a process after which windows that are over are deleted."""


class AttemptWindows:
    """Counts attempts by key. Keys are stored as hashes: they have names and addresses in them.

    Times are those of the database's clock, which is the same one for all machines.
    """

    def __init__(self, ledger: Ledger, *, sweep_every: int = SWEEP_EVERY) -> None:
        self._database = ledger.database
        self._taken = 0
        self._sweep_every = sweep_every

    def take(self, key: str, *, limit: int, window_s: float, amount: int = 1) -> bool:
        """Take ``amount`` of the ``limit`` per window; False and nothing when they are not left."""
        row = AttemptWindowRow.key == _hashed(key)
        with self._database.write() as connection:
            attempts, now = _read(connection, key, window_s=window_s, lock=True)
            taken = len(attempts) + amount <= limit
            if taken:
                packed = _packed([*attempts, *[now] * amount])
                connection.execute(update(AttemptWindowRow).where(row).values(attempts=packed, ends_at=now + window_s))
        self._taken += 1
        if self._taken % self._sweep_every == 0:
            self._sweep(now)
        return taken

    def _sweep(self, now: float) -> None:
        """Delete windows that are over, but for those that somebody counts in just now, for whom it does not wait."""
        over = select(AttemptWindowRow.key).where(AttemptWindowRow.ends_at < now).with_for_update(skip_locked=True)
        self._database.change(delete(AttemptWindowRow).where(AttemptWindowRow.key.in_(over)))

    def read(self, key: str, *, window_s: float) -> tuple[float, int]:
        """Return how many seconds ago the oldest attempt of the window was, and how many there are."""
        with self._database.read() as connection:
            attempts, now = _read(connection, key, window_s=window_s)
        return (now - attempts[0] if attempts else 0.0), len(attempts)

    def give_back(self, key: str) -> None:
        """Undo the last attempt, because it is not to count."""
        row = AttemptWindowRow.key == _hashed(key)
        with self._database.write() as connection:
            packed = connection.execute(select(AttemptWindowRow.attempts).where(row).with_for_update()).scalar()
            if packed:
                connection.execute(update(AttemptWindowRow).where(row).values(attempts=_packed(_unpacked(packed)[:-1])))

    def forget(self, key: str | None = None) -> int:
        """Forget a key, or every key; returns how many there were."""
        which = [AttemptWindowRow.key == _hashed(key)] if key is not None else []
        return self._database.change(delete(AttemptWindowRow).where(*which))


def _read(connection: Connection, key: str, *, window_s: float, lock: bool = False) -> tuple[list[float], float]:
    """Return the attempts of the window and the time; with ``lock``, nobody else changes them until the commit."""
    statement = select(AttemptWindowRow.attempts, clock(connection)).where(AttemptWindowRow.key == _hashed(key))
    found = connection.execute(statement.with_for_update() if lock else statement).first()
    if found is None and not lock:
        return [], 0.0
    while found is None:  # also where another process sweeps the row of a third one between
        execute(connection, ADD_ATTEMPT_WINDOW, key=_hashed(key), attempts=b"")
        found = connection.execute(statement.with_for_update()).first()
    packed, now = found
    return [at for at in _unpacked(packed) if at >= now - window_s], now


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _packed(attempts: list[float]) -> bytes:
    return struct.pack(f"<{len(attempts)}d", *attempts)


def _unpacked(packed: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(packed) // 8}d", packed))
