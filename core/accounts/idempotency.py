"""Idempotency keys: a write that is sent twice is done once and answered twice."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from braid.core.errors import BraidError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import IdempotencyRow

KEPT_S = 86_400
"""Seconds for which an answer is kept."""
MAX_KEYS = 1_000
"""Answers kept of one user: the newest."""
WORK_S = 900
"""Seconds that a request may run; after that its process counts as dead and the key is free again."""


class KeyInUseError(BraidError):
    """The first request with this key is still running."""


class KeyReusedError(BraidError):
    """The key was sent with another request before."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to the first request."""

    status: int
    body: str


class IdempotencyKeys:
    """The ledger's keys, each user's own."""

    def __init__(self, ledger: Ledger, *, most: int = MAX_KEYS) -> None:
        self._database = ledger.database
        self._most = most

    def begin(self, user_id: int, key: str, request_hash: str) -> KeptAnswer | None:
        """Return None when this request is the first with the key and is to be done, else the answer to the first.

        ``request_hash`` identifies the request. It is stored, and requests may hold passwords, so it must be made with
        a secret. Raises KeyInUseError while the first request is running, and KeyReusedError when that was another one.
        """
        now = time.time()
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        abandoned = (IdempotencyRow.body == "", IdempotencyRow.created_at < now - WORK_S)
        values = {"user_id": user_id, "key": key, "request_hash": request_hash, "status": 0, "body": ""}
        try:
            with self._database.write() as connection:
                connection.execute(delete(IdempotencyRow).where(*owned, *abandoned))
                connection.execute(insert(IdempotencyRow).values(**values, created_at=now))
                answered = IdempotencyRow.user_id == user_id, IdempotencyRow.body != ""
                newest = select(IdempotencyRow.key).where(*answered).order_by(IdempotencyRow.created_at.desc())
                older = IdempotencyRow.key.in_(newest.offset(self._most))
                connection.execute(delete(IdempotencyRow).where(*answered, older))
            return None
        except IntegrityError:
            return self._stored_answer(user_id, key, request_hash)

    def finish(self, user_id: int, key: str, status: int, body: str) -> None:
        """Store the answer."""
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        self._database.change(update(IdempotencyRow).where(*owned).values(status=status, body=body))

    def forget(self, user_id: int, key: str) -> None:
        """Free the key: nothing was done."""
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        self._database.change(delete(IdempotencyRow).where(*owned))

    def forget_old(self, now: float) -> None:
        """Delete the answers that had been kept for longer than `KEPT_S` at a time, in seconds since the epoch."""
        self._database.change(delete(IdempotencyRow).where(IdempotencyRow.created_at < now - KEPT_S))

    def _stored_answer(self, user_id: int, key: str, request_hash: str) -> KeptAnswer | None:
        columns = (IdempotencyRow.request_hash, IdempotencyRow.status, IdempotencyRow.body)
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        row = self._database.row(select(*columns).where(*owned))
        if row is None or not row.body:
            raise KeyInUseError("the first request with this Idempotency-Key is still running; try again in a second")
        if row.request_hash != request_hash:
            raise KeyReusedError("this Idempotency-Key was sent with another request before; make a new one")
        return KeptAnswer(row.status, row.body)
