"""Values in translated texts: numbers with separators, and the Korean particles that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from flask_babel import Domain
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
