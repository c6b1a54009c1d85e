"""Three fields, "why not?" and the comparison, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, overflow

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
PHONE = {"width": 360, "height": 740}
LOCALES = ["en-US", "ja-JP", "ko-KR"]


def compare_fields(page: Page) -> None:
    page.locator("#purpose").fill("fuse rankings")
    page.locator("#methods").fill("hybrid search")
    page.locator("#search button").click()
    expect(page.locator(".hit")).to_have_count(5)


def test_three_fields_show_progress_and_lead_to_a_passage_and_back(open_page: Open, picture: Picture) -> None:
    page = open_page("search/fields")
    expect(page.locator("[name=mode][value=semantic]")).to_be_checked()
    page.evaluate(
        """() => {
          window.seen = [];
          const tell = ({ addedNodes }) => window.seen.push(...[...addedNodes].map((node) => node.textContent));
          new MutationObserver((changes) => changes.forEach(tell))
            .observe(document.getElementById("announcer"), { childList: true });
        }"""
    )
    compare_fields(page)
    expect(page.get_by_role("heading", name="Comparison")).to_be_visible()
    expect(page.locator(".written")).to_contain_text("fuse rankings hybrid search")
    assert "Comparing…" in page.evaluate("window.seen")
    picture(page, "three-fields")
    page.locator(".answer a.cite").first.click()
    expect(page.locator("#cited")).to_be_in_viewport()
    page.get_by_role("link", name="Open on a separate page").click()
    page.get_by_role("link", name="Back to the search").click()
    expect(page.locator("#purpose")).to_have_value("fuse rankings")
    expect(page.locator(".hit")).to_have_count(5)


def test_three_fields_work_without_scripts(open_page: Open) -> None:
    page = open_page("search/fields", java_script_enabled=False)
    compare_fields(page)
    expect(page.get_by_role("heading", name="Comparison")).to_be_visible()


def test_an_outage_is_said_in_place(open_page: Open) -> None:
    page = open_page("search/fields")
    page.route("**/search/fields", lambda route: route.fulfill(body="", content_type="text/event-stream"))
    page.locator("#purpose").fill("anything")
    page.locator("#search button").click()
    expect(page.locator("#results")).to_contain_text("Braid is not responding.")


def test_names_of_documents_are_offered_and_the_reason_is_said(open_page: Open, picture: Picture) -> None:
    page = open_page("search?q=encrypted+pdf&d=1&mode=keyword")
    page.get_by_role("link", name="Expected another document?").click()
    page.get_by_label("Part of the missing document's name").press_sequentially("weekly", delay=20)
    expect(page.locator("#names option")).to_have_count(1)
    assert page.locator("#names option").get_attribute("value") == "notes/meeting.md"
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_have_text("The search did not reach it.")
    expect(page.locator("#explanation")).to_contain_text("it contains no word of the query")
    picture(page, "why-not")


def test_two_ways_are_compared(open_page: Open, picture: Picture) -> None:
    page = open_page("search?q=hybrid+search&d=1&d=-1")
    page.get_by_role("link", name="Compare with another method").click()
    expect(page.locator(".outcome")).to_have_count(2)
    expect(page.locator(".outcome").nth(1).locator(".move")).to_have_count(5)
    page.locator(".methods > summary").click()
    second = page.locator("fieldset.side").nth(1)
    second.get_by_label("How to search").select_option("hybrid")
    second.get_by_label("Ranking fusion").select_option("weighted")
    slider = second.get_by_role("slider", name="Balance")
    slider.fill("0.2")
    expect(second.locator("output")).to_have_text("20% meaning, 80% keywords")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**b_alpha=0.2*")
    expect(page.get_by_role("heading", level=1)).to_contain_text("in both results")
    picture(page, "compare")


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("options", "search?q=hybrid+search&d=1&d=-1&kind=text&fusion=weighted&from=2020-01-01"),
        ("fields", "search/fields?purpose=fuse+rankings&d=1&d=-1"),
        ("compare", "search/compare?q=hybrid+search&d=1&d=-1"),
        ("why", "search/why-not?q=hybrid+search&d=1&name=weekly"),
    ],
)
def test_phone_needs_no_sideways_scrolling(
    open_page: Open, picture: Picture, locale: str, name: str, path: str
) -> None:
    page = open_page(path, locale=locale, viewport=PHONE, has_touch=True)
    rows = page.locator(".ways a").evaluate_all("tabs => new Set(tabs.map((tab) => tab.offsetTop)).size")
    assert rows <= 1, "the tabs stand in one row; a reason has none"
    if name == "fields":
        expect(page.locator(".hit").first).to_be_visible()
    assert overflow(page) == 0
    picture(page, f"phone-{name}-{locale[:2]}")


def test_preferences_that_change_win_over_what_the_browser_remembers(open_page: Open, site: Site) -> None:
    page = open_page()
    page.get_by_text("Exact words").click()
    page.goto(site.url + "search")
    expect(page.locator("[name=mode][value=keyword]")).to_be_checked()
    accounts = site.app.extensions["braid"].accounts
    accounts.set_preferences(1, {"mode": "semantic"})
    try:
        page.goto(site.url + "search")
        expect(page.locator("[name=mode][value=semantic]")).to_be_checked()
    finally:
        accounts.set_preferences(1, {"mode": None})
