"""Overlap: the text that a passage repeats from the end of the one before it."""

from __future__ import annotations

from braid.core.types import Passage

MIN_REPEATED = 12
"""A shorter beginning that is also the end of the passage before is taken for chance."""


def repeated_chars(before: Passage, passage: Passage) -> int:
    """Return how many characters the passage repeats from the one before it in their document."""
    if (before.heading_path, before.page) != (passage.heading_path, passage.page):
        return 0
    if before.line_end is not None and passage.line is not None and passage.line > before.line_end:
        return 0
    longest = min(len(before.text), len(passage.text) - 1)
    lengths = range(longest, MIN_REPEATED - 1, -1)
    return next((length for length in lengths if before.text.endswith(passage.text[:length])), 0)
