"""What people do in the chat, in a real browser, with a model that answers word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from braid.app import first_start
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.browser.conftest import forget_choices, new_context
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.web import PASSWORD, fresh_app, site_of, visited
from tests.worlds import WAIT_S

pytestmark = pytest.mark.browser

ARTIFACTS = Path(__file__).parents[2] / ".artifacts"
PHONE = {"width": 360, "height": 740}
ANSWER = "They are fused **by rank** [1]. <script>alert(1)</script>"
QUESTION = "How are the two rankings fused?"
STARTER = "What is “Weekly meeting” about?"


@dataclass(frozen=True)
class Chat:
    """A running app with a model, and a browser to open it in."""

    url: str
    braid: Braid
    model: ModelServer


@pytest.fixture(scope="module")
def chat_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chat]:
    """The app as after the first start, with a note of one's own."""
    data = tmp_path_factory.mktemp("chat") / "data"
    with model_server(ANSWER) as model, Braid(data, embedding_model=HashEmbeddings()) as braid:
        first_start.prepare(braid)
        note = ChunkInput("At the weekly meeting we agreed to fuse the rankings by rank.", line=1, line_end=1)
        braid.ledger.put_document(1, DocumentInput("meeting.md", "Weekly meeting", "md", (note,)))
        assert braid.indexer.wait(WAIT_S)
        settings = replace(
            Settings(), summary_model="openai:writer", summary_model_base_url=model.url, summary_model_api_key="k"
        )
        app = fresh_app(braid, settings)
        site_of(app).accounts.create_first(braid.ledger.users()[0].name, PASSWORD)
        with visited(app) as url:
            yield Chat(url, braid, model)


@pytest.fixture
def chat(chat_site: Chat) -> Chat:
    """The app, whose model answers at once, without conversations and what was chosen for them."""
    chat_site.model.delay_s, chat_site.model.broken, chat_site.model.unfinished = 0.0, 0, 0
    chat_site.model.reply, chat_site.model.pause_after = lambda _: ANSWER, 0
    chat_site.model.go_on.clear()
    with chat_site.braid.ledger.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM conversations")
    forget_choices(chat_site.braid)
    return chat_site


