"""Credentials: sessions of browsers and API tokens of programs. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, update

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger import prepared
from braid.core.ledger.database import execute, storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import require_room
from braid.core.ledger.tables import ApiTokenRow, OAuthGrantRow, WebSessionRow, columns_of

Permission = Literal["read", "write", "admin"]
TOKEN_PREFIX = "braid_"
SESSION_DAYS = 30
SEEN_EVERY_S = 60
"""Precision of the time of last use; a finer one would be a write per request."""
MAX_SESSIONS = 100
"""Browsers of one user that stay signed in: those used last."""
MAX_TOKENS = 100
MAX_TOKEN_DAYS = 3650
TOKEN_DAYS = 90
"""Days until a token expires, unless another time is chosen."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class WebSession:
    """A browser that is signed in. Times are seconds since the epoch."""

    id: int
    user_id: int
    user_agent: str
    created_at: float
    seen_at: float


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A program's key, without the key."""

    id: int
    user_id: int
    name: str
    scopes: frozenset[str]
    created_at: float
    expires_at: float | None
    used_at: float | None
    grant_id: int | None = None
    """The grant to a connected app that it belongs to, see `braid.core.accounts.connected_apps`."""
    dataset_ids: frozenset[int] | None = None
    """The only datasets that it reads; None for all that its user may read."""


class WebSessions:
    """The ledger's signed-in browsers."""

    def __init__(self, ledger: Ledger, *, most: int = MAX_SESSIONS) -> None:
        self._database = ledger.database
        self._most = most

    def open(self, user_id: int, user_agent: str = "") -> str:
        """Sign a browser in and return the secret for its cookie; of more than ``most`` the oldest are ended."""
        secret, now = secrets.token_urlsafe(32), time.time()
        values = {"token_hash": hash_secret(secret), "user_agent": storable(user_agent)[:300]}
        with self._database.write() as connection:
            execute(connection, prepared.OPEN_SESSION, user_id=user_id, now=now, **values)
            execute(connection, prepared.SIGNED_IN, user_id=user_id, now=now)
            execute(connection, prepared.END_OLDEST_SESSIONS, user_id=user_id, most=self._most)
        return secret

    def find(self, secret: str) -> WebSession | None:
        """Return the session of this secret, unless it ended or was not used for `SESSION_DAYS`."""
        now = time.time()
        rows = self._database.remembered_rows(prepared.WEB_SESSION, token_hash=hash_secret(secret))
        found = WebSession(*rows[0]) if rows else None
        if found is None or found.seen_at < now - SESSION_DAYS * DAY_S:
            return None
        if found.seen_at < now - SEEN_EVERY_S:
            self._database.change(update(WebSessionRow).where(WebSessionRow.id == found.id).values(seen_at=now))
        return found

    def forget_old(self, now: float) -> None:
        """Delete the sessions that had not been used for `SESSION_DAYS` at a time, in seconds since the epoch."""
        self._database.change(delete(WebSessionRow).where(WebSessionRow.seen_at < now - SESSION_DAYS * DAY_S))

    def of_user(self, user_id: int) -> list[WebSession]:
        """Return a user's sessions, the last used first."""
        statement = select(*_SESSION).where(WebSessionRow.user_id == user_id).order_by(WebSessionRow.seen_at.desc())
        return [WebSession(**row._mapping) for row in self._database.fetch(statement)]

    def end(self, user_id: int, session_id: int) -> None:
        """End one of the user's sessions; does nothing when there is no such session."""
        owned = (WebSessionRow.id == session_id, WebSessionRow.user_id == user_id)
        self._database.change(delete(WebSessionRow).where(*owned))

    def end_all(self, user_id: int) -> None:
        """Sign the user out everywhere."""
        self._database.change(delete(WebSessionRow).where(WebSessionRow.user_id == user_id))


