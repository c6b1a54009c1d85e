"""The dataset picker with many datasets, and fast or thorough, in a real browser, by keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from braid.core.jobs.store import JobStore, NewJob
from braid.core.types import ChunkInput, DocumentInput
from tests.browser.conftest import Site, overflow
from tests.web import add_user, site_of
from tests.worlds import WAIT_S

pytestmark = pytest.mark.browser

MANY = 500
PHONE = {"viewport": {"width": 390, "height": 844}, "locale": "ja-JP", "color_scheme": "dark"}


@pytest.fixture(scope="module")
def many(site: Site) -> dict[str, str]:
    """The session of somebody with 500 datasets, a third of which are empty."""
    account = add_user(site.app, "collector")
    for number in range(MANY):
        dataset = site.braid.ledger.add_dataset(account.id, f"Shelf {number:03} {'pumps' if number % 9 else '会議'}")
        if number % 3:
            text = ChunkInput(f"Shelf {number} holds gasket {number}.", line=1, line_end=1)
            site.braid.ledger.put_document(dataset.id, DocumentInput("a.md", f"List {number}", "md", (text,)))
    assert site.braid.indexer.wait(WAIT_S)
    return site.cookie("collector")


@pytest.fixture
def open_many(open_anonymous: Callable[..., Page], many: dict[str, str]) -> Callable[..., Page]:
    def open_with(path: str = "chat", **options: object) -> Page:
        return open_anonymous(path, cookies=[many], **options)

    return open_with


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.value || document.activeElement.tagName")


def chips(page: Page) -> list[str]:
    return [text.replace("×", "").strip() for text in page.locator("#chips li").all_inner_texts()]


def test_typing_and_enter_selects_only_that_one(open_many: Callable[..., Page]) -> None:
    page = open_many()
    assert chips(page) == ["All datasets"]
    page.locator("#picker-button").focus()
    page.keyboard.press("Enter")
    assert focused(page) == "filter"
    expect(page.locator("#picker-count")).to_have_text("501 of 501")
    page.keyboard.type("SHELF 007")
    expect(page.locator("#matches")).to_have_text("Matches: 1. Enter selects only “Shelf 007 pumps”.")
    page.keyboard.press("Enter")
    expect(page.locator("#picker")).to_be_hidden()
    assert focused(page) == "text"
    assert chips(page) == ["Shelf 007 pumps"]
    expect(page.locator("#picker-button output")).to_have_text("1 of 501")
    page.keyboard.type("Which gasket is there?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending) .source")).to_have_count(1)
    expect(page.locator(".source .chip")).to_have_text("Shelf 007 pumps")


def test_selected_ones_are_first_then_those_used_last(open_many: Callable[..., Page]) -> None:
    page = open_many()
    for name in ("Shelf 400", "Shelf 301"):
        page.locator("#picker-button").click()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.keyboard.type("Which gasket?")
        page.keyboard.press("Enter")
        expect(page.locator(".turn.pending")).to_have_count(0)
    page = open_many()
    page.locator("#picker-button").click()
    first = page.locator("[data-kind=personal] .name").all_inner_texts()[:2]
    assert first == ["Shelf 301 pumps", "Shelf 400 pumps"]
    page.locator(".select-all").first.uncheck()
    for number in (0, 4):
        page.locator("[data-kind=personal] .dataset input").nth(number).check()
    page.keyboard.press("Escape")
    page.locator("#picker-button").click()
    ticked = page.locator("[data-kind=personal] .picked-rows input").evaluate_all("all => all.map(one => one.checked)")
    assert ticked[:3] == [True, True, False]


def test_nothing_matches_and_no_box_is_left_to_select_all(open_many: Callable[..., Page]) -> None:
    page = open_many()
    page.locator("#picker-button").click()
    expect(page.locator(".select-all:visible")).to_have_count(2)
    page.keyboard.type("no such shelf")
    expect(page.locator("#matches")).to_have_text("Nothing matches.")
    expect(page.locator(".select-all:visible")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("#picker")).to_be_visible()


def test_the_focus_stays_inside_and_goes_back_to_the_button(open_many: Callable[..., Page]) -> None:
    page = open_many()
    page.locator("#picker-button").click()
    page.keyboard.type("shelf 01")
    for _ in range(40):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#picker') !== null")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.closest('#picker') !== null")
    page.locator("#filter").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.name") == "d"
    page.keyboard.press("Escape")
    expect(page.locator("#picker")).to_be_hidden()
    assert focused(page) == "picker-button"
    page.locator("#picker-button").click()
    expect(page.locator("#filter")).to_have_value("")


def test_empty_ones_are_folded_away_but_found(open_many: Callable[..., Page]) -> None:
    page = open_many()
    page.locator("#picker-button").click()
    expect(page.get_by_text("Shelf 000", exact=False)).to_be_hidden()
    expect(page.get_by_text("167 empty datasets")).to_be_visible()
    page.keyboard.type("shelf 000")
    expect(page.get_by_role("checkbox", name="Shelf 000")).to_be_visible()


def test_chips_are_taken_away_one_by_one(open_many: Callable[..., Page]) -> None:
    page = open_many()
    page.locator("#picker-button").click()
    page.locator("[data-kind=personal] .select-all").uncheck()
    page.locator("[data-kind=shared] .select-all").uncheck()
    for number in range(6):
        page.locator("[data-kind=personal] .picked-rows input").nth(number).check()
    page.keyboard.press("Escape")
    assert len(chips(page)) == 5
    assert chips(page)[-1] == "2 more"
    removed = chips(page)[0]
    page.get_by_role("button", name=f"Remove {removed}").click()
    assert removed not in chips(page)
    expect(page.locator("#picker-button output")).to_have_text("5 of 501")


@pytest.mark.parametrize("look", [{}, PHONE])
def test_the_open_picker_is_accessible_and_fits(
    open_many: Callable[..., Page], picture: Callable[[Page, str], None], look: dict[str, object]
) -> None:
    page = open_many(**look)
    page.locator("#picker-button").click()
    found = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {[node['html'][:120] for node in one['nodes']][:2]}" for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.screenshot(path=f".artifacts/picker-500{'-phone' if look else ''}.png")


def test_the_search_page_has_the_same_filter(open_many: Callable[..., Page]) -> None:
    page = open_many("search?q=gasket&d=1")
    page.locator("#filter").fill("shelf 004")
    page.keyboard.press("Enter")
    expect(page.locator("#picker-count")).to_have_text("1 of 501")
    expect(page.locator("#results")).to_contain_text("Shelf 004 pumps")
    assert page.locator(".dataset input:checked").count() == 1


# ---------------------------------------------------------------- fast or thorough


def test_one_choice_and_everything_else_for_experts(open_page: Callable[..., Page]) -> None:
    page = open_page("chat")
    fast, thorough = page.get_by_label("Fast", exact=True), page.get_by_label("Thorough", exact=True)
    expect(fast).to_be_checked()
    expect(page.locator("#options-button output")).to_have_text("")
    expect(page.get_by_text("Ranking fusion")).to_be_hidden()
    fast.focus()
    page.keyboard.press("ArrowRight")
    expect(thorough).to_be_checked()
    page.locator("#text").fill("fuse the rankings")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending)")).to_have_count(1)
    page.get_by_text("How this was found").click()
    expect(page.locator(".how")).to_contain_text("Several queries")
    page.reload()
    expect(thorough).to_be_checked()
    page.locator("#options-button").click()
    page.locator("[name=mode][value=keyword]").check()
    page.keyboard.press("Escape")
    expect(thorough).not_to_be_checked()
    expect(page.locator("#options-button output")).to_contain_text("Keywords")
    page.locator("#text").fill("fuse the rankings")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not(.pending)")).to_have_count(2)
    page.reload()
    expect(page.locator("#options-button output")).to_contain_text("Keywords")
    fast.check()
    expect(page.locator("#options-button output")).to_have_text("")


def test_a_thorough_search_is_in_the_same_datasets_and_about_the_same(
    open_page: Callable[..., Page], site: Site
) -> None:
    [document] = site.braid.ledger.documents(1, limit=1)
    page = open_page(f"chat?about=document:{document.id}")
    page.locator("#options-button").click()
    page.locator("[name=mode][value=keyword]").check()
    page.keyboard.press("Escape")
    page.locator("#text").fill("Which planet has moons?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Search thoroughly").click()
    second = page.locator(".turn:not(.pending)").nth(1)
    expect(second.locator(".chips.named li")).to_have_count(1)
    expect(second.get_by_role("button", name="Search thoroughly")).to_have_count(0)
    expect(page.get_by_label("Thorough", exact=True)).to_be_checked()


def test_what_is_still_being_read_is_said_above_the_question_as_long_as_it_is_so(
    site: Site, open_anonymous: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobStore, "claim", lambda *_, **__: None)  # nobody takes the job
    reader, jobs = add_user(site.app, "waiting reader"), site_of(site.app).background.store
    first, second = (site.braid.ledger.add_dataset(reader.id, name).id for name in ("First", "Second"))
    [job] = jobs.add(reader.id, [NewJob("upload", "new.pdf", second)])
    page = open_anonymous("chat", cookies=[site.cookie("waiting reader")])
    line = page.locator("#composer #status")
    expect(line).to_have_text("1 file is still being read and cannot be found yet.")
    expect(line).to_be_visible()
    for chosen, is_said in ((first, False), (second, True)):
        page.locator("#picker-button").click()
        for each in (first, second):
            page.locator(f'#picker [name=d][value="{each}"]').set_checked(each == chosen)
        page.keyboard.press("Escape")
        expect(line).to_be_visible(visible=is_said)
    assert overflow(page) == 0
    jobs.cancel(reader.id, job.id)
    expect(line).to_be_hidden()