@pytest.fixture
def open_chat(chromium: Browser, chat: Chat) -> Iterator[Callable[..., Page]]:
    """Sign in through the form; at the end nothing may stand in the browser's console but refusals that were meant."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_with(**options: object) -> Page:
        context = new_context(chromium, **({"locale": "en-US", "viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message.text) else None)
        page.goto(chat.url + "login")
        page.locator("[name=name]").fill(chat.braid.ledger.users()[0].name)
        page.locator("[name=password]").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/chat")
        return page

    yield open_with
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(text: str) -> bool:
    return "Content Security Policy" in text or "Refused" in text


def ask(page: Page, text: str = QUESTION) -> None:
    page.locator("#text").fill(text)
    page.keyboard.press("Enter")


def answered(page: Page, turns: int = 1) -> None:
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(turns)


def test_first_visit_to_a_cited_passage(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    page.get_by_role("button", name=STARTER).click()
    answered(page)
    expect(page.locator(".prose strong")).to_have_text("by rank")
    expect(page.locator(".prose")).to_contain_text("<script>")
    expect(page.locator("#announcer")).to_have_text("The answer is ready.")
    expect(page.locator("#conversations a[aria-current]")).to_have_text(STARTER)
    page.wait_for_url("**/chat/*")
    page.screenshot(path=ARTIFACTS / "chat-answer.png")
    page.locator(".prose a.cite").focus()
    expect(page.locator("#preview")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#cited").first).to_be_visible()


def test_the_answer_appears_as_it_is_written_and_can_be_stopped(open_chat: Callable[..., Page], chat: Chat) -> None:
    chat.model.reply = lambda _: "They are fused by rank [1]. " + "And so on. " * 2_000
    chat.model.delay_s = 0.05
    page = open_chat()
    ask(page)
    expect(page.locator(".pending .progress")).to_contain_text("Searching for")
    expect(page.locator(".pending .prose")).to_contain_text("And so on.")
    page.locator("#text").fill("And then?")
    page.keyboard.press("Enter")
    expect(page.locator("#refused")).to_contain_text("An answer is being written.")
    expect(page.locator("#text")).to_have_value("And then?")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    expect(page.locator("#refused")).to_be_hidden()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()


def test_enter_in_a_field_of_the_options_asks_what_is_typed_and_not_what_is_offered(
    open_chat: Callable[..., Page],
) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    page.reload()
    page.locator("#log").evaluate(
        """(log) => log.insertAdjacentHTML(
            "beforeend", '<button form="composer" name="example" value="An offer" formnovalidate>An offer</button>'
        )"""
    )
    page.locator("#text").fill(f"{QUESTION} Again?")
    page.locator("#options-button").click()
    page.locator("#k").press("Enter")
    answered(page, 2)
    expect(page.locator(".turn .question").last).to_contain_text("Again?")


def test_enter_does_not_send_while_a_word_is_being_composed(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    box = page.locator("#text")
    box.fill("けんさく")
    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    box.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
    page.keyboard.press("Shift+Enter")
    expect(box).to_have_value("けんさく\n")
    expect(page.locator(".turn")).to_have_count(0)


def test_how_it_was_found_is_the_same_after_a_reload(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    page.get_by_text("How this was found").click()
    expect(page.locator(".how-found")).to_be_visible()
    before = page.locator(".how").inner_text()
    assert "Searched for" in before
    assert "contribution" in before
    page.reload()
    page.get_by_text("How this was found").click()
    expect(page.locator(".how-found")).to_be_visible()
    assert page.locator(".how").inner_text() == before


def test_picker_and_options_are_remembered(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    page.locator("#picker-button").click()
    page.get_by_label("Filter the datasets").fill("guide")
    expect(page.locator(".dataset:visible")).to_have_count(1)
    page.get_by_label("Filter the datasets").fill("")
    page.locator("[data-kind=personal] .select-all").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("#picker-button output")).to_have_text("1 of 2")
    page.locator("#options-button").click()
    page.get_by_text("You set the balance between the two").click()
    balance = page.get_by_role("slider", name="Balance")
    balance.fill("0.2")
    page.get_by_text("Several queries").click()
    page.keyboard.press("Escape")
    ask(page)
    answered(page)
    page.reload()
    expect(page.locator("#picker-button output")).to_have_text("1 of 2")
    expect(page.locator("#options-button output")).to_contain_text("Several queries")
    expect(page.locator("#alpha")).to_have_value("0.2")
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator("#chips")).to_have_text("All datasets")
    expect(page.locator("#options-button output")).to_contain_text("Several queries")


def test_thumbs_and_copying_with_the_sources(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat(permissions=["clipboard-read", "clipboard-write"])
    ask(page)
    answered(page)
    page.get_by_role("button", name="Passage 1 is helpful").click()
    expect(page.get_by_role("button", name="Passage 1 is helpful")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Passage 1 is helpful").click()
    expect(page.get_by_role("button", name="Passage 1 is helpful")).to_have_attribute("aria-pressed", "false")
    helps = page.get_by_role("button", name="This answer is helpful")
    helps.press("Space")
    expect(helps).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="This answer is not helpful").press("Enter")
    expect(helps).to_have_attribute("aria-pressed", "false")
    page.reload()
    expect(page.get_by_role("button", name="This answer is not helpful")).to_have_attribute("aria-pressed", "true")
    page.locator(".answer").get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("They are fused by rank [1].")
    assert "**" not in text
    assert "Sources\n[1] " in text
    html = page.evaluate("async () => (await (await navigator.clipboard.read())[0].getType('text/html')).text()")
    assert "<strong>by rank</strong>" in html
    assert "<p>[1] " in html
    assert "<a" not in html


def test_rename_and_delete(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    page.get_by_role("link", name=f"Share, rename, pin, move, export, archive or delete: {QUESTION}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Rename", exact=True).first.click()
    title = page.locator("#conversations").get_by_label("Title")
    expect(title).to_be_focused()
    page.keyboard.type("Nothing")
    page.keyboard.press("Escape")
    expect(page.locator("#conversations .title")).to_have_text(QUESTION)
    page.keyboard.press("Enter")  # the menu has the focus again
    dialog.get_by_text("Rename", exact=True).first.click()
    title.fill("Fusion")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fusion")
    expect(page.locator("#conversations .title")).to_have_text("Fusion")
    page.get_by_label("Search conversations").fill("nothing like it")
    expect(page.get_by_text("Nothing found in titles, questions and answers.")).to_be_visible()
    page.get_by_label("Search conversations").fill("fus")
    page.get_by_role("link", name="Share, rename, pin, move, export, archive or delete: Fusion").click()
    dialog.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/chat")
    expect(page.get_by_text("Your conversations will appear here.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fusion")


def test_sharing_and_archiving_leave_the_conversation_open(open_chat: Callable[..., Page]) -> None:
    page = open_chat(permissions=["clipboard-read", "clipboard-write"])
    ask(page)
    answered(page)
    address = page.url
    manage = page.get_by_role("link", name=f"Share, rename, pin, move, export, archive or delete: {QUESTION}")
    manage.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Share…").click()
    for other in ("Delete", "Archive", "Pin"):
        expect(dialog.get_by_role("button", name=other)).to_be_hidden()
    dialog.get_by_role("button", name="Create a link").click()
    expect(dialog.get_by_role("status")).to_have_text("The link is ready.")
    dialog.get_by_role("button", name="Copy link").press("Enter")
    expect(dialog.get_by_role("status")).to_have_text("The link was copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "/chat/shared/" in copied
    assert copied == dialog.get_by_label("Link").input_value()
    dialog.get_by_role("button", name="Stop sharing").click()
    expect(dialog.get_by_role("status")).to_have_text("The link no longer works.")
    expect(dialog.get_by_role("button", name="Create a link")).to_be_focused()
    dialog.get_by_role("button", name="Close").click()
    manage.click()
    dialog.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("1 conversation archived.")).to_be_visible()
    assert page.url == address
    page.get_by_role("button", name="Undo").click()
    expect(manage).to_be_visible()
    assert page.url == address


def test_errors_keep_the_question(open_chat: Callable[..., Page]) -> None:
    page = open_chat()

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/messages", refuse)
    ask(page)
    notice = page.locator(".turn .notice")
    expect(notice).to_contain_text("Braid is not responding")
    page.unroute("**/messages", refuse)
    notice.get_by_role("button", name="Ask again").click()
    answered(page)
    expect(page.locator(".turn")).to_have_count(1)


def test_phone_and_keyboard(open_chat: Callable[..., Page]) -> None:
    page = open_chat(viewport=PHONE, locale="ko-KR")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    answered(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=ARTIFACTS / "chat-phone-ko.png")
    expect(page.locator("#history")).to_be_hidden()
    page.locator(".talk-head .phone").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#conversations a.title")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#history")).to_be_hidden()


def test_without_scripts(open_chat: Callable[..., Page]) -> None:
    page = open_chat(java_script_enabled=False)
    page.locator("#text").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".prose strong")).to_have_text("by rank")
    page.get_by_role("button", name="Passage 1 is not helpful").click()
    expect(page.get_by_role("button", name="Passage 1 is not helpful")).to_have_attribute("aria-pressed", "true")
