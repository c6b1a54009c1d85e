"""An authenticator app, by the formulas of RFC 4226 and RFC 6238."""

from __future__ import annotations

import base64
import hmac


def code_of(secret: str, seconds: float) -> str:
    """The code of a secret in Base32 at a time, in seconds since the epoch."""
    counter = int(seconds // 30).to_bytes(8)
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF
    return f"{number % 10**6:06}"
