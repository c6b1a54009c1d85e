"""Reasons of failures in the language of the page. Core writes them in English and the ledger stores them so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from flask_babel import get_locale
from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.words.reason_texts import LABELS, TEMPLATES
from braid.app.words.values import model_name

MAX_REASON_CHARS = 2000
"""Longer ones are shown as they are."""

_LABEL_PARTS = ("what", "other", "advice")
_PART = re.compile(r"%\((\w+)\)s")
_FIRST_WORD = re.compile(r"(?:a|[a-z]{2,})(?= )")
_Parts = tuple[tuple[str, str], ...]


def translated(reason: str) -> str | None:
    """Return the reason in the language of the request; None for one that is not known."""
    found = _recognize(reason)
    return _translate(TEMPLATES[found[0]], found[1]) if found else None


def reason_html(reason: str) -> Markup:
    """Return the reason for a page, marked as English where it cannot be translated; Markup is in words already."""
    if isinstance(reason, Markup):
        return reason
    text = translated(reason)
    if text is not None:
        return Markup.escape(_begun(text, reason))
    locale = get_locale()
    if locale is None or locale.language == "en":
        return Markup.escape(_begun(reason))
    return Markup('<span lang="en">{}</span>').format(_begun(reason))


def sentence(text: object) -> str:
    """Return a problem that a page begins with: in the language of the page already, or as core writes it."""
    written = str(text)
    known = translated(written)
    return _begun(written) if known is None else _begun(known, written)


def _begun(text: str, reason: str = "") -> str:
    """Return a sentence that begins with a capital, unless it begins with a name, such as a file's."""
    found = _recognize(reason) if reason else None
    is_name = _PART.match(TEMPLATES[found[0]]) if found else not _FIRST_WORD.match(text)
    return text if is_name else text[:1].upper() + text[1:]


def folded(reason: str) -> tuple[str, str]:
    """Return a reason without the words of another program, which are technical, and these; either may be empty."""
    text = translated(reason)
    if text is None:
        return "", reason
    technical, locale = _technical(reason), get_locale()
    language = locale.language if locale else "en"
    stop = "。" if language == "ja" else "."
    for mark in (": ", "：") if technical else ():
        text = text.replace(f"{mark}{technical}", "" if language == "en" else stop)
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "。")) else f"{text}{stop}", technical


def _technical(reason: str) -> str:
    found = _recognize(reason)
    parts = dict(found[1]) if found else {}
    return _technical(parts["reason"]) if "reason" in parts else parts.get("error", "")


def _translate(text: str, parts: _Parts) -> str:
    translated: str = _(text, **{name: _translated_part(name, value) for name, value in parts})
    return translated


def _translated_part(name: str, value: str) -> str:
    if name == "reason":
        return translated(value) or value
    if name == "model":
        return model_name(value)
    if name in _LABEL_PARTS and (label := match(LABELS, value)):
        return _translate(*label)
    return value


@lru_cache(maxsize=1000)
def _recognize(reason: str) -> tuple[str, _Parts] | None:
    """Return the template that the reason was made of, and the values of its parts."""
    return match(TEMPLATES, reason) if len(reason) <= MAX_REASON_CHARS else None


def match(templates: Iterable[str], text: str) -> tuple[str, _Parts] | None:
    """Return the first template that the text was made of, and the values of its parts."""
    for template in templates:
        found = _pattern(template).fullmatch(text)
        if found and all(match(LABELS, value) for name, value in found.groupdict().items() if name in _LABEL_PARTS):
            return template, tuple(found.groupdict().items())
    return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pieces = _PART.split(template)
    fixed = [re.escape(piece) for piece in pieces[::2]]
    named = [f"(?P<{name}>.+?)" for name in pieces[1::2]]
    return re.compile("".join(a + b for a, b in zip(fixed, [*named, ""], strict=True)), re.DOTALL)
