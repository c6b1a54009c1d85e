"""Documents on their way in, as people see it: a Japanese PDF and an English Word file, and one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import samples
from tests.browser.conftest import Site, before_the_script
from tests.browser.test_accessibility import violations
from tests.web import add_user

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def visitor(site: Site, jobs: None) -> dict[str, str]:
    """The session of a user of these tests alone."""
    return site.cookie(add_user(site.app, "Uploader").name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "図書館.pdf").write_bytes(samples.pdf([["Fees"], [samples.JAPANESE[:40]]], title="図書館の案内"))
    (folder / "manual.docx").write_bytes(samples.docx_manual())
    (folder / "photo.gif").write_bytes(samples.GIF)
    (folder / "notes" / "deep").mkdir(parents=True)
    for number in range(3):
        (folder / "notes" / "deep" / f"{number}.md").write_text(f"# Note {number}\n\nText {number}.")
    return folder


def new_dataset(page: Page, name: str) -> None:
    page.get_by_label("Name", exact=True).first.fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)


def row(page: Page, name: str) -> Locator:
    return page.locator(".documents tbody tr", has_text=name)


def test_files_are_uploaded_with_live_progress(
    open_anonymous: Open, visitor: dict[str, str], files: Path, picture: Picture
) -> None:
    page = open_anonymous("datasets", cookies=[visitor])
    new_dataset(page, "Library")
    page.evaluate("window.stayed = true")
    page.locator("#files").set_input_files([files / "図書館.pdf", files / "manual.docx", files / "photo.gif"])
    expect(row(page, "図書館の案内").locator(".state")).to_have_text("done")
    expect(row(page, "Library manual").locator(".state")).to_have_text("done")
    expect(row(page, "photo.gif")).to_contain_text("This file is a GIF image")
    expect(page.locator("#announcer")).to_contain_text("Everything is searchable.")
    expect(page.locator("#sending-count")).to_have_text("2 of 3 files are ready; 1 could not be read.")
    expect(page.locator("#sent").get_by_role("link", name="Ask this dataset")).to_be_visible()
    expect(page.locator("#sent").get_by_role("link", name="See why")).to_be_visible()
    assert page.evaluate("window.stayed")
    picture(page, "dataset")
    page.get_by_role("button", name="Delete: photo.gif").click()
    expect(row(page, "photo.gif")).to_have_count(0)
    tick = row(page, "Library manual").get_by_role("checkbox")
    tick.check()
    tick.press("Enter")  # which is not to delete it
    page.reload()
    expect(row(page, "Library manual")).to_be_visible()
    page.get_by_role("link", name="図書館の案内").click()
    expect(page.locator(".passages li")).to_have_count(2)
    expect(page.locator(".passages li").nth(1)).to_contain_text("page 2")


def test_the_first_files_need_no_dataset(open_anonymous: Open, site: Site, jobs: None, files: Path) -> None:
    user = add_user(site.app, "Newcomer")
    page = open_anonymous("chat", cookies=[site.cookie(user.name)])
    page.get_by_role("link", name="Add your own documents").click()
    assert site.braid.ledger.datasets(user.id) == []
    page.locator("#files").set_input_files([files / "図書館.pdf", files / "manual.docx"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("My documents")
    expect(row(page, "図書館の案内").locator(".state")).to_have_text("done")
    expect(row(page, "Library manual").locator(".state")).to_have_text("done")
    assert len(site.braid.ledger.datasets(user.id)) == 1


def test_what_concerns_documents_is_there_with_them(open_anonymous: Open, visitor: dict[str, str], files: Path) -> None:
    page = open_anonymous("datasets", cookies=[visitor])
    new_dataset(page, "Bare")
    find, remove = page.get_by_label("Name contains"), page.get_by_role("button", name="Delete selected")
    expect(find).to_be_hidden()
    page.locator("#files").set_input_files([files / "manual.docx"])
    expect(row(page, "Library manual").locator(".state")).to_have_text("done")
    expect(find).to_be_visible()
    expect(page.locator("#sending-all")).to_be_hidden()
    expect(remove).to_be_hidden()
    page.get_by_role("checkbox", name="Library manual").check()
    expect(remove).to_be_visible()


def test_a_file_that_is_chosen_before_the_script_runs_is_uploaded(
    open_anonymous: Open, visitor: dict[str, str], files: Path
) -> None:
    page = open_anonymous("datasets", cookies=[visitor])
    with before_the_script(page, "uploads"):
        page.get_by_label("Name", exact=True).first.fill("Early")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Early")
        page.locator("#files").set_input_files(files / "manual.docx")
    expect(row(page, "Library manual").locator(".state")).to_have_text("done")


def test_a_folder_keeps_its_paths(open_anonymous: Open, visitor: dict[str, str], files: Path) -> None:
    page = open_anonymous("datasets", cookies=[visitor])
    new_dataset(page, "Folder")
    page.locator("#folder").set_input_files(files / "notes")
    expect(page.locator(".documents tbody tr")).to_have_count(3)
    expect(row(page, "Note 1")).to_contain_text("notes/deep/1.md")


def test_what_is_too_large_is_said_before_it_is_sent(
    open_anonymous: Open, visitor: dict[str, str], files: Path
) -> None:
    page = open_anonymous("datasets", cookies=[visitor])
    new_dataset(page, "Large")
    page.evaluate("document.getElementById('upload').dataset.maxMb = '0.00001'")
    page.locator("#files").set_input_files(files / "manual.docx")
    expect(page.locator("#sending-files li")).to_contain_text("the limit of")
    expect(page.get_by_role("button", name="Upload again: manual.docx")).to_be_visible()


def test_by_keyboard_on_a_phone(open_anonymous: Open, visitor: dict[str, str], picture: Picture) -> None:
    page = open_anonymous("datasets", cookies=[visitor], viewport=PHONE)
    new_dataset(page, "Pasted")
    page.locator("#paste summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Printer")
    page.keyboard.press("Tab")
    page.keyboard.type("Error E-4711: the tray is empty.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".documents tbody tr .state")).to_have_text(["done"])
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    picture(page, "dataset-phone")
    page.locator(".documents tbody input").focus()
    page.keyboard.press("Space")
    page.locator("#remove-chosen").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("1 document deleted.")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("1 document is back.")
    expect(page.locator(".documents tbody tr .state")).to_have_text(["done"])


def test_a_quick_look_by_button_and_by_space(open_page: Open, site: Site) -> None:
    page = open_page("datasets/1")
    first, second = page.locator(".documents tbody th > a").all()[:2]
    look = page.locator("#look")
    first.focus()
    page.keyboard.press("Space")
    expect(look).to_be_visible()
    name = str(first.text_content())
    expect(look.get_by_role("heading", level=2, name=name)).to_be_visible()
    expect(look.locator(".passages li").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Alt+ArrowDown")
    expect(look.locator("#look-title")).to_have_text(str(second.text_content()))
    page.keyboard.press("Escape")
    expect(look).to_be_hidden()
    expect(second).to_be_focused()
    page.get_by_role("button", name=f"Quick look: {name}").click()
    look.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_the_time_that_is_left_is_told_from_how_fast_it_was(open_page: Open) -> None:
    page = open_page("datasets/1")
    page.clock.install()
    bar = """<div data-busy="1"><div class="all-progress"><progress max="100" value="{done}"></progress>
      <p id="all-told" data-left="about {{time}} left">{done} of 100 ready</p></div></div>"""
    for seconds, done, told in ((0, 10, "10 of 100 ready"), (10, 20, "20 of 100 ready · about 2 minutes left")):
        page.clock.run_for(seconds * 1000)
        page.evaluate("html => show(html)", bar.format(done=done))
        expect(page.locator("#all-told")).to_have_text(told)
    page.clock.run_for(60_000)
    page.evaluate("html => show(html)", bar.format(done=95))
    expect(page.locator("#all-told")).to_have_text("95 of 100 ready · about 10 seconds left")
