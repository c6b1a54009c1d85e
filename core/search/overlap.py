"""Overlap: the text that a passage repeats from the end of the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from braid.core.types import Passage

MAX_SHARED = 10_000
"""The most that neighbouring passages are made to share."""
MIN_REPEATED = 12
"""A shorter beginning that is also the end of the passage before is taken for chance."""


def repeated_chars(before: Passage, passage: Passage) -> int:
    """Return how many characters the passage repeats from the one before it in their document."""
    if (before.heading_path, before.page) != (passage.heading_path, passage.page):
        return 0
    if before.line_end is not None and passage.line is not None and passage.line > before.line_end:
        return 0
    return shared_chars(before.text, passage.text[:-1], least=MIN_REPEATED)


def shared_chars(before: str, after: str, *, least: int) -> int:
    """Return how many characters end the first text and begin the second, 0 for fewer than ``least``."""
    lengths = range(min(len(before), len(after), MAX_SHARED), least - 1, -1)
    return next((length for length in lengths if before.endswith(after[:length])), 0)


def fresh(passages: Iterable[Passage]) -> Iterator[tuple[Passage, str]]:
    """Yield each passage with its text, without what it repeats from the one before it."""
    before: Passage | None = None
    for passage in passages:
        yield passage, passage.text[repeated_chars(before, passage) if before else 0 :]
        before = passage


def joined(shown: Iterable[tuple[Passage, str]]) -> str:
    """Return the text of passages that follow one another: what goes on is continued, other parts are apart."""
    parts = list(shown)
    gaps = ["" if len(text) < len(passage.text) else "\n\n" for passage, text in parts]
    return "".join(gap + text for gap, (_, text) in zip(["", *gaps[1:]], parts, strict=True)) if parts else ""
