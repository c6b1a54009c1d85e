"""Answers with odd texts: what is shown, copied and exported is one text, and nothing makes the page wider."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import overflow
from tests.browser.test_chat_page import Chat, answered, ask, chat, chat_site, open_chat

__all__ = ["chat", "chat_site", "open_chat"]

pytestmark = pytest.mark.browser

WIDE = "| " + " | ".join(f"column {n}" for n in range(14)) + " |\n|" + "---|" * 14
ODD = {
    "code": ("```python\nrow = table[0][7]\nif a < b:\n    limits = [1, 2, 3]\n```", None),
    "long code": (f"```\n{'x' * 600}\n```", None),
    "formulas": (r"Energy \(E = mc^2\), \(a <b c\), \[ \frac{a_1}{b_2} * c_1 * d \] and $x_1 * y_1$.", None),
    "brackets": ("[5, 10] mg, [2019] UKSC 5, ^[0-9]{4}$, argv[1], [::1]:8080, 【1】電源を切る。", None),
    "currency and code": ("It costs $5: use `m[1](x)`, a < b and `<a href=x>`.", None),
    "scripts": ("e\u0301 👩\u200d💻 🇯🇵 می\u200cخواهم हिन्दी \u2028 ポンプ（大）", None),
    "lists": (
        "3. three\n4. four\n\n   and more\n5. five\n\n- a\n  - b",
        "3. three\n4. four\nand more\n5. five\n- a\n- b",
    ),
    "excess cells": ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "a\tb\t\n1\t2\t3"),
    "wide table": (f"{WIDE}\n|{'a value |' * 14}", None),
    "one long word": ("z" * 900, None),
}
"""Name → what the model writes, and what is copied; None where that is the same but for marks of Markdown."""


def solid(text: str) -> str:
    """The text without spaces, fences and marks of tables and code."""
    return re.sub(r"```(?:\w+\n)?|---\||[\s|`]", "", text)


@pytest.mark.parametrize("width", [390, 1280])
def test_odd_texts_are_copied_and_exported_as_they_are_shown(
    open_chat: Callable[..., Page], chat: Chat, width: int
) -> None:
    page = open_chat(permissions=["clipboard-read", "clipboard-write"], viewport={"width": width, "height": 844})
    for number, (name, (written, copied)) in enumerate(ODD.items(), start=1):
        chat.model.reply = lambda _, written=written: f"{written}\n\nSo it is [1]."
        ask(page)
        answered(page, number)
        turn = page.locator(".turn").last
        assert overflow(page) <= 0, name
        turn.locator(".answer").get_by_role("button", name="Copy").click()
        expect(turn.get_by_role("button", name="Copied")).to_be_visible()
        text = page.evaluate("navigator.clipboard.readText()")
        text = text.partition("\n\nSources\n")[0].removesuffix("So it is [1].")
        assert solid(text) == solid(copied or written), name
        if copied is not None:
            assert [line.rstrip() for line in text.splitlines() if line.strip()] == [
                line.rstrip() for line in copied.splitlines()
            ], name
        exported = page.request.get(f"{page.url.partition('#')[0]}/export.md").text()
        assert f"\n{written}\n\nSo it is [1].\n" in exported.replace("&lt;", "<"), name
