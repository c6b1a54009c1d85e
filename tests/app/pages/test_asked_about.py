"""Questions that name datasets, documents or pages: only these are searched, and the page says so."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.web import add_user, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S

PAGES = ("The gasket of pump one is part 4711.", "The gasket of pump two is part 4712.")

GASKET = "Which gasket has the pump?"


@pytest.fixture
def manual(library: Braid) -> int:
    """The id of a document of two pages, the second of which goes on to a third."""
    chunks = (
        ChunkInput(PAGES[0], page=1, page_end=1),
        ChunkInput(PAGES[1], page=2, page_end=3),
    )
    library.ledger.put_document(1, DocumentInput("pumps.pdf", "Pumps", "pdf", chunks))
    library.ledger.put_document(1, DocumentInput("other.md", "Other", "md", (ChunkInput("A gasket seals a pump."),)))
    assert library.indexer.wait(WAIT_S)
    return next(each.id for each in library.ledger.documents(1) if each.source == "pumps.pdf")


def ask(client: FlaskClient, *about: str, text: str = GASKET, path: str = "/chat/messages") -> str:
    """The page of the conversation, after a question about these."""
    answer = post_form(client, path, text=text, d=["1"], about=list(about))
    assert answer.status_code == 303, answer.text
    return client.get(answer.location).text


def cited(page: str) -> set[str]:
    """Titles of the last answer's sources."""
    last = page.partition('<template id="pending">')[0].rpartition('<article class="turn')[2]
    return set(re.findall(r"data-source>([^<]+)</a>", last))


def test_only_what_is_named_is_searched(client: FlaskClient, manual: int) -> None:
    assert cited(ask(client, text="What seals a pump?")) == {"Other"}
    assert "Pumps" in cited(ask(client, f"document:{manual}", text="What seals a pump?"))
    page = ask(client, f"document:{manual}")
    assert cited(page) == {"Pumps"}
    assert re.search(r'<ul class="chips named" aria-label="Asked about"><li[^>]*>Pumps <small title="Notes">', page)
    page = ask(client, "dataset:-1", text="How are trains booked?")
    assert cited(page) == {"Travel"}
    assert "Pumps" in cited(ask(client, "dataset:-1", f"document:{manual}"))


@pytest.mark.parametrize(("number", "place"), [(1, "page 1"), (2, "page 2"), (3, "page 2")])
def test_one_page(client: FlaskClient, manual: int, number: int, place: str) -> None:
    page = ask(client, f"document:{manual}:{number}")
    assert f"Pumps, page {number}" in page
    assert set(re.findall(r"<span>(page [^<]+)</span>", page)) == {place}


def test_a_summary_of_what_is_named_needs_no_title(client: FlaskClient, manual: int) -> None:
    assert "Read all of “Pumps”: 2 passages" in text_of(ask(client, f"document:{manual}", text="Summarise this"))
    page = text_of(ask(client, f"document:{manual}:1", text="Summarise this page"))
    assert "Read “Pumps”: 1 of 2 passages, those that were asked about" in page
    assert "Did you mean" not in page


def test_the_next_question_is_asked_as_before(client: FlaskClient, manual: int) -> None:
    page = ask(client)
    path = re.search(r'id="composer" method="post" action="([^"]+)"', page)
    assert path
    page = ask(client, "dataset:-1", text="How are trains booked?", path=path[1])
    assert re.search(r'name="d" value="1" checked', page), "the picker has what was chosen in it"
    assert not re.search(r'name="d" value="-1" checked', page)
    edit = re.findall(r'action="([^"]+/edit)"', page)[-1]
    assert cited(ask(client, text="Are trains booked by the office?", path=edit)) == {"Travel"}, "an edited one is, too"


def test_a_page_leads_to_a_question_about_it(client: FlaskClient, manual: int) -> None:
    page = client.get(f"/chat?about=document:{manual}:2").text
    assert f'<input type="hidden" name="about" value="document:{manual}:2">' in page
    assert "Pumps, page 2" in page


def test_what_cannot_be_named(client: FlaskClient, library: Braid, manual: int) -> None:
    stranger = library.ledger.add_dataset(library.ledger.add_user("eve").id, "Hers").id
    secret = library.ledger.put_document(stranger, DocumentInput("s.md", "Secret", "md", (ChunkInput("A pump."),)))
    for about in (f"dataset:{stranger}", f"document:{secret.document_id}", f"document:{10**17}"):
        refused = post_form(client, "/chat/messages", text="Which pump?", d=["1"], about=[about])
        assert refused.status_code == 404
        assert "Secret" not in refused.text
        assert client.get("/chat", query_string={"about": about}).status_code == 404
    for wrong in ("document", "document:x", "passage:1", f"document:{manual}:0x1"):
        assert post_form(client, "/chat/messages", text="Which pump?", d=["1"], about=[wrong]).status_code == 400
    many = [f"document:{number}" for number in range(1, 30)]
    assert post_form(client, "/chat/messages", text="Which pump?", d=["1"], about=many).status_code == 400


