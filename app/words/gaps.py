"""What of a document could not be read, though the rest was, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping

from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.site import site
from braid.core.background.scan_jobs import OFF
from braid.core.metadata.gaps import (
    ATTACHMENTS_UNREAD,
    FORMULAS_WITHOUT_VALUE,
    PAGES_TO_READ,
    PAGES_WITHOUT_TEXT,
)
from braid.core.metadata.values import MAX_TEXT_CHARS

NAMED_PAGES = 10


def gaps(metadata: Mapping[str, object]) -> list[str]:
    """Return a sentence for each kind of gap that the document's metadata names."""
    found = []
    if pages := _text(metadata, PAGES_WITHOUT_TEXT):
        found.append(_pages(pages, _text(metadata, "pages")))
    if waiting := _number(metadata, PAGES_TO_READ):
        found.append(_waiting(waiting, site().background.scans.remedy))
    formulas = _text(metadata, FORMULAS_WITHOUT_VALUE)
    if formulas.isdecimal():
        count = int(formulas)
        told = ngettext(
            "%(num)s formula has no stored value: open the file, save it, and add it again.",
            "%(num)s formulas have no stored value: open the file, save it, and add it again.",
            count,
        )
        found.append(told)
    if names := _text(metadata, ATTACHMENTS_UNREAD):
        found.append(_("Attachments that were not read: %(names)s", names=names))
    return found


def _pages(pages: str, total: str) -> str:
    numbers = pages.split(", ")
    if len(pages) >= MAX_TEXT_CHARS or not total.isdecimal():  # the list was cut
        return str(_("Many pages have no text, so nothing on them is found. They may be scanned."))
    listed = ", ".join(numbers[:NAMED_PAGES]) + ("…" if len(numbers) > NAMED_PAGES else "")
    told = ngettext(
        "%(num)s of %(total)s pages has no text (%(pages)s), so nothing on it is found. It may be scanned.",
        "%(num)s of %(total)s pages have no text (%(pages)s), so nothing on them is found. They may be scanned.",
        len(numbers),
        total=total,
        pages=listed,
    )
    return str(told)


def _waiting(pages: int, remedy: str) -> str:
    told = ngettext(
        "%(num)s scanned page waits to be read by machine.", "%(num)s scanned pages wait to be read by machine.", pages
    )
    if remedy == OFF:
        return f"{told} {_('Reading is turned off by the setting scan_pages_per_minute.')}"
    if remedy:
        return f"{told} {_('For that, Tesseract must be installed on the server: %(command)s', command=remedy)}"
    return str(told)


def _number(metadata: Mapping[str, object], key: str) -> int:
    value = metadata.get(key, 0)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _text(metadata: Mapping[str, object], key: str) -> str:
    value = metadata.get(key, "")
    return value.strip() if isinstance(value, str) else ""
