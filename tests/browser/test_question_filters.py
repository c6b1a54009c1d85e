"""Filters that a question asks for, as chips above the answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, overflow

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
QUESTIONS = {
    "en-US": "What does the My documents dataset say about the weekly meeting? Look in the My documents dataset",
    "ja-JP": "My documentsデータセットで定例会の内容を教えて",
    "ko-KR": "My documents 데이터셋에서 회의 내용은?",
}


@pytest.mark.parametrize("locale", QUESTIONS)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_chip_asks_again_with_the_filter_and_without_it(open_page: Open, site: Site, locale: str, width: int) -> None:
    every = "&".join(f"d={each.id}" for each in site.braid.ledger.all_datasets() if each.conversation_id is None)
    page = open_page(f"chat?{every}", locale=locale, viewport={"width": width, "height": 844})
    page.evaluate("window.stayed = true")
    page.locator("#text").fill(QUESTIONS[locale])
    page.keyboard.press("Enter")
    chip, turns = page.locator(".read-filters li"), page.locator(".turn:not(.pending)")
    expect(chip).to_have_class("offered")  # too few passages would be left
    assert overflow(page) == 0
    chip.get_by_role("button").click()
    expect(chip).not_to_have_class("offered")
    expect(chip).to_contain_text("×")
    chip.get_by_role("button").click()
    expect(chip).to_have_class("offered")
    expect(turns).to_have_count(1)
    assert page.evaluate("window.stayed"), "without a reload"
