"""Translated texts with their values: numbers with separators, and the Korean particles that go with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from babel import Locale
from babel.support import NullTranslations
from flask import g
from flask_babel import Domain, get_locale, get_translations
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from braid.app.words.particles import PARTICLE, choose

Text = TypeVar("Text", str, Markup)

NOT_COUNTED = ("id", "ids")
"""Variables whose numbers are names."""


def number(value: int) -> str:
    """Return a number with separators, as English, Japanese and Korean write it."""
    return f"{value:,}"


def fill(text: Text, variables: Mapping[str, Any]) -> Text:
    """Return the text with its variables, which are escaped in Markup. What a variable says is never changed.

    >>> fill("%(num)s passages", {"num": 2173})
    '2,173 passages'
    >>> fill("%(name)s을(를) 삭제했어요.", {"name": "보고서"})
    '보고서를 삭제했어요.'
    """
    shown = {name: _shown(name, value) for name, value in variables.items()}
    if "(" not in text or not PARTICLE.search(text):
        return text % shown
    kind, filled, start = type(text), type(text)(""), 0
    for found in PARTICLE.finditer(text):
        filled += kind(text[start : found.start()]) % shown
        before = filled.striptags() if isinstance(filled, Markup) else filled
        filled += kind(choose(found[0], before))
        start = found.end()
    return filled + kind(text[start:]) % shown


def _shown(name: str, value: object) -> object:
    is_count = isinstance(value, int) and not isinstance(value, bool) and name not in NOT_COUNTED
    return number(value) if is_count else value  # type: ignore[arg-type]


class FilledDomain(Domain):  # type: ignore[misc]  # Flask-Babel's is not typed
    """The texts of another domain, filled by `fill`."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def get_translations(self) -> Any:
        """Return the other domain's texts in the language of the request."""
        return self._domain.get_translations()

    def gettext(self, string: str, **variables: Any) -> str:
        """Return a text in the language of the request."""
        text: str = self.get_translations().ugettext(string)
        return fill(text, variables) if variables else text

    def ngettext(self, singular: str, plural: str, num: int, **variables: Any) -> str:
        """Return the text for this number of things."""
        text: str = self.get_translations().ungettext(singular, plural, num)
        return fill(text, {"num": num, **variables})

    def pgettext(self, context: str, string: str, **variables: Any) -> str:
        """Return a text that has a context."""
        text: str = self.get_translations().upgettext(context, string)
        return fill(text, variables) if variables else text

    def npgettext(self, context: str, singular: str, plural: str, num: int, **variables: Any) -> str:
        """Return the text that has a context for this number of things."""
        text: str = self.get_translations().unpgettext(context, singular, plural, num)
        return fill(text, {"num": num, **variables})


def _translations() -> NullTranslations:
    """Return the translations of the current locale, which may differ from the page's while a template is rendered."""
    locale = get_locale()
    if locale is None:  # outside of requests
        return NullTranslations()
    kept: tuple[Locale, NullTranslations] | None = g.get("braid_translations")
    if kept is None or kept[0] is not locale:
        kept = g.braid_translations = (locale, get_translations())
    return kept[1]


def _filled(context: Context, text: str, variables: Mapping[str, Any]) -> str:
    return fill(Markup(text) if context.eval_ctx.autoescape else text, variables)


@pass_context
def _gettext(context: Context, text: str, /, **variables: Any) -> str:
    return _filled(context, _translations().ugettext(text), variables)


@pass_context
def _ngettext(context: Context, one: str, many: str, number: int, /, **variables: Any) -> str:
    return _filled(context, _translations().ungettext(one, many, number), {"num": number, **variables})


@pass_context
def _pgettext(context: Context, sense: str, text: str, /, **variables: Any) -> str:
    return _filled(context, _translations().upgettext(sense, text), variables)


@pass_context
def _npgettext(context: Context, sense: str, one: str, many: str, number: int, /, **variables: Any) -> str:
    return _filled(context, _translations().unpgettext(sense, one, many, number), {"num": number, **variables})


TEXTS: Mapping[str, Callable[..., str]] = {
    "_": _gettext,
    "gettext": _gettext,
    "ngettext": _ngettext,
    "pgettext": _pgettext,
    "npgettext": _npgettext,
}
"""The functions of templates that return texts, as Jinja's extension for them calls them."""
