"""Apps that users have connected by OAuth: registered programs, and what each user lets them read.

A grant has one code (RFC 6749), then one refresh token at a time, and some API tokens that end within the hour. Only
hashes are stored. Whoever shows a code or a refresh token for a second time has it from somebody else, or somebody else
has it from them: the grant ends (RFC 9700, sections 2.1.1 and 2.2.2).
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, update

from braid.core.accounts.credentials import DAY_S, TOKEN_PREFIX, hash_secret
from braid.core.errors import BraidError, NotFoundError
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import require_room
from braid.core.ledger.tables import ApiTokenRow, OAuthClientRow, OAuthGrantRow, columns_of

CODE_S = 300
"""Seconds in which an app redeems its code."""
ACCESS_S = 3_600
"""Seconds that an access token lives."""
GRANT_DAYS = 90
"""Days without use after which an app has to ask its user again."""
UNUSED_S = DAY_S
"""Seconds that a registration without any grant is kept."""
MAX_APPS = 50
"""Apps that a user connects."""
MAX_UNUSED = 1_000
"""Registrations without any grant, of all visitors: the newest."""
MAX_ACCESS_TOKENS = 5
"""Access tokens of a grant at a time: programs of one app that refresh by turns keep theirs to its end."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class ReusedError(BraidError):
    """A code or refresh token was used a second time. The grant has ended."""

    def __init__(self, grant: Grant) -> None:
        super().__init__(f"a key of the app {grant.app!r} was used twice")
        self.grant = grant


@dataclass(frozen=True, slots=True)
class RegisteredApp:
    """A program that has registered itself. Everything here is what the program says."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    """``none``, ``client_secret_post`` or ``client_secret_basic``."""
    secret_hash: str

    def has_secret(self, secret: str) -> bool:
        """Return whether this is the program's secret."""
        return bool(self.secret_hash) and secrets.compare_digest(self.secret_hash, hash_secret(secret))


@dataclass(frozen=True, slots=True)
class Consent:
    """The consent of a user: the permissions of an app, and where it receives its code."""

    user_id: int
    app_id: str
    redirect_uri: str
    resource: str
    """Address of the server that the app asks for (RFC 8707)."""
    challenge: str
    """SHA-256 of the code's verifier, RFC 7636."""
    scopes: Collection[str]
    dataset_ids: Collection[int]


@dataclass(frozen=True, slots=True)
class Grant:
    """A consent that is stored. Times are seconds since the epoch."""

    id: int
    user_id: int
    app_id: str
    app: str
    redirect_uri: str
    resource: str
    challenge: str
    scopes: frozenset[str]
    dataset_ids: frozenset[int]
    created_at: float
    used_at: float | None
    expires_at: float
    """When the code expires; once the code is redeemed, when the refresh token does."""
    refresh_hash: str | None = field(repr=False)
    """None until the code is redeemed."""


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """The tokens that an app is given once."""

    access_token: str
    refresh_token: str


