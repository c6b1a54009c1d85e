"""The secret of a site, which signs cookies and encrypts stored keys."""

from __future__ import annotations

import base64
import os
import re
import secrets
import shlex
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from braid.core.errors import InvalidInputError
from braid.core.ledger.durable import sync_folder

FILE = "secret_key"
SECRET_BYTES = 32
BASE64 = "base64:"
"""Beginning of a secret whose bytes are given in Base64, such as those of the file of a data directory."""


def secret_key(data_dir: Path, given: str = "") -> bytes:
    """Return the secret ``given``, or that of the data directory where none is.

    The first call creates the directory's, readable only by its owner; nobody ever finds half of it.
    """
    if given:
        return base64.b64decode(given.removeprefix(BASE64)) if given.startswith(BASE64) else given.encode()
    path = data_dir / FILE
    if not path.exists() or not path.stat().st_size:  # empty: it was lost in a power cut
        _make(path)
    return path.read_bytes()


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
