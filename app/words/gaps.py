"""What of a document could not be read, though the rest was, in the language of the page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.auth.identity import signed_in
from braid.app.site import site
from braid.app.words.reasons import known_reason
from braid.app.words.values import sentences
from braid.core.background.scan_jobs import OFF
from braid.core.metadata.gaps import (
    ATTACHMENTS_UNREAD,
    FORMULAS_WITHOUT_VALUE,
    GAP_NOTE,
    GARBLED_PAGES,
    PAGES_TO_READ,
    PAGES_WITHOUT_TEXT,
    concerns,
    listed_pages,
    text_of,
)


def gaps(metadata: Mapping[str, object]) -> list[str]:
    """Return a sentence for each kind of gap that the document's metadata names."""
    found = []
    if pages := text_of(metadata, PAGES_WITHOUT_TEXT):
        found.append(_pages(pages, text_of(metadata, "pages")))
    if pages := text_of(metadata, GARBLED_PAGES):
        found.append(_garbled(pages, text_of(metadata, "pages")))
    if waiting := _number(metadata, PAGES_TO_READ):
        found.append(_waiting(waiting, site().background.scans.remedy))
    formulas = text_of(metadata, FORMULAS_WITHOUT_VALUE)
    if formulas.isdecimal():
        count = int(formulas)
        told = ngettext(
            "%(num)s formula has no stored value: open the file, save it, and add it again.",
            "%(num)s formulas have no stored value: open the file, save it, and add it again.",
            count,
        )
        found.append(told)
    if names := text_of(metadata, ATTACHMENTS_UNREAD):
        found.append(_("Attachments that were not read: %(names)s", names=names))
    return found


def gaps_of_notes(notes: Iterable[str], cited: Mapping[str, Collection[int]]) -> list[str]:
    """Return those of an answer's notes that tell of gaps which concern it; ``cited`` are its pages by document."""
    known = [(note, known_reason(note)) for note in notes]
    return [
        note
        for note, reason in known
        if reason and reason.template == GAP_NOTE and concerns(reason.parts["gap"], cited.get(reason.parts["name"], ()))
    ]


def _pages(pages: str, total: str) -> str:
    listed = listed_pages(pages, total)
    if listed is None:
        return str(_("Many pages have no text, so nothing on them is found. They may be scanned."))
    count, numbers = listed
    told = ngettext(
        "%(num)s of %(total)s pages has no text (%(pages)s), so nothing on it is found. It may be scanned.",
        "%(num)s of %(total)s pages have no text (%(pages)s), so nothing on them is found. They may be scanned.",
        count,
        total=total,
        pages=numbers,
    )
    return str(told)


def _garbled(pages: str, total: str) -> str:
    listed = listed_pages(pages, total)
    if listed is None:
        return str(_("Many pages have letters without meaning, so little on them is found."))
    count, numbers = listed
    told = ngettext(
        "%(num)s of %(total)s pages has letters without meaning (%(pages)s), so little on it is found: its fonts do "
        "not say which letters they draw.",
        "%(num)s of %(total)s pages have letters without meaning (%(pages)s), so little on them is found: their fonts "
        "do not say which letters they draw.",
        count,
        total=total,
        pages=numbers,
    )
    return str(told)


def _waiting(pages: int, remedy: str) -> str:
    told = ngettext(
        "Text recognition (OCR) is pending for %(num)s scanned page.",
        "Text recognition (OCR) is pending for %(num)s scanned pages.",
        pages,
    )
    if not remedy:
        return str(told)
    if not ((found := signed_in()) and found.is_admin):
        why = _("An administrator can have them read.")
    elif remedy == OFF:
        why = _(
            "Reading of scanned pages is turned off on this server (setting %(setting)s).",
            setting="scan_pages_per_minute",
        )
    else:
        why = _("For that, Tesseract must be installed on the server: %(command)s", command=remedy)
    return sentences([told, why])


def _number(metadata: Mapping[str, object], key: str) -> int:
    value = metadata.get(key, 0)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0
