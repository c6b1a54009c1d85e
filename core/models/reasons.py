"""Reasons of failures that a provider gives, made safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from braid.core.errors import BraidError

MAX_REASON_CHARS = 300
"""Longest part of a provider's error message that is shown."""
MAX_READ_CHARS = 4000
"""Longest part that is looked at."""
LEAST_SECRET_CHARS = 5
"""A shorter one, such as "none" for a server without keys, is no secret, and would be taken out of other words."""
MAX_CAUSES = 20
QUOTING_STATUS = frozenset({400, 413, 422})
"""HTTP statuses of what is wrong with a request, with which a provider may repeat a question or a passage."""
_SECRETS = re.compile(
    r"(?<=//)[^\s/@]++@"  # name and password of an address
    r"|\b(?:sk|pk|rk|gsk|xai|hf|r8|org|proj)[-_][A-Za-z0-9*_-]{8,}+"
    r"|\bAIza[A-Za-z0-9*_-]{8,}+"
    r"|(?<=[Bb]earer )\S++"
)
"""Secrets that are known by their form: keys, accounts and organizations of providers that give them a prefix."""


def safe_reason(error: BaseException, secrets: Iterable[str | None] = (), *, said: str = "") -> str:
    """Return the error in one line, with its innermost cause, and without secrets, which some providers repeat.

    ``said`` is the provider's message where that is not the error's own text.

    >>> safe_reason(ValueError("the key sk-0123456789 of org-0123456789 is wrong"))
    'ValueError: the key *** of *** is wrong'
    """
    text = _clean(_redirect(error) or said or str(error), secrets)
    cause = _clean(_innermost(error), secrets)
    more = f" ({cause})" if cause and cause not in text else ""
    return f"{type(error).__name__}: {text}{more}"


def loggable(error: BraidError) -> str:
    """Return what the log may say of a model's error, whose text is safe: no question, and no text of a document."""
    for each in _chain(error):
        if getattr(each, "status_code", None) in QUOTING_STATUS:
            return f"{type(each).__name__}: status {getattr(each, 'status_code', '')}"
    text = str(error)
    return text if text.isprintable() else " ".join(text.split())


def _redirect(error: BaseException) -> str:
    """Return what is wrong where a server sends the question elsewhere; empty where it does not."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    if not isinstance(status, int) or not 300 <= status < 400:
        return ""
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None) or {}
    host = urlsplit(str(headers.get("location", ""))[:MAX_READ_CHARS]).netloc.rpartition("@")[2]
    return (
        f"the server sends the question on to {host or 'another address'} ({status}), which is not followed; give the "
        "address that answers"
    )


def _clean(text: str, secrets: Iterable[str | None]) -> str:
    text = " ".join(text[:MAX_READ_CHARS].split())
    for secret in secrets:
        if secret and len(secret) >= LEAST_SECRET_CHARS:
            text = text.replace(secret, "***")
    return _SECRETS.sub("***", text)[:MAX_REASON_CHARS]


def _innermost(error: BaseException) -> str:
    """Return the words of the system's error that all others come from: "Connection refused"; empty for none."""
    words = ""
    for each in _chain(error):
        if isinstance(each, OSError):
            verified: object = getattr(each, "verify_message", "")  # of a certificate: without names of files and lines
            words = str(verified or each.strerror or each)
    return words


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(MAX_CAUSES):  # some libraries raise an error from itself
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__
