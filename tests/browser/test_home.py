"""The first page: the composer in the middle, and a header that is never cut, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
ZOOMED = {"width": 320, "height": 200}
"""A window of 1280 × 800 at 400 %."""


def box(page: Page, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).bounding_box()
    return found


def ask(page: Page, text: str, turns: int) -> None:
    page.locator("#text").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending)")).to_have_count(turns)


@pytest.mark.parametrize("look", [{}, {"viewport": PHONE, "locale": "ja-JP"}, {"java_script_enabled": False}])
def test_the_composer_is_between_the_heading_and_the_questions_to_begin_with(
    open_page: Callable[..., Page], look: dict[str, object]
) -> None:
    page = open_page("chat", **look)
    heading, composer, starters = box(page, "#welcome h2"), box(page, "#composer"), box(page, "#starters")
    assert heading["y"] + heading["height"] <= composer["y"]
    assert composer["y"] + composer["height"] <= starters["y"]
    middle = (composer["y"] + composer["height"] / 2) / page.viewport_size["height"]
    assert 0.25 < middle < 0.6
    assert page.locator(".starters button").count() >= 2, "of few documents, two in a row are never worded alike"
    expect(page.locator(".starters")).to_contain_text("検索チーム定例会")


def test_a_question_to_begin_with_is_asked_at_a_click(open_page: Callable[..., Page]) -> None:
    page = open_page("chat")
    page.get_by_role("button", name="What is “Search team, weekly meeting” about?").click()
    expect(page.locator(".turn:not(.pending) .sources")).to_contain_text("Search team, weekly meeting")
    expect(page.locator(".first")).to_have_count(0)
    assert box(page, "#composer")["y"] > 500


@pytest.mark.parametrize(
    "look",
    [{}, {"viewport": PHONE}, {"locale": "ja-JP", "color_scheme": "dark"}, {"locale": "ko-KR", "viewport": PHONE}],
)
def test_the_header_is_never_cut(open_page: Callable[..., Page], look: dict[str, object]) -> None:
    page = open_page("chat", **look)
    for turns, text in enumerate(("hybrid search", "fuse the rankings", "hybrid search"), 1):
        ask(page, text, turns)
        header = box(page, ".top")
        assert header["y"] == 0
        question = page.locator(".turn").last.locator(".question p").bounding_box()
        assert question["y"] >= header["height"] or question["x"] >= header["width"]  # below it, or beside the rail
        assert question["y"] >= 0
    page.reload()
    page.wait_for_timeout(100)
    assert box(page, ".top")["y"] == 0


def test_a_first_question_moves_nothing(open_page: Callable[..., Page]) -> None:
    page = open_page("chat", viewport={"width": 1280, "height": 800})
    ask(page, "hybrid search", 1)
    assert page.evaluate("scrollY") == 0


def test_at_400_percent_the_composer_leaves_room_to_read(open_page: Callable[..., Page]) -> None:
    page = open_page("chat", viewport=ZOOMED)
    ask(page, "hybrid search", 1)
    page.evaluate("scrollTo(0, 0)")
    assert box(page, "#composer")["y"] > ZOOMED["height"]
    page.evaluate("scrollTo(0, document.querySelector('.prose').offsetTop)")
    assert box(page, ".top")["y"] < 0


@pytest.mark.parametrize("locale", ["en-US", "ja-JP", "ko-KR"])
def test_on_a_phone_the_composer_leaves_room_for_the_answer(open_page: Callable[..., Page], locale: str) -> None:
    page = open_page("chat", viewport=PHONE, has_touch=True, is_mobile=True, locale=locale)
    page.locator("#text").fill("What was agreed?")
    page.locator("#send").tap()
    expect(page.locator(".turn:not(.pending)")).to_have_count(1)
    expect(page.locator("#text")).not_to_be_focused()  # its keyboard would cover the answer
    assert box(page, "#composer")["height"] <= 110
    for pressed in ("#text", "#send", "#picker-button", ".paces label:first-of-type", "#attach", "#options-button"):
        found = box(page, pressed)
        assert found["height"] >= 40
        assert found["x"] >= 0
        assert found["x"] + found["width"] <= PHONE["width"]
    page.set_viewport_size({"width": 390, "height": 480})  # as beside the keyboard
    page.locator("#text").tap()
    expect(page.locator(".places")).to_be_hidden()
    composer = box(page, "#composer")
    assert abs(composer["y"] + composer["height"] - 480) <= 8
    page.locator("#attach").dispatch_event("mousedown")
    expect(page.locator("#text")).to_be_focused()
    page.locator("#picker-button").tap()
    expect(page.locator("#picker")).to_be_visible()
    expect(page.locator("#text")).not_to_be_focused()


def test_on_a_phone_what_can_be_done_with_a_conversation_fits(open_page: Callable[..., Page]) -> None:
    page = open_page("chat", viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator("#text").fill("What is asked in this conversation, whose title is longer than a line?")
    page.locator("#send").tap()
    expect(page.locator(".turn:not(.pending)")).to_have_count(1)
    page.locator(".talk-head .phone").tap()
    page.locator("#conversations .manage").first.tap()
    dialog = page.get_by_role("dialog").filter(has=page.locator("#manage"))
    expect(dialog).to_be_visible()
    assert dialog.bounding_box()["height"] <= 420
    dialog.get_by_text("Export").tap()
    for name in ("Close", "Pin", "Archive", "Delete"):
        expect(dialog.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    for act in dialog.locator(":is(summary, a, #manage > form > button):visible").all():
        assert act.bounding_box()["height"] >= 40
    dialog.get_by_role("button", name="Close").tap()
    expect(dialog).to_be_hidden()
