"""axe-core over every page: it finds nothing, in light and dark, on laptops and phones, in three languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from braid.core.datasets.shares import Share
from tests.browser.conftest import Site, overflow
from tests.web import post_form, sign_in, site_of

pytestmark = pytest.mark.browser

PAGES = (
    "chat",
    "chat/{conversation}",
    "chat/{conversation}/manage",
    "chat/{conversation}/print",
    "chat/shelf",
    "chat/shelf?deleted=1",
    "chat/shared/{token}",
    "search",
    "search?q=ranking&d=-1&d=1",
    "search/fields",
    "search/compare?q=ranking&d=-1",
    "search/why-not?q=ranking",
    "datasets",
    "datasets/1",
    "datasets/1/statistics",
    "datasets/1/glossary",
    "assistants",
    "assistants/new",
    "settings",
    "account",
    "account/second-factor",
    "admin/",
    "admin/shared",
    "admin/shared/-1",
    "admin/shared/file",
    "admin/folders",
    "admin/users",
    "admin/users/add",
    "admin/users/1",
    "admin/groups",
    "admin/sign-in",
    "admin/group?name=readers",
    "admin/see-as",
    "admin/models",
    "admin/indexes",
    "admin/jobs",
    "admin/usage",
    "admin/audit",
    "api/v1/docs",
)
LAPTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LOOKS = {
    "en": (("light", LAPTOP), ("dark", LAPTOP), ("light", PHONE)),
    "ja": (("light", LAPTOP), ("light", PHONE)),
    "ko": (("light", LAPTOP), ("light", PHONE)),
}
WIDTHS = (320, 390, 640)
SAID_IN_ENGLISH = ".api > section"
"""Parts of pages that are the same in every language; axe-core takes seconds for them."""
QUESTIONS = ("How are the rankings fused?", "When does the team meet?", "融合方法は")


@pytest.fixture(scope="module")
def conversation(site: Site) -> int:
    """The id of a conversation with several turns."""
    client = sign_in(site.app)
    answer = post_form(client, "/chat/messages", text=QUESTIONS[0], d=["1", "-1"])
    number = int(answer.location.partition("#")[0].rpartition("/")[2])
    for question in QUESTIONS[1:]:
        assert post_form(client, f"/chat/{number}/messages", text=question, d=["1", "-1"]).status_code == 303
    here, admin = site_of(site.app), site_of(site.app).accounts.all()[0]
    here.conversations.discard(admin.id, here.conversations.create(admin.id, "Deleted").id)
    here.deleted_datasets.discard(here.braid.ledger.add_dataset(admin.id, "Deleted").id)
    return number


@pytest.fixture(scope="module")
def token(site: Site, conversation: int) -> Iterator[str]:
    """The token of the conversation's link; meanwhile its owner's dataset is shared with a group, and asked for."""
    here = site_of(site.app)
    admin, dataset = here.accounts.all()[0], site.braid.ledger.dataset(1)
    people = [here.accounts.add("Reader", groups=["readers"]), here.accounts.add("Asker")]
    here.shares.put(dataset, Share("group", "readers", may_write=True), by=admin.name)
    here.shares.ask(people[1].id, dataset.id)
    yield here.conversations.links.share(admin.id, conversation)
    here.shares.remove(dataset, "group", "readers", by=admin.name)
    for each in people:
        here.accounts.remove(each.id)


def violations(page: Page, *, without: str = "") -> list[str]:
    """Run axe-core, which is given to a page once, on the whole page or ``without`` the elements of this selector.

    What can be pressed has 24 pixels, or as much room around it. The window is as high as the page meanwhile, so that
    nothing is behind the bar at the bottom.
    """
    size = page.viewport_size
    assert size is not None
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], whole + 200)})
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    options = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    run = "([left, options]) => axe.run(left ? {exclude: [[left]]} : document, options)"
    found = page.evaluate(run, [without, options])["violations"]
    page.set_viewport_size(size)
    return [f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes']][:3]}" for one in found]


@pytest.mark.parametrize("language", LOOKS)
def test_nothing_is_found_on_any_page(
    open_page: Callable[..., Page], site: Site, conversation: int, token: str, language: str
) -> None:
    page, found = open_page("chat", locale=language), {}
    for path in PAGES:
        page.goto(site.url + path.format(conversation=conversation, token=token))
        for scheme, size in LOOKS[language]:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            if wrong := violations(page, without="" if language == "en" else SAID_IN_ENGLISH):
                found[f"{path}, {scheme}, {size['width']}"] = wrong
    assert found == {}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_no_page_is_wider_than_a_phone_or_a_zoomed_window(
    open_page: Callable[..., Page], site: Site, conversation: int, token: str, language: str
) -> None:
    page, wide = open_page("chat", locale=language), {}
    for path in PAGES:
        page.goto(site.url + path.format(conversation=conversation, token=token))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if (by := overflow(page)) > 0:
                wide[f"{path}, {width}"] = by
    assert wide == {}


SMALL = """least => [...document.querySelectorAll('a[href], button, summary, select, input:not([type=hidden])')]
  .filter(each => each.checkVisibility() && !each.closest('.visually-hidden'))
  .map(each => [each.outerHTML.slice(0, 120), [each, ...(each.labels ?? [])]])
  .map(([html, parts]) => [html, Math.max(...parts.map(part => part.getBoundingClientRect().height))])
  .filter(([, height]) => height < least && height > 1)"""
"""What can be pressed, and is lower than so many pixels, as its labels are."""


def test_what_a_finger_presses_is_40_pixels_high(
    open_page: Callable[..., Page], site: Site, conversation: int, token: str
) -> None:
    page, small = open_page("chat", viewport=PHONE, has_touch=True, is_mobile=True), {}
    for path in PAGES:
        page.goto(site.url + path.format(conversation=conversation, token=token))
        if found := page.evaluate(SMALL, 40):
            small[path] = found
    assert small == {}


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_the_pages_before_signing_in(open_anonymous: Callable[..., Page], size: dict[str, int]) -> None:
    assert violations(open_anonymous("login", viewport=size)) == []


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
@pytest.mark.parametrize("button", ["#picker-button", "#options-button"])
def test_what_opens_over_the_chat(open_page: Callable[..., Page], size: dict[str, int], button: str) -> None:
    page = open_page("chat", viewport=size)
    page.locator(button).click()
    # axe takes the bar of pages, which is under what was opened, for one that covers it: it knows no top layer.
    page.locator(".places").evaluate("places => places.style.visibility = 'hidden'")
    assert violations(page) == []
