"""What people do on the pages, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from braid.core.types import ChunkInput, DocumentInput
from tests.browser.conftest import Site, overflow
from tests.worlds import WAIT_S

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
PHONE = {"width": 360, "height": 740}


def search(page: Page, query: str) -> None:
    page.get_by_role("searchbox").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_url("**q=*")
    expect(page.locator("body")).not_to_have_class("loading")


def legs_of_first_hit(page: Page) -> list[str]:
    return [leg.inner_text() for leg in page.locator(".hit").first.locator(".leg").all()]


def test_first_visit(open_page: Open, picture: Picture) -> None:
    page = open_page()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ask, and see where the answer is")
    picture(page, "first-visit")
    page.locator(".examples a").first.click()
    expect(page.locator(".hit").first.locator("mark").first).to_be_visible()


@pytest.mark.parametrize("locale", ["en-US", "ja-JP", "ko-KR"])
def test_the_first_passage_is_seen_at_once_on_a_phone(open_page: Open, locale: str) -> None:
    page = open_page(locale=locale, viewport={"width": 390, "height": 844})
    search(page, "rank")
    hit = page.locator(".hit").first.locator(":is(h2, h3)").first
    expect(hit).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0
    assert overflow(page) == 0
    sizes = page.locator("#search :is(input[type=search], .query button)").all()
    tops = [box["y"] for each in sizes if (box := each.bounding_box())]
    assert max(tops) - min(tops) < 2  # the button is beside the field


@pytest.mark.parametrize("path", ["search", "settings"])
def test_a_choice_stands_above_what_it_means(open_page: Open, path: str) -> None:
    page = open_page(path)
    for choice in page.locator(".modes .choice").all():
        name, what = choice.locator(".name").bounding_box(), choice.locator(".what").bounding_box()
        assert name
        assert what
        assert 0 <= what["y"] - (name["y"] + name["height"]) < 6


@pytest.mark.parametrize(
    ("locale", "query", "marked", "title"),
    [
        ("en-US", "What did we agree at the weekly meeting?", "agreed", "Search team, weekly meeting"),
        ("ja-JP", "ハイブリッド検索の融合方法", "ハイブリッド検索", "検索チーム定例会"),
        ("ko-KR", "하이브리드 검색 순위 융합", "하이브리드", "검색 팀 회의"),
    ],
)
def test_search_in_three_languages_without_a_reload(
    open_page: Open, picture: Picture, locale: str, query: str, marked: str, title: str
) -> None:
    page = open_page(locale=locale)
    page.evaluate("window.stayed = true")
    search(page, query)
    expect(page.locator(".hit")).to_have_count(5)
    expect(page.locator(".hit", has_text=title).locator("mark").first).to_contain_text(marked)
    expect(page.locator("#announcer")).not_to_be_empty()
    assert page.evaluate("window.stayed")
    picture(page, f"results-{locale[:2]}")


def test_mode_switch_searches_again(open_page: Open) -> None:
    page = open_page()
    search(page, "hybrid search")
    assert len(legs_of_first_hit(page)) == 2
    page.locator("label[for=mode-keyword]").click()
    page.wait_for_url("**mode=keyword*")
    expect(page.locator(".hit").first.locator(".leg")).to_have_text(["Keywords"])
    expect(page.locator("[name=mode][value=keyword]")).to_be_checked()


def test_balance_appears_only_when_it_counts(open_page: Open, picture: Picture) -> None:
    page = open_page()
    search(page, "hybrid search")
    page.locator("#options summary").click()
    balance = page.get_by_role("slider", name="Balance")
    expect(balance).to_be_hidden()
    page.get_by_text("By score").click()
    expect(balance).to_be_visible()
    balance.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**alpha=0.65*")
    expect(page.locator("output[for=alpha]")).to_have_text("65% meaning, 35% keywords")
    picture(page, "balance")
    page.locator("label[for=mode-semantic]").click()
    expect(balance).to_be_hidden()
    page.wait_for_url("**mode=semantic*")
    assert "alpha" not in page.url


def test_keyboard_alone_reaches_the_passage_in_its_document(open_page: Open, picture: Picture) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("encrypted pdf")
    page.keyboard.press("Enter")
    first = page.locator(".hit h2 a").first
    expect(first).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if first.evaluate("link => link === document.activeElement"):
            break
    expect(first).to_be_focused()
    assert first.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    cited = page.locator("#cited")
    expect(cited).to_be_in_viewport()
    expect(page.locator("#panel mark b").first).to_be_visible()
    picture(page, "document")
    page.keyboard.press("Escape")
    expect(first).to_be_focused()


def test_further_hits_come_in_place_and_the_focus_goes_on_with_them(open_page: Open) -> None:
    page = open_page()
    page.evaluate("window.stayed = true")
    search(page, "hybrid search")
    page.get_by_role("link", name="Show more").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#hit-6 a").first).to_be_focused()
    expect(page.locator(".hit")).to_have_count(15)
    expect(page.locator("#announcer")).to_contain_text("15 passages, the best of")
    assert page.evaluate("window.stayed")
    assert "more=10" in page.url
    page.reload()
    expect(page.locator(".hit")).to_have_count(15)


@pytest.mark.parametrize("locale", ["en-US", "ja-JP", "ko-KR"])
def test_phone_needs_no_sideways_scrolling(open_page: Open, picture: Picture, locale: str) -> None:
    page = open_page(locale=locale, viewport=PHONE, has_touch=True)
    assert overflow(page) == 0
    picture(page, f"phone-first-{locale[:2]}")
    search(page, "hybrid 検索 검색")
    expect(page.locator(".hit").first).to_be_visible()
    assert overflow(page) == 0
    picture(page, f"phone-results-{locale[:2]}")
    page.locator(".hit h2 a").first.click()
    expect(page.locator("#cited")).to_be_in_viewport()
    assert overflow(page) == 0


def test_language_switch_keeps_the_search_and_stays(open_page: Open, site: Site) -> None:
    page = open_page()
    search(page, "hybrid search")
    page.locator("#me-button").click()
    page.get_by_role("link", name="日本語").click()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.get_by_role("searchbox")).to_have_value("hybrid search")
    page.goto(site.url + "search")
    expect(page.get_by_role("button", name="検索")).to_be_visible()


def test_choices_are_remembered(open_page: Open, site: Site) -> None:
    page = open_page()
    page.get_by_role("checkbox", name="Braid guide").uncheck()
    page.get_by_text("Exact words").click()
    page.goto(site.url + "search")
    expect(page.get_by_role("checkbox", name="Braid guide")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="My documents")).to_be_checked()
    expect(page.locator("[name=mode][value=keyword]")).to_be_checked()


def test_back_button_returns_to_the_search_before(open_page: Open) -> None:
    page = open_page()
    search(page, "hybrid search")
    search(page, "encrypted pdf")
    page.wait_for_url("**encrypted*")
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("hybrid search")


def test_missing_leg_is_said(open_page: Open, picture: Picture, site: Site) -> None:
    site.embeddings.failing = True
    try:
        page = open_page("search?q=hybrid+search&d=1&d=-1&d=-77")
    finally:
        site.embeddings.failing = False
    expect(page.locator(".notice").first).to_contain_text("Search by meaning is incomplete.")
    expect(page.locator(".notice").nth(1)).to_contain_text("Dataset -77 was skipped")
    expect(page.locator(".hit")).to_have_count(5)
    picture(page, "degraded")


def test_error_is_shown_in_place(open_page: Open, picture: Picture) -> None:
    page = open_page()
    search(page, "hybrid search")
    page.locator("#options summary").click()
    page.locator("#search").evaluate("form => { form.noValidate = true }")
    page.route("**/search?*", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.get_by_label("Number of passages", exact=True).fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_contain_text("must be a whole number from 1 to 1000")
    picture(page, "error")
    expect(page.get_by_role("searchbox")).to_have_value("hybrid search")


def test_works_without_javascript(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    page.get_by_role("searchbox").fill("hybrid search")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hit")).to_have_count(5)


def test_dark_scheme(open_page: Open, picture: Picture) -> None:
    page = open_page("search?q=hybrid+search&d=1&d=-1", color_scheme="dark")
    picture(page, "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 21, 27)"


def test_indexing_progress_is_live(open_page: Open, picture: Picture, site: Site) -> None:
    page = open_page()
    page.clock.install()
    page.reload()  # its timers are the clock's
    expect(page.locator("#status")).to_contain_text("Ready:")
    site.embeddings.delay_s = WAIT_S
    chunks = tuple(ChunkInput(f"temporary passage {n}") for n in range(96))
    site.braid.ledger.put_document(1, DocumentInput("temporary.md", "Temporary", "md", chunks))
    page.clock.fast_forward(60_000)  # longer than between any two looks
    expect(page.locator("#status")).to_contain_text("Search by keyword is ready.")
    picture(page, "indexing")
    site.embeddings.delay_s = 0.0
    expect(page.locator("#status")).to_contain_text("Ready:")
    site.braid.ledger.remove_document(1, "temporary.md")
    assert site.braid.indexer.wait(WAIT_S)  # no other test finds it
