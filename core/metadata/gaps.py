"""Keys of metadata that say what of a file could not be read, though the rest was, and the sentences for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from braid.core.errors import N_, Reason
from braid.core.metadata.values import MAX_TEXT_CHARS

PAGES_WITHOUT_TEXT = "pages_without_text"
"""Numbers of pages, such as ``2, 5``, that show something and have no text: they are scanned, or drawings. A blank
page is none.
"""
GARBLED_PAGES = "garbled_pages"
"""Numbers of pages whose letters have no meaning, as their fonts do not say which letters they draw."""
FORMULAS_WITHOUT_VALUE = "formulas_without_value"
"""How many cells of a workbook have a formula and no value."""
ATTACHMENTS_UNREAD = "attachments_unread"
"""Attachments of a mail, and why, with semicolons; files that are embedded in a PDF document, with commas."""

PAGES_TO_READ = "pages_to_read"
"""How many pages are pictures that no machine has read yet: a number."""
SCANNED_PAGES = "scanned_pages"
"""Numbers of the pages whose text a machine reads, or has read: ``2, 5``. Not a gap; users are told."""
SCAN_CONFIDENCE = "scan_confidence"
"""How sure the machine is of their text: a number, 0–1."""

GAPS = (PAGES_WITHOUT_TEXT, GARBLED_PAGES, PAGES_TO_READ, FORMULAS_WITHOUT_VALUE, ATTACHMENTS_UNREAD)
GAP_NOTE = N_("%(name)s: %(gap)s")
"""The template of a note of an answer that says what of a cited document was not read."""
_OF_PAGES = {
    PAGES_WITHOUT_TEXT: (
        N_("%(count)s of %(total)s pages have no text (%(pages)s), so nothing on them is found"),
        N_("1 of %(total)s pages has no text (%(pages)s), so nothing on it is found"),
        N_("many pages have no text, so nothing on them is found"),
    ),
    GARBLED_PAGES: (
        N_("%(count)s of %(total)s pages have letters without meaning (%(pages)s), so little on them is found"),
        N_("1 of %(total)s pages has letters without meaning (%(pages)s), so little on it is found"),
        N_("many pages have letters without meaning, so little on them is found"),
    ),
}
"""Templates about several pages, about a single one, and about an unknown number."""
NAMED_PAGES = 10
MAX_NAME_CHARS = 200


def gap_notes(name: str, metadata: Mapping[str, object]) -> list[Reason]:
    """Return the sentences of `gap_sentences` with the name of the document, for the notes of an answer.

    >>> gap_notes("Report", {"pages": "40", "pages_without_text": "2, 5, 9"})
    ['Report: 3 of 40 pages have no text (2, 5, 9), so nothing on them is found']
    """
    return [Reason(GAP_NOTE, name=name[:MAX_NAME_CHARS], gap=each) for each in gap_sentences(metadata)]


def concerns(gap: str, pages: Collection[int]) -> bool:
    """Return whether what a document lacks may concern an answer that rests on these pages of it.

    Pages without text or of letters without meaning do where they are among them, or next to one; what names no
    pages may be anywhere, and concerns every answer, but attachments only one from a document without pages.

    >>> [concerns(gap, {13}) for gap in gap_sentences({"pages": "40", "pages_without_text": "2, 5, 14"})]
    [True]
    >>> [concerns(gap, {3}) for gap in gap_sentences({"pages_to_read": 12, "attachments_unread": "plan.dwg"})]
    [True, False]
    """
    listed = gap.parts.get("pages", "") if isinstance(gap, Reason) else ""
    if not pages or not listed:
        return not pages or not gap.startswith("attachments")
    named = {int(each) for each in listed.rstrip("…").split(", ") if each.isdecimal()}
    is_cut = listed.endswith("…") and max(pages) > max(named, default=0)  # the others are not known
    return is_cut or not named.isdisjoint(page + step for page in pages for step in (-1, 0, 1))


def gap_sentences(metadata: Mapping[str, object]) -> list[str]:
    """Return a sentence for each kind of gap that a document's metadata names: what of it was not read.

    >>> gap_sentences({"attachments_unread": "plan.dwg"})
    ['attachments that were not read: plan.dwg']
    """
    found = []
    for key, templates in _OF_PAGES.items():
        if pages := text_of(metadata, key):
            found.append(_of_pages(pages, text_of(metadata, "pages"), *templates))
    unread = metadata.get(PAGES_TO_READ)
    if isinstance(unread, int | float) and unread >= 1:
        found.append(
            Reason("1 scanned page has not been read by machine yet")
            if unread == 1
            else Reason("%(count)s scanned pages have not been read by machine yet", count=format(unread, ".0f"))
        )
    if (formulas := text_of(metadata, FORMULAS_WITHOUT_VALUE)).isdecimal():
        found.append(
            Reason("1 formula has no stored value")
            if formulas == "1"
            else Reason("%(count)s formulas have no stored value", count=formulas)
        )
    if names := text_of(metadata, ATTACHMENTS_UNREAD):
        found.append(Reason("attachments that were not read: %(names)s", names=names))
    return found


def listed_pages(pages: str, total: str) -> tuple[int, str] | None:
    """Return how many pages have no text, and the first of them; None where the list was cut, so that nobody knows."""
    if len(pages) >= MAX_TEXT_CHARS or not total.isdecimal():
        return None
    numbers = pages.split(", ")
    return len(numbers), ", ".join(numbers[:NAMED_PAGES]) + ("…" if len(numbers) > NAMED_PAGES else "")


def text_of(metadata: Mapping[str, object], key: str) -> str:
    """Return a text of the metadata; empty for one that is missing, or none."""
    value = metadata.get(key, "")
    return value.strip() if isinstance(value, str) else ""


def _of_pages(pages: str, total: str, template: str, of_one: str, of_many: str) -> str:
    """Return the sentence about these pages: by ``of_one`` about a single one, by ``of_many`` where nobody knows how
    many they are.
    """
    listed = listed_pages(pages, total)
    if listed is None:
        return Reason(of_many)
    count, numbers = listed
    if count == 1:
        return Reason(of_one, total=total, pages=numbers)
    return Reason(template, count=count, total=total, pages=numbers)
