"""Long answers, long questions, many conversations, and small keyboards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_chat_page import QUESTION, Chat, answered, ask, chat, chat_site, open_chat

__all__ = ["chat", "chat_site", "open_chat"]

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
LINES = "".join(f"Line {number}.\n\n" for number in range(120))
ANSWER = f"They are fused by rank [1].\n\n{LINES}"
MAIL = "\n".join(f"Line {number} of a mail." for number in range(60)) + "\nWhich part number do they want?"


def at_end(page: Page) -> bool:
    end: bool = page.evaluate("document.getElementById('last').getBoundingClientRect().top < innerHeight")
    return end


def test_a_button_leads_to_the_end_of_an_answer_and_follows_it(open_chat: Callable[..., Page], chat: Chat) -> None:
    chat.model.reply, chat.model.pause_after = (lambda _: ANSWER), 100
    page = open_chat()
    ask(page)
    button = page.get_by_role("button", name="To the end of the answer")
    expect(button).to_be_visible()
    assert not at_end(page), "the view stays at the question"
    button.click()
    expect(button).to_be_hidden()
    chat.model.go_on.set()
    answered(page)
    expect(page.locator(".prose")).to_contain_text("Line 119.")
    assert at_end(page)


def test_on_a_phone_the_bar_of_a_long_conversation_stays_in_view(open_chat: Callable[..., Page], chat: Chat) -> None:
    chat.model.reply = lambda _: ANSWER
    page = open_chat(viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator("#text").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).tap()
    answered(page)
    page.get_by_text("Line 119.").scroll_into_view_if_needed()
    bar = page.locator(".talk-head").bounding_box()
    assert bar
    assert bar["y"] < 60
    assert bar["height"] <= 44
    page.get_by_role("button", name="Conversations").tap()
    expect(page.get_by_role("searchbox", name="Search conversations")).to_be_in_viewport()


def test_a_long_question_is_folded_and_named_after_what_it_asks(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page, MAIL)
    answered(page)
    expect(page.locator("#chat-heading")).to_have_text("Which part number do they want?")
    question = page.locator(".question p")
    folded = question.bounding_box()
    page.get_by_role("button", name="Show the whole question").click()
    whole = question.bounding_box()
    assert folded
    assert whole
    assert whole["height"] > 4 * folded["height"]
    page.reload()
    page.get_by_role("button", name="Show the whole question").click()
    page.get_by_role("button", name="Show less").click()
    assert question.inner_text() == MAIL


def test_enter_makes_a_new_line_where_there_is_no_keyboard_with_shift(open_chat: Callable[..., Page]) -> None:
    page = open_chat(viewport=PHONE, has_touch=True, is_mobile=True)
    box = page.locator("#text")
    box.press_sequentially("one")
    page.keyboard.press("Enter")
    box.press_sequentially("two")
    expect(box).to_have_value("one\ntwo")
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_role("button", name="Ask", exact=True).click()
    answered(page)


def test_the_list_of_conversations_goes_on(open_chat: Callable[..., Page], chat: Chat) -> None:
    with chat.braid.ledger.database.write() as connection:
        for number in range(130):
            connection.exec_driver_sql(
                "INSERT INTO conversations (user_id, title, created_at, updated_at, pinned) VALUES (1, ?, ?, ?, 0)",
                (f"Talk {number}", number, number),
            )
    page = open_chat()
    expect(page.locator("#conversations li")).to_have_count(100)
    page.get_by_role("link", name="More conversations").click()
    expect(page.locator("#conversations li")).to_have_count(130)
    expect(page.get_by_role("link", name="Talk 29", exact=True)).to_be_focused()
    expect(page.get_by_role("link", name="More conversations")).to_have_count(0)
