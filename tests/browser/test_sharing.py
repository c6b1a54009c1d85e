"""Sharing by keyboard, on a phone, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from tests.browser.conftest import Site, overflow, tab_to
from tests.web import PASSWORD, site_of

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def dataset(site: Site) -> Iterator[int]:
    """A dataset of the administrator; Robin has an account."""
    here = site_of(site.app)
    robin = here.accounts.add("Robin Hood", PASSWORD, groups=["foresters"])
    added = site.braid.ledger.add_dataset(here.accounts.all()[0].id, "Maps").id
    yield added
    site.braid.remove_dataset(added)
    here.accounts.remove(robin.id)


def test_a_dataset_is_shared_and_taken_back_by_keyboard_on_a_phone(
    open_page: Callable[..., Page], site: Site, dataset: int, picture: Callable[[Page, str], None]
) -> None:
    page = open_page(f"datasets/{dataset}", viewport={"width": 390, "height": 844})
    expect(page.locator("#readers")).to_have_text("Only you can read this dataset.")
    page.get_by_text("Share this dataset").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#share-name")).to_be_focused()
    page.keyboard.type("rob")
    expect(page.locator("#people option")).to_have_count(1)
    expect(page.locator("#people option")).to_have_attribute("value", "Robin Hood")
    picture(page, "share-phone")
    page.locator("#share-name").fill("Robin Hood")
    page.keyboard.press("Enter")
    expect(page.locator("#readers")).to_have_text("Besides you, Robin Hood can read this dataset.")
    assert overflow(page) == 0
    picture(page, "shared-phone")
    page.get_by_role("button", name="Stop sharing with Robin Hood").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#readers")).to_have_text("Only you can read this dataset.")


def test_a_dataset_is_handed_over_by_keyboard_on_a_phone(open_page: Callable[..., Page], site: Site) -> None:
    here = site_of(site.app)
    friar = here.accounts.add("Friar Tuck", PASSWORD)
    given = site.braid.ledger.add_dataset(here.accounts.all()[0].id, "Recipes").id
    page = open_page(f"datasets/{given}", viewport=PHONE)
    tab_to(page, page.locator("summary").filter(has_text="Hand over"))
    page.keyboard.press("Enter")
    tab_to(page, page.locator("#give-name"))
    page.keyboard.type("Friar Tuck")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Friar Tuck")
    assert overflow(page) == 0
    assert [each.id for each in site.braid.ledger.datasets(friar.id)] == [given]
    here.accounts.remove(friar.id)


def test_access_is_asked_for_by_keyboard_on_a_phone(
    open_anonymous: Callable[..., Page], site: Site, dataset: int
) -> None:
    here = site_of(site.app)
    added = here.assistants.add(here.accounts.all()[0].id, Assistant("Guide to maps", dataset_ids=(dataset,)))
    site.braid.shares.put(added, Share("user", "Robin Hood"), by="admin")
    page = open_anonymous(f"assistants/{added.id}", cookies=[site.cookie("Robin Hood")], viewport=PHONE)
    tab_to(page, page.get_by_role("button", name="Ask for access"))
    page.keyboard.press("Enter")
    expect(page.locator("#closed")).to_contain_text("You have asked for access.")
    assert overflow(page) == 0
    here.assistants.remove(added.id)


def test_who_reads_sees_by_whom_it_is_shared(
    open_page: Callable[..., Page], site: Site, dataset: int, picture: Callable[[Page, str], None]
) -> None:
    site.braid.shares.put(site.braid.ledger.dataset(dataset), Share("group", "foresters"), by="admin")
    page = open_page("datasets", cookies=[site.cookie("Robin Hood")])
    expect(page.get_by_text("shared by")).to_be_visible()
    picture(page, "datasets-shared-with-you")
    page.get_by_role("link", name="Maps").click()
    expect(page.locator("#readers")).to_contain_text("shares this dataset with you. You can read it.")
    picture(page, "dataset-of-another")


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_pages_of_sharing_are_looked_at(
    open_page: Callable[..., Page], site: Site, dataset: int, language: str, picture: Callable[[Page, str], None]
) -> None:
    here = site_of(site.app)
    here.shares.ask(here.shares.user_named("Robin Hood"), 1)
    for name, path in (
        ("dataset", f"datasets/{dataset}"),
        ("datasets", "datasets"),
        ("group", "admin/group?name=foresters"),
        ("users", "admin/users"),
        ("see-as", "admin/see-as"),
    ):
        page = open_page(path, locale=language, viewport={"width": 390, "height": 844})
        assert overflow(page) == 0, path
        picture(page, f"sharing-{name}-{language}")
