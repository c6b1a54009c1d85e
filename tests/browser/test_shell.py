"""The shell and the lists as docs/design.md has them: rail, bottom bar, rows, what shows when it is pointed at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

WIDE, MIDDLE, PHONE = {"width": 1280, "height": 800}, {"width": 1000, "height": 800}, {"width": 390, "height": 844}


def box(page: Page, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).bounding_box()
    return found


@pytest.mark.parametrize("path", ["chat", "search", "datasets", "settings", "admin/"])
def test_the_places_are_at_the_side_at_the_top_or_at_the_bottom(open_page: Callable[..., Page], path: str) -> None:
    page = open_page(path, viewport=WIDE)
    rail, main = box(page, ".top"), box(page, "main")
    assert (rail["x"], rail["y"], rail["height"]) == (0, 0, 800)
    assert rail["width"] <= main["x"]
    page.set_viewport_size(MIDDLE)
    bar = box(page, ".top")
    assert (bar["x"], bar["y"], bar["width"]) == (0, 0, 1000)
    assert bar["height"] <= 60
    page.set_viewport_size(PHONE)
    places = box(page, ".places")
    assert places["y"] + places["height"] == 844
    assert places["width"] == 390
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert box(page, ".places") == places
    page.locator("#me-button").click()
    expect(page.locator("#languages a").last).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("datasets", "table tbody tr:not(:has(br))"),
        ("datasets/1", ".documents tbody tr"),
        ("admin/", ".rows li"),
        ("chat", ".conversations li"),
    ],
)
def test_rows_are_compact(open_page: Callable[..., Page], path: str, rows: str) -> None:
    page = open_page("chat", viewport=WIDE)
    page.locator("#text").fill("How are the rankings fused?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)
    page.goto(page.url.partition("/chat")[0] + "/" + path)
    heights = [row.bounding_box()["height"] for row in page.locator(rows).all()]
    assert heights
    assert all(32 <= height <= 37 for height in heights), heights


def test_thumbs_of_a_source_show_when_it_is_pointed_at_or_has_the_focus(open_page: Callable[..., Page]) -> None:
    page = open_page("chat", viewport=WIDE)
    page.locator("#text").fill("How are the rankings fused?")
    page.keyboard.press("Enter")
    source = page.locator(".source").first
    thumb = source.locator(".thumb").first
    expect(thumb).to_have_css("opacity", "0")
    expect(page.locator(".acts .thumb").first).to_have_css("opacity", "1")
    source.hover()
    expect(thumb).to_have_css("opacity", "1")
    page.mouse.move(0, 0)
    expect(thumb).to_have_css("opacity", "0")
    thumb.focus()
    expect(thumb).to_have_css("opacity", "1")


def test_paper_has_the_answer_and_nothing_to_press(open_page: Callable[..., Page]) -> None:
    page = open_page("chat", viewport=WIDE)
    page.locator("#text").fill("How are the rankings fused?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)
    page.emulate_media(media="print")
    for hidden in (".top", "#composer", "#history", ".acts >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator(".prose").first).to_be_visible()
    assert box(page, "main")["x"] == 0


def test_nothing_moves_where_less_motion_is_asked_for(open_page: Callable[..., Page]) -> None:
    page = open_page("settings", reduced_motion="reduce")
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => ['', '::before', '::after'].map(p => getComputedStyle(e, p)))"
        ".filter(s => s.animationName !== 'none' || !/^(0s|1e-05s)(, 0s)*$/.test(s.transitionDuration)).length"
    )
    assert moving == 0
