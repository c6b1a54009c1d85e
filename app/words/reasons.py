"""Reasons of failures in the language of the page: core gives their templates and parts, and an English sentence."""

from __future__ import annotations

import re

from flask_babel import get_locale, get_translations
from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.words.filled import fill
from braid.app.words.page_texts import PAGE_TEXTS
from braid.app.words.stored_sentences import recognized
from braid.app.words.values import model_name
from braid.core.errors import Reason

_PART = re.compile(r"%\((\w+)\)s")
_BEFORE_SENTENCE = re.compile(r"%\(reason\)s[\s%\w]")
_FIRST_WORD = re.compile(r"(?:a|[a-z]{2,})(?= )")


def translated(reason: str) -> str | None:
    """Return the reason in the language of the request; None for one that is not known."""
    known = known_reason(reason)
    return _translated(known) if known is not None else None


def known_reason(reason: str) -> Reason | None:
    """Return the reason with its parts, also of a sentence that was stored before these were; None without any."""
    return reason if isinstance(reason, Reason) else recognized(reason)


def reason_html(reason: str, of: str = "") -> Markup:
    """Return the reason for a page, marked as English where it cannot be translated; Markup is in words already.

    Below the name ``of`` a file, a whole sentence about "this file".
    """
    if isinstance(reason, Markup):
        return reason
    known = known_reason(reason) if of else None
    if known is not None and known.parts.get("name") in (of, of.rpartition("/")[2]):
        this = _("this file")
        text = _translated(Reason(known.template, **{**known.parts, "name": this}))
        if text is not None:
            text = re.sub(f"{re.escape(this)} (?=[ぁ-ん])", this, text)  # a blank is for names in Latin letters
            return Markup.escape(_stopped(text[:1].upper() + text[1:]))
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
    known = known_reason(reason) if reason else None
    is_name = _PART.match(known.template) if known else not _FIRST_WORD.match(text)
    return text if is_name else text[:1].upper() + text[1:]


def folded(reason: str) -> tuple[str, str]:
    """Return a reason without the words of another program, which are technical, and these; either may be empty."""
    text = translated(reason)
    if text is None:
        return "", reason
    technical, locale = _technical(known_reason(reason)), get_locale()
    language = locale.language if locale else "en"
    stop = "。" if language == "ja" else "."
    for mark in (": ", "：") if technical else ():
        text = text.replace(f"{mark}{technical}", "" if language == "en" else stop)
    return _stopped(text[:1].upper() + text[1:]), technical


def _stopped(text: str) -> str:
    locale = get_locale()
    stop = "。" if locale is not None and locale.language == "ja" else "."
    return text if text.endswith((".", "。")) else f"{text}{stop}"


def _technical(reason: Reason | None) -> str:
    parts = reason.parts if reason is not None else {}
    return _technical(known_reason(parts["reason"])) if "reason" in parts else parts.get("error", "")


def _translated(reason: Reason) -> str | None:
    """Return the page's text with its parts; None where the catalog has none, as for a template of another program."""
    template = PAGE_TEXTS.get(reason.template, reason.template)
    locale = get_locale()
    text = template if locale is None else get_translations().ugettext(template)
    if text is template and not (locale is None or locale.language == "en"):
        return None
    parts = {name: _translated_part(name, value) for name, value in reason.parts.items()}
    if _BEFORE_SENTENCE.match(text) and not parts["reason"].endswith((".", "。", ")", "）")):
        parts["reason"] += "。" if locale is not None and locale.language == "ja" else "."  # a sentence follows
    return str(Reason(template, **parts)) if text is template else fill(text, parts)


def _translated_part(name: str, value: str) -> str:
    if name == "model":
        return model_name(value)
    return (translated(value) if isinstance(value, Reason) else None) or value
