"""From the first start to an answer that a model on this computer writes, by clicks alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from braid.app import first_start
from braid.core.braid import Braid
from braid.core.models.model_servers import LOCAL_SERVERS
from tests.browser.conftest import new_context, overflow
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.rerank_server import rerank_server
from tests.web import PASSWORD, fresh_app, visited
from tests.worlds import WAIT_S

pytestmark = pytest.mark.browser

ANSWER = "Braid searches by meaning and by keyword [1]. Both rankings become one [2]."
MOST_CLICKS, MOST_SECONDS = 6, 60


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server on one of the usual ports, started before the app."""
    with model_server(ANSWER, ports=[local.port for local in LOCAL_SERVERS]) as running:
        running.models = ("qwen3:8b", "nomic-embed-text")
        yield running


@pytest.fixture
def first_page(
    server: ModelServer, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Page]]:
    """Open a new data directory for the first time; nothing may stand in the browser's console."""
    complaints: list[str] = []
    data_dir = tmp_path_factory.mktemp("first") / "data"
    with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
        first_start.prepare(braid)
        assert braid.indexer.wait(WAIT_S)

        def open_first(**options: object) -> Page:
            context = new_context(chromium, **({"locale": "en-US"} | options))
            page = context.new_page()
            page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(url)
            return page

        with visited(fresh_app(braid)) as url:
            yield open_first
            for context in chromium.contexts:
                context.close()
    assert complaints == []


def test_from_the_first_start_to_a_streamed_cited_answer_by_clicks(
    first_page: Callable[..., Page], server: ModelServer, picture: Callable[[Page, str], None]
) -> None:
    local = next(known for known in LOCAL_SERVERS if f":{known.port}/" in server.url)
    page, clicks, started = first_page(), 0, time.monotonic()

    def click(role: str, name: str) -> None:
        nonlocal clicks
        page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]
        clicks += 1

    page.get_by_label("Password", exact=True).fill(PASSWORD)
    click("button", "Start")
    click("link", "Connect a language model for written answers")
    offer = page.locator("form.offer", has_text=f"{local.label} is running here.")
    expect(offer.locator("select")).to_have_value("qwen3:8b")
    picture(page, "models-offer")
    offer.get_by_role("button").click()
    clicks += 1
    expect(page.get_by_role("status").first).to_contain_text("qwen3:8b now writes the answers.")
    page.wait_for_load_state("domcontentloaded")  # without its script the page shows the answer at its end
    server.go_on.clear()
    server.pause_after = 3
    page.locator(".starters button").first.click()
    clicks += 1
    prose = page.locator(".turn .prose").last
    expect(prose).to_contain_text("Braid")
    assert "become one" not in prose.inner_text(), "the answer comes at once, not streamed"
    server.go_on.set()
    expect(page.locator(".turn:not(.pending) .prose a.cite").first).to_be_visible()
    assert "Both rankings become one" in prose.inner_text()
    expect(page.locator(".turn .source").first).to_be_visible()
    seconds = time.monotonic() - started
    print(f"\nfirst start to a cited answer of a local model: {clicks} clicks, 1 field, {seconds:.1f} s")
    assert clicks <= MOST_CLICKS
    assert seconds <= MOST_SECONDS
    assert server.calls[-1].model == "qwen3:8b"
    assert server.calls[-1].stream


def test_a_server_is_connected_tested_and_used_on_the_page(
    open_page: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    with model_server("Hello from the other side of the wire.") as server:
        server.models, server.pause_after = ("writer", "small"), 3
        page = open_page("admin/models")
        page.get_by_label("Provider").select_option("openai")
        expect(page.locator("#base-url")).to_be_hidden()
        page.get_by_label("Provider").select_option("compatible")
        page.locator("#base-url").fill(server.url)
        page.get_by_role("region", name="Connect a model server").get_by_label("Key").fill("sk-very-secret-1")
        page.get_by_role("button", name="Connect and fetch models").click()
        card = page.locator(".card", has=page.get_by_text("key stored, encrypted"))
        page.wait_for_load_state("domcontentloaded")
        card.locator("select").select_option("small")
        card.get_by_role("button", name="Test", exact=True).click()
        expect(card.locator(".result")).to_contain_text("Hello from")
        assert "wire" not in card.locator(".result").inner_text(), "the sentence comes at once, not streamed"
        server.go_on.set()
        expect(card.locator(".result")).to_contain_text("wire.")
        expect(card.locator(".result")).to_contain_text("s in total")
        picture(page, "models-tested")
        assert overflow(page) == 0
        assert "sk-very-secret-1" not in page.content()
        card.get_by_role("button", name="Use for everyone").click()
        expect(page.get_by_role("status").first).to_contain_text("is now in use")
        page.get_by_role("button", name="Stop using").first.click()
        page.locator("summary[aria-label^='Remove 127.0.0.1']").click()
        page.get_by_role("button", name="Remove 127.0.0.1").click()
        expect(page.get_by_text("and its key have been deleted.")).to_be_visible()


def test_a_reranker_is_tested_used_and_stopped_on_the_page(
    open_page: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    with rerank_server() as server:
        page = open_page("admin/models")
        part = page.get_by_role("region", name="Reranker")

        def fill() -> None:
            part.locator("summary").click()
            part.get_by_label("Kind of server").select_option("jina")
            part.get_by_label("Model").fill("bge-reranker")
            part.get_by_label("Address").fill(server.url)
            part.get_by_label("Key").fill("sk-very-secret-1")

        fill()
        part.get_by_role("button", name="Test", exact=True).click()
        expect(part.get_by_role("status")).to_contain_text("jina:bge-reranker puts no wrong passage first.")
        expect(part.get_by_label("Model")).to_have_value("bge-reranker")
        part.get_by_label("Key").fill("sk-very-secret-1")
        part.get_by_role("button", name="Use for every search").click()
        expect(page.get_by_role("status").first).to_contain_text("jina:bge-reranker now reranks every search.")
        expect(part).to_contain_text("key stored, encrypted")
        assert server.keys[-1] == "Bearer sk-very-secret-1"
        assert "sk-very-secret-1" not in page.content()
        assert overflow(page) == 0
        picture(page, "models-reranker")
        part.get_by_role("button", name="Stop using").click()
        expect(part).to_contain_text("No reranker is configured.")


@pytest.mark.parametrize("locale", ["ja-JP", "ko-KR"])
def test_the_page_on_a_phone(
    first_page: Callable[..., Page], picture: Callable[[Page, str], None], locale: str
) -> None:
    page = first_page(locale=locale, viewport={"width": 390, "height": 844})
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button.primary").click()
    page.locator("#welcome a[href$='/admin/models']").click()
    expect(page.locator("form.offer select")).to_have_value("qwen3:8b")
    assert overflow(page) == 0
    picture(page, f"models-phone-{locale[:2]}")
