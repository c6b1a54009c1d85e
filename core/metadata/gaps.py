"""Keys of metadata that say what of a file could not be read, though the rest was."""

from __future__ import annotations

PAGES_WITHOUT_TEXT = "pages_without_text"
"""Numbers of pages, such as ``2, 5``: they are scanned, or empty."""
FORMULAS_WITHOUT_VALUE = "formulas_without_value"
"""How many cells of a workbook have a formula and no value."""
ATTACHMENTS_UNREAD = "attachments_unread"
"""Attachments of a mail, and why, with semicolons."""

GAPS = (PAGES_WITHOUT_TEXT, FORMULAS_WITHOUT_VALUE, ATTACHMENTS_UNREAD)
