"""A source beside the conversation or the results: by mouse, by keyboard, and over them on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Site, overflow
from tests.browser.test_accessibility import violations
from tests.web import post_form, sign_in
from tests.worlds import eventually

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
NAMES = {"en": "Source 1 of ", "ja": "出典 1/", "ko": "출처 1/"}


@pytest.fixture(scope="module")
def conversation(site: Site) -> str:
    """The path of a conversation with an answer that cites passages."""
    answer = post_form(
        sign_in(site.app), "/chat/messages", text="What can I upload?", d=["1", "-1"], mode="hybrid", pace="fast"
    )
    return str(answer.location.partition("#")[0])


def panel(page: Page) -> Locator:
    """The panel, which is a place of its own for screen readers."""
    return page.get_by_role("complementary", name="Source")


def is_within(page: Page) -> bool:
    """Whether the cited passage is inside the panel's window."""
    return bool(
        page.evaluate(
            "() => { const [mark, box] = ['#panel #cited', '.panel-body'].map(one =>"
            " document.querySelector(one).getBoundingClientRect());"
            " return mark.top >= box.top && mark.top < box.bottom && mark.left >= box.left }"
        )
    )


def test_a_source_is_read_beside_the_answer(open_page: Open, conversation: str, picture: Picture) -> None:
    page = open_page(conversation.lstrip("/"))
    sources = page.locator("a[data-source]")
    count = sources.count()
    assert count > 1
    cite = page.locator(".prose a.cite").first
    cite.click()
    expect(panel(page)).to_contain_text(f"Source 1 of {count}")
    expect(page.locator("#announcer")).to_contain_text("Source 1 of")
    expect(page.locator("#panel-heading")).to_be_focused()
    expect(page.locator("#panel #cited")).to_be_visible()
    assert is_within(page)
    assert page.url.endswith(conversation), "the conversation stays"
    assert overflow(page) == 0
    expect(cite).to_have_attribute("aria-current", "location")
    picture(page, "panel-chat")
    expect(page.get_by_role("button", name="Previous source")).to_be_disabled()
    page.get_by_role("button", name="Next source").click()
    expect(panel(page)).to_contain_text(f"Source 2 of {count}")
    expect(sources.nth(1)).to_have_attribute("aria-current", "location")
    assert sources.nth(0).get_attribute("aria-current") is None
    page.get_by_role("button", name="Close").last.click()
    expect(page.locator("#panel")).to_be_hidden()
    expect(sources.nth(1)).to_be_focused()


def test_the_conversations_stay_in_reach(open_page: Open, conversation: str) -> None:
    page = open_page(conversation.lstrip("/"), viewport={"width": 1440, "height": 900})
    page.locator(".prose a.cite").first.click()
    expect(panel(page)).to_be_visible()
    page.get_by_role("button", name="Conversations").click()
    expect(page.locator("#conversations a.title").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#conversations")).to_be_hidden()
    expect(panel(page)).to_be_visible()


def test_by_keyboard_alone(open_page: Open, conversation: str) -> None:
    page = open_page(conversation.lstrip("/"))
    cite = page.locator(".prose a.cite").first
    cite.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#panel-heading")).to_be_focused()
    page.keyboard.press("n")
    expect(panel(page)).to_contain_text("Source 2 of")
    page.keyboard.press("p")
    expect(panel(page)).to_contain_text("Source 1 of")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Next source")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("a[data-source]").first).to_be_focused()


def test_beside_the_results_and_a_failure_is_said(open_page: Open, picture: Picture) -> None:
    page = open_page("search?q=hybrid+search&d=-1&d=1")
    page.locator(".hit h2 a").first.click()
    expect(panel(page)).to_contain_text("Source 1 of 5")
    expect(page.locator("#panel #cited")).to_be_visible()
    assert overflow(page) == 0
    picture(page, "panel-search")
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('no connection')) }")
    page.keyboard.press("n")
    expect(panel(page)).to_contain_text("The source cannot be shown now.")


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_on_a_phone_it_covers_the_conversation_until_back(open_page: Open, conversation: str, picture: Picture) -> None:
    page = open_page(conversation.lstrip("/"), **PHONE)
    cite = page.locator(".prose a.cite").first
    cite.tap()
    expect(panel(page)).to_be_visible()
    expect(page.locator("#panel #cited")).to_be_visible()
    assert is_within(page)
    assert overflow(page) == 0
    box = page.locator("#panel").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert page.locator(".chat").evaluate("each => each.inert"), "what is covered is out of reach"
    assert violations(page) == []
    picture(page, "panel-phone")
    page.get_by_role("button", name="Next source").tap()
    page.go_back()
    expect(page.locator("#panel")).to_be_hidden()
    assert page.url.endswith(conversation), "back closes the source, and leads nowhere else"
    cite.tap()
    expect(panel(page)).to_be_visible()
    page.get_by_role("button", name="Close").last.tap()
    expect(page.locator("#panel")).to_be_hidden()
    assert not page.locator(".chat").evaluate("each => each.inert")
    cite.tap()
    page.locator(".panel-body").get_by_role("link", name="Ask about this document").tap()
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#about li")).to_have_count(1)


def test_with_more_room_it_stands_beside(open_page: Open, conversation: str) -> None:
    page = open_page(conversation.lstrip("/"), viewport={"width": 900, "height": 800})
    page.locator(".prose a.cite").first.click()
    expect(panel(page)).to_be_visible()
    page.set_viewport_size({"width": 1300, "height": 800})
    expect(page.locator(".chat")).to_be_visible()
    assert not page.locator(".chat").evaluate("each => each.inert")
    page.get_by_role("button", name="Close").last.click()
    expect(page.locator("#panel")).to_be_hidden()
    assert page.url.endswith(conversation)


