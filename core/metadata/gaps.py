"""Keys of metadata that say what of a file could not be read, though the rest was."""

from __future__ import annotations

PAGES_WITHOUT_TEXT = "pages_without_text"
"""Numbers of pages, such as ``2, 5``: they are scanned, or empty."""
FORMULAS_WITHOUT_VALUE = "formulas_without_value"
"""How many cells of a workbook have a formula and no value."""
ATTACHMENTS_UNREAD = "attachments_unread"
"""Attachments of a mail, and why, with semicolons."""

PAGES_TO_READ = "pages_to_read"
"""How many pages are pictures that no machine has read yet: a number."""
SCANNED_PAGES = "scanned_pages"
"""Numbers of the pages whose text a machine reads, or has read: ``2, 5``. No gap, but to be told."""
SCAN_CONFIDENCE = "scan_confidence"
"""How sure the machine is of their text: a number, 0–1."""

GAPS = (PAGES_WITHOUT_TEXT, PAGES_TO_READ, FORMULAS_WITHOUT_VALUE, ATTACHMENTS_UNREAD)
