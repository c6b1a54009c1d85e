"""What the next page says was done, with a button that undoes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import flash


def flash_undo(text: str, url: str, act: str, ids: Sequence[int]) -> None:
    """Say this on the next page, beside a button that posts ``act`` and the ids, as ``c``, to the address."""
    message: Any = {"text": text, "url": url, "act": act, "ids": list(ids)}
    flash(message, "undo")
