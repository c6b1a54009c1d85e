"""The secret of a data directory: it signs cookies, and keys that are kept are encrypted with it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

SECRET_BYTES = 32


def secret_key(data_dir: Path) -> bytes:
    """Made once for a data directory, and readable by its owner alone."""
    path = data_dir / "secret_key"
    try:
        with open(path, "xb", opener=_owner_only) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
    except FileExistsError:
        pass
    return path.read_bytes()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
