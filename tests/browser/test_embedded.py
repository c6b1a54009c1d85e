"""The chat and the dataset picker in a plain page of another origin, and not in one that is not allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from braid.config.settings import Settings
from braid.core.datasets.assistants import Assistant
from tests.browser.conftest import Site, forget_choices, new_context, overflow
from tests.web import make_app, site_of, visited

pytestmark = pytest.mark.browser

HOST_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Another app</title>
<script src="{braid}static/embed.js"></script>
<h1>Another app</h1>
<p>Ticked: <output id="ticked"></output></p>
<p>Answer: <output id="answered"></output></p>
<braid-{part}></braid-{part}>
<script>
  document.addEventListener("braid-selection", (event) => {{ ticked.textContent = event.detail.datasets.join(","); }});
  document.addEventListener("braid-answer", (event) => {{ answered.textContent = event.detail.text; }});
</script>"""


RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "web-component.md"


def recipe(braid: str) -> str:
    """The page that the recipe shows, with the address of this Braid."""
    found = re.search(r"^```html\n(.*?)^```$", RECIPE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found
    return found[1].replace("https://braid.example.org/", braid)


@dataclass
class Neighbours:
    """Two plain pages of other origins, and Braid, which allows the first one alone."""

    allowed: str
    other: str
    braid: str


@pytest.fixture(scope="module")
def neighbours(site: Site) -> Iterator[Neighbours]:
    address: list[str] = []
    apps = [Flask("allowed"), Flask("other")]
    for app in apps:
        app.add_url_rule("/recipe", "recipe", lambda: recipe(address[0]))
        app.add_url_rule("/<part>", "page", lambda part: HOST_PAGE.format(braid=address[0], part=part))
    with (
        visited(apps[0]) as allowed,
        visited(apps[1]) as other,
        visited(make_app(site.braid, Settings(frame_ancestors=(allowed.rstrip("/"),)))) as braid,
    ):
        address.append(braid)
        yield Neighbours(*(each.rstrip("/") for each in (allowed, other, braid)))


@pytest.fixture(autouse=True)
def nothing_chosen(site: Site) -> None:
    """Earlier tests leave no choices."""
    forget_choices(site.braid)


@contextmanager
def opened(chromium: Browser, cookie: dict[str, str] | None, address: str, **options: object) -> Iterator[Page]:
    context = new_context(chromium, **({"locale": "en-US", "viewport": {"width": 1000, "height": 900}} | options))
    if cookie:
        context.add_cookies([cookie | {"path": "/"}])  # below another path than the one where it was made
    page = context.new_page()
    page.goto(address)
    yield page
    context.close()


def test_a_page_knows_what_is_ticked_in_the_picker(
    chromium: Browser, neighbours: Neighbours, administrator: dict[str, str]
) -> None:
    with opened(chromium, administrator, f"{neighbours.allowed}/picker") as page:
        boxes = page.frame_locator("iframe").locator("input[name=d]")
        expect(boxes.first).to_be_checked()
        ids = [box.get_attribute("value") for box in boxes.all()]
        expect(page.locator("#ticked")).to_have_text(",".join(map(str, ids)))
        expect(page.frame_locator("iframe").locator(".select-all").first).to_be_checked()
        boxes.first.uncheck()
        expect(page.locator("#ticked")).to_have_text(",".join(map(str, ids[1:])))
        assert page.frame_locator("iframe").locator("header.top").count() == 0
        page.evaluate("id => document.querySelector('braid-picker').setAttribute('datasets', id)", ids[0])
        expect(page.locator("#ticked")).to_have_text(str(ids[0]))


def test_the_recipe(chromium: Browser, neighbours: Neighbours, administrator: dict[str, str]) -> None:
    with opened(chromium, administrator, f"{neighbours.allowed}/recipe") as page:
        expect(page.locator("#ticked")).not_to_be_empty()
        chat = page.locator("braid-chat").frame_locator("iframe")
        expect(chat.locator("#text")).to_be_visible()
        expect(chat.get_by_role("link", name="Connect a language model")).to_have_attribute("target", "_blank")
        assert chat.get_by_role("link", name="New conversation").get_attribute("target") is None


def test_a_page_hears_the_answers_of_the_chat(
    chromium: Browser, neighbours: Neighbours, administrator: dict[str, str]
) -> None:
    with opened(chromium, administrator, f"{neighbours.allowed}/chat") as page:
        frame = page.frame_locator("iframe")
        frame.locator("#text").fill("What limits the pump?")
        frame.locator("#send").click()
        expect(page.locator("#answered")).not_to_be_empty()
        assert frame.locator("header.top").count() == 0


def test_a_chat_with_one_assistant(
    chromium: Browser, site: Site, neighbours: Neighbours, administrator: dict[str, str]
) -> None:
    here = site_of(site.app)
    made = here.assistants.add(here.accounts.all()[0].id, Assistant("Search team", (1,)))
    with opened(chromium, administrator, f"{neighbours.allowed}/chat") as page:
        page.evaluate("id => document.querySelector('braid-chat').setAttribute('assistant', id)", str(made.id))
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("heading", name="Search team")).to_be_visible()
        expect(frame.locator("input[name=assistant]")).to_have_value(str(made.id))
        frame.locator("#text").fill("How are the rankings fused?")
        frame.locator("#send").click()
        expect(page.locator("#answered")).not_to_be_empty()
    here.assistants.remove(made.id)


@pytest.mark.parametrize("part", ["picker", "chat"])
def test_a_page_of_an_origin_that_is_not_allowed_shows_nothing(
    chromium: Browser, neighbours: Neighbours, administrator: dict[str, str], part: str
) -> None:
    with opened(chromium, administrator, f"{neighbours.other}/{part}") as page:
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        page.reload()
        page.wait_for_function("document.querySelector('iframe').contentWindow.length === 0")
        while not any("frame-ancestors" in text for text in refused):
            page.wait_for_event("console")
        assert page.locator("#ticked").text_content() == ""
        assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]


def test_other_pages_stay_out_of_frames(neighbours: Neighbours) -> None:
    with urlopen(f"{neighbours.braid}/login") as answer:
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_a_visitor_sees_a_link_to_sign_in_and_no_password_field(chromium: Browser, neighbours: Neighbours) -> None:
    with opened(chromium, None, f"{neighbours.allowed}/picker") as page:
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("link", name="Sign in again")).to_have_attribute("target", "_blank")
        assert frame.locator("input[type=password]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", ["picker", "chat"])
def test_it_fits_a_phone(
    chromium: Browser, neighbours: Neighbours, administrator: dict[str, str], part: str, scheme: str
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    with opened(chromium, administrator, f"{neighbours.allowed}/{part}", **phone) as page:
        expect(page.locator("#ticked")).not_to_be_empty()
        assert overflow(page) == 0
        inner = page.frames[1]
        assert inner.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
