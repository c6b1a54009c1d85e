"""What somebody has typed: it is theirs, outlives what happens to the page, and reaches the server with a new token."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect

from braid.core.accounts.accounts import Accounts
from braid.core.errors import InvalidInputError
from tests.browser.test_chat_page import Chat, answered, ask, chat, chat_site, open_chat
from tests.web import PASSWORD

__all__ = ["chat", "chat_site", "open_chat"]

pytestmark = pytest.mark.browser

DRAFT = "How long is the warranty of the pump"
BOB = "bob"


def bob(chat: Chat) -> str:
    with suppress(InvalidInputError):  # an earlier test has added him
        Accounts(chat.braid.ledger).add(BOB, PASSWORD)
    return BOB


def sign_in(page: Page, name: str) -> None:
    page.locator("[name=name]").fill(name)
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/chat"))


def ann(chat: Chat) -> str:
    return chat.braid.ledger.users()[0].name


def test_a_draft_is_of_its_conversation_and_survives_a_reload(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    here = page.url
    box = page.locator("#text")
    expect(box).to_have_value("")
    box.press_sequentially(DRAFT)
    page.reload()
    expect(box).to_have_value(DRAFT)
    page.get_by_role("link", name="New conversation").click()
    page.wait_for_url("**/chat")
    expect(box).to_have_value("")
    box.fill("another one")
    page.goto(here)
    expect(box).to_have_value(DRAFT)
    box.press("Enter")
    answered(page, 2)
    page.reload()
    expect(box).to_have_value("")
    page.goto(here.rpartition("/")[0])
    expect(box).to_have_value("another one")


def test_a_question_that_was_not_stored_is_there_after_a_reload(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    page.route("**/chat/messages", lambda route: route.fulfill(status=503))
    ask(page, DRAFT)
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    page.reload()
    expect(page.locator("#text")).to_have_value(DRAFT)


def test_nobody_else_sees_what_was_typed(open_chat: Callable[..., Page], chat: Chat) -> None:
    name = bob(chat)
    page = open_chat()
    page.wait_for_load_state("networkidle")  # a late response would set the cookie again
    page.context.clear_cookies(name="braid_session")
    ask(page, DRAFT)
    page.get_by_role("link", name="Sign in again").click()
    sign_in(page, name)
    expect(page.locator("#text")).to_have_value("")
    assert DRAFT not in page.content()
    page.locator("#me-button").click()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, ann(chat))
    expect(page.locator("#text")).to_have_value(DRAFT)


def test_a_form_of_an_earlier_session_is_sent_with_a_new_token(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("#me-button").click()
    other.get_by_role("button", name="Sign out").click()
    sign_in(other, ann(chat))
    ask(page, "And what about the weights?")
    answered(page, 2)
    page.locator("#attach-files").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Some text."})
    expect(page.locator("#listed")).to_contain_text("a.txt")
    page.locator(".turn").last.get_by_role("button", name="This answer is helpful").click()
    expect(page.locator("#announcer")).to_have_text("Thanks for the feedback.")


def test_a_form_of_somebody_else_gives_its_text_back(open_chat: Callable[..., Page], chat: Chat) -> None:
    name = bob(chat)
    page = open_chat()
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("#me-button").click()
    other.get_by_role("button", name="Sign out").click()
    sign_in(other, name)
    ask(page, DRAFT)
    expect(page.locator("#refused")).to_contain_text("This page is of an earlier session.")
    expect(page.locator("#text")).to_have_value(DRAFT)
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_role("link", name="Reload the page").click()
    expect(page.locator("#text")).to_have_value("")


def test_a_conversation_that_is_gone_leads_to_a_new_one(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    with chat.braid.ledger.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM conversations")
    ask(page, DRAFT)
    page.get_by_role("link", name="Ask it in a new conversation").click()
    expect(page.locator("#text")).to_have_value(DRAFT)
    page.locator("#text").press("Enter")
    answered(page)
