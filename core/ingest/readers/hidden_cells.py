"""Rows and columns of a sheet that are hidden: how many there are, for the metadata of a workbook."""

from __future__ import annotations


class HiddenCounts:
    """Counts hidden rows and columns that have something in them, sheet by sheet."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._columns: list[str] = []

    def add(self, sheet: str, rows: int, columns: int) -> None:
        """Add the counts of a sheet."""
        self._rows += [f"{rows} of {sheet}"] if rows else []
        self._columns += [f"{columns} of {sheet}"] if columns else []

    def metadata(self) -> dict[str, str]:
        """Return what is hidden: ``3 of Sales, 1 of Stock``; an empty text where nothing is."""
        return {"hidden_rows": ", ".join(self._rows), "hidden_columns": ", ".join(self._columns)}
