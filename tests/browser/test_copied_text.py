"""Texts of all kinds, copied from the page that shows them: see `tests.one_text`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from playwright.sync_api import Browser, Page

from braid.core.braid import Braid
from tests.browser.conftest import Site, opening
from tests.one_text import AT_ONCE, TEXTS, Desk

pytestmark = pytest.mark.browser

SHORT, LONG = 250, 10_000
COPIED = """page => {
    const turns = [...new DOMParser().parseFromString(page, "text/html").querySelectorAll(".turn")];
    for (const source of turns.flatMap((turn) => [...turn.querySelectorAll(".source")])) source.remove();
    log.replaceChildren(...turns.map((turn) => document.adoptNode(turn)));
    return turns.map((turn) => copied(turn)["text/plain"]);
}"""
"""What the page's script makes of each answer of a conversation, without the list of its sources."""


@pytest.fixture
def open_page(chromium: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    with opening(chromium, site) as open_with:
        yield open_with


@pytest.mark.timeout(LONG)
def test_what_is_copied_of_an_answer_is_what_its_page_shows(
    open_page: Callable[..., Page], site: Site, shelf: Braid, is_long: bool
) -> None:
    page = open_page("chat", cookies=[site.cookie()])
    desk = Desk(shelf)

    @settings(
        max_examples=(LONG if is_long else SHORT) // AT_ONCE,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(TEXTS)
    def check(texts: list[tuple[str, int]]) -> None:
        desk.check_copied(texts, copy=lambda shown: list(page.evaluate(COPIED, shown)))

    check()
