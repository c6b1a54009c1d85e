"""What a browser transfers, as it counts it itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, new_context
from tests.browser.test_accessibility import PAGES

pytestmark = pytest.mark.browser

QUESTIONS = (
    "How are the two rankings fused?",
    "What happens when a dataset is deleted?",
    "Which formats are read?",
) * 2
MAX_BYTES = 70_000


def transferred(page: Page, url: str) -> dict[str, int]:
    """Bytes of each answer to a visit, heads and bodies."""
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    addresses: dict[str, str] = {}
    sizes: dict[str, int] = {}
    network.on("Network.requestWillBeSent", lambda sent: addresses.update({sent["requestId"]: sent["request"]["url"]}))
    network.on(
        "Network.loadingFinished",
        lambda done: sizes.update({addresses[done["requestId"]]: round(done["encodedDataLength"])}),
    )
    page.goto(url, wait_until="networkidle")
    return sizes


def test_a_chat_of_six_turns(open_page: Callable[..., Page], site: Site, administrator: dict[str, str]) -> None:
    page = open_page("chat")
    for turn, question in enumerate(QUESTIONS, 1):
        page.locator("#text").fill(question)
        page.keyboard.press("Enter")
        expect(page.locator(".turn:not(.pending) .sources")).to_have_count(turn)
    address = page.url
    visitor = new_context(page.context.browser)
    visitor.add_cookies([administrator])
    first = visitor.new_page()
    sizes = transferred(first, address)
    assert first.locator(".turn").count() == len(QUESTIONS)
    assert address in sizes
    assert sum(sizes.values()) < MAX_BYTES, sizes
    print({name.rpartition("/")[2]: size for name, size in sizes.items()}, sum(sizes.values()))
    again = transferred(first, site.url + "chat")
    assert sum(size for name, size in again.items() if "/static/" in name) == 0, "the static files are kept"
    visitor.close()


def test_no_page_is_heavy_at_a_first_visit(
    open_page: Callable[..., Page], site: Site, administrator: dict[str, str]
) -> None:
    browser, heavy, weights = open_page("login").context.browser, {}, {}
    for path in PAGES:
        if "{" in path:  # conversations are weighed above
            continue
        visitor = new_context(browser)
        visitor.add_cookies([administrator])
        sizes = transferred(visitor.new_page(), site.url + path)
        weights[path] = sum(sizes.values())
        if weights[path] >= MAX_BYTES:
            heavy[path] = sizes
        visitor.close()
    print(sorted(weights.items(), key=lambda one: -one[1]))
    assert len(weights) > 20
    assert heavy == {}
