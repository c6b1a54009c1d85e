"""Reasons of failures that a provider gives, made safe to show."""

from __future__ import annotations

from collections.abc import Iterable

MAX_REASON_CHARS = 300
"""Longest part of a provider's error message that is shown."""


def safe_reason(error: BaseException, secrets: Iterable[str | None]) -> str:
    """Return the error in one line, without these secrets, which some providers repeat."""
    text = " ".join(str(error).split())
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return f"{type(error).__name__}: {text[:MAX_REASON_CHARS]}"
