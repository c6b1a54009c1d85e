"""axe-core over every page: no serious violation, in light and dark, on a laptop and on a phone, in three languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

PAGES = (
    "chat",
    "search",
    "search?q=ranking&d=-1&d=1",
    "search/fields",
    "search/compare?q=ranking&d=-1",
    "search/why-not?q=ranking",
    "datasets",
    "datasets/1",
    "datasets/1/statistics",
    "settings",
    "account",
    "admin/",
    "admin/shared",
    "admin/shared/file",
    "admin/folders",
    "admin/users",
    "admin/models",
    "admin/indexes",
    "admin/jobs",
    "admin/usage",
    "admin/audit",
    "api/v1/docs",
)
LOOKS = {
    "laptop": {},
    "dark phone, ja": {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "locale": "ja-JP"},
    "ko": {"locale": "ko-KR"},
}


def violations(page: Page) -> list[str]:
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_no_page_has_a_serious_violation(open_page: Callable[..., Page], site: Site, look: str) -> None:
    page, found = open_page("chat", **LOOKS[look]), {}
    for path in PAGES:
        page.goto(site.url + path)
        wrong = violations(page)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wrong or wide > 0:
            found[path] = [*wrong, *([f"{wide} px too wide"] if wide > 0 else [])]
    assert found == {}


def test_the_pages_before_signing_in(open_anonymous: Callable[..., Page]) -> None:
    assert violations(open_anonymous("login")) == []
