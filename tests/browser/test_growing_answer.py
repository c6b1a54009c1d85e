"""An answer that is being written, while somebody reads and uses what is there already."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_chat_page import Chat, answered, ask, chat, chat_site, open_chat

__all__ = ["chat", "chat_site", "open_chat"]

pytestmark = pytest.mark.browser

PARAGRAPH = "They are fused by rank, which is what I want to copy"
ANSWER = f"{PARAGRAPH} [1].\n\n- one\n- two\n\n" + "".join(f"Line {number}.\n" for number in range(120))

SELECT = """() => {
  const text = document.querySelector(".prose p").firstChild;
  getSelection().setBaseAndExtent(text, 0, text, 52);
}"""
SELECTED = "getSelection().toString()"


def half(chat: Chat) -> None:
    """Let the model write the first lines, and the rest when it is told to go on."""
    chat.model.reply, chat.model.pause_after = (lambda _: ANSWER), 10


def html_of(page: Page) -> str:
    """The turn's HTML without its tokens, the sign that it is new, and the questions that come a moment later."""
    html: str = page.locator(".turn").evaluate(
        "turn => { const copy = turn.cloneNode(true);"
        " copy.querySelector('.next-questions')?.replaceChildren(); return copy.outerHTML }"
    )
    return re.sub(r' value="[^"]*"| fresh\b', "", html)


def test_what_is_selected_stays_selected_until_the_answer_has_come_and_after(
    open_chat: Callable[..., Page], chat: Chat
) -> None:
    half(chat)
    page = open_chat()
    ask(page)
    expect(page.locator(".pending .prose li")).to_have_count(2)
    page.evaluate(SELECT)
    assert page.evaluate(SELECTED) == PARAGRAPH
    chat.model.go_on.set()
    answered(page)
    expect(page.locator(".prose")).to_contain_text("Line 119.")
    assert page.evaluate(SELECTED) == PARAGRAPH
    expect(page.locator(".prose a.cite")).to_have_count(1)
    live = html_of(page)
    page.reload()
    assert html_of(page) == live
