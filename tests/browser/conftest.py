"""A real browser on the real app; only the embedding model is faked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from playwright._impl._sync_base import EventInfo
from playwright.sync_api import Browser, BrowserContext, FileChooser, Locator, Page, Route, expect, sync_playwright

from braid.app import first_start
from braid.core.accounts.accounts import Accounts
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in, site_of, visited
from tests.worlds import WAIT_S

CHROMIUMS = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))
"""Debian's. The first has no windows: a fresh profile with its first page takes a third of the processor time."""
ARTIFACTS = Path(__file__).parents[2] / ".artifacts"

NOTES = {
    "notes/meeting.md": (
        "Search team, weekly meeting",
        "We agreed to keep hybrid search and to fuse the rankings by rank.",
    ),
    "notes/定例会.md": ("検索チーム定例会", "ハイブリッド検索の融合方法は、しばらく順位による方式のままにする。"),
    "notes/회의.md": ("검색 팀 회의", "하이브리드 검색의 순위 융합 방법은 당분간 그대로 두기로 했다."),
}


IS_IN_SIGHT = """element => {
  const { x, y, width, height } = element.getBoundingClientRect();
  const on_top = document.elementFromPoint(x + width / 2, y + height / 2);
  return Boolean(on_top) && (element.contains(on_top) || on_top.contains(element));
}"""
"""Whether the middle of an element is in the window, with nothing else over it."""


@dataclass(frozen=True)
class Site:
    """A running app with an administrator; the password of everybody is `tests.web.PASSWORD`."""

    url: str
    """Ends with a slash."""
    braid: Braid
    embeddings: HashEmbeddings
    app: Flask

    def cookie(self, name: str = "") -> dict[str, str]:
        """The session of this user, or of the administrator, as a browser's context takes it."""
        session = sign_in(self.app, name).get_cookie("braid_session")
        assert session is not None
        where = urlsplit(self.url)
        path = where.path.rstrip("/") or "/"  # as the app itself sets it: another one would be a second cookie
        return {"name": "braid_session", "value": session.value, "domain": str(where.hostname), "path": path}


def tab_to(page: Page, wanted: Locator, *, most: int = 80) -> None:
    """Press Tab until the element has the focus, as who uses no mouse does; fail after ``most`` times, or when it is
    then out of sight, as below a bar at the window's edge.
    """
    for _press in range(most):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            assert wanted.evaluate(IS_IN_SIGHT), f"{wanted} has the focus and is in sight"
            return
    raise AssertionError(f"Tab does not come to {wanted} within {most} times")


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    page.wait_for_load_state()
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@contextmanager
def before_the_script(page: Page, script: str) -> Iterator[None]:
    """Keep this script of the next page on its way until the block ends, as on a slow connection."""
    held: list[Route] = []
    page.route(f"**/static/{script}.*.js", lambda route: held.append(route))
    yield
    while not held:  # pytest-timeout ends it
        page.wait_for_timeout(50)
    held[0].continue_()
    page.wait_for_load_state("load")


@contextmanager
def choosing_a_file(page: Page) -> Iterator[EventInfo[FileChooser]]:
    """Yield what will be the chooser of files that the block opens, as `Page.expect_file_chooser` does, which does not
    wait until the browser knows that it is to tell us, and not to ask a person.
    """
    page.on("filechooser", lambda _: None)
    page.evaluate("0")
    with page.expect_file_chooser() as chooser:
        yield chooser


@pytest.fixture(scope="session", autouse=True)
def chat_libraries() -> None:
    """Load what the first answer of a process would load, which takes seconds; a server does so after its start."""
    for name in ("langgraph.graph", "langchain.chat_models", "langchain_openai"):
        import_module(name)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The app as after the first start, with a few personal notes of the administrator."""
    embeddings = HashEmbeddings()
    with Braid(tmp_path_factory.mktemp("site") / "data", embedding_model=embeddings) as braid:
        first_start.prepare(braid)
        for source, (title, text) in NOTES.items():
            braid.ledger.put_document(1, DocumentInput(source, title, "md", (ChunkInput(text, line=1, line_end=1),)))
        assert braid.indexer.wait(WAIT_S)
        app = make_app(braid)
        with visited(app) as url:
            yield Site(url, braid, embeddings, app)


@pytest.fixture(scope="session")
def jobs(site: Site) -> Iterator[None]:
    """Run the site's jobs until the end: they can be started once."""
    here = site_of(site.app)
    here.start_jobs()
    yield
    here.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. What a page is expected to show may take as long as anything else that tests wait for."""
    expect.set_options(timeout=WAIT_S * 1000)
    installed = next(filter(Path.exists, CHROMIUMS), None)
    if installed is None:
        pytest.skip(f"none of {', '.join(map(str, CHROMIUMS))} is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def administrator(site: Site) -> dict[str, str]:
    """The administrator's session."""
    return site.cookie()


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A fresh profile, whose pages may take as long as anything else that tests wait for."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_S * 1000)
    return context


@contextmanager
def opening(chromium: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Yield a function that opens the app in a fresh profile; at the end, nothing may stand in the browser's console.

    ``cookies`` are of `Site.cookie`; further options are those of Playwright's ``new_context``.
    """
    complaints: list[str] = []
    contexts = []

    def open_with(path: str = "", *, cookies: Sequence[dict[str, str]] = (), **options: object) -> Page:
        context = new_context(chromium, **({"locale": "en-US", "viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        context.add_cookies(list(cookies))
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(site.url + path)
        return page

    yield open_with
    for context in contexts:
        context.close()
    assert complaints == []


def forget_choices(braid: Braid) -> None:
    """Let nobody's next conversation begin with what was chosen for an earlier one: Braid remembers it."""
    accounts = Accounts(braid.ledger)
    for each in accounts.all():
        if each.preferences:
            accounts.set_preferences(each.id, dict.fromkeys(each.preferences))


@pytest.fixture
def open_anonymous(chromium: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Open the app as `opening` says, for one test, to which earlier ones have left no choices."""
    forget_choices(site.braid)
    with opening(chromium, site) as open_with:
        yield open_with


@pytest.fixture
def open_page(open_anonymous: Callable[..., Page], administrator: dict[str, str]) -> Callable[..., Page]:
    """Open the app as `open_anonymous` does, signed in as the administrator or as ``cookies`` say."""

    def open_with(path: str = "search", **options: object) -> Page:
        return open_anonymous(path, **({"cookies": [administrator]} | options))

    return open_with


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    """Keep a screenshot of the whole page for people to look at."""
    ARTIFACTS.mkdir(exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)

    return take
