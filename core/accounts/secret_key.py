"""The secret of a data directory, which signs cookies and encrypts stored keys."""

from __future__ import annotations

import base64
import os
import re
import secrets
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from braid.core.errors import InvalidInputError

SECRET_BYTES = 32


def secret_key(data_dir: Path) -> bytes:
    """Return the secret. The first call creates it, readable only by its owner."""
    path = data_dir / "secret_key"
    try:
        with open(path, "xb", opener=_owner_only) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
    except FileExistsError:
        pass
    return path.read_bytes()


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


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
