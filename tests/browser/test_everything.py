""" "Everything" in the picker and in its chips, in a real browser, with and without scripts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Site
from tests.web import add_user
from tests.worlds import eventually

pytestmark = pytest.mark.browser

NUMBERS = count()
GASKET = "In which hall is the gasket stored?"


@pytest.fixture(scope="module", autouse=True)
def read_uploads(jobs: None) -> None:
    """Read what is uploaded."""


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def page(request: pytest.FixtureRequest, site: Site, open_anonymous: Callable[..., Page]) -> Page:
    """The chat of somebody with one empty dataset beside the guide."""
    name = f"newcomer-{next(NUMBERS)}"
    site.braid.ledger.add_dataset(add_user(site.app, name).id, "Notes")
    return open_anonymous("chat", cookies=[site.cookie(name)], java_script_enabled=request.param)


def ask(page: Page, text: str) -> dict[str, list[str]]:
    """Ask and wait for the answer; return what the browser sent."""
    turns = page.locator(".turn:not(.pending)").count()
    page.locator("#text").fill(text)
    with page.expect_request(lambda sent: sent.method == "POST" and "/messages" in sent.url) as sent:
        page.locator("#send").click()
    expect(page.locator(".turn:not(.pending)")).to_have_count(turns + 1)
    return fields_of(sent.value)


def fields_of(sent: Request) -> dict[str, list[str]]:
    """The fields of a form, of either encoding."""
    body = sent.post_data or ""
    if "multipart" not in sent.headers["content-type"]:
        return parse_qs(body)
    fields: dict[str, list[str]] = {}
    for part in body.split("Content-Disposition: form-data; name=")[1:]:
        name, _, value = part.partition("\r\n\r\n")
        fields.setdefault(name.strip().strip('"'), []).append(value.partition("\r\n--")[0])
    return fields


def add_gaskets(page: Page, site: Site) -> None:
    """Create a dataset, upload a file on its page, and wait until it is found."""
    page.goto(f"{site.url}datasets")
    page.locator("#new-name").fill("Gaskets")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Gaskets")
    file = {"name": "gasket.md", "mimeType": "text/markdown", "buffer": b"The gasket is stored in hall 4."}
    page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    page.wait_for_load_state("domcontentloaded")  # a script hides the button
    if page.locator("#send").is_visible():
        page.locator("#send").click()
    eventually(lambda: "everything is searchable" in page.request.get(page.url).text(), pause_s=0.2)


def expect_everything(page: Page) -> None:
    """Expect that all is shown as chosen, the new dataset too."""
    expect(page.locator("#picker input[name=d][form]:not(:checked)")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Gaskets", include_hidden=True)).to_be_checked()


def test_a_new_dataset_is_searched_and_shown_as_ticked(page: Page, site: Site) -> None:
    expect(page.locator("#chips")).to_have_text("All datasets")
    sent = ask(page, "How are rankings fused?")
    with_scripts = "offered" not in sent
    assert (sent["d"] == ["all"]) is with_scripts
    conversation = page.url.partition("#")[0]
    assert conversation != f"{site.url}chat"
    add_gaskets(page, site)
    for address, turn in ((conversation, 1), (f"{site.url}chat", 0)):
        page.goto(address)
        expect(page.locator("#chips")).to_have_text("All datasets")
        expect(page.locator("#picker-button output")).to_have_text("")
        expect_everything(page)
        ask(page, GASKET)
        expect(page.locator(".turn .answer").nth(turn)).to_contain_text("hall 4")


def test_a_choice_of_some_is_sent_as_such(page: Page) -> None:
    page.locator("#picker-button").click()
    page.locator("[data-kind=shared] .dataset input").uncheck()
    page.keyboard.press("Escape")
    sent = ask(page, "How are rankings fused?")
    assert len(sent["d"]) == 1
    assert sent["d"] != ["all"]
    page.reload()
    expect(page.locator("#chips")).not_to_have_text("All datasets")
    expect(page.locator("[data-kind=shared] .dataset input")).not_to_be_checked()


def test_a_search_everywhere_stays_one(page: Page, site: Site) -> None:
    page.goto(f"{site.url}search")
    page.locator("#q").fill("gasket")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?*q=gasket*")
    sent = parse_qs(urlsplit(page.url).query)
    again = page.url
    if "offered" in sent:  # without scripts
        again = urljoin(again, page.locator("a[href*='/compare?'][href*='q=gasket']").first.get_attribute("href") or "")
    assert parse_qs(urlsplit(again).query)["d"] == ["all"]
    add_gaskets(page, site)
    page.goto(again.replace("/search/compare", "/search"))
    expect_everything(page)
    expect(page.locator("#results")).to_contain_text("hall 4")


def test_the_search_page_remembers_everything_as_such(site: Site, open_anonymous: Callable[..., Page]) -> None:
    site.braid.ledger.add_dataset(add_user(site.app, "rememberer").id, "Notes")
    page = open_anonymous("search", cookies=[site.cookie("rememberer")])
    guide = page.locator("[data-kind=shared] .dataset input")
    guide.uncheck()
    guide.check()
    add_gaskets(page, site)
    page.goto(f"{site.url}search")
    expect_everything(page)
    guide.uncheck()
    page.goto(f"{site.url}search")
    expect(guide).not_to_be_checked()
