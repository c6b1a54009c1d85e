"""Files dropped, pasted and picked in the chat, kept, and refused, by mouse and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.browser.conftest import Site, before_the_script, choosing_a_file, overflow
from tests.browser.test_accessibility import violations
from tests.fakes import HashEmbeddings
from tests.web import add_user, make_app, site_of, visited

pytestmark = pytest.mark.browser

TEXT = "The valve XK-4711 is closed by hand."
DROP = """([name, text, kind, to = "conversation"]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, { type: "text/plain" }));
  const target = kind === "paste" ? document.getElementById("text")
    : document.querySelector(to.startsWith("#") ? to : kind === "drop" && to ? `#drop-to [data-to="${to}"]` : "main");
  const event = kind === "paste" ? new ClipboardEvent(kind, { clipboardData: files, bubbles: true, cancelable: true })
    : new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An app of these tests alone, whose jobs are run."""
    embeddings = HashEmbeddings()
    with Braid(tmp_path_factory.mktemp("files") / "data", embedding_model=embeddings) as braid:
        app = make_app(braid, jobs=True)
        with visited(app) as url:
            yield Site(url, braid, embeddings, app)
        site_of(app).close()


@pytest.fixture
def ana(site: Site, request: pytest.FixtureRequest) -> dict[str, str]:
    """A user of her own with a dataset."""
    account = add_user(site.app, f"Ana {request.node.name}")
    dataset = site.braid.ledger.add_dataset(account.id, "notes")
    put = DocumentInput("pump.md", "Pump", "md", (ChunkInput("The pump runs at 12 bar."),))
    site.braid.ledger.put_document(dataset.id, put)
    return site.cookie(account.name)


def drop(page: Page, name: str, to: str = "conversation") -> None:
    """Drag a file over the page, and drop it on one of the places that are offered."""
    page.evaluate(DROP, [name, TEXT, "dragenter"])
    expect(page.locator(f'#drop-to [data-to="{to}"]')).to_be_visible()
    page.evaluate(DROP, [name, TEXT, "drop", to])


def test_a_dropped_file_is_asked_at_once(
    open_anonymous: Callable[..., Page], ana: dict[str, str], picture: Callable[[Page, str], None]
) -> None:
    page = open_anonymous("chat", cookies=[ana])
    page.evaluate(DROP, ["valve.txt", TEXT, "dragenter"])
    expect(page.get_by_role("dialog", name="Where should the files go?")).to_be_visible()
    expect(page.locator("#drop-to strong")).to_have_text(["This conversation", "notes"])
    drop(page, "valve.txt")
    expect(page.locator("#drop-to")).to_be_hidden()
    page.get_by_label("Your question").fill("Which valve is closed by hand?")
    page.keyboard.press("Enter")  # before the file is read: the question waits for it
    source = page.locator(".turn:not(.pending) .source").first
    expect(source).to_contain_text(TEXT)
    expect(page.locator("#files li.ready")).to_have_text("valve.txt")
    picture(page, "chat-file")


def test_pasted_and_dropped_files_are_kept_as_a_dataset(
    open_anonymous: Callable[..., Page], ana: dict[str, str]
) -> None:
    page = open_anonymous("chat", cookies=[ana])
    drop(page, "valve.txt")
    expect(page.locator("#files li.ready")).to_have_text(re.compile("valve"))
    page.evaluate(DROP, ["second.txt", "The second file names the ventilator.", "paste"])
    expect(page.locator("#files li.ready")).to_have_count(2)
    page.reload()
    expect(page.locator("#files li.ready")).to_have_count(2)
    dropped = page.locator("#files li.ready").first
    name = dropped.locator(".name").inner_text()
    dropped.get_by_role("button", name=f"Remove {name}").click()
    expect(page.locator("#files li.ready")).to_have_count(1)
    expect(page.locator("#files")).not_to_contain_text(name)
    page.get_by_text("Keep these files").click()
    page.get_by_label("Name of the dataset").fill("Valves")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Valves")
    page.get_by_role("link", name="Ask this dataset").click()
    expect(page.locator("#chips li")).to_have_count(1)
    expect(page.locator("#chips")).to_contain_text("Valves")


def test_a_file_that_follows_the_first_question_belongs_to_its_conversation(
    open_anonymous: Callable[..., Page], ana: dict[str, str]
) -> None:
    page = open_anonymous("chat", cookies=[ana])
    page.locator("#text").fill("At how many bar does the pump run?")
    page.keyboard.press("Enter")
    drop(page, "valve.txt")  # while it is answered
    expect(page.locator(".turn:not(.pending) .source").first).to_contain_text("12 bar")
    expect(page.locator("#files li.ready")).to_have_text("valve.txt")
    page.locator("#text").fill("Which valve is closed by hand?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn").nth(1).locator(".source").first).to_contain_text(TEXT)
    expect(page.locator("#conversations li")).to_have_count(1)
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator("#files li.ready")).to_have_text("valve.txt")


def test_files_are_picked_and_what_is_refused_says_why(
    open_anonymous: Callable[..., Page], ana: dict[str, str], picture: Callable[[Page, str], None]
) -> None:
    page = open_anonymous("chat", cookies=[ana], viewport={"width": 390, "height": 844})
    with choosing_a_file(page) as chosen:
        page.locator("#attach").press("Enter")
    chosen.value.set_files([{"name": "picture.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}])
    expect(page.locator("#files li.failed .reason")).to_contain_text(re.compile("png", re.IGNORECASE))
    page.evaluate("document.getElementById('files').dataset.maxMb = '0.000001'")
    drop(page, "large.txt")
    expect(page.locator("#sending li.failed")).to_contain_text("larger than the limit")
    picture(page, "chat-file-refused-phone")
    assert overflow(page) == 0
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#sending li")).to_have_count(0)


def test_from_any_page_a_file_goes_to_the_dataset_that_is_chosen(
    open_anonymous: Callable[..., Page], ana: dict[str, str], site: Site
) -> None:
    page = open_anonymous("settings", cookies=[ana])
    page.evaluate(DROP, ["valve.txt", TEXT, "dragenter"])
    dataset = page.locator("#drop-to [data-to]")
    expect(dataset).to_have_text("notes1 document")
    assert violations(page) == []
    page.evaluate(DROP, ["valve.txt", TEXT, "drop", ""])  # on the page, beside the places: now it is asked
    expect(page.locator("#drop-to")).to_be_visible()
    dataset.click()
    status = page.locator("#drop-to [role=status]")
    expect(status).to_have_text("1 of 1 file uploaded Show the documents")
    status.get_by_role("link").click()
    expect(page.locator("table.documents")).to_contain_text("valve.txt")
    page.wait_for_load_state()
    page.evaluate(DROP, ["second.txt", TEXT, "dragenter", "#drop p"])  # the page has a place of its own for files
    expect(page.locator("#drop")).to_have_class("drop over")
    expect(page.locator("#drop-to")).to_be_hidden()
    page.evaluate(DROP, ["second.txt", TEXT, "drop", "#drop p"])
    expect(page.locator("table.documents")).to_contain_text("second.txt")
    expect(page.locator("#drop")).to_have_class("drop")
    page.evaluate(DROP, ["third.txt", TEXT, "drop", ""])  # beside it
    expect(dataset).to_have_text("notes3 documents")
    page.keyboard.press("Escape")
    expect(page.locator("#drop-to")).to_be_hidden()
    page.evaluate(DROP, ["third.txt", TEXT, "drop", ""])
    dataset.click()
    expect(page.locator("table.documents")).to_contain_text("third.txt")


@pytest.mark.parametrize(
    ("path", "script", "to", "shown"),
    [
        ("datasets/{dataset}", "uploads", "#drop p", "table.documents"),
        ("chat", "chat_files", "", "#files li.ready"),
    ],
)
def test_a_file_dropped_before_the_page_has_its_scripts_is_not_lost(
    open_anonymous: Callable[..., Page], ana: dict[str, str], site: Site, path: str, script: str, to: str, shown: str
) -> None:
    page = open_anonymous("settings", cookies=[ana])
    dataset = page.request.get(f"{site.url}palette.json?to=add").json()["groups"][0]["entries"][0]["href"]
    with before_the_script(page, script):
        page.goto(site.url + path.format(dataset=dataset.rsplit("/", 1)[1]), wait_until="commit")
        page.locator(to or "main").first.wait_for(state="attached")
        while not page.locator("#drop.over, #drop-to[open]").count():  # until drop.js runs
            page.evaluate(DROP, ["early.txt", TEXT, "dragenter", to])
        page.evaluate(DROP, ["early.txt", TEXT, "drop", to])
        if not to:
            page.locator("#drop-to [data-to=conversation]").click()
    expect(page.locator(shown)).to_contain_text("early.txt")


def test_while_a_page_loads_a_second_drop_is_kept_and_a_second_click_sends_nothing_twice(
    open_anonymous: Callable[..., Page], ana: dict[str, str], site: Site
) -> None:
    page = open_anonymous("settings", cookies=[ana])
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/files?" in request.url else None)
    with before_the_script(page, "chat_files"):
        page.goto(f"{site.url}chat", wait_until="commit")
        page.locator("main").wait_for(state="attached")
        while not page.locator("#drop-to[open]").count():
            page.evaluate(DROP, ["first.txt", TEXT, "dragenter", ""])
        page.evaluate(DROP, ["first.txt", TEXT, "drop", ""])
        page.locator("#drop-to [data-to=conversation]").click()
        page.evaluate(DROP, ["second.txt", TEXT, "drop", ""])
        dataset = page.locator("#drop-to strong", has_text="notes")
        dataset.click()
        dataset.evaluate("element => element.click()")
    expect(page.locator("#files li.ready")).to_have_text("first.txt")
    expect(page.locator("#drop-to [role=status]")).to_contain_text("1 of 1 file uploaded")
    assert sorted(url.rpartition("name=")[2].partition("&")[0] for url in sent) == ["first.txt", "second.txt"]
