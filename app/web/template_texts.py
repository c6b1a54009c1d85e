"""Translations for templates, looked up once a request: the page of a long conversation asks for hundreds of texts."""

from __future__ import annotations

from babel import Locale
from babel.support import NullTranslations
from flask import Flask, g
from flask_babel import get_locale, get_translations


def keep_translations(app: Flask) -> None:
    """Let the templates of this app ask for the catalogue once, not for each text. Call it after Babel is set up."""
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # of Babel's extension
        gettext=lambda text: _translations().ugettext(text),
        ngettext=lambda one, many, number: _translations().ungettext(one, many, number),
        newstyle=True,
    )


def _translations() -> NullTranslations:
    """Those of the language that holds now: a template may be rendered in another one than the page."""
    locale = get_locale()
    if locale is None:  # outside of requests
        return NullTranslations()
    kept: tuple[Locale, NullTranslations] | None = g.get("braid_translations")
    if kept is None or kept[0] is not locale:
        kept = g.braid_translations = (locale, get_translations())
    return kept[1]
