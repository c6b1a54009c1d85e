"""@ in a question: documents and datasets by name, with the keyboard, also while an input method composes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_accessibility import violations

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


def options(page: Page) -> Locator:
    """What the list offers."""
    return page.locator("#mention [role=option]")


def test_a_document_is_named_and_asked(open_page: Open) -> None:
    page = open_page("chat")
    page.locator("#text").press_sequentially("What was agreed on in @search team")
    expect(options(page).first).to_contain_text("Search team, weekly meeting")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("#text")).to_have_value("What was agreed on in ")
    expect(page.locator("#about li")).to_contain_text("Search team, weekly meeting")
    expect(page.locator("#chips")).to_be_hidden()
    expect(options(page)).to_have_count(0)
    page.keyboard.press("Enter")
    asked = page.locator(".turn:not(.pending) .question .named li")
    expect(asked).to_have_text("Search team, weekly meeting notes/meeting.md · My documents")
    expect(page.locator("#about li")).to_have_count(0)
    for title in page.locator("a[data-source]").all_text_contents():
        assert title == "Search team, weekly meeting"
    page.reload()
    expect(asked).to_have_text("Search team, weekly meeting notes/meeting.md · My documents")


def test_arrows_escape_and_addresses_of_mail(open_page: Open) -> None:
    page = open_page("chat")
    page.locator("#text").press_sequentially("@")
    expect(options(page).first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(options(page)).to_have_count(0)
    expect(page.locator("#text")).to_have_value("@")
    page.locator("#text").fill("")
    page.locator("#text").press_sequentially("Write to ann@search")
    with page.expect_response(lambda response: "palette.json" in response.url):
        page.locator("#text").press_sequentially(" and @docu")
    expect(options(page).first).to_be_visible()
    page.locator("#about").evaluate("list => list.replaceChildren()")
    options(page).first.click()
    expect(page.locator("#text")).to_have_value("Write to ann@search and ")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#about li")).to_have_count(0)
    expect(page.locator("#text")).to_be_focused()


@pytest.mark.parametrize(("sign", "typed", "title"), [("＠", "検索", "検索戦略"), ("@", "검색", "검색 전략")])
def test_while_an_input_method_composes(open_page: Open, sign: str, typed: str, title: str) -> None:
    page = open_page("chat")
    page.locator("#text").focus()
    page.keyboard.insert_text(f"これは{sign}")
    keys = page.context.new_cdp_session(page)
    for end in range(1, len(typed) + 1):
        keys.send("Input.imeSetComposition", {"text": typed[:end], "selectionStart": end, "selectionEnd": end})
    expect(options(page).first).to_contain_text(title)
    page.locator("#text").dispatch_event("keydown", {"key": "Enter", "keyCode": 229, "isComposing": True})
    expect(page.locator("#about li")).to_have_count(0)  # Enter was the input method's
    keys.send("Input.insertText", {"text": typed})
    expect(options(page).first).to_contain_text(title)
    page.keyboard.press("Enter")
    expect(page.locator("#about li")).to_contain_text(title)
    expect(page.locator("#text")).to_have_value("これは")


def test_a_long_list_stays_in_the_window_above_a_box_that_stands_high(open_page: Open) -> None:
    page = open_page("chat")
    page.locator("#composer").evaluate("form => Object.assign(form.style, { position: 'fixed', top: '150px' })")
    page.locator("#text").press_sequentially("@")
    expect(options(page).first).to_be_visible()
    page.locator("#mention-list").evaluate(
        "list => list.append(...Array(9).fill(list.firstChild).map((option) => option.cloneNode(true)))"
    )
    assert page.locator("#mention").evaluate("menu => menu.getBoundingClientRect().top") >= 0
