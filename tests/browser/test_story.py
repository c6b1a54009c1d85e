"""The first hour with Braid, from the first start to a second user, in a real browser; only the embedding is faked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from braid.app import first_start
from braid.core.braid import Braid
from tests.browser.conftest import new_context
from tests.fakes import HashEmbeddings
from tests.samples import docx_manual, pdf
from tests.web import fresh_app, site_of, visited
from tests.worlds import WAIT_S

pytestmark = pytest.mark.browser

PASSWORD = "correct horse"
SAFETY = pdf(
    [
        ["安全の手引き", "この手引きは実験室で働く人のためのものです。"],
        ["廃液の処理", "有機溶媒の廃液は青い容器に入れて、毎週金曜日に回収します。"],
        ["緊急時の連絡", "火災のときは内線一一九番に連絡してください。"],
    ],
    title="安全の手引き",
)


@dataclass(frozen=True)
class Fresh:
    """The app at its first start, with its background jobs."""

    url: str
    braid: Braid


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Fresh]:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        first_start.prepare(braid)
        app = fresh_app(braid)
        site_of(app).start_jobs()
        with visited(app) as url:
            yield Fresh(url, braid)
        site_of(app).close()


@pytest.fixture
def visit(chromium: Browser, fresh: Fresh) -> Iterator[Callable[..., Page]]:
    """Another browser."""
    contexts = []

    def open_with(path: str = "", **options: object) -> Page:
        context = new_context(chromium, **({"locale": "en-US", "viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.goto(fresh.url + path)
        return page

    yield open_with
    for context in contexts:
        context.close()


def sign_in(page: Page, name: str) -> None:
    page.locator("[name=name]").fill(name)
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat")


def ask(page: Page, question: str) -> None:
    turns = page.locator(".turn:not(.pending) .answer").count()
    page.locator("#text").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .answer")).to_have_count(turns + 1)


def test_from_the_first_start_to_a_second_user(visit: Callable[..., Page], fresh: Fresh, picture: object) -> None:
    # The first visit makes the administrator.
    ana = visit()
    expect(ana.get_by_role("heading", level=1)).to_have_text("Welcome! Create the admin account.")
    ana.get_by_label("Name").fill("Ana")
    ana.get_by_label("Password", exact=True).fill(PASSWORD)
    ana.get_by_role("button", name="Start").click()

    # One click to adding documents: a Japanese PDF and an English Word file.
    ana.get_by_role("link", name="Add your own documents").click()
    ana.locator("input[type=file]").first.set_input_files(
        [
            {"name": "安全.pdf", "mimeType": "application/pdf", "buffer": SAFETY},
            {"name": "library.docx", "mimeType": "application/octet-stream", "buffer": docx_manual()},
            {"name": "empty.pdf", "mimeType": "application/pdf", "buffer": b""},
        ]
    )
    expect(ana.locator("body")).to_contain_text("安全の手引き")  # three readers start
    expect(ana.get_by_text("still indexing")).to_have_count(0)
    assert fresh.braid.indexer.wait(WAIT_S)

    # A second shared dataset, for which the administrator needs no file.
    ana.goto(fresh.url + "admin/shared")
    ana.get_by_label("Name", exact=True).fill("Lab rules")
    ana.get_by_label("Everyone").check()
    ana.get_by_text("Advanced").click()
    ana.get_by_label("Collection").fill("shared_lab")
    ana.get_by_role("button", name="Add", exact=True).click()
    expect(ana.get_by_role("status")).to_contain_text("Lab rules")

    # The picker has one personal and two shared datasets.
    ana.goto(fresh.url + "chat")
    ana.locator("summary, button").filter(has_text="Datasets").first.click()
    for name in ("My documents", "Braid guide", "Lab rules"):
        expect(ana.get_by_role("checkbox", name=name)).to_be_visible()
    ana.keyboard.press("Escape")

    # A streamed answer whose citation opens the right page of the right document.
    ask(ana, "有機溶媒の廃液はどうしますか")
    source = ana.locator(".source").filter(has_text="page 2").first
    expect(source).to_contain_text("安全の手引き")
    ana.screenshot(path=Path(__file__).parents[2] / ".artifacts" / "story-answer.png")
    source.get_by_role("link").first.click()
    expect(ana.locator("#panel-heading")).to_contain_text("安全の手引き")  # the page is drawn
    expect(ana.locator("#panel")).to_contain_text("Page 2 of ")
    expect(ana.locator("#cited").first).to_be_visible()

    # What is deleted is not in the very next answer, and is shown as deleted where it was cited.
    ana.goto(fresh.url + "datasets/1")
    ana.get_by_role("checkbox", name="安全").check()
    ana.get_by_role("button", name="Delete selected").click()
    expect(ana.locator(".documents")).not_to_contain_text("安全の手引き")
    ana.goto(fresh.url + "chat/1")
    expect(ana.get_by_text("since deleted").first).to_be_visible()
    ask(ana, "有機溶媒の廃液はどうしますか")
    expect(ana.locator(".turn").last).not_to_contain_text("毎週金曜日")

    # A second user sees the shared datasets, until one is switched off, and never Ana's.
    ana.goto(fresh.url + "admin/users/add")
    ana.get_by_label("Name", exact=True).fill("Min")
    ana.locator("form").filter(has=ana.get_by_label("Name", exact=True)).locator("[type=password]").fill(PASSWORD)
    ana.locator("form").filter(has=ana.get_by_label("Name", exact=True)).get_by_role(
        "button", name="Add", exact=True
    ).click()
    min_ = visit("login", locale="ko-KR", viewport={"width": 360, "height": 740})
    sign_in(min_, "Min")
    expect(min_.locator("html")).to_have_attribute("lang", "ko")
    min_.goto(fresh.url + "search")
    expect(min_.get_by_label("Lab rules")).to_be_attached()
    min_.get_by_role("searchbox").fill("library manual lending fees")
    min_.keyboard.press("Enter")
    expect(min_.locator(".hit").first).to_be_visible()
    expect(min_.locator("#results")).not_to_contain_text("Library manual")
    ana.goto(fresh.url + "admin/shared")
    ana.get_by_role("button", name="Turn off Lab rules").click()
    expect(ana.get_by_role("status")).to_contain_text("Nobody can search it now")
    min_.reload()
    expect(min_.get_by_label("Lab rules")).to_have_count(0)
    expect(min_.get_by_label("Braid 안내서")).to_be_attached()


def test_the_whole_way_by_keyboard(visit: Callable[..., Page], fresh: Fresh) -> None:
    page = visit()
    page.get_by_label("Password", exact=True).focus()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat")
    assert fresh.braid.indexer.wait(WAIT_S)
    page.keyboard.type("How are the two rankings fused?")  # the composer has the focus
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .source").first).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.prose a.cite, .source-title a')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#cited").first).to_be_visible()
