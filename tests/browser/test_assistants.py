"""Assistants in a real browser: made by keyboard on a phone, chosen on the first page, and refused when taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from tests.browser.conftest import Site, new_context, overflow
from tests.browser.test_accessibility import violations
from tests.web import PASSWORD, site_of

pytestmark = pytest.mark.browser
QUESTION = "How are the rankings fused?"


@dataclass
class Made:
    """Assistants of the administrator over the notes; the first two are shared with Robin, who has no datasets."""

    site: Site
    notes: Assistant
    second: Assistant

    def take_back(self) -> None:
        self.site.braid.shares.remove(self.notes, "user", "Robin Hood", by="admin")


@pytest.fixture
def made(site: Site) -> Iterator[Made]:
    here = site_of(site.app)
    admin, robin = here.accounts.all()[0], here.accounts.add("Robin Hood", PASSWORD)
    closed = site.braid.ledger.add_dataset(admin.id, "Plans").id
    given = {
        "description": "What the search team has decided",
        "sign": "🔎",
        "color": "green",
        "instruction": "Answer in one sentence, like a colleague.",
        "shows_instruction": True,
        "questions": (QUESTION, "What did we agree to keep?"),
    }
    notes = here.assistants.add(admin.id, Assistant("Search team", (1, closed), **given))  # type: ignore[arg-type]
    second = here.assistants.add(admin.id, Assistant("회의 도우미 会議", (1,), color="purple"))
    for shared in (site.braid.ledger.dataset(1), notes):
        site.braid.shares.put(shared, Share("user", "Robin Hood"), by="admin")
    yield Made(site, notes, second)
    here.accounts.remove(robin.id)
    site.braid.remove_dataset(closed)
    for each in here.assistants.of_user(admin.id):
        here.assistants.remove(each.assistant.id)


def test_one_is_made_by_keyboard_on_a_phone(
    open_page: Callable[..., Page], made: Made, picture: Callable[[Page, str], None]
) -> None:
    page = open_page("assistants", viewport={"width": 390, "height": 844})
    page.get_by_role("link", name="New assistant").focus()
    page.keyboard.press("Enter")
    page.locator("#assistant-name").focus()
    page.keyboard.type("Pumps")
    page.keyboard.press("Tab")
    page.keyboard.type("P")
    page.get_by_label("Description").fill("All about pumps")
    page.locator(".its-datasets [name=d]").first.focus()
    page.keyboard.press("Space")
    page.get_by_label("Opening question 1").fill("Which pump?")
    page.get_by_text("Model, search and filters").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Answer model")).to_be_visible()
    assert overflow(page) == 0
    picture(page, "assistant-new-phone")
    page.get_by_label("Opening question 4").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("“Pumps” is ready.")).to_be_visible()
    expect(page.locator("#readers")).to_have_text("Only you can use this assistant.")
    assert overflow(page) == 0
    page.get_by_role("link", name="Ask it").click()
    expect(page.get_by_role("button", name="Which pump?")).to_be_visible()
    assert overflow(page) == 0
    picture(page, "assistant-asked-phone")


def test_it_is_asked_remembered_and_refused_once_it_is_taken_back(
    chromium: Browser, made: Made, picture: Callable[[Page, str], None]
) -> None:
    context = new_context(chromium, locale="en-US")
    context.add_cookies([made.site.cookie("Robin Hood")])  # type: ignore[list-item]
    page = context.new_page()
    page.goto(f"{made.site.url}chat")
    expect(page.get_by_role("heading", name="Search team")).to_be_visible()
    expect(page.locator("#composer")).to_contain_text("Not open to you: 1 of its 2 datasets.")
    picture(page, "assistant-lands")
    page.get_by_role("button", name=QUESTION).click()
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)
    expect(page.locator("#composer")).to_contain_text("Search team")
    page.reload()
    expect(page.locator("input[name=assistant]")).to_have_value(str(made.notes.id))
    picture(page, "assistant-conversation")
    made.take_back()
    page.locator("#text").fill("And what else?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn.failed .detail")).to_contain_text("no longer open to you")
    picture(page, "assistant-refused")
    page.reload()
    expect(page.get_by_text("The assistant is no longer open to you.")).to_be_visible()
    expect(page.locator("#picker-button")).to_be_visible()
    context.close()


def test_cards_lead_to_them_and_the_own_selection_is_one_click_away(
    open_page: Callable[..., Page], made: Made, picture: Callable[[Page, str], None]
) -> None:
    page = open_page("chat?assistant=0")
    expect(page.locator(".assistants li")).to_have_count(2)
    picture(page, "assistant-cards")
    page.locator("main a[href*='chat?assistant=']", has_text="Search team").click()  # no conversation of that name
    expect(page.locator("#picker")).to_have_count(0)
    page.get_by_role("link", name="Own selection").click()
    expect(page.locator("#picker-button")).to_be_visible()


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_its_pages_are_looked_at(
    open_page: Callable[..., Page], made: Made, language: str, picture: Callable[[Page, str], None]
) -> None:
    made.site.braid.shares.put(made.second, Share("user", "Robin Hood", may_write=True), by="admin")
    pages = {
        "list": "assistants",
        "own": f"assistants/{made.second.id}",
        "chat": f"chat?assistant={made.notes.id}",
        "cards": "chat?assistant=0",
    }
    for name, path in pages.items():
        for width, scheme in ((1280, "light"), (390, "dark")):
            page = open_page(path, viewport={"width": width, "height": 900}, color_scheme=scheme, locale=language)
            assert overflow(page) == 0
            assert violations(page) == []
            picture(page, f"assistants-{name}-{language}-{width}")
    page = open_page(f"assistants/{made.notes.id}", cookies=[made.site.cookie("Robin Hood")], locale=language)
    picture(page, f"assistants-used-{language}")
