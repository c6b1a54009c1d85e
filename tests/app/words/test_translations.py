"""The catalogs: complete, up to date, and each text of the pages with one meaning."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from braid.app.user.preferences import LANGUAGES

ROOT = Path(__file__).parents[3]
APP = ROOT / "app"
TRANSLATED = sorted(set(LANGUAGES) - {"en"})
KEYWORDS = {
    "_": None,
    "_l": None,
    "gettext": None,
    "N_": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "Reason": None,
    "too_large": None,
    "unreadable": None,
    "UnsafeXMLError": None,
    "_refused": (2,),
}
Text = tuple[str | None, tuple[str, ...]]
"""A text as it is extracted: its context and its forms."""


@cache
def source_texts() -> frozenset[Text]:
    method_map, options = [], {}
    with (ROOT / "babel.cfg").open() as file:
        method_map, options = parse_mapping_cfg(file)
    found = [
        *(each[2:] for each in extract_from_dir(APP, method_map, options, keywords=KEYWORDS)),
        *(each[2:] for each in extract_from_dir(ROOT / "core", method_map, options, keywords=KEYWORDS)),
    ]
    return frozenset((context, _strings(message)) for message, _, context in found)


@cache
def catalog_of(language: str) -> Catalog:
    with (APP / "translations" / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def texts_of(language: str) -> dict[Text, tuple[str, ...]]:
    return {(m.context, _strings(m.id)): _strings(m.string) for m in catalog_of(language) if m.id}


def _strings(string: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)


@pytest.mark.parametrize("language", TRANSLATED)
def test_translation_is_complete_and_holds_nothing_else(language: str) -> None:
    catalog = catalog_of(language)
    translated = {text for text, strings in texts_of(language).items() if all(strings)}
    assert translated == source_texts()
    assert not [message.id for message in catalog if message.fuzzy and message.id]
    assert [error for message in catalog if message.id for error in message.check(catalog)] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_compiled_translation_is_up_to_date(language: str) -> None:
    with (APP / "translations" / language / "LC_MESSAGES" / "messages.mo").open("rb") as file:
        compiled = {(_decoded(m.context), _strings(m.id)): _strings(m.string) for m in read_mo(file) if m.id}
    assert compiled == texts_of(language)


def _decoded(context: str | bytes | None) -> str | None:
    return context.decode() if isinstance(context, bytes) else context  # Babel reads the context of a .mo as bytes
