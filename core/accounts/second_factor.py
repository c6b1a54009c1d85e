"""Second factors: codes of an authenticator app (RFC 6238) and recovery codes, beside the password."""

from __future__ import annotations

import base64
import re
import secrets
import time
import unicodedata
from collections.abc import Callable
from typing import Any, Literal

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import Connection, Row, Update, delete, insert, select, update

from braid.core.accounts.credentials import hash_secret
from braid.core.accounts.secret_key import decrypt, encrypt
from braid.core.ledger import prepared
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import SecondFactorRow, UserRow, WebSessionRow

STEP_S = 30
DIGITS = 6
DRIFT = 1
"""Steps by which the clock of the phone may be wrong, as section 5.2 of the RFC recommends."""
SECRET_BYTES = 20
"""Bytes of a secret: as long as a SHA-1 hash, as section 4 of RFC 4226 recommends."""
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
"""80 random bits, so that a plain hash is enough."""
ISSUER = "Braid"
MAX_CODE_CHARS = 60
_CODE = re.compile(rf"[0-9]{{{DIGITS}}}")

Shown = Literal["code", "recovery"]


class SecondFactors:
    """The ledger's second factors. ``secret`` is the data directory's; ``clock`` gives seconds since the epoch."""

    def __init__(self, ledger: Ledger, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._database = ledger.database
        self._secret = secret
        self._clock = clock

    def is_on(self, user_id: int) -> bool:
        """Return whether a code is asked for."""
        return bool(self._database.rows(prepared.SECOND_FACTOR, user_id=user_id))

    def codes_left(self, user_id: int) -> int:
        """Return how many recovery codes the user has left."""
        return len(self._confirmed(user_id) or ())

    def begin(self, user_id: int) -> None:
        """Make a secret, which `pending` returns and which counts once `confirm` was shown a code of it.

        Nothing changes for a user whose second factor is on.
        """
        key = encrypt(self._secret, _purpose(user_id), secrets.token_bytes(SECRET_BYTES).hex())
        with self._database.write() as connection:
            row = self._row(connection, user_id)
            if row is None:
                values = {"user_id": user_id, "confirmed": False, "used_step": 0, "recovery_hash": []}
                connection.execute(insert(SecondFactorRow).values(secret=key, **values))
            elif not row.confirmed:
                connection.execute(_of(user_id).values(secret=key))

    def pending(self, user_id: int) -> str:
        """Return the secret that was begun and is not confirmed yet, in Base32; empty for none."""
        row = self._database.row(_ROW.where(SecondFactorRow.user_id == user_id))
        return "" if row is None or row.confirmed else _base32(self._key(row))

    def confirm(self, user_id: int, code: str) -> list[str]:
        """Turn the second factor on that was begun, by a code of it; return the recovery codes, which cannot be read
        again. Empty when the code is wrong.
        """
        with self._database.write() as connection:
            row = self._row(connection, user_id)
            step = None if row is None or row.confirmed else self._step_of(row, code)
            if step is None:
                return []
            return self._with_new_codes(connection, user_id, confirmed=True, used_step=step)

    def accept(self, user_id: int, code: str) -> Shown | None:
        """Return what of the user's this is, and make it worthless; None for what is wrong, or was used before."""
        with self._database.write() as connection:
            row = self._row(connection, user_id)
            if row is None or not row.confirmed:
                return None
            if (step := self._step_of(row, code)) is not None:
                connection.execute(_of(user_id).values(used_step=step))
                return "code"
            if (hashed := hash_secret(_plain(code))) in row.recovery_hash:
                left = [each for each in row.recovery_hash if each != hashed]
                connection.execute(_of(user_id).values(recovery_hash=left))
                return "recovery"
        return None

    def new_codes(self, user_id: int) -> list[str]:
        """Replace the recovery codes of a user whose second factor is on, and return them."""
        with self._database.write() as connection:
            return self._with_new_codes(connection, user_id)

    def reset(self, user_id: int) -> bool:
        """Forget the user's second factor, and sign them out everywhere; False without one."""
        with self._database.write() as connection:
            found = connection.execute(delete(SecondFactorRow).where(SecondFactorRow.user_id == user_id)).rowcount
            if found:
                connection.execute(delete(WebSessionRow).where(WebSessionRow.user_id == user_id))
        return bool(found)

    def sign_out_those_without(self) -> None:
        """End the sessions of all who have a password and no second factor."""
        on = select(SecondFactorRow.user_id).where(SecondFactorRow.confirmed)
        without = select(UserRow.id).where(UserRow.password_hash != "", UserRow.id.not_in(on))
        self._database.change(delete(WebSessionRow).where(WebSessionRow.user_id.in_(without)))

    def _confirmed(self, user_id: int) -> list[str] | None:
        own = SecondFactorRow.user_id == user_id, SecondFactorRow.confirmed
        return self._database.find(select(SecondFactorRow.recovery_hash).where(*own))

    def _row(self, connection: Connection, user_id: int) -> Row[Any] | None:
        """Return the user's row, locked: of several requests with one code, one is let in."""
        connection.execute(select(UserRow.id).where(UserRow.id == user_id).with_for_update())
        return connection.execute(_ROW.where(SecondFactorRow.user_id == user_id)).one_or_none()

    def _key(self, row: Row[Any]) -> bytes:
        """Return the secret; empty where the data directory has another secret than the one it was encrypted with."""
        return bytes.fromhex(decrypt(self._secret, _purpose(row.user_id), row.secret))

    def _step_of(self, row: Row[Any], code: str) -> int | None:
        """Return the time step that a code is of, unless it is too far off, or not behind the last one used."""
        given, key = _plain(code), self._key(row)
        if not key or not _CODE.fullmatch(given):
            return None
        one_time, now = TOTP(key, DIGITS, SHA1(), STEP_S), int(self._clock()) // STEP_S
        for step in range(max(now - DRIFT, row.used_step + 1), now + DRIFT + 1):
            try:
                one_time.verify(given.encode(), step * STEP_S)
            except InvalidToken:
                continue
            return step
        return None

    def _with_new_codes(self, connection: Connection, user_id: int, **values: Any) -> list[str]:
        codes = [_grouped(_base32(secrets.token_bytes(RECOVERY_BYTES))) for _number in range(RECOVERY_CODES)]
        hashes = [hash_secret(_plain(code)) for code in codes]
        connection.execute(_of(user_id).values(recovery_hash=hashes, **values))
        return codes


_ROW = select(*SecondFactorRow.__table__.columns)


def address_of(secret: str, name: str) -> str:
    """Return what an authenticator app takes a secret in Base32 from: ``otpauth://totp/…``."""
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_S).get_provisioning_uri(name, ISSUER)


def _of(user_id: int) -> Update:
    return update(SecondFactorRow).where(SecondFactorRow.user_id == user_id)


def _base32(key: bytes) -> str:
    return base64.b32encode(key).decode()


def _grouped(code: str) -> str:
    return "-".join(code[at : at + 4] for at in range(0, len(code), 4))


def _plain(code: str) -> str:
    """Return a code as it is compared: without spaces and hyphens, in capitals, in ASCII's digits."""
    return re.sub(r"[\s-]", "", unicodedata.normalize("NFKC", code[:MAX_CODE_CHARS])).upper()


def _purpose(user_id: int) -> str:
    return f"second factor {user_id}"