class ConnectedApps:
    """The ledger's registered apps and grants."""

    def __init__(self, ledger: Ledger, *, most_apps: int = MAX_APPS, most_unused: int = MAX_UNUSED) -> None:
        self._database = ledger.database
        self._most_apps = most_apps
        self._most_unused = most_unused

    # ------------------------------------------------------------ registration

    def register(self, name: str, redirect_uris: Collection[str], auth_method: str) -> tuple[RegisteredApp, str]:
        """Register a program; return it with its secret, which cannot be read again, and is empty for ``none``.

        Of more than ``most_unused`` registrations without a grant, the oldest are forgotten.
        """
        secret = "" if auth_method == "none" else secrets.token_urlsafe(32)
        values = {
            "id": secrets.token_urlsafe(16),
            "name": storable(name),
            "redirect_uris": list(redirect_uris),
            "auth_method": auth_method,
            "secret_hash": hash_secret(secret) if secret else "",
        }
        with self._database.write() as connection:
            connection.execute(insert(OAuthClientRow).values(**values, created_at=time.time()))
            unused = select(OAuthClientRow.id).where(_UNUSED).order_by(OAuthClientRow.created_at.desc())
            connection.execute(delete(OAuthClientRow).where(OAuthClientRow.id.in_(unused.offset(self._most_unused))))
        return _app(values), secret

    def app(self, app_id: str) -> RegisteredApp | None:
        """Return a registered program, unless it was forgotten."""
        if not _ID.fullmatch(app_id):
            return None
        row = self._database.row(select(*_APP).where(OAuthClientRow.id == app_id))
        return None if row is None else _app(dict(row._mapping))

    # ------------------------------------------------------------ grants

    def consent(self, given: Consent) -> str:
        """Store a consent, in place of the user's earlier one to the same app; return the code for the app.

        Raises InvalidInputError when the user has ``most_apps`` apps.
        """
        code, now = secrets.token_urlsafe(32), time.time()
        values = {
            "user_id": given.user_id,
            "client_id": given.app_id,
            "redirect_uri": given.redirect_uri,
            "resource": given.resource,
            "challenge": given.challenge,
            "scopes": sorted(given.scopes),
            "dataset_ids": sorted(given.dataset_ids),
            "created_at": now,
            "expires_at": now + CODE_S,
            "code_hash": hash_secret(code),
        }
        own = OAuthGrantRow.user_id == given.user_id
        gone = or_(OAuthGrantRow.client_id == given.app_id, OAuthGrantRow.expires_at <= now)
        told = f"you have connected {self._most_apps} apps, which is the limit; disconnect one first"
        with self._database.write() as connection:
            connection.execute(delete(OAuthGrantRow).where(own, gone))
            count = select(func.count()).select_from(OAuthGrantRow).where(own)
            require_room(connection, given.user_id, count, self._most_apps, told, field="")
            connection.execute(insert(OAuthGrantRow).values(values))
        return code

    def grant_of_code(self, code: str) -> Grant | None:
        """Return the grant of a code that can be redeemed. Raises ReusedError for one that was."""
        with self._database.read() as connection:
            found = _find(connection, OAuthGrantRow.code_hash == hash_secret(code))
        if found is not None and found.refresh_hash is not None:
            self._end_reused(found)
        return _unless_expired(found)

    def redeem(self, grant: Grant, code: str, scopes: Collection[str]) -> IssuedTokens:
        """Give out the first tokens of a grant for its code. Raises ReusedError when another request was quicker."""
        as_stored = OAuthGrantRow.code_hash == hash_secret(code), OAuthGrantRow.refresh_hash.is_(None)
        return self._issue(grant, secrets.token_urlsafe(16), as_stored, scopes)

    def grant_of_refresh_token(self, token: str) -> Grant | None:
        """Return the grant of its newest refresh token. Raises ReusedError for an earlier one."""
        family, _, _secret = token.partition(".")
        with self._database.read() as connection:
            found = _find(connection, OAuthGrantRow.family_hash == hash_secret(family))
        if found is not None and found.refresh_hash != hash_secret(token):
            self._end_reused(found)
        return _unless_expired(found)

    def refresh(self, grant: Grant, token: str, scopes: Collection[str]) -> IssuedTokens:
        """Give out new tokens for the newest refresh token. Raises ReusedError when another request was quicker."""
        as_stored = (OAuthGrantRow.refresh_hash == hash_secret(token),)
        return self._issue(grant, token.partition(".")[0], as_stored, scopes)

    def grant_of_token(self, token: str) -> Grant | None:
        """Return the grant of an access token or its newest refresh token, to be revoked."""
        hashed = hash_secret(token)
        by_access = select(ApiTokenRow.grant_id).where(ApiTokenRow.token_hash == hashed)
        wanted = or_(OAuthGrantRow.refresh_hash == hashed, OAuthGrantRow.id.in_(by_access))
        with self._database.read() as connection:
            return _find(connection, wanted)

    def of_user(self, user_id: int) -> list[Grant]:
        """Return the grants that a user's apps can use, the newest first."""
        now = time.time()
        live = OAuthGrantRow.user_id == user_id, OAuthGrantRow.family_hash.is_not(None), OAuthGrantRow.expires_at > now
        statement = _GRANTS.where(*live).order_by(OAuthGrantRow.id.desc())
        return [_grant(row) for row in self._database.fetch(statement)]

    def disconnect(self, user_id: int, grant_id: int) -> Grant:
        """End a grant with all its tokens, at once, and return what it was. Raises NotFoundError for another user's."""
        owned = OAuthGrantRow.id == grant_id, OAuthGrantRow.user_id == user_id
        with self._database.write() as connection:
            found = _find(connection, *owned)
            if found is None:
                raise NotFoundError(f"there is no connected app {grant_id}")
            connection.execute(delete(OAuthGrantRow).where(*owned))
        return found

    def forget_old(self, now: float) -> None:
        """Delete grants, access tokens and unused registrations that had expired at a time, in seconds since 1970."""
        with self._database.write() as connection:
            connection.execute(delete(OAuthGrantRow).where(OAuthGrantRow.expires_at < now))
            of_apps = ApiTokenRow.grant_id.is_not(None), ApiTokenRow.expires_at < now
            connection.execute(delete(ApiTokenRow).where(*of_apps))
            old = _UNUSED, OAuthClientRow.created_at < now - UNUSED_S
            connection.execute(delete(OAuthClientRow).where(*old))

    def _issue(
        self, grant: Grant, family: str, as_stored: Collection[ColumnElement[bool]], scopes: Collection[str]
    ) -> IssuedTokens:
        """Store new tokens if the grant still is ``as_stored``, which holds for one of several requests."""
        now = time.time()
        issued = IssuedTokens(TOKEN_PREFIX + secrets.token_urlsafe(32), f"{family}.{secrets.token_urlsafe(32)}")
        values = {
            "family_hash": hash_secret(family),
            "refresh_hash": hash_secret(issued.refresh_token),
            "expires_at": now + GRANT_DAYS * DAY_S,
        }
        token = {
            "user_id": grant.user_id,
            "name": grant.app,
            "token_hash": hash_secret(issued.access_token),
            "scopes": sorted(grant.scopes.intersection(scopes)),
            "dataset_ids": sorted(grant.dataset_ids),
            "grant_id": grant.id,
            "created_at": now,
            "expires_at": now + ACCESS_S,
        }
        of_grant = select(ApiTokenRow.id).where(ApiTokenRow.grant_id == grant.id).order_by(ApiTokenRow.id.desc())
        with self._database.write() as connection:
            stored = update(OAuthGrantRow).where(OAuthGrantRow.id == grant.id, *as_stored).values(**values)
            is_first = connection.execute(stored).rowcount == 1
            if is_first:
                connection.execute(insert(ApiTokenRow).values(**token))
                old = ApiTokenRow.id.in_(of_grant.offset(MAX_ACCESS_TOKENS))
                connection.execute(delete(ApiTokenRow).where(old))
        if not is_first:
            self._end_reused(grant)
        return issued

    def _end_reused(self, grant: Grant) -> NoReturn:
        self._database.change(delete(OAuthGrantRow).where(OAuthGrantRow.id == grant.id))
        raise ReusedError(grant)


