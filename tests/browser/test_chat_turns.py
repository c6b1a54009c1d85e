"""Turns in a real browser: a reload, a closed page, a lost session, other versions, and finding what was said."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from braid.core.accounts.credentials import WebSessions
from tests.browser.conftest import before_the_script
from tests.browser.test_chat_page import QUESTION, Chat, answered, ask, chat, chat_site, open_chat
from tests.web import PASSWORD
from tests.worlds import WAIT_S

__all__ = ["chat", "chat_site", "open_chat"]

pytestmark = pytest.mark.browser

LONG = "They are fused by rank [1]. " + " ".join(f"word{number}" for number in range(60))
ENDLESS = "They are fused by rank [1]. " + " ".join(f"word{number}" for number in range(3_000))
WEIGHT = 70_000
"""Bytes that a conversation of six turns may take, style and script included, as they are sent: compressed."""
MOST_HTML = 50_000
"""Bytes of its page alone, before it is compressed."""

HELD_BACK = """() => {
  const real = window.fetch;
  window.fetch = async (...given) => {
    const response = await real(...given);
    const held = String(given[0]).match(/messages$|events$/) ? 700 : 0;
    await new Promise((resolve) => setTimeout(resolve, held));
    return response;
  };
}"""
"""A page whose streams of answers arrive 0.7 s late."""


def half(chat: Chat) -> None:
    """Let the model write two thirds of its answer, and the rest when it is told to go on."""
    chat.model.reply, chat.model.pause_after = (lambda _: LONG), 40


def endless(chat: Chat) -> None:
    """Let the model write until it is stopped."""
    chat.model.reply, chat.model.delay_s = (lambda _: ENDLESS), 0.05


def being_written(page: Page) -> None:
    """Wait for the first words; the first model of a run is loaded for some seconds."""
    expect(page.locator(".pending .prose")).to_contain_text("word3")


def words(page: Page) -> list[str]:
    return re.findall(r"word\d+", page.locator(".turn .prose").inner_text())


def test_a_reload_in_the_middle_of_an_answer_keeps_it(open_chat: Callable[..., Page], chat: Chat) -> None:
    half(chat)
    page = open_chat()
    ask(page)
    being_written(page)
    page.wait_for_url("**/chat/*")
    page.reload()
    expect(page.locator(".question p")).to_have_text(QUESTION)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".pending .prose")).to_contain_text("word20")
    chat.model.go_on.set()
    answered(page)
    assert words(page) == [f"word{number}" for number in range(60)]
    expect(page.locator(".ended")).to_have_count(0)
    expect(page.locator("#announcer")).to_have_text("The answer is ready.")


def test_a_page_that_is_closed_finds_its_answer_again(open_chat: Callable[..., Page], chat: Chat) -> None:
    half(chat)
    page = open_chat()
    ask(page)
    being_written(page)
    address, context = page.url, page.context
    page.close()
    chat.model.go_on.set()
    page = context.new_page()
    page.goto(address)
    answered(page)
    assert words(page) == [f"word{number}" for number in range(60)]
    expect(page.locator(".turn")).to_have_count(1)


def test_an_answer_is_stopped_from_another_tab(open_chat: Callable[..., Page], chat: Chat) -> None:
    endless(chat)
    page = open_chat()
    ask(page)
    being_written(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Stop").click()
    for tab in (page, other):
        expect(tab.get_by_text("You stopped this answer.")).to_be_visible()
    assert len(words(page)) < 3_000


def test_an_answer_that_has_not_begun_on_the_page_is_stopped(open_chat: Callable[..., Page], chat: Chat) -> None:
    endless(chat)
    page = open_chat()
    page.evaluate(HELD_BACK)
    ask(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    ask(page, "And what about the weights?")
    expect(page.locator(".pending .prose")).to_contain_text("word3")
    other = page.context.new_page()
    other.add_init_script(f"({HELD_BACK})()")
    other.goto(page.url)
    other.get_by_role("button", name="Stop").click()
    for tab in (page, other):
        expect(tab.get_by_text("You stopped this answer.")).to_have_count(2)


def test_an_answer_that_cannot_be_stopped_goes_on(open_chat: Callable[..., Page], chat: Chat) -> None:
    half(chat)
    page = open_chat()
    ask(page)
    being_written(page)
    page.route("**/stop", lambda route: route.fulfill(status=503))
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#refused")).to_have_text("The answer could not be stopped. Try again.")
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    chat.model.go_on.set()
    answered(page)
    assert words(page) == [f"word{number}" for number in range(60)]


def test_a_question_that_reaches_no_server_is_stopped(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    page.evaluate("() => { window.fetch = (to, { signal }) => new Promise((_, no) => { signal.onabort = no; }); }")
    page.clock.install()
    ask(page)
    page.get_by_role("button", name="Stop").click()
    page.clock.fast_forward(page.evaluate("UNSTORED_MS"))
    expect(page.locator(".turn .notice strong")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def test_a_lost_connection_is_taken_up_again(open_chat: Callable[..., Page], chat: Chat) -> None:
    half(chat)
    page = open_chat()
    # The stream breaks off after its first event; what follows it is another request.
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.refusals = 2;  // nothing answers for a moment
          window.fetch = async (...given) => {
            if (window.broke && window.refusals-- > 0) throw new TypeError("refused");
            const response = await real(...given);
            if (window.broke || !String(given[0]).endsWith("/chat/messages")) return response;
            window.broke = true;
            const reader = response.body.getReader();
            const first = await reader.read();
            const body = new ReadableStream({ start(to) { to.enqueue(first.value); to.close(); } });
            return new Response(body, { headers: response.headers });
          };
        }"""
    )
    ask(page)
    expect(page.get_by_text("The connection was lost. Trying again…").first).to_be_visible()
    chat.model.go_on.set()
    expect(page.locator(".turn:not(.pending) .sources")).to_have_count(1)  # it has waited twice
    answered(page)
    assert words(page) == [f"word{number}" for number in range(60)]


