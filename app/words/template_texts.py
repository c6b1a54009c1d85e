"""Texts of templates: the catalogue is loaded once per request, and values are filled in by `filled.fill`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from babel import Locale
from babel.support import NullTranslations
from flask import Flask, g
from flask_babel import get_locale, get_translations
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from braid.app.words.filled import fill


def keep_translations(app: Flask) -> None:
    """Let all templates of this app have their texts from here. Call it after Babel is set up."""
    app.jinja_env.globals.update(TEXTS)


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
