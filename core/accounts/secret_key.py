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
from braid.core.ledger.durable import sync_folder

SECRET_BYTES = 32


def secret_key(data_dir: Path) -> bytes:
    """Return the secret. The first call creates it, readable only by its owner; nobody ever finds half of it."""
    path = data_dir / "secret_key"
    if not path.exists() or not path.stat().st_size:  # empty: it was lost in a power cut
        _make(path)
    return path.read_bytes()


def _make(path: Path) -> None:
    """Write a new secret, unless another thread or process was first. It outlives a power cut."""
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with open(partial, "xb", opener=_owner_only) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and not path.stat().st_size:
            path.unlink()
        try:
            os.link(partial, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


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
