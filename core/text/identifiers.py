"""Identifiers: codes, names of code and acronyms, which a reader means as they are written."""

from __future__ import annotations

import re

from braid.core.text.normalization import normalize

MAX_IDENTIFIER_CHARS = 200
_MARKS_AROUND = "\"'`“”‘’«»「」『』（）()[]【】〈〉《》<>?!？！。、，．.,;:：…"
_ONE_TOKEN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.:/@#+$%&*-]*[A-Za-z0-9_+#])?")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_DASHES = str.maketrans("‐‑‒–−－", "------")


def identifier_of(text: str) -> str:
    """Return the identifier that the text is as a whole, without quotation marks around it; empty for any other text.

    An identifier is one token of four or more signs with an underscore, a digit or a capital inside, or of three or
    more capitals.

    >>> [identifier_of(text) for text in ("`DocumentRoot`", "E-104?", "WAL", "pump", "The WAL")]
    ['DocumentRoot', 'E-104', 'WAL', '', '']
    """
    if len(text) > 2 * MAX_IDENTIFIER_CHARS:
        return ""
    token = _plain(text).strip().strip(_MARKS_AROUND).strip()
    return token if _ONE_TOKEN.fullmatch(token) and is_identifier(token) else ""


def is_identifier(token: str) -> bool:
    """Return whether a word without white space is a code, a name of code or an acronym."""
    if not 3 <= len(token) <= MAX_IDENTIFIER_CHARS:
        return False
    if token.isalpha() and token.isupper():
        return True
    return len(token) > 3 and bool("_" in token or re.search("[0-9]", token) or _INNER_CAPITAL.search(token))


class LiteralSearch:
    """Tells which texts have an identifier as it is written, and not within a longer one.

    Letters may be large or small, but not those of an acronym: WHO is not in *who*.

    >>> [LiteralSearch("E-104").is_in(text) for text in ("Fault E-104: empty", "fault e‑104", "E-1045", "SE-104")]
    [True, True, False, False]
    """

    def __init__(self, identifier: str) -> None:
        flags = re.NOFLAG if identifier.isalpha() and identifier.isupper() else re.IGNORECASE
        self._pattern = re.compile(f"(?<![A-Za-z0-9_]){re.escape(identifier)}(?![A-Za-z0-9_])", flags)

    def is_in(self, text: str) -> bool:
        """Return whether the text has the identifier."""
        return self._pattern.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return normalize(text).translate(_DASHES)
