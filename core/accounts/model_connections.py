"""Connections to servers of chat models and of a reranker that administrators make, and users' own keys, encrypted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from sqlalchemy import ColumnElement, delete, insert, select

from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.secret_key import checked_key, decrypt, encrypt
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ProviderKeyRow
from braid.core.models.model_servers import PROVIDERS, checked_url, host_of, server_name
from braid.core.models.rerank_http import RerankServer

SETTING = "model_connections"
"""Name of the app setting that keeps them: name → `_Stored`."""
RERANKER = "reranker_connection"
"""Name of the app setting that keeps the reranker's server: `_StoredReranker`."""
MAX_CONNECTIONS = 50


@dataclass(frozen=True, slots=True)
class Connection:
    """A server that is connected. Its models are called ``name:model``."""

    name: str
    provider: str
    base_url: str
    key: str = field(default="", repr=False)
    has_key: bool = False
    """Whether a key is stored. One that cannot be read, as the data directory has another secret, is empty."""
    models: tuple[str, ...] = ()
    """Names of the models that the server listed last."""

    @property
    def label(self) -> str:
        """The name of the server for people."""
        return PROVIDERS[self.provider].label

    @property
    def host(self) -> str:
        """The host, and the port, that the questions go to."""
        return host_of(self.base_url)

    @property
    def takes_own_keys(self) -> bool:
        """Whether users may have keys of their own: the address is the provider's, whatever an administrator does."""
        return PROVIDERS[self.provider].has_fixed_address


class _Stored(TypedDict):
    provider: str
    base_url: str
    secret: str
    models: list[str]


class _StoredReranker(TypedDict):
    kind: str
    model: str
    base_url: str
    secret: str


class ModelConnections:
    """The connections of a data directory. ``secret`` is the directory's; a key is encrypted for its address."""

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        self._settings = AppSettings(ledger)
        self._secret = secret

    def all(self) -> list[Connection]:
        """Return the connections by name."""
        stored: dict[str, _Stored] = self._settings.get(SETTING, {})
        return [self._read(name, stored[name]) for name in sorted(stored)]

    def get(self, name: str) -> Connection | None:
        """Return the connection of this name, if there is one."""
        return next((found for found in self.all() if found.name == name), None)

    def prepare(self, provider: str, address: str, key: str = "") -> Connection:
        """Return the connection that `put` would store. An empty key keeps the stored one of the same address.

        Raises InvalidInputError.
        """
        base_url = checked_url(provider, address)
        kept = self.get(server_name(provider, base_url))
        if key.strip():
            key = checked_key(key)
        elif kept is not None and kept.base_url == base_url:
            key = kept.key
        if PROVIDERS[provider].has_fixed_address and not key:
            raise InvalidInputError(f"{PROVIDERS[provider].label} needs a key; copy it from your account", field="key")
        return Connection(server_name(provider, base_url), provider, base_url, key, bool(key))

    def put(self, made: Connection) -> None:
        """Store a connection in place of the one of the same name, whose key goes with its address."""
        secret = encrypt(self._secret, _purpose(made.base_url), made.key) if made.key else ""

        def add(stored: dict[str, _Stored]) -> dict[str, _Stored]:
            if made.name not in stored and len(stored) >= MAX_CONNECTIONS:
                raise InvalidInputError(f"{MAX_CONNECTIONS} servers are connected; remove one first")
            row = _Stored(provider=made.provider, base_url=made.base_url, secret=secret, models=list(made.models))
            return {**stored, made.name: row}

        self._settings.change(SETTING, {}, add)

    def set_models(self, name: str, base_url: str, models: Sequence[str]) -> None:
        """Replace the list of a server's models. Raises NotFoundError when it was removed meanwhile, or replaced."""

        def set_list(stored: dict[str, _Stored]) -> dict[str, _Stored]:
            if name not in stored or stored[name]["base_url"] != base_url:
                raise NotFoundError(f"no model server {name[:60]!r} is connected at {base_url}")
            return {**stored, name: {**stored[name], "models": list(models)}}

        self._settings.change(SETTING, {}, set_list)

    def remove(self, name: str) -> Connection:
        """Delete a connection with its key, and return it. Raises NotFoundError."""
        removed: list[Connection] = []

        def take_out(stored: dict[str, _Stored]) -> dict[str, _Stored]:
            if name not in stored:
                raise NotFoundError(f"no model server {name[:60]!r} is connected")
            removed.append(self._read(name, stored[name]))
            return {other: row for other, row in stored.items() if other != name}

        self._settings.change(SETTING, {}, take_out)
        return removed[0]

    def reranker(self) -> RerankServer | None:
        """Return the server of the reranker that is used for every search; None where none is connected."""
        stored: _StoredReranker | None = self._settings.get(RERANKER)
        if stored is None:
            return None
        server, secret = RerankServer(stored["kind"], stored["model"], stored["base_url"]), stored["secret"]
        key = decrypt(self._secret, _purpose(server.address, RERANKER), secret) if secret else ""
        return replace(server, key=key, has_key=bool(secret))

    def put_reranker(self, server: RerankServer | None) -> None:
        """Store the server of the reranker in place of the one before; None removes it with its key."""
        if server is None:
            self._settings.set(RERANKER, None)
            return
        secret = encrypt(self._secret, _purpose(server.address, RERANKER), server.key) if server.key else ""
        row = _StoredReranker(kind=server.kind, model=server.model, base_url=server.base_url, secret=secret)
        self._settings.set(RERANKER, row)

    def _read(self, name: str, stored: _Stored) -> Connection:
        secret = stored["secret"]
        key = decrypt(self._secret, _purpose(stored["base_url"]), secret) if secret else ""
        return Connection(name, stored["provider"], stored["base_url"], key, bool(secret), tuple(stored["models"]))


def _purpose(of: str, what: str = "model server") -> str:
    """Return what a secret is encrypted for: in another place it cannot be read."""
    return f"{what} {of}"


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
        secret = encrypt(self._secret, _purpose(f"{user_id} {provider}", "provider key"), checked_key(key))
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
        return {
            provider: decrypt(self._secret, _purpose(f"{user_id} {provider}", "provider key"), encrypted)
            for provider, encrypted in rows
        }


def _row(user_id: int, provider: str) -> ColumnElement[bool]:
    return (ProviderKeyRow.user_id == user_id) & (ProviderKeyRow.provider == provider)
