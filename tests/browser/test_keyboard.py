"""By keyboard alone: pick a dataset, ask, ask again, read a source; the focus always shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

MOST_STOPS = 40


def go_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press the key until the focus is on what the selector says, and see that this shows."""
    for _ in range(MOST_STOPS):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            ring = page.evaluate(
                "(e => e.matches(':focus-visible') && [e, e.closest('label')].some("
                "one => one && getComputedStyle(one).outlineStyle !== 'none'))(document.activeElement)"
            )
            assert ring, f"nothing shows that {selector} has the focus"
            return
        page.keyboard.press(key)
    raise AssertionError(f"{selector} was not reached by {MOST_STOPS} × {key}")


def test_pick_a_dataset_ask_ask_again_and_read_a_source(open_page: Callable[..., Page], site: Site) -> None:
    page = open_page("chat")
    go_to(page, "#picker-button", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#picker")).to_be_visible()
    go_to(page, "#filter")
    page.keyboard.type("guide")
    page.keyboard.press("Enter")
    expect(page.locator("#picker")).to_be_hidden()
    expect(page.locator("#chips")).to_contain_text("Braid guide")

    go_to(page, "#text")
    page.keyboard.type("How are the two rankings fused?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)
    expect(page.locator(".source .chip").first).to_have_text("Braid guide")

    go_to(page, ".again", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".answer .variant-number")).to_have_text("2/2")
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)
    page.keyboard.press("/")
    go_to(page, "#text")
    go_to(page, ".prose a.cite", "Shift+Tab")
    expect(page.locator("#preview")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('scroll'))")  # as where the focus brings the citation into view
    assert page.locator("#preview").is_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#cited").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".prose a.cite").first).to_be_focused()


def test_every_place_is_reached_by_the_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page("search", viewport={"width": 1280, "height": 800})
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    places = page.locator(".places a").count()
    for number in range(places):
        go_to(page, f".places a:nth-child({number + 1})")
    go_to(page, "#me-button")
    page.keyboard.press("Enter")
    go_to(page, "#languages a:last-child")
    go_to(page, "#me form button")
    assert places == 5
