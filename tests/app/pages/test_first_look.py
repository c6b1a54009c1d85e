"""What a newcomer meets: errors that lead on, lists that can be sorted, words instead of codes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.jobs.store import NewJob
from braid.core.types import ChunkInput, DocumentInput
from tests.model_server import model_server
from tests.web import add_user, csrf_token, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S, eventually


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/admin/nothing", 404), ("GET", "/account/tokens", 405)]
)
def test_an_address_without_a_page_keeps_the_places_of_who_is_signed_in(
    app: Flask, client: FlaskClient, method: str, path: str, status: int
) -> None:
    page = client.open(path, method=method, headers={"Accept": "text/html"})
    assert page.status_code == status
    assert 'class="places"' in page.text
    assert ">local<" in page.text
    stranger = app.test_client().open(path, method=method, headers={"Accept": "text/html"})
    assert stranger.status_code == status
    assert 'class="places"' not in stranger.text
    assert client.get("/api/v1/nothing").json["status"] == 404  # type: ignore[index]


def test_messages_begin_with_a_capital_and_names_stay_as_they_are(client: FlaskClient) -> None:
    page = client.get("/datasets/1/documents/999999")
    assert page.status_code == 404
    assert "There is no document 999999 in dataset 1" in text_of(page.text)


def test_no_page_before_the_sign_in_has_a_command(app: Flask) -> None:
    stranger = app.test_client()
    token = csrf_token(stranger, "/login")
    wrong = stranger.post("/login", data={"name": "local", "password": "not this one", "csrf_token": token})
    assert "An administrator can set a new password." in wrong.text
    for page in (stranger.get("/login").text, wrong.text):
        assert "python -m" not in page


def test_a_form_that_cannot_succeed_is_not_shown(library: Braid, open_folder: Path) -> None:
    without = sign_in(make_app(library)).get("/admin/folders").text
    assert 'name="folder"' not in without
    assert "has to allow some folders first" in without
    allowed = sign_in(make_app(library, Settings(folder_roots=(str(open_folder),)))).get("/admin/folders").text
    assert 'name="folder"' in allowed


def names(page: str) -> list[str]:
    return re.findall(r'id="open-document-\d+" href="[^"]+">([^<]+)<', page)


@pytest.fixture
def shelf(library: Braid) -> Braid:
    for name, size, chunks in (("beta.txt", 10, 3), ("Alpha.md", 3_000, 1), ("gamma.txt", 200, 2)):
        texts = tuple(ChunkInput(f"{name} {number}") for number in range(chunks))
        library.ledger.put_document(2, DocumentInput(name, "", name.rpartition(".")[2], texts, size_bytes=size))
    library.ledger.put_failed(2, "scan.pdf", title="scan", file_type="pdf", error="has no text")
    library.ledger.put_document(2, DocumentInput("zeta.md", "", "md", (ChunkInput("last"),), size_bytes=1))
    return library


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("", ["scan", "zeta.md", "gamma.txt", "Alpha.md", "beta.txt"]),
        ("-changed", ["beta.txt", "Alpha.md", "gamma.txt", "zeta.md", "scan"]),
        ("name", ["Alpha.md", "beta.txt", "gamma.txt", "scan", "zeta.md"]),
        ("-name", ["zeta.md", "scan", "gamma.txt", "beta.txt", "Alpha.md"]),
        ("type", ["Alpha.md", "zeta.md", "scan", "beta.txt", "gamma.txt"]),
        ("passages", ["beta.txt", "gamma.txt", "zeta.md", "Alpha.md", "scan"]),
        ("size", ["Alpha.md", "gamma.txt", "beta.txt", "zeta.md", "scan"]),
        ("no such order", ["scan", "zeta.md", "gamma.txt", "Alpha.md", "beta.txt"]),
    ],
)
def test_documents_are_sorted_by_each_column(
    client: FlaskClient, shelf: Braid, order: str, expected: list[str]
) -> None:
    assert names(client.get("/datasets/2", query_string={"order": order}).text) == expected


def test_a_heading_sorts_the_other_way_when_it_is_followed_again(client: FlaskClient, shelf: Braid) -> None:
    page = client.get("/datasets/2?order=name&name=a").text
    assert 'aria-sort="ascending"' in page
    [again] = re.findall(r'id="sort-name" href="([^"]+)"', page)
    assert "order=-name" in again
    assert "name=a" in again, "the filter stays"
    assert 'aria-sort="descending"' in client.get(again.replace("&amp;", "&")).text


def test_filters_have_counts_and_what_cannot_be_read_is_said_first(client: FlaskClient, shelf: Braid) -> None:
    page = text_of(client.get("/datasets/2").text)
    assert "1 file could not be read. See why" in page
    assert "all 5" in page
    assert "failed 1" in page
    assert "read in part" not in page, "a filter that shows nothing is left out"
    assert "1 file could not be read." not in text_of(client.get("/datasets/2?state=failed").text)


def test_the_palette_finds_documents_settings_and_acts(client: FlaskClient, shelf: Braid) -> None:
    def found(typed: str) -> dict[str, list[tuple[str, str]]]:
        groups = client.get("/palette.json", query_string={"q": typed}).json["groups"]  # type: ignore[index]
        return {group["name"]: [(each["title"], each["href"]) for each in group["entries"]] for group in groups}

    [(title, href)] = found("gamma")["Documents"]
    assert title == "gamma.txt"
    assert "gamma.txt" in client.get(href).text
    assert found("appearance")["Settings"] == [("Language and appearance", "/settings#look")]
    assert ("Keyboard shortcuts", "#shortcuts") in found("")["Commands"]
    assert [title for title, _ in found("add doc")["Commands"]] == ["Add documents"]


def test_jobs_of_one_upload_are_one_line(client: FlaskClient, app: Flask) -> None:
    store = site_of(app).background.store
    store.add(1, [NewJob("upload", f"{number}.txt", 1) for number in range(4)])
    store.add(1, [NewJob("reembed", "Notes", 1)])
    page = text_of(client.get("/admin/jobs").text)
    assert "upload: 4 files" in page
    assert "waiting (4)" in page
    assert "re-embedding: Notes" in page


def test_usage_says_what_is_missing_and_leads_to_the_form_for_it(client: FlaskClient) -> None:
    page = text_of(client.get("/admin/usage").text)
    assert "Only what at least 3 users asked is shown, never who asked." in page
    answer = client.get("/admin/usage/answer?title=How+long%3F&dataset=-1")
    assert answer.location == "/datasets/-1?title=How+long?&asked=How+long?#paste"
    assert 'value="How long?"' in client.get("/datasets/-1?title=How+long%3F").text
    assert client.get("/admin/usage/answer?title=x&dataset=1").status_code == 400


def test_a_question_in_vain_is_asked_again_when_its_answer_was_written(client: FlaskClient, app: Flask) -> None:
    here = site_of(app)
    here.braid.ledger.remove_document(-1, "travel.md")
    here.braid.registry.add("Repairs", "shared_repairs")
    here.braid.mirror_registry()
    for number, wording in enumerate(("xylophone repair", "Xylophone repair?", "repair the xylophone"), start=2):
        name = f"user{number}"
        add_user(app, name)
        assert post_form(sign_in(app, name), "/chat/messages", text=wording, d=["-2"]).status_code == 303
    page = client.get("/admin/usage").text
    assert "Xylophone repair?" not in text_of(page), "only the shortest wording is shown"
    form = client.get("/datasets/-2?title=xylophone+repair&asked=xylophone+repair").text
    assert '<input type="hidden" name="asked" value="xylophone repair">' in form
    text = "A xylophone repair is done by the workshop, which has bars of rosewood."
    added = post_form(client, "/datasets/-2/text", title="Xylophone repair", text=text, asked="xylophone repair")
    assert added.location == "/admin/usage?again=xylophone+repair#unanswered-title"
    told = text_of(client.get(added.location).text)
    assert "Still not found. 0 of 3 wordings find something. 1 file is still being read" in told
    here.start_jobs()
    eventually(lambda: not here.background.store.unread([-2]))
    assert here.braid.indexer.wait(WAIT_S)
    told = text_of(client.get(added.location).text)
    assert "Found now, in “Xylophone repair”. 3 of 3 wordings find something." in told
    assert "Found now" not in client.get("/admin/usage?again=another").text


def test_costs_of_models_are_shown_where_their_prices_are_set(library: Braid) -> None:
    with model_server("They are fused by rank [1]." * 50) as server:
        base = Settings(summary_model="openai:writer", summary_model_base_url=server.url, summary_model_api_key="k")
        for prices, shown in (((), ""), (("openai:writer=1000000/2000000", "openai:other=1"), "Cost (estimated)")):
            client = sign_in(make_app(library, replace(base, model_prices=prices)))
            assert post_form(client, "/chat/messages", text="How are rankings fused?", d=["1"]).status_code == 303
            table = client.get("/admin/usage").text.partition('id="models-title"')[2].partition("</table>")[0]
            cells = re.findall(r'<td class="number-cell"[^>]*>([^<]+)</td>', table)
            answers, of_prompts, of_answers = (int(each.replace(",", "")) for each in cells[:3])
            assert answers
            assert min(of_prompts, of_answers) > 100
            assert shown in table
            if prices:
                assert cells[3] == f"{of_prompts + 2 * of_answers:,}.00"
            else:
                assert "Cost" not in table


def test_numbers_on_pages_have_separators(client: FlaskClient, library: Braid) -> None:
    texts = tuple(ChunkInput(f"Line {number}.") for number in range(1_234))
    library.ledger.put_document(2, DocumentInput("long.txt", "Long", "txt", texts))
    assert library.indexer.wait(WAIT_S)
    for path in ("/datasets/2", "/datasets", "/search?q=line&d=2", "/datasets/2/statistics"):
        page = text_of(client.get(path).text)
        assert "1,234" in page, path
        assert "1234" not in page, path


def test_the_page_that_compares_has_examples_of_ones_own_documents(client: FlaskClient, library: Braid) -> None:
    chunk = ChunkInput("Seals\nThe seal lasts three years.", heading_path="Pump manual > Seals")
    library.ledger.put_document(1, DocumentInput("pump.md", "Pump manual", "md", (chunk,)))
    assert library.indexer.wait(WAIT_S)
    page = client.get("/search/compare").text
    found = re.search(r'<ul class="examples">\s*<li><a href="([^"]+)"[^>]*>What should I know about seals', page)
    assert found
    assert "/search/compare?q=What+should" in found[1]
    assert 'class="examples"' not in client.get("/search/compare?q=seal").text
