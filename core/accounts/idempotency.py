"""Writes that carry a key: sent again, they are answered again and not done again."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from braid.core.errors import BraidError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import IdempotencyRow

KEPT_S = 86_400
"""How long an answer is kept."""
WORK_S = 900
"""How long a request may be at work; after that its process is taken for dead and the key is free again."""


class KeyInUseError(BraidError):
    """The first request with this key is still at work."""


class KeyReusedError(BraidError):
    """The key was sent with another request before."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the first request was answered with."""

    status: int
    body: str


class IdempotencyKeys:
    """The ledger's keys, each user's own."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def begin(self, user_id: int, key: str, request_hash: str) -> KeptAnswer | None:
        """None when this request is the first with the key and is to be done; else the answer of the first.

        ``request_hash`` tells requests apart. It is stored, so it must be made with a secret: there may be passwords in
        them.

        Raises KeyInUseError, and KeyReusedError when that was another request.
        """
        now = time.time()
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        abandoned = (IdempotencyRow.body == "", IdempotencyRow.created_at < now - WORK_S)
        values = {"user_id": user_id, "key": key, "request_hash": request_hash, "status": 0, "body": ""}
        try:
            with self._database.write() as connection:
                connection.execute(delete(IdempotencyRow).where(IdempotencyRow.created_at < now - KEPT_S))
                connection.execute(delete(IdempotencyRow).where(*owned, *abandoned))
                connection.execute(insert(IdempotencyRow).values(**values, created_at=now))
            return None
        except IntegrityError:
            return self._kept(user_id, key, request_hash)

    def finish(self, user_id: int, key: str, status: int, body: str) -> None:
        """Keep the answer."""
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        with self._database.write() as connection:
            connection.execute(update(IdempotencyRow).where(*owned).values(status=status, body=body))

    def forget(self, user_id: int, key: str) -> None:
        """Nothing was done: the key is free again."""
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        with self._database.write() as connection:
            connection.execute(delete(IdempotencyRow).where(*owned))

    def _kept(self, user_id: int, key: str, request_hash: str) -> KeptAnswer | None:
        columns = (IdempotencyRow.request_hash, IdempotencyRow.status, IdempotencyRow.body)
        owned = (IdempotencyRow.user_id == user_id, IdempotencyRow.key == key)
        with self._database.read() as connection:
            row = connection.execute(select(*columns).where(*owned)).one_or_none()
        if row is None or not row.body:
            raise KeyInUseError("the first request with this Idempotency-Key is still at work; try again in a second")
        if row.request_hash != request_hash:
            raise KeyReusedError("this Idempotency-Key was sent with another request before; make a new one")
        return KeptAnswer(row.status, row.body)
