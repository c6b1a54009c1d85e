"""Sizes of files and disks in units that one reads easily."""

from __future__ import annotations

from flask_babel import format_decimal

KIBI = 1024
UNITS = ("B", "KB", "MB", "GB", "TB")


def size(size_bytes: int) -> str:
    """Return a size in a readable unit, in the page's language."""
    value, unit = float(size_bytes), UNITS[0]
    for unit in UNITS:
        if value < KIBI or unit == UNITS[-1]:
            break
        value /= KIBI
    return f"{format_decimal(value, format='#,##0' if unit == 'B' or value >= 10 else '#,##0.#')} {unit}"
