"""The first start: the password can be shown, and a typo locks nobody out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from braid.app import first_start
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.browser.conftest import new_context, overflow
from tests.fakes import HashEmbeddings
from tests.web import PASSWORD, fresh_app, visited

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SHOW = {"en-US": "Show password", "ja-JP": "パスワードを表示", "ko-KR": "비밀번호 표시"}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A new data directory, served."""
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        first_start.begin(braid)
        with visited(fresh_app(braid, Settings(data_dir=tmp_path / "data"))) as url:
            yield url


def open_first(chromium: Browser, address: str, **options: object) -> Page:
    page = new_context(chromium, **options).new_page()
    page.goto(address)
    return page


@pytest.mark.parametrize("locale", SHOW)
def test_the_password_is_shown_by_keyboard_and_sent_hidden(chromium: Browser, address: str, locale: str) -> None:
    page = open_first(chromium, address, locale=locale, viewport={"width": 390, "height": 844})
    field = page.locator("input[name=password]")
    expect(field).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    box = page.get_by_role("checkbox", name=SHOW[locale], exact=True)
    expect(box).to_be_focused()
    page.keyboard.press("Space")
    expect(field).to_have_attribute("type", "text")
    page.keyboard.press("Space")
    expect(field).to_have_attribute("type", "password")
    page.keyboard.press("Space")
    assert overflow(page) == 0
    page.evaluate("document.forms[0].addEventListener('submit', (e) => { e.preventDefault(); })")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(field).to_have_attribute("type", "password")
    page.context.close()


def test_without_scripts_the_password_is_typed_twice(chromium: Browser, address: str) -> None:
    page = open_first(chromium, address, locale="en-US", java_script_enabled=False)
    assert page.get_by_role("checkbox").count() == 0
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=again]").fill(PASSWORD + "x")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_have_text("The passwords do not match. Enter them again.")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=again]").fill(PASSWORD)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#me-button")).to_be_visible()
    page.context.close()


def test_after_a_typo_the_command_of_the_docs_lets_the_only_administrator_in(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    page = open_first(chromium, address, locale="en-US")
    page.get_by_label("Password", exact=True).fill("correct horze")
    page.get_by_role("button", name="Start").click()
    page.locator("#me-button").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("under “Forgotten passwords”")).to_be_visible()
    docs = (ROOT / "docs" / "administration.md").read_text(encoding="utf-8").partition("### Forgotten passwords")[2]
    command = docs.partition("```\n")[2].partition("\n```")[0]
    program, *arguments = command.replace("NAME", "admin").split()
    assert program == "python"
    given = {"BRAID_DATA_DIR": str(tmp_path / "data"), "BRAID_SHARED_DBS": str(tmp_path / "data/shared_dbs.json")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=given, input=PASSWORD, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#me-button")).to_be_visible()
    page.context.close()