def test_without_scripts_the_link_opens_the_page(open_page: Open, conversation: str) -> None:
    page = open_page(conversation.lstrip("/"), java_script_enabled=False)
    page.locator(".prose a.cite").first.click()
    expect(page.locator("#cited")).to_be_visible()


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ja", "light"), ("ko", "dark")])
def test_axe_finds_nothing(open_page: Open, conversation: str, language: str, scheme: str, picture: Picture) -> None:
    page = open_page(conversation.lstrip("/"), locale=language, color_scheme=scheme)
    page.locator(".prose a.cite").first.click()
    expect(page.locator("#panel-heading")).to_contain_text(NAMES[language])
    expect(page.locator("#panel #cited")).to_be_visible()
    assert violations(page) == []
    picture(page, f"panel-{language}-{scheme}")


def test_the_panel_keeps_its_width_and_zoom_and_asks_about_what_it_shows(
    open_page: Open, site: Site, conversation: str
) -> None:
    page = open_page(conversation.lstrip("/"))
    page.locator(".source a[data-source]").first.click()
    expect(panel(page)).to_be_visible()
    edge = page.get_by_role("separator", name="Width of the source")
    before = page.locator("#panel").bounding_box()
    grip = edge.bounding_box()
    assert before
    assert grip
    page.mouse.move(grip["x"] + 4, 300)
    page.mouse.down()
    page.mouse.move(grip["x"] + 4 - 120, 300, steps=3)
    page.mouse.up()
    wider = page.locator("#panel").bounding_box()
    assert wider
    assert abs(wider["width"] - before["width"] - 120) <= 2
    edge.press("ArrowRight")
    after = page.locator("#panel").bounding_box()
    assert after
    assert abs(after["width"] - wider["width"] + 40) <= 1
    assert violations(page) == []
    page.goto(site.url + conversation.lstrip("/"))
    page.locator(".source a[data-source]").first.click()
    again = page.locator("#panel").bounding_box()
    assert again
    assert abs(again["width"] - after["width"]) <= 1, "also after a new page"
    page.locator(".panel-body").get_by_role("link", name="Ask about this document").click()
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#about li")).to_have_count(1)
    title = page.locator("#panel-heading").text_content()
    assert title
    assert title.endswith(page.locator("#about li").evaluate("item => item.firstChild.textContent"))
    page.evaluate("localStorage.clear()")


def test_a_source_that_takes_its_time_says_so(open_page: Open, conversation: str) -> None:
    page = open_page(conversation.lstrip("/"), locale="ko-KR")
    held: list[Route] = []
    page.route("**/documents/passage/**", lambda route: held.append(route))
    page.locator(".prose a.cite").first.click()
    told = "getComputedStyle(document.querySelector('.panel-body'), '::after')"
    eventually(lambda: page.evaluate(f"{told}.opacity") == "1")
    assert "출처를 열고 있어요" in page.evaluate(f"{told}.content")
    said = page.locator(".source").first.locator("strong").inner_text()
    expect(page.locator(".glimpse strong")).to_have_text(said)
    expect(page.locator(".glimpse .place")).to_be_visible()
    held[0].continue_()
    expect(page.locator("#panel #cited")).to_be_visible()
    expect(page.locator(".glimpse")).to_have_count(0)


def test_one_page_is_drawn_ahead_at_a_time_and_none_while_a_source_is_opened(open_page: Open) -> None:
    page = open_page("search?q=files&mode=keyword")
    links = page.locator("#results .hit a[data-source]")
    assert links.count() >= 3
    page.evaluate("document.querySelectorAll('#results .hit').forEach(hit => hit.classList.add('paged'))")
    held: list[Route] = []
    page.route("**/documents/passage/**", lambda route: held.append(route))
    paths = [str(links.nth(at).evaluate("link => link.pathname")) for at in range(3)]

    def asked() -> list[tuple[int, bool]]:
        page.evaluate("new Promise(setTimeout)")  # until what was asked for has come here
        requests = [route.request for route in held]
        return [(next(at for at in range(3) if paths[at] in each.url), "purpose" in each.headers) for each in requests]

    for at in range(3):
        links.nth(at).hover()
    eventually(lambda: asked() == [(0, True)])
    held[0].continue_()
    eventually(lambda: asked() == [(0, True), (2, True)])  # the one that was touched last
    with page.expect_event("requestfailed") as dropped:
        links.nth(1).click()
    assert dropped.value == held[1].request
    links.nth(2).hover()
    eventually(lambda: asked() == [(0, True), (2, True), (1, False)])
    held[2].continue_()
    expect(page.locator("#panel #cited")).to_be_visible()
    eventually(lambda: asked()[3:] == [(2, True)])


@pytest.mark.parametrize("how", ["hover", "focus"])
def test_a_citation_shows_the_sentence_and_its_place(open_page: Open, conversation: str, how: str) -> None:
    page = open_page(conversation.lstrip("/"))
    cite = page.locator(".prose a.cite").first
    cite.hover() if how == "hover" else cite.focus()
    preview = page.get_by_role("tooltip")
    expect(preview.locator("strong")).to_have_text(page.locator(".source strong").first.inner_text())
    expect(preview.locator(".place")).to_have_text(
        page.locator(".source .place").first.inner_text(), use_inner_text=True
    )
    assert preview.get_by_role("link").count() == 0
    line, card = cite.bounding_box(), preview.bounding_box()
    assert line
    assert card
    assert card["y"] >= line["y"] + line["height"], "what it cites is not covered"
