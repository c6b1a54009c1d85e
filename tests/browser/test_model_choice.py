"""Both models chosen on the settings page: the search that follows says who wrote its query and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from playwright.sync_api import Page, expect

from braid.core.models.prompts import Prompts
from tests.browser.conftest import Site, overflow
from tests.model_server import ModelServer, model_server
from tests.web import add_user, site_of

pytestmark = pytest.mark.browser

QUERY = "ranking fusion of hybrid search"
COMPARISON = "The guide agrees about the fusion of rankings [1]."


def written(messages: Sequence[tuple[str, str]]) -> str:
    """A query for whoever asks for one, a comparison for whoever shows passages, and the fields as they are."""
    system = messages[0][1]
    if system.startswith(Prompts().compare.system[:20]):
        return COMPARISON
    return QUERY if system.startswith(Prompts().generate_query.system[:20]) else messages[-1][1]


@pytest.fixture
def two_models(site: Site) -> Iterator[tuple[ModelServer, str]]:
    """A connected server with a model for queries and one for answers, which the menus offer, and its name."""
    models = site_of(site.app).models
    with model_server(written) as server:
        made = models.connections.prepare("compatible", server.url, "sk-secret")
        models.connections.put(made)
        models.offer("search", [f"{made.name}:quick", f"{made.name}:spare"])
        models.offer("summary", [f"{made.name}:spare", f"{made.name}:thorough"])
        yield server, made.name
        models.offer("search", [])
        models.offer("summary", [])
        models.connections.remove(made.name)


def test_search_with_model_selection(
    site: Site,
    two_models: tuple[ModelServer, str],
    open_anonymous: Callable[..., Page],
    picture: Callable[[Page, str], None],
) -> None:
    server, name = two_models
    add_user(site.app, "Mo")
    page = open_anonymous("settings", cookies=[site.cookie("Mo")])
    page.get_by_label("Query model").select_option(f"{name}:quick")
    expect(page.locator("#models .saved")).to_have_text("Saved")
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_label("Answer model").select_option(f"{name}:thorough")
    page.reload()
    expect(page.get_by_label("Query model")).to_have_value(f"{name}:quick")
    expect(page.get_by_label("Answer model")).to_have_value(f"{name}:thorough")

    page.goto(f"{site.url}search/fields")
    expect(page.locator("label[for=mode-hybrid] em")).to_have_text("recommended")
    page.get_by_label("Purpose").fill("How are the rankings of a hybrid search fused?")
    page.get_by_role("button", name="Search and compare").click()
    host = server.url.removeprefix("http://").removesuffix("/v1")
    expect(page.locator(".answer .written")).to_contain_text(f"{QUERY} (written by quick ({host}))")
    expect(page.locator(".answer .text")).to_contain_text("The guide agrees about the fusion of rankings")
    expect(page.locator(".answer .hint")).to_contain_text("Written by thorough (127.0.0.1")
    assert overflow(page) == 0
    picture(page, "model-choice")
    assert {call.model for call in server.calls} == {"quick", "thorough"}
    assert [call.model for call in server.calls if call.messages[0][1].startswith("Compare")] == ["thorough"]
