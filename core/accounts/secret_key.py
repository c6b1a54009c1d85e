"""The secret of a data directory, which signs cookies and encrypts stored keys."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

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


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
