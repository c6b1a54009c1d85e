"""Users' own keys for providers of chat models, encrypted in the ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy import ColumnElement, delete, insert, select

from braid.core.accounts.secret_key import checked_key, decrypt, encrypt
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ProviderKeyRow

_PROVIDER = re.compile(r"[a-z][a-z0-9_]{0,59}")


class ProviderKeys:
    """Keys by user and provider (``openai``, ``anthropic`` …). ``secret`` is the data directory's.

    Each is encrypted for its user and provider: in another row it cannot be read.
    """

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        self._database = ledger.database
        self._secret = secret

    def set(self, user_id: int, provider: str, key: str) -> None:
        """Store a key, replacing an earlier one. Raises InvalidInputError, which does not repeat the key."""
        if not _PROVIDER.fullmatch(provider):
            raise InvalidInputError(
                f"the provider is {provider[:60]!r}; write it as in provider:model, such as openai", field="provider"
            )
        secret = encrypt(self._secret, _purpose(user_id, provider), checked_key(key))
        with self._database.write() as connection:
            connection.execute(delete(ProviderKeyRow).where(_row(user_id, provider)))
            connection.execute(insert(ProviderKeyRow).values(user_id=user_id, provider=provider, secret=secret))

    def remove(self, user_id: int, provider: str) -> None:
        """Delete a key. Raises NotFoundError when there is none."""
        if not self._database.change(delete(ProviderKeyRow).where(_row(user_id, provider))):
            raise NotFoundError(f"there is no key for {provider[:60]!r}")

    def of_user(self, user_id: int) -> Mapping[str, str]:
        """Return a user's keys by provider, sorted. A key is empty when the data directory has another secret than the
        one it was encrypted with.
        """
        columns = select(ProviderKeyRow.provider, ProviderKeyRow.secret)
        statement = columns.where(ProviderKeyRow.user_id == user_id).order_by(ProviderKeyRow.provider)
        rows = self._database.fetch(statement)
        return {provider: decrypt(self._secret, _purpose(user_id, provider), encrypted) for provider, encrypted in rows}


def _purpose(user_id: int, provider: str) -> str:
    return f"provider key {user_id} {provider}"


def _row(user_id: int, provider: str) -> ColumnElement[bool]:
    return (ProviderKeyRow.user_id == user_id) & (ProviderKeyRow.provider == provider)
