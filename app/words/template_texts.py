"""Translations for templates, loaded once per request: the page of a long conversation needs hundreds of texts."""

from __future__ import annotations

from babel import Locale
from babel.support import NullTranslations
from flask import Flask, g
from flask_babel import get_locale, get_translations


def keep_translations(app: Flask) -> None:
    """Let the templates of this app load the catalogue once instead of once per text. Call it after Babel is set up."""
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # of Babel's extension
        gettext=lambda text: _translations().ugettext(text),
        ngettext=lambda one, many, number: _translations().ungettext(one, many, number),
        newstyle=True,
        pgettext=lambda context, text: _translations().upgettext(context, text),
        npgettext=lambda context, one, many, number: _translations().unpgettext(context, one, many, number),
    )


def _translations() -> NullTranslations:
    """Return the translations of the current locale, which may differ from the page's while a template is rendered."""
    locale = get_locale()
    if locale is None:  # outside of requests
        return NullTranslations()
    kept: tuple[Locale, NullTranslations] | None = g.get("braid_translations")
    if kept is None or kept[0] is not locale:
        kept = g.braid_translations = (locale, get_translations())
    return kept[1]
