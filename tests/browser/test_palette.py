"""The palette by keyboard, from every page, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from braid.config.settings import Settings
from tests.browser.conftest import Site, new_context
from tests.web import add_user, make_app, visited

pytestmark = pytest.mark.browser

OPTION = "#palette [role=option]"
CHOSEN = "#palette [aria-selected=true]"
PHONE = {"viewport": {"width": 390, "height": 844}, "locale": "ja-JP", "color_scheme": "dark"}


@pytest.mark.parametrize(
    "path", ["chat", "search", "search/compare", "datasets", "datasets/1", "settings", "account", "admin/"]
)
def test_it_opens_on_every_page_and_esc_gives_the_focus_back(open_page: Callable[..., Page], path: str) -> None:
    page = open_page(path)
    page.locator("#main").focus()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="A document, a dataset, a conversation, a page or an action")
    expect(field).to_be_focused()
    expect(page.locator(OPTION).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    expect(page.locator("#main")).to_be_focused()


def test_typing_arrows_and_enter_go_there(open_page: Callable[..., Page], site: Site) -> None:
    page = open_page("settings")
    page.keyboard.press("Meta+k")
    page.keyboard.type("my docu")
    expect(page.locator(CHOSEN)).to_contain_text("My documents")
    field = page.locator("#palette input")
    expect(field).to_have_attribute("aria-activedescendant", "palette-0")
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/1")
    page.get_by_role("button", name="Go to").click()
    page.keyboard.type("admin")
    expect(page.locator(CHOSEN)).to_have_text("Admin")
    page.keyboard.press("ArrowDown")
    expect(page.locator(CHOSEN)).to_contain_text("Overview")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator(OPTION).last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing")
    expect(page.locator("#palette [role=status]")).to_have_text("Nothing matches this name.")
    expect(page.locator(OPTION)).to_have_count(0)


def test_acts_are_done_in_place(open_page: Callable[..., Page]) -> None:
    page = open_page("settings")
    html = page.locator("html")
    for typed, theme in (("dark", "dark"), ("automatic", None)):
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        expect(page.locator(CHOSEN)).to_contain_text("Theme")
        with page.expect_response("**/settings"):
            page.keyboard.press("Enter")
        if theme:
            expect(html).to_have_attribute("data-theme", theme)
            page.reload()
            expect(html).to_have_attribute("data-theme", theme)
        else:
            expect(html).not_to_have_attribute("data-theme", "dark")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_contain_text("New conversation")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Shift+O")
    page.wait_for_url("**/chat")
    page.locator("#text").focus()
    page.keyboard.press("Control+k")
    page.keyboard.type("japanese")
    expect(page.locator(CHOSEN)).to_contain_text("日本語")
    page.keyboard.press("Enter")
    expect(html).to_have_attribute("lang", "ja")


@pytest.mark.parametrize("by_proxy", [False, True])
def test_one_signs_out(chromium: Browser, site: Site, *, by_proxy: bool) -> None:
    proxy = Settings(sign_in_header="Remote-User", sign_in_proxies=("127.0.0.0/8",), sign_out_url="/signed-out")
    name = add_user(site.app, f"Olga {by_proxy}").name
    with visited(make_app(site.braid, proxy) if by_proxy else site.app) as url:
        context = new_context(chromium, extra_http_headers={"Remote-User": name} if by_proxy else {})
        if not by_proxy:
            context.add_cookies([site.cookie(name)])
        page = context.new_page()
        page.goto(url + "account")
        page.keyboard.press("Control+k")
        page.keyboard.type("log out")
        expect(page.locator(CHOSEN)).to_contain_text("Sign out")
        page.keyboard.press("Enter")
        page.wait_for_url("**/signed-out" if by_proxy else "**/login")
        context.close()


def test_enter_waits_for_the_list_of_what_is_typed(open_page: Callable[..., Page]) -> None:
    page = open_page("settings")
    page.keyboard.press("Control+k")
    expect(page.locator(OPTION).first).to_be_visible()
    page.keyboard.type("admin")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")


def test_who_was_signed_out_is_led_to_the_form_and_back(
    chromium: Browser, site: Site, administrator: dict[str, str]
) -> None:
    page = new_context(chromium).new_page()  # in which the refusal may stand in the console
    page.context.add_cookies([administrator])
    page.goto(site.url + "search?q=ranking&d=1", wait_until="networkidle")
    page.context.clear_cookies()
    page.keyboard.press("Control+k")
    page.wait_for_url("**/login?next=**")
    assert "q%3Dranking" in page.url
    page.context.close()


def test_a_search_after_signing_out_comes_back_to_itself(open_page: Callable[..., Page]) -> None:
    page = open_page("search")
    page.wait_for_load_state("networkidle")  # an answer under way would bring the cookie back
    page.context.clear_cookies()
    page.locator("#q").fill("fusion of rankings")
    page.keyboard.press("Enter")
    page.wait_for_url("**/login?next=**")
    assert "fusion" in page.url


@pytest.mark.parametrize("look", [{}, PHONE])
def test_it_is_accessible(open_page: Callable[..., Page], look: dict[str, object]) -> None:
    page = open_page("datasets", **look)
    page.locator("#palette-button").click()
    expect(page.locator(OPTION).first).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {[node['html'][:120] for node in one['nodes']][:2]}" for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.screenshot(path=f".artifacts/palette{'-phone' if look else ''}.png")
