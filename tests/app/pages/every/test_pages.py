"""The pages, over a real Braid; only the embedding model is faked."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from flask_babel import force_locale

from braid.app.pages.status import index_status
from braid.core.braid import Braid
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import ChunkInput, DocumentInput
from tests.app.pages.every.shown import EMPTY, HANDBOOK, NOTES, results_of
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in, text_of
from tests.worlds import WAIT_S, eventually

ROOT = Path(__file__).parents[4]


APP = ROOT / "app"


Put = Callable[..., str]


@pytest.fixture
def own_client(library: Braid) -> FlaskClient:
    """A signed-in browser, for tests that change the library."""
    return sign_in(make_app(library))


# ---------------------------------------------------------------- the first page


def test_first_page_offers_personal_and_shared_datasets_with_sizes(client: FlaskClient) -> None:
    page = text_of(client.get("/search").text)
    assert re.search(
        r"Personal.*My notes 3 documents.*Empty empty"
        r".*Shared.*Handbook 1 document .*For everybody",
        page,
    )


def test_everything_is_ticked_until_somebody_chooses(client: FlaskClient) -> None:
    assert re.findall(r'name="d" value="(-?\d+)" checked', client.get("/search").text) == ["1", "2", "-1"]
    assert 'value="-1" checked' not in client.get("/search?q=printer&d=1").text


def test_an_empty_query_is_the_first_page(client: FlaskClient) -> None:
    page = client.get("/search?q=+&d=1")
    assert page.status_code == 200
    assert "Ask, and see where the answer is" in page.text


def test_a_slash_too_many_leads_to_the_page(client: FlaskClient) -> None:
    pages = {
        rule.rule
        for rule in client.application.url_map.iter_rules()
        if rule.endpoint.startswith("braid.") and "GET" in (rule.methods or ()) and not rule.arguments
    }
    led = {
        page for page in pages if client.get(f"{page}/?q=a%26b&d=1").headers.get("Location") == f"{page}?q=a%26b&d=1"
    }
    assert {"/chat", "/search", "/datasets", "/settings", "/account", "/admin/users", "/chat/shelf"} <= led
    assert not {page for page in led if page.startswith(("/api", "/v1", "/scim"))}
    assert client.get("/search/").location == "/search"
    as_typed = "q=何冊&d=1&x=%3C[".encode().decode("latin-1")  # as a WSGI server passes on the bytes of a request
    typed = client.get("/search/", environ_overrides={"QUERY_STRING": as_typed}).location
    assert typed == "/search?q=%E4%BD%95%E5%86%8A&d=1&x=%3C%5B"
    assert client.get("/chat/9/").location == "/chat/9"
    assert client.get("/nothing/").status_code == 404
    outside = client.get("/", environ_overrides={"PATH_INFO": "//elsewhere.example/"})
    assert not outside.headers.get("Location", "").startswith("//")
    assert client.get("/api/v1/datasets/").status_code == 404
    assert client.post("/search/").status_code in (403, 404, 405)


def test_first_page_is_light(client: FlaskClient) -> None:
    static = [
        APP / "static" / name
        for name in ("braid.css", "search.css", "balance.js", "status.js", "search.js", "braid.svg")
    ]
    parts = [
        client.get("/search").data,
        results_of(client, "printer").encode(),
        *(path.read_bytes() for path in static),
    ]
    assert sum(len(gzip.compress(part)) for part in parts) < 40_000


# ---------------------------------------------------------------- results


def test_hit_is_cited_with_title_source_dataset_and_reasons(client: FlaskClient) -> None:
    results = results_of(client, "printer error E-4711")
    first = text_of(results.partition("</li>\n  <li")[0])
    for part in ("[1] Printer notes", "My notes", "notes/printer.md", "rank 1", "cosine", "BM25", "contribution "):
        assert part in first
    assert "<mark>printer</mark>" in results
    assert "Took " in results


def test_shares_of_a_hit_add_up_to_a_hundred(client: FlaskClient) -> None:
    first = results_of(client, "printer").partition("</article>")[0]
    assert sum(map(int, re.findall(r"contribution (\d+)%", first))) in (99, 100, 101)


@pytest.mark.parametrize(
    ("query", "marked", "title"),
    [
        ("Printers", "printer", "Printer notes"),
        ("エラーコード", "エラーコード", "プリンターのメモ"),
        ("오류 코드", "오류", "프린터 메모"),
    ],
)
def test_words_of_the_query_are_marked_in_every_language(
    client: FlaskClient, query: str, marked: str, title: str
) -> None:
    first = results_of(client, query, mode="keyword").partition("</article>")[0]
    assert f"<mark>{marked}</mark>" in first
    assert title in first


def test_personal_and_shared_datasets_are_searched_together(client: FlaskClient) -> None:
    assert "Travel" in results_of(client, "receipt tray", mode="keyword")
    assert "Printer notes" in results_of(client, "receipt tray", mode="keyword")


def test_a_form_without_a_tick_searches_personal_datasets_and_an_address_the_preferred_ones(
    client: FlaskClient,
) -> None:
    page = client.get("/search?q=receipt&mode=keyword&offered=1,2,-1").text
    assert "in My notes, Empty" in text_of(page)
    assert "Nothing found" in page
    assert "Travel" in results_of(client, "receipt", mode="keyword")


def test_equal_text_is_shown_once_with_its_other_place(own_client: FlaskClient, put: Put) -> None:
    put(HANDBOOK, "copy.md", "The printer shows error E-4711 when the tray is empty.", title="Copied notes")
    results = results_of(own_client, "E-4711", mode="keyword")
    assert results.count("<article") == 1
    assert "Also in:" in results
    other = "Printer notes" if "[1]</span> <a" in results and "Copied notes</a></h2>" in results else "Copied notes"
    assert other in text_of(results).partition("Also in:")[2]


@pytest.mark.parametrize(
    ("mode", "legs"), [("semantic", {"dense"}), ("keyword", {"bm25"}), ("hybrid", {"dense", "bm25"})]
)
def test_a_mode_asks_its_legs(client: FlaskClient, mode: str, legs: set[str]) -> None:
    first = results_of(client, "printer tray", mode=mode).partition("</article>")[0]
    assert set(re.findall(r'<li class="(dense|bm25)">', first)) == legs


def test_alpha_weighs_the_legs(client: FlaskClient) -> None:
    by_keyword = results_of(client, "printer tray", fusion="weighted", alpha="0").partition("</article>")[0]
    assert '<li class="dense">' not in by_keyword or "contribution 0%" in text_of(by_keyword)
    assert "contribution 100%" in text_of(by_keyword)


def test_k_limits_the_passages(client: FlaskClient) -> None:
    assert results_of(client, "printer", k=1).count("<article") == 1


def test_empty_datasets_are_not_called_nothing_found(client: FlaskClient) -> None:
    page = text_of(client.get(f"/search?q=printer&d={EMPTY}").text)
    assert "There is nothing to search yet" in page
    assert "Nothing found" not in page


# ---------------------------------------------------------------- what is missing is said


def test_dead_leg_is_named_and_the_other_answers(own_client: FlaskClient, embeddings: HashEmbeddings) -> None:
    embeddings.failing = True
    page = text_of(results_of(own_client, "printer"))
    assert "Search by meaning is incomplete." in page
    assert "[1] Printer notes" in page
    assert "No other passages match." not in page


def test_outage_is_never_nothing_found(own_client: FlaskClient, embeddings: HashEmbeddings) -> None:
    embeddings.failing = True
    page = text_of(results_of(own_client, "printer", mode="semantic"))
    assert "No passages found, but part of the search did not run" in page
    assert "Nothing found" not in page


def test_nothing_found_is_said_when_nothing_is_missing(client: FlaskClient) -> None:
    page = text_of(results_of(client, "zeppelin", mode="keyword"))
    assert "Nothing found" in page
    assert "None of these words occur in the selected datasets." in page


def test_dataset_of_another_user_is_left_out_and_listed(own_client: FlaskClient, library: Braid, put: Put) -> None:
    other = library.ledger.add_user("other")
    theirs = library.ledger.add_dataset(other.id, "Diary")
    put(theirs.id, "diary.md", "The secret printer.")
    page = own_client.get(f"/search?q=printer&d={theirs.id}&d={NOTES}&d=77").text
    assert f"Datasets {theirs.id}, 77 were skipped" in page
    assert "Diary" not in page
    assert "secret" not in page


@pytest.mark.one_machine
def test_broken_registry_is_reported(own_client: FlaskClient, library: Braid) -> None:
    (library.data_dir / "shared_dbs.json").write_text("[")
    page = text_of(own_client.get("/search").text)
    assert "The list of shared datasets contains an error." in page
    assert "Handbook" in page


# ---------------------------------------------------------------- hostile and wrong input

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_documents_and_queries_cannot_inject_markup(own_client: FlaskClient, library: Braid) -> None:
    chunk = ChunkInput(f"printer {EVIL}", heading_path=EVIL)
    library.ledger.put_document(NOTES, DocumentInput(f"evil {EVIL}.md", f"printer {EVIL}", "md", (chunk,)))
    library.ledger.rename_dataset(NOTES, EVIL)
    assert library.indexer.wait(WAIT_S)
    page = own_client.get("/search", query_string={"q": f"printer {EVIL}", "d": NOTES, "lang": EVIL})
    href = re.search(r'href="(/documents/passage/[^"]+)"', page.text)
    assert href is not None
    document = own_client.get(href[1].replace("&amp;", "&"))
    for response in (page, document):
        assert response.status_code == 200
        assert "&lt;" in response.text
        ours = "balance|drop|palette|panel|picker|status|search|times"
        assert re.findall(rf'<script(?! src="/static/(?:{ours})\.[0-9a-f]{{10}}\.js" defer>)', response.text) == []
        assert "<img src=x" not in response.text


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"k": "abc"}, "The number of passages must be a whole number"),
        ({"k": "0"}, "The number of passages must be a whole number"),
        ({"k": "1001"}, "The number of passages must be a whole number"),
        ({"k": "9" * 5000}, "The number of passages must be a whole number"),
        ({"mode": "x"}, "Choose “Meaning and keywords”, “Meaning” or “Keywords”"),
        ({"fusion": "sum"}, "Choose automatic fusion, or fusion by rank or by score."),
        ({"fusion": "weighted", "alpha": "2"}, "The balance must be a number"),
        ({"fusion": "weighted", "alpha": "nan"}, "The balance must be a number"),
        ({"alpha": "half"}, "The balance must be a number"),
        ({"d": "one"}, "Select the datasets"),
        ({"d": "0"}, "Select the datasets"),
        ({"q": "x" * 11_000}, "Enter a query of 1 to 10,000 characters."),
    ],
)
def test_wrong_input_is_refused_with_the_remedy(client: FlaskClient, arguments: dict[str, str], remedy: str) -> None:
    response = client.get("/search", query_string={"q": "printer", "d": "1"} | arguments)
    assert response.status_code == 400
    assert remedy in response.text


def test_what_has_no_translation_is_folded_away(client: FlaskClient) -> None:
    arguments = {"q": "printer", "d": "1", "from": "2026-02-01", "to": "2026-01-01"}
    english, japanese = (
        client.get("/search", query_string=arguments, headers={"Accept-Language": language}).text
        for language in ("en", "ja")
    )
    assert "<summary>Technical details" not in english
    assert re.search(r'<summary>技術的な詳細</summary><p class="detail"><span lang="en">date_from', japanese)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/search?q=printer&d=1&mode=x", "mode에 쓸 수 없는 값이에요(&#39;x&#39;). "),
        (
            "/search?q=printer&d=1&from=abc",
            "date_from의 날짜 형식이 잘못됐어요(&#39;abc&#39;). 2026-01-31처럼 입력하세요.",
        ),
    ],
)
def test_what_is_refused_is_told_in_the_language_of_the_page(client: FlaskClient, path: str, told: str) -> None:
    page = client.get(path, headers={"Accept-Language": "ko"}).text
    assert told in page
    assert "<summary>기술 정보" not in page


@pytest.mark.parametrize(
    "query", ["%00", "%ED%A0%80", "%FF", "%F0%9F%A6%86", "'+OR+1=1+--", "AND+(", "*", "%25s", "{{7*7}}"]
)
def test_odd_queries_are_answered(client: FlaskClient, query: str) -> None:
    assert client.get(f"/search?d=1&q={query}").status_code == 200


# ---------------------------------------------------------------- a passage in its document


def href_of_first_hit(client: FlaskClient, query: str, **arguments: object) -> str:
    found = re.search(r'<a href="(/documents/passage/[^"]+)"', results_of(client, query, **arguments))
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_passage_page_shows_the_document_in_order_with_the_cited_one_marked(client: FlaskClient) -> None:
    href = href_of_first_hit(client, "receipt", mode="keyword")
    page = client.get(href).text
    assert href.endswith("#cited")
    assert page.count('id="cited"') == 1
    assert "<b>receipt</b>" in page.partition('id="cited"')[2]
    assert page.index("Book trains") < page.index("Hotels need")
    assert re.search(r'href="/search\?[^"]*q=receipt[^"]*">Back to the search', page)


def test_long_document_is_shown_around_the_cited_passage(own_client: FlaskClient, put: Put) -> None:
    put(NOTES, "long.md", *(f"Paragraph number{n} of the long report." for n in range(200)), title="Report")
    page = own_client.get(href_of_first_hit(own_client, "number120", mode="keyword")).text
    assert "number120" in page.partition('id="cited"')[2].partition("</p>")[0]
    assert text_of(page).count("Paragraph number") == 50
    later = re.search(r'href="([^"]+)" rel="next"', page)
    assert later is not None
    assert "number145 " in text_of(own_client.get(later[1].replace("&amp;", "&")).text)


def test_passage_out_of_scope_is_not_found(own_client: FlaskClient, library: Braid, put: Put) -> None:
    other = library.ledger.add_user("other")
    put(library.ledger.add_dataset(other.id, "Diary").id, "diary.md", "The secret printer.")
    ids = library.manager.search("secret", user_id=other.id, mode="keyword").hits
    assert own_client.get(f"/documents/passage/{ids[0].passage.chunk_id}").status_code == 404
    assert own_client.get("/documents/passage/nonsense").status_code == 404


def test_deleted_passage_is_not_found(own_client: FlaskClient, library: Braid) -> None:
    href = href_of_first_hit(own_client, "receipt", mode="keyword")
    library.ledger.remove_document(HANDBOOK, "travel.md")
    assert own_client.get(href).status_code == 404


# ---------------------------------------------------------------- the line on indexing


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "12 of 40 passages are ready for search by meaning, about 10 seconds left."),
        ("ja", "40 件中 12 件の抜粋まで準備できました（残り約 10 秒）。"),
        ("ko", "40개 중 12개까지 준비됐어요(약 10초 남음)."),
    ],
)
def test_progress_is_said_in_the_readers_language(client: FlaskClient, language: str, expected: str) -> None:
    progress = [LegProgress("bm25", "user_1", "ready"), LegProgress("dense", "user_1", "ready", 28, 10.2)]
    with client.application.test_request_context(), force_locale(language):
        status = index_status(progress, 40)
    assert status.state == "indexing"
    assert expected in status.text


def test_status_is_live(own_client: FlaskClient, library: Braid, embeddings: HashEmbeddings) -> None:
    assert own_client.get("/status.json").json == {
        "state": "ready",
        "text": "Ready: 5 passages can be searched.",
        "total": 5,
        "waiting": {"bm25": 0, "dense": 0},
    }
    embeddings.delay_s = WAIT_S
    chunks = tuple(ChunkInput(f"passage {n}") for n in range(40))
    library.ledger.put_document(NOTES, DocumentInput("new.md", "New", "md", chunks))
    assert library.indexer.wait(WAIT_S, legs=("bm25",))

    def not_ready() -> dict[str, Any] | None:
        status: dict[str, Any] = own_client.get("/status.json").json or {}
        return status if status["state"] != "ready" else None

    status = eventually(not_ready)
    embeddings.delay_s = 0.0
    assert status["state"] == "indexing"
    assert status["waiting"]["bm25"] == 0
    assert "Search by keyword is ready." in status["text"]


def test_failing_model_is_said_in_the_status(client: FlaskClient) -> None:
    progress = [LegProgress("dense", "user_1", "ready", 3, None, "the model cannot be loaded")]
    with client.application.test_request_context():
        status = index_status(progress, 40)
    assert status.state == "failed"
    assert "the model cannot be loaded" in status.text


# ---------------------------------------------------------------- languages


@pytest.mark.parametrize(("header", "language"), [("ja-JP,en;q=0.5", "ja"), ("ko", "ko"), ("fr", "en"), ("", "en")])
def test_the_browsers_language_is_used(client: FlaskClient, header: str, language: str) -> None:
    page = client.get("/search", headers={"Accept-Language": header}).text
    assert f'<html lang="{language}"' in page
    assert page.count('aria-current="true"') == 1


def test_a_chosen_language_stays_and_keeps_the_search(client: FlaskClient) -> None:
    page = client.get("/search?q=printer&d=1&d=-1&lang=ja").text
    assert 'href="?q=printer&amp;d=1&amp;d=-1&amp;lang=ko"' in page
    assert '<html lang="ja"' in client.get("/search", headers={"Accept-Language": "ko"}).text
