"""The second factor by keyboard, on a phone, in three languages; and a conversation on paper."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pypdfium2
import pytest
from playwright.sync_api import Page, expect

from tests.authenticator import code_of
from tests.browser.conftest import Site, overflow, tab_to
from tests.browser.test_accessibility import violations
from tests.web import PASSWORD, post_form, sign_in, site_of

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def robin(site: Site) -> Iterator[str]:
    """The name of a user who signs in with a password."""
    here = site_of(site.app)
    added = here.accounts.add("Robin of Loxley", PASSWORD)
    yield added.name
    here.accounts.remove(added.id)


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_second_factor_is_set_up_and_used_by_keyboard_on_a_phone(
    open_page: Callable[..., Page],
    open_anonymous: Callable[..., Page],
    site: Site,
    robin: str,
    language: str,
    picture: Callable[[Page, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, factors = time.time(), site_of(site.app).second_factors
    monkeypatch.setattr(factors, "_clock", lambda: now)

    def looked_at(page: Page, name: str) -> None:
        assert overflow(page) == 0, name
        assert violations(page) == [], name
        picture(page, f"second-factor-{name}-{language}")

    page = open_page("account/second-factor", cookies=[site.cookie(robin)], viewport=PHONE, locale=language)
    looked_at(page, "off")
    page.locator("main button.primary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("input[name=code]")).to_be_focused()
    looked_at(page, "new")
    secret = (page.locator("code.key").text_content() or "").replace(" ", "")
    page.keyboard.type(code_of(secret, now))
    page.keyboard.press("Enter")
    expect(page.locator("ul.codes li")).to_have_count(10)
    looked_at(page, "codes")
    code, last = (page.locator("ul.codes li").nth(number).text_content() or "" for number in (0, 1))
    page.locator("main a.button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main button.danger")).to_be_visible()
    looked_at(page, "on")

    page = open_anonymous("login", viewport=PHONE, locale=language)
    expect(page.locator("input[name=name]")).to_be_focused()  # which comes after the page has loaded
    page.keyboard.type(robin)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("input[name=code]")).to_be_focused()
    looked_at(page, "ask")
    page.keyboard.type(code.strip())
    page.keyboard.press("Enter")
    expect(page.locator("nav.places")).to_be_visible()

    page.goto(f"{site.url}account/second-factor")
    tab_to(page, page.locator("form[action$='/off'] input[name=code]"))
    page.keyboard.type(last.strip())
    page.keyboard.press("Enter")
    expect(page.locator("input[name=password]")).to_be_visible()  # signed out everywhere
    assert not factors.is_on(site_of(site.app).shares.user_named(robin))


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_administrators_pages_are_looked_at(
    open_page: Callable[..., Page], site: Site, robin: str, language: str, picture: Callable[[Page, str], None]
) -> None:
    factors, user_id = site_of(site.app).second_factors, site_of(site.app).shares.user_named(robin)
    factors.begin(user_id)
    assert factors.confirm(user_id, code_of(factors.pending(user_id), time.time()))
    page = open_page("admin/sign-in", viewport=PHONE, locale=language)
    section = page.locator("section[aria-labelledby=scim-title]")
    if section.locator("summary").count():  # there is a token already, which another one would replace
        section.locator("summary").first.press("Enter")
    section.locator("button:visible").first.press("Enter")
    expect(page.locator("code.key")).to_be_visible()
    assert overflow(page) == 0
    picture(page, f"scim-{language}")
    page.goto(f"{site.url}admin/users/{user_id}")
    assert overflow(page) == 0
    assert violations(page) == []
    picture(page, f"second-factor-user-{language}")


def test_what_is_printed_has_the_letters_of_all_languages(
    open_page: Callable[..., Page], site: Site, picture: Callable[[Page, str], None]
) -> None:
    asked = post_form(sign_in(site.app), "/chat/messages", text="融合方法は", d="1")
    number = int(asked.location.partition("#")[0].rpartition("/")[2])
    page = open_page(f"chat/{number}/print", viewport=PHONE)
    assert overflow(page) == 0
    expect(page.locator("#print")).to_be_visible()
    picture(page, "print-phone")
    with pypdfium2.PdfDocument(page.pdf()) as paper:
        text = "".join(sheet.get_textpage().get_text_range() for sheet in paper)
    assert "融合方法は" in text
    assert "検索チーム定例会" in text
    assert "Back to the conversation" not in text
