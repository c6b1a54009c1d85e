"""The secret of a site, which signs cookies and encrypts stored keys."""

from __future__ import annotations

import base64
import logging
import re
import secrets
import shlex
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from braid.core.accounts.app_settings import AppSettings
from braid.core.errors import InvalidInputError
from braid.core.ledger.durable import write_first
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import WebSessionRow

FILE = "secret_key"
SECRET_BYTES = 32
BASE64 = "base64:"
"""Beginning of a secret whose bytes are given in Base64, such as those of the file of a data directory."""
MARK = "secret_mark"
"""Name of the app setting that tells the site's secret from another one, and does not tell it."""

logger = logging.getLogger(__name__)


def secret_key(data_dir: Path, given: str = "") -> bytes:
    """Return the secret ``given``, or that of the data directory where none is.

    The first call creates the directory's, readable only by its owner; nobody ever finds half of it. Raises
    InvalidInputError for a file that is too short to be one.
    """
    if given:
        return base64.b64decode(given.removeprefix(BASE64)) if given.startswith(BASE64) else given.encode()
    path = data_dir / FILE
    if not path.exists() or not path.stat().st_size:  # empty: it was lost in a power cut
        write_first(path, secrets.token_bytes(SECRET_BYTES))
    secret = path.read_bytes()
    if len(secret) < SECRET_BYTES:
        raise InvalidInputError(
            f"the secret in {str(path)!r} has {len(secret)} of {SECRET_BYTES} bytes: the file was cut. Put it back "
            "from a backup; or delete it: everybody signs in again, and stored keys of models are entered again",
            field="secret_key",
        )
    return secret


def site_secret(data_dir: Path, ledger: Ledger, given: str = "") -> bytes:
    """Return the secret as `secret_key` does, and log a warning when it is another one than the site had."""
    path, settings = data_dir / FILE, AppSettings(ledger)
    had_file = path.is_file() and path.stat().st_size > 0
    secret = secret_key(data_dir, given)
    mark = HKDF(SHA256(), length=16, salt=None, info=MARK.encode()).derive(secret).hex()
    before = settings.get(MARK)
    if before == mark:
        return secret
    if before or not (given or had_file or _is_unused(ledger)):
        ledger.noticed.secret_key_replaced = True
        logger.warning(
            "event=secret_key_replaced file=%s it is not the secret that the site had: everybody signs in again, and "
            "stored keys of models are entered again, unless it is put back from a backup",
            "-" if given else path,
        )
    with suppress(SQLAlchemyError):  # a ledger that can only be read now
        settings.set(MARK, mark)
    return secret


def _is_unused(ledger: Ledger) -> bool:
    """Return whether nobody has signed in yet, so that no secret was needed."""
    return ledger.database.row(select(WebSessionRow.id).limit(1)) is None


def unused_file(data_dir: Path, given: str) -> str:
    """Say that the data directory has another secret than the one ``given``, and how it is kept; else empty."""
    path = data_dir / FILE
    if not given or not path.is_file() or path.read_bytes() in (b"", secret_key(data_dir, given)):
        return ""
    keep = f'BRAID_SECRET_KEY="{BASE64}$(base64 -w0 {shlex.quote(str(path))})"'
    return (
        f"the setting secret_key is used, and not the file {str(path)!r}: everybody signs in again, and stored keys of "
        f"models are entered again. To keep them, set {keep}; to be rid of this message, delete the file"
    )


MAX_KEY_CHARS = 500
_KEY = re.compile(r"[!-~]+")


def checked_key(key: str) -> str:
    """Return a provider's key without blanks around it. Raises InvalidInputError, which does not repeat the key."""
    key = key.strip()
    if not _KEY.fullmatch(key) or len(key) > MAX_KEY_CHARS:
        raise InvalidInputError(
            f"a key is one word of 1 to {MAX_KEY_CHARS} letters, digits and signs; copy it again", field="key"
        )
    return key


def encrypt(secret: bytes, purpose: str, key: str) -> str:
    """Return the key encrypted for this purpose: under another purpose it cannot be read."""
    return _fernet(secret, purpose).encrypt(key.encode()).decode()


def decrypt(secret: bytes, purpose: str, encrypted: str) -> str:
    """Return the key; empty when it was encrypted with another secret or for another purpose."""
    try:
        return _fernet(secret, purpose).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        return ""


def _fernet(secret: bytes, purpose: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret)
    return Fernet(base64.urlsafe_b64encode(derived))
