"""Times on pages, where the browser is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

LATER = """document.getElementById("main").insertAdjacentHTML("beforeend",
  '<p id="later"><time datetime="2026-11-22T20:30:00Z">2026-11-22 20:30 UTC</time></p>')"""


@pytest.mark.parametrize(
    ("locale", "zone", "shown"),
    [
        ("ja-JP", "Asia/Tokyo", "2026/11/23 5:30"),
        ("ko-KR", "Asia/Seoul", "2026. 11. 23. 오전 5:30"),
        ("en-GB", "Europe/London", "22 Nov 2026, 20:30"),
    ],
)
def test_times_are_local_also_in_what_is_loaded_later(
    open_page: Callable[..., Page], locale: str, zone: str, shown: str
) -> None:
    page = open_page("account", locale=locale, timezone_id=zone)
    last_used = page.locator("time").first
    expect(last_used).not_to_contain_text("UTC")
    expect(last_used).to_have_attribute("title", re.compile("20\\d\\d"))
    page.evaluate(LATER)
    expect(page.locator("#later time")).to_have_text(shown)


def test_without_scripts_the_time_says_that_it_is_in_utc(open_page: Callable[..., Page]) -> None:
    page = open_page("account", java_script_enabled=False, timezone_id="Asia/Tokyo")
    expect(page.locator("time").first).to_contain_text(" UTC")
