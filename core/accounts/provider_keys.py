"""Users' own keys for providers of chat models, encrypted in the ledger."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import ColumnElement, delete, insert, select

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ProviderKeyRow

MAX_KEY_CHARS = 500
_PROVIDER = re.compile(r"[a-z][a-z0-9_]{0,59}")
_KEY = re.compile(r"[!-~]+")


class ProviderKeys:
    """Keys by user and provider (``openai``, ``anthropic`` …). ``secret`` is the data directory's.

    Each is encrypted for its user and provider: in another row it cannot be read.
    """

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        self._database = ledger.database
        self._secret = secret

    def set(self, user_id: int, provider: str, key: str) -> None:
        """Store a key, replacing an earlier one. Raises InvalidInputError, which does not repeat the key."""
        key = key.strip()
        if not _PROVIDER.fullmatch(provider):
            raise InvalidInputError(
                f"the provider is {provider[:60]!r}; write it as in provider:model, such as openai", field="provider"
            )
        if not _KEY.fullmatch(key) or len(key) > MAX_KEY_CHARS:
            raise InvalidInputError(
                f"a key is one word of 1 to {MAX_KEY_CHARS} letters, digits and signs; copy it again", field="key"
            )
        secret = self._fernet(user_id, provider).encrypt(key.encode()).decode()
        with self._database.write() as connection:
            connection.execute(delete(ProviderKeyRow).where(_row(user_id, provider)))
            connection.execute(insert(ProviderKeyRow).values(user_id=user_id, provider=provider, secret=secret))

    def remove(self, user_id: int, provider: str) -> None:
        """Delete a key. Raises NotFoundError when there is none."""
        with self._database.write() as connection:
            if not connection.execute(delete(ProviderKeyRow).where(_row(user_id, provider))).rowcount:
                raise NotFoundError(f"there is no key for {provider[:60]!r}")

    def of_user(self, user_id: int) -> Mapping[str, str]:
        """Return a user's keys by provider, sorted. A key is empty when the data directory has another secret than the
        one it was encrypted with.
        """
        columns = select(ProviderKeyRow.provider, ProviderKeyRow.secret)
        statement = columns.where(ProviderKeyRow.user_id == user_id).order_by(ProviderKeyRow.provider)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {provider: self._decrypt(user_id, provider, secret) for provider, secret in rows}

    def _decrypt(self, user_id: int, provider: str, secret: str) -> str:
        try:
            return self._fernet(user_id, provider).decrypt(secret.encode()).decode()
        except InvalidToken:
            return ""

    def _fernet(self, user_id: int, provider: str) -> Fernet:
        info = f"provider key {user_id} {provider}".encode()
        derived = HKDF(SHA256(), length=32, salt=None, info=info).derive(self._secret)
        return Fernet(base64.urlsafe_b64encode(derived))


def _row(user_id: int, provider: str) -> ColumnElement[bool]:
    return (ProviderKeyRow.user_id == user_id) & (ProviderKeyRow.provider == provider)