_UNUSED = ~exists().where(OAuthGrantRow.client_id == OAuthClientRow.id)
_APP = columns_of(OAuthClientRow, RegisteredApp)
_GRANTS = select(
    OAuthGrantRow.id,
    OAuthGrantRow.user_id,
    OAuthGrantRow.client_id.label("app_id"),
    OAuthClientRow.name.label("app"),
    OAuthGrantRow.redirect_uri,
    OAuthGrantRow.resource,
    OAuthGrantRow.challenge,
    OAuthGrantRow.scopes,
    OAuthGrantRow.dataset_ids,
    OAuthGrantRow.created_at,
    OAuthGrantRow.used_at,
    OAuthGrantRow.expires_at,
    OAuthGrantRow.refresh_hash,
).join(OAuthClientRow, OAuthClientRow.id == OAuthGrantRow.client_id)


def _find(connection: Connection, *wanted: ColumnElement[bool]) -> Grant | None:
    row = connection.execute(_GRANTS.where(*wanted)).one_or_none()
    return None if row is None else _grant(row)


def _unless_expired(found: Grant | None) -> Grant | None:
    return None if found is None or found.expires_at <= time.time() else found


def _grant(row: Any) -> Grant:
    values = dict(row._mapping)
    sets = {name: frozenset(values[name]) for name in ("scopes", "dataset_ids")}
    return Grant(**{**values, **sets})


def _app(values: Mapping[str, Any]) -> RegisteredApp:
    return RegisteredApp(**{**values, "redirect_uris": tuple(values["redirect_uris"])})