def test_the_list_for_a_question_has_documents_and_datasets_alone(client: FlaskClient, manual: int) -> None:
    groups = client.get("/palette.json", query_string={"q": "pum", "to": "ask"}).json["groups"]  # type: ignore[index]
    keys = [entry["key"] for group in groups for entry in group["entries"]]
    assert keys == [f"document:{manual}"]
    groups = client.get("/palette.json", query_string={"to": "ask"}).json["groups"]  # type: ignore[index]
    assert {entry["key"].partition(":")[0] for group in groups for entry in group["entries"]} == {"dataset"}


def test_what_is_called_so_is_offered_before_what_is_only_in_a_dataset_or_folder_of_that_name(
    client: FlaskClient, library: Braid
) -> None:
    for dataset, source, title in (
        (-1, "handbook/mirrors.md", "Mirrors"),
        (1, "pumps.md", "The handbook of pumps"),
        (1, "short.md", "Handbooks"),
        (1, "old.md", "Oldhandbook"),
    ):
        library.ledger.put_document(dataset, DocumentInput(source, title, "md", (ChunkInput("A text."),)))
    groups = client.get("/palette.json", query_string={"q": "HANDBOOK", "to": "ask"}).json["groups"]  # type: ignore[index]
    titles = [entry["title"] for group in groups for entry in group["entries"]]
    assert titles == ["Handbook", "Handbooks", "The handbook of pumps", "Oldhandbook", "Mirrors"]


def test_many_documents_leave_a_dataset_its_place(client: FlaskClient, library: Braid) -> None:
    for number in range(9):
        one = DocumentInput(f"r{number}.md", f"Report {number}", "md", (ChunkInput("A text."),))
        library.ledger.put_document(1, one)
    library.ledger.add_dataset(library.ledger.users()[0].id, "Reports")
    for typed in ("rep", "report", "reports"):
        groups = client.get("/palette.json", query_string={"q": typed, "to": "ask"}).json["groups"]  # type: ignore[index]
        titles = [entry["title"] for group in groups for entry in group["entries"]]
        assert "Reports" in titles
        assert len(titles) == (1 if typed == "reports" else 7)


def test_documents_of_one_title_are_told_apart_in_the_list_and_in_the_question(
    client: FlaskClient, library: Braid
) -> None:
    for dataset, source in ((1, "leave.md"), (1, "2025/leave.md"), (1, "2026/leave.md"), (1, "old/2026/leave.md")):
        library.ledger.put_document(dataset, DocumentInput(source, "Leave", "md", (ChunkInput("Twenty days."),)))
    library.ledger.put_document(-1, DocumentInput("leave.md", "Leave", "md", (ChunkInput("Twenty days."),)))
    groups = client.get("/palette.json", query_string={"q": "leave", "to": "ask"}).json["groups"]  # type: ignore[index]
    rows = [(entry["about"], entry["key"]) for group in groups for entry in group["entries"]]
    assert sorted(about for about, _ in rows) == [
        "2025/leave.md · Notes",
        "2026/leave.md",
        "Handbook",
        "Notes",
        "old/2026/leave.md",
    ]
    page = client.get("/chat", query_string={"about": dict(rows)["2025/leave.md · Notes"]}).text
    assert text_of(page.partition('id="about"')[2].partition("</ul>")[0]).endswith("Leave 2025/leave.md · Notes")


def test_others_do_not_see_what_was_named_where_they_may_not_read_it(library: Braid, manual: int) -> None:
    app = make_app(library)
    owner = sign_in(app)
    page = ask(owner, f"document:{manual}")
    number = int(re.search(r"/chat/(\d+)/messages", page)[1])  # type: ignore[index]
    add_user(app, "Reader")
    token = site_of(app).conversations.links.share(site_of(app).accounts.all()[0].id, number)
    shared = sign_in(app, "Reader").get(f"/chat/shared/{token}")
    assert shared.status_code == 200
    assert "Which gasket" in shared.text
    assert 'class="chips named"' not in shared.text


def test_the_list_for_dropped_files_has_only_what_may_be_written(library: Braid) -> None:
    app = make_app(library)
    add_user(app, "Reader")
    groups = sign_in(app, "Reader").get("/palette.json", query_string={"to": "add"}).json["groups"]  # type: ignore[index]
    entries = [entry for group in groups for entry in group["entries"]]
    assert [(entry["key"], entry["href"]) for entry in entries] == [("", "/datasets/mine")], "which is made then"
    groups = sign_in(app).get("/palette.json", query_string={"to": "add"}).json["groups"]  # type: ignore[index]
    assert "dataset:1" in [entry["key"] for entry in groups[0]["entries"]]


def test_a_thorough_search_asks_about_the_same(client: FlaskClient, manual: int) -> None:
    fields = {"text": "Which planet has moons?", "d": ["1"], "about": [f"document:{manual}"], "mode": "keyword"}
    page = client.get(post_form(client, "/chat/messages", **fields).location).text
    form = page.partition('<form class="thoroughly"')[2].partition("</form>")[0]
    assert re.findall(r'name="about" value="([^"]+)"', form) == [f"document:{manual}"]