def test_a_cut_answer_is_continued_in_place(open_chat: Callable[..., Page], chat: Chat) -> None:
    chat.model.unfinished = 4
    page = open_chat()
    ask(page)
    expect(page.get_by_text("The language model stopped before the answer was complete.")).to_be_visible()
    chat.model.unfinished, chat.model.reply = 0, lambda _: "by rank [1], to the end."
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".prose")).to_contain_text("to the end.")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(page.locator(".turn")).to_have_count(1)


def test_who_was_signed_out_signs_in_and_has_the_question(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    here = page.url
    user = chat.braid.ledger.users()[0]
    WebSessions(chat.braid.ledger).end_all(user.id)  # an answer on its way may bring the cookie back
    ask(page, "And what about the weights?")
    expect(page.locator("#refused")).to_contain_text("You were signed out.")
    expect(page.locator("#text")).to_have_value("And what about the weights?")
    expect(page.locator(".turn")).to_have_count(1)
    page.get_by_role("link", name="Sign in again").click()
    page.locator("[name=name]").fill(user.name)
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(here)
    expect(page.locator("#text")).to_have_value("And what about the weights?")
    page.locator("#text").press("Enter")
    answered(page, 2)


def test_what_is_wrong_with_a_question_is_said(open_chat: Callable[..., Page]) -> None:
    page = open_chat(locale="ja-JP")
    page.locator("#text").fill("  ")
    page.keyboard.press("Enter")
    expect(page.locator("#refused")).to_have_text("質問を入力してください。")
    page.locator("#text").fill("長" * 10_001)
    page.keyboard.press("Enter")
    expect(page.locator("#refused")).to_contain_text("10,001")
    assert len(page.locator("#text").input_value()) == 10_001
    page.locator("#text").fill("短い質問")
    expect(page.locator("#refused")).to_be_hidden()
    expect(page.locator(".turn")).to_have_count(0)


def test_each_line_of_the_progress_begins_at_the_left(open_chat: Callable[..., Page], chat: Chat) -> None:
    endless(chat)
    page = open_chat()
    ask(page)
    expect(page.locator(".progress .step-search")).to_be_visible()
    left = page.locator(".progress").evaluate("list => list.getBoundingClientRect().left")
    for line in page.locator(".progress li:visible").all():
        start = line.evaluate(
            "line => { const text = document.createRange(); text.selectNodeContents(line); "
            "return text.getBoundingClientRect().left; }"
        )
        assert start - left < 30
    page.get_by_role("button", name="Stop").click()


def test_an_answer_is_regenerated_in_place_and_both_are_kept(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    chat.model.reply = lambda _: "Another way to say it [1]."
    page.get_by_role("button", name="Regenerate").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_contain_text("Another way to say it")
    expect(page.locator(".turn")).to_have_count(1)
    versions = page.get_by_role("group", name="Versions of the answer")
    expect(versions).to_contain_text("2/2")
    versions.get_by_role("button", name="Previous version").press("Enter")
    expect(page.locator(".prose strong")).to_have_text("by rank")
    expect(versions).to_contain_text("1/2")
    expect(versions.get_by_role("button", name="Next version")).to_be_focused()
    page.reload()
    expect(page.locator(".prose strong")).to_have_text("by rank")


def test_a_question_is_edited_and_the_old_one_stays_reachable(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    ask(page, "And why?")
    answered(page, 2)
    page.locator(".edit summary").first.click()
    box = page.locator(".edit textarea").first
    expect(box).to_be_focused()
    expect(page.locator(".question > p").first).to_be_hidden()
    box.fill("Something else")
    for key in ("Enter", "Escape"):  # they are the input method's
        box.dispatch_event("keydown", {"key": key, "keyCode": 229, "isComposing": True, "bubbles": True})
    expect(box).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    expect(page.locator(".question > p").first).to_have_text(QUESTION)
    expect(page.locator(".edit summary").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_have_value(QUESTION)
    box.press("Escape")
    expect(page.locator(".question > p").first).to_be_visible()
    page.locator(".edit summary").first.click()
    box.fill("How are they really fused?")
    box.press("Enter")
    answered(page, 1)
    expect(page.locator(".question > p")).to_have_text(["How are they really fused?"])
    versions = page.get_by_role("group", name="Versions of the question")
    versions.get_by_role("button", name="Previous version").click()
    expect(page.locator(".question > p")).to_have_text([QUESTION, "And why?"])


def test_a_question_is_copied_and_what_is_done_with_it_takes_no_line(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page)
    answered(page)
    question, answer = page.locator(".question > p").bounding_box(), page.locator(".answer").bounding_box()
    assert question
    assert answer
    assert answer["y"] - question["y"] - question["height"] < 20
    page.locator(".question").get_by_role("button", name="Copy").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".question").get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == QUESTION
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".edit summary span")).to_be_in_viewport()


def test_what_was_stopped_before_it_said_anything_is_not_copied_or_rated(
    open_chat: Callable[..., Page], chat: Chat
) -> None:
    chat.model.reply = lambda _: str(chat.model.go_on.wait(WAIT_S))
    page = open_chat()
    ask(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    chat.model.go_on.set()
    answer = page.locator(".answer .acts")
    expect(answer.get_by_role("button")).to_have_text(["Regenerate"])


def test_a_thumb_down_asks_why_and_gives_thanks(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    fault = page.locator(".fault")
    expect(fault).to_be_hidden()
    page.get_by_role("button", name="This answer is not helpful").click()
    fault.get_by_label("It is incomplete").check()
    fault.get_by_label("Comment (optional)").fill("Where is the second ranking?")
    fault.get_by_label("Comment (optional)").press("Enter")
    expect(fault).to_have_text("Thanks for the feedback.", use_inner_text=True)
    page.reload()
    page.get_by_text("What is wrong with it? (optional)").first.click()
    expect(fault.get_by_label("It is incomplete")).to_be_checked()
    expect(fault.get_by_label("Comment (optional)")).to_have_value("Where is the second ranking?")
    page.get_by_role("button", name="This answer is not helpful").click()
    expect(fault).to_be_hidden()


@pytest.mark.parametrize("scripts", [True, False])
def test_versions_without_scripts(open_chat: Callable[..., Page], scripts: bool) -> None:
    page = open_chat(java_script_enabled=scripts)
    page.locator("#text").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).first.click()
    answered(page)
    page.get_by_role("button", name="Regenerate").click()
    expect(page.get_by_role("group", name="Versions of the answer")).to_contain_text("2/2")
    page.get_by_role("button", name="Previous version").click()
    expect(page.get_by_role("group", name="Versions of the answer")).to_contain_text("1/2")
    page.locator(".edit summary").click()
    page.locator(".edit textarea").fill("How else?")
    page.locator(".edit button").click()
    expect(page.locator(".question > p")).to_have_text("How else?")
    expect(page.get_by_role("group", name="Versions of the question")).to_contain_text("2/2")
    if scripts:
        page.get_by_text("How this was found").click()
    else:
        page.get_by_text("How this was found").click()
        page.get_by_role("link", name="Open on a separate page").click()
    expect(page.locator(".how-found")).to_contain_text("Searched for")


def test_conversations_are_found_by_what_was_said(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    for question, answer in (
        ("Soups?", "With a Mushroom [1]."),
        ("スープは？", "きのこを使います [1]。"),
        ("수프?", "버섯이다 [1]."),
    ):
        chat.model.reply = lambda _, answer=answer: answer
        page.goto(chat.url + "chat")
        ask(page, question)
        answered(page)
    expect(page.locator("#conversations h2")).to_have_text(["Today"])
    find = page.get_by_label("Search conversations")
    for wanted, title in (("mushroom", "Soups?"), ("キノコ", None), ("きのこ", "スープは？"), ("버섯", "수프?")):
        find.fill(wanted)
        if title is None:
            expect(page.get_by_text("Nothing found in titles, questions and answers.")).to_be_visible()
            continue
        expect(page.locator("#conversations .title")).to_have_count(1)
        expect(page.locator("#conversations .title")).to_contain_text(title)
        expect(page.locator("#conversations .found-in")).to_contain_text(wanted, ignore_case=True)


def test_what_is_typed_before_the_script_runs_is_found(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    ask(page)
    answered(page)
    with before_the_script(page, "chat"):
        page.goto(chat.url + "chat", wait_until="commit")
        page.get_by_label("Search conversations").fill("nothing like it")
    expect(page.get_by_text("Nothing found in titles, questions and answers.")).to_be_visible()


def test_the_list_is_walked_with_the_keys_and_one_is_pinned(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    for question in ("First?", "Second?", "Third?"):
        page.goto(chat.url + "chat")
        ask(page, question)
        answered(page)
    titles = page.locator("#conversations .title")
    expect(titles).to_have_text(["Third?", "Second?", "First?"])
    titles.first.focus()
    page.keyboard.press("Tab")
    expect(titles.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(titles.nth(2)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#conversations .manage").nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    acts = page.get_by_role("dialog").locator(":is(summary, button):visible")
    expect(acts.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # Pin
    expect(page.locator("#conversations h2")).to_have_text(["Pinned", "Today"])
    expect(titles).to_have_text(["First?", "Third?", "Second?"])
    expect(page.locator("#conversations .manage").first).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text("Move to folder").press("Enter")
    page.get_by_label("New folder").fill("Trains")
    page.keyboard.press("Enter")
    expect(page.locator("#conversations summary")).to_have_text(re.compile(r"Trains\s+1"))
    page.get_by_label("Share, rename, pin, move, export, archive or delete: Second?").press("Enter")
    page.get_by_role("dialog").get_by_text("Move to folder").press("Enter")
    page.get_by_role("button", name="Trains").press("Enter")
    expect(page.locator("#conversations summary")).to_have_text(re.compile(r"Trains\s+2"))  # the pinned one, too
    page.locator("#conversations summary").click()
    expect(titles).to_have_text(["First?", "First?", "Second?", "Third?"])
    heights = {each.bounding_box()["height"] for each in page.locator("#conversations li").all()}
    assert len(heights) == 1
    titles.nth(2).focus()
    page.keyboard.press("Home")
    expect(titles.first).to_be_focused()


def test_a_question_is_laid_out_in_its_own_direction(open_chat: Callable[..., Page]) -> None:
    page = open_chat()
    ask(page, "كيف يتم دمج التصنيفين؟")
    answered(page)
    assert page.locator(".question > p").evaluate("text => getComputedStyle(text).direction") == "rtl"


def test_a_conversation_of_six_turns_is_light(open_chat: Callable[..., Page], chat: Chat) -> None:
    page = open_chat()
    for turn in range(1, 7):
        ask(page, f"{QUESTION} {turn}")
        answered(page, turn)
    page.reload()
    page.wait_for_load_state("networkidle")
    sent = page.evaluate(
        """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .map((part) => part.encodedBodySize)"""
    )
    assert len(sent) >= 5
    assert sum(sent) < WEIGHT
    assert len(page.context.request.get(page.url).body()) < MOST_HTML


def test_what_may_be_done_with_a_question_leaves_no_blank_band(open_chat: Callable[..., Page]) -> None:
    """In a narrow window it has a line of its own, and is seen; in a wide one it stands beside the question."""
    page = open_chat()
    ask(page, "What is fused?")
    answered(page)
    copy = page.locator(".question .copy")
    page.mouse.move(0, 0)
    page.locator("#text").focus()
    for width, opacity in ((700, "1"), (1200, "0")):
        page.set_viewport_size({"width": width, "height": 800})
        expect(copy).to_have_css("opacity", opacity)