class ApiTokens:
    """The ledger's keys to the API."""

    def __init__(self, ledger: Ledger, *, most: int = MAX_TOKENS) -> None:
        self._database = ledger.database
        self._most = most

    def add(
        self, user_id: int, name: str, scopes: Collection[str], *, days: int | None = TOKEN_DAYS
    ) -> tuple[ApiToken, str]:
        """Create a token; return it with its key, which cannot be read again. ``days`` None means no expiry.

        Raises InvalidInputError for an empty name, an unknown scope, a wrong time or too many tokens.
        """
        key, now = TOKEN_PREFIX + secrets.token_urlsafe(32), time.time()
        values = {
            "user_id": user_id,
            "name": _token_name(name),
            "scopes": _scopes(scopes),
            "created_at": now,
            "expires_at": None if days is None else now + _days(days) * DAY_S,
        }
        count = select(func.count()).select_from(ApiTokenRow).where(*_made_by(user_id))
        told = f"there are {self._most} tokens already; revoke one first"
        with self._database.write() as connection:
            require_room(connection, user_id, count, self._most, told)
            statement = insert(ApiTokenRow).values(**values, token_hash=hash_secret(key)).returning(*_TOKEN)
            row = connection.execute(statement).one()
        return _token(row), key

    def find(self, key: str) -> ApiToken | None:
        """Return the token of this key, unless it was revoked, has expired, or its app was disconnected."""
        now = time.time()
        with self._database.read() as connection:
            statement = select(*_TOKEN).where(ApiTokenRow.token_hash == hash_secret(key), _COUNTS)
            row = connection.execute(statement).one_or_none()
        if row is None or (row.expires_at is not None and row.expires_at <= now):
            return None
        if row.used_at is None or row.used_at < now - SEEN_EVERY_S:
            with self._database.write() as connection:
                connection.execute(update(ApiTokenRow).where(ApiTokenRow.id == row.id).values(used_at=now))
                if row.grant_id is not None:
                    of_grant = OAuthGrantRow.id == row.grant_id
                    connection.execute(update(OAuthGrantRow).where(of_grant).values(used_at=now))
        return _token(row)

    def of_user(self, user_id: int) -> list[ApiToken]:
        """Return the tokens that a user has made, the newest first, expired ones included."""
        statement = select(*_TOKEN).where(*_made_by(user_id)).order_by(ApiTokenRow.id.desc())
        return [_token(row) for row in self._database.fetch(statement)]

    def revoke(self, user_id: int, token_id: int) -> None:
        """Delete a token. Raises NotFoundError when it is not the user's."""
        owned = (ApiTokenRow.id == token_id, ApiTokenRow.user_id == user_id)
        if self._database.change(delete(ApiTokenRow).where(*owned)) == 0:
            raise NotFoundError(f"there is no token {token_id}")

    def revoke_all(self, user_id: int) -> int:
        """Delete all of a user's tokens, and disconnect all apps; return how many tokens the user had made."""
        with self._database.write() as connection:
            return end_programs(connection, user_id)


def end_programs(connection: Connection, user_id: int) -> int:
    """End the access of all programs to a user's documents; return how many tokens the user had made."""
    connection.execute(delete(OAuthGrantRow).where(OAuthGrantRow.user_id == user_id))
    return connection.execute(delete(ApiTokenRow).where(*_made_by(user_id))).rowcount


_SESSION = columns_of(WebSessionRow, WebSession)
_TOKEN = columns_of(ApiTokenRow, ApiToken)
_COUNTS = or_(ApiTokenRow.grant_id.is_(None), exists().where(OAuthGrantRow.id == ApiTokenRow.grant_id))


def _made_by(user_id: int) -> tuple[ColumnElement[bool], ...]:
    return ApiTokenRow.user_id == user_id, ApiTokenRow.grant_id.is_(None)


def hash_secret(secret: str) -> str:
    """Hash with SHA-256, which is enough for secrets of 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _token(row: object) -> ApiToken:
    values = dict(row._mapping)  # type: ignore[attr-defined]
    datasets = values["dataset_ids"]
    values["dataset_ids"] = None if datasets is None else frozenset(datasets)
    return ApiToken(**{**values, "scopes": frozenset(values["scopes"])})


def _token_name(name: str) -> str:
    name = storable(name).strip()
    if not 1 <= len(name) <= 100:
        raise InvalidInputError(f"the name of a token must have 1 to 100 characters, not {len(name)}", field="name")
    return name


def _scopes(scopes: Collection[str]) -> list[str]:
    known = get_args(Permission)
    wrong = sorted(set(scopes) - set(known))
    if wrong or not scopes:
        raise InvalidInputError(f"the scopes are {sorted(scopes)}; choose of {', '.join(known)}", field="scopes")
    return [scope for scope in known if scope in scopes]


def _days(days: int) -> int:
    if not 1 <= days <= MAX_TOKEN_DAYS:
        raise InvalidInputError(f"days is {days}; it must be from 1 to {MAX_TOKEN_DAYS}", field="days")
    return days
