"""What the palette finds, and that it finds nothing of others."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.core.braid import Braid
from braid.core.errors import IndexUnavailableError
from braid.core.types import ChunkInput, DocumentInput
from tests.web import add_user, make_app, sign_in, site_of
from tests.worlds import WAIT_S

Found = dict[str, list[tuple[str, str]]]


@pytest.fixture
def app(braid: Braid) -> Flask:
    app = make_app(braid)
    ledger, ann = braid.ledger, add_user(app, "Ann").id
    for name in ("Travel rules", "Rules of the house", "Pumps"):
        dataset = ledger.add_dataset(ann, name)
        ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", (ChunkInput("Text."),)))
    ledger.add_dataset(add_user(app, "Ben").id, "Ben's rules")
    braid.registry.add("Board rules", "shared_board", allowed_groups=["board"])
    braid.registry.add("Common rules", "shared_all")
    store = site_of(app).conversations
    for user, question in (
        (ann, "Which rules hold for travel?"),
        (ann, "How many mushrooms?"),
        (ann + 1, "Ben's travel"),
    ):
        store.create(user, question)
    return app


def find(client: FlaskClient, typed: str = "", prefix: str = "", **headers: str) -> Found:
    answer = client.get(f"{prefix}/palette.json", query_string={"q": typed}, headers=headers)
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    return {g["name"]: [(e["title"], e["href"]) for e in g["entries"]] for g in answer.json["groups"]}


def titles(found: Found, group: str) -> list[str]:
    return [title for title, _ in found.get(group, [])]


def test_datasets_and_conversations_of_the_user_are_found(app: Flask) -> None:
    found = find(sign_in(app, "Ann"), "RULES")
    assert titles(found, "Datasets") == ["Rules of the house", "Travel rules", "Common rules"]
    assert titles(found, "Conversations") == ["Which rules hold for travel?"]
    for group in found.values():
        for _, href in group:
            assert sign_in(app, "Ann").get(href).status_code == 200


def test_nothing_of_others_is_found(app: Flask) -> None:
    found = find(sign_in(app, "Ben"), "travel")
    assert titles(found, "Conversations") == ["Ben's travel"]
    assert "Datasets" not in found
    assert "Board rules" not in titles(find(sign_in(app, "Ben"), "rules"), "Datasets")
    assert "Board rules" in titles(find(sign_in(app), "rules"), "Datasets")  # administrators fill it


def test_administrators_alone_find_users_groups_and_their_pages(app: Flask) -> None:
    add_user(app, "Anna Board", groups=("board",))
    admin, ann = sign_in(app), sign_in(app, "Ann")
    found = find(admin, "ann")
    assert titles(found, "Users") == ["Ann", "Anna Board"]
    assert titles(find(admin, "BOARD"), "Groups") == ["board"]
    assert titles(find(admin, "BOARD"), "Users") == ["Anna Board"]
    assert ("Groups", "/admin/groups") in find(admin, "groups")["Pages"]
    assert ("Audit log", "/admin/audit") in find(admin, "audit")["Pages"]
    for _, href in [*found["Users"], *find(admin, "board")["Groups"]]:
        assert admin.get(href).status_code == 200
    assert {"Users", "Groups"}.isdisjoint(find(admin))
    for typed in ("ann", "board", "ben", "admin", "groups", "audit"):
        told = ann.get("/palette.json", query_string={"q": typed}).text
        assert "/admin" not in told
        assert "Anna Board" not in told
        assert {"Users", "Groups"}.isdisjoint(find(ann, typed))


def test_pages_are_found_by_their_names_in_the_language_of_the_page(app: Flask) -> None:
    assert titles(find(sign_in(app, "Ann"), "sett"), "Pages") == ["Settings"]
    assert titles(find(sign_in(app, "Ann"), "設定", Accept_Language="ja"), "ページ") == ["設定"]
    assert titles(find(sign_in(app, "Ann"), "index"), "Pages") == []
    assert find(sign_in(app), "index")["Pages"] == [("Indexes", "/admin/indexes")]


@pytest.mark.parametrize(
    ("typed", "title", "href"),
    [
        ("theme", "Dark", "#theme-dark"),
        ("dark mode", "Dark", "#theme-dark"),
        ("ダーク", "Dark", "#theme-dark"),
        ("light", "Light", "#theme-light"),
        ("language", "日本語", "#language-ja"),
        ("japanese", "日本語", "#language-ja"),
        ("한국어", "한국어", "#language-ko"),
        ("log out", "Sign out", "#sign-out"),
        ("new chat", "New conversation", "/chat"),
        ("upload", "Add documents", "#add-title"),
        ("hotkeys", "Keyboard shortcuts", "#shortcuts"),
    ],
)
def test_acts_are_found_by_what_people_call_them(app: Flask, typed: str, title: str, href: str) -> None:
    found = dict(find(sign_in(app, "Ann"), typed)["Commands"])
    assert found[title].endswith(href)


def test_pages_are_found_by_what_people_call_them(app: Flask) -> None:
    assert titles(find(sign_in(app, "Ann"), "preferences"), "Pages") == ["Settings"]
    assert titles(find(sign_in(app, "Ann"), "password"), "Pages") == ["Account"]


def test_without_a_text_what_was_used_last_and_the_pages_are_offered(app: Flask) -> None:
    found = find(sign_in(app, "Ann"))
    assert titles(found, "Conversations") == ["How many mushrooms?", "Which rules hold for travel?"]
    assert titles(found, "Datasets") == ["Travel rules", "Rules of the house", "Pumps"]
    assert titles(found, "Pages")[:2] == ["Chat", "Search"]
    assert titles(found, "Commands")[0] == "New conversation"


def test_odd_texts_find_nothing_and_break_nothing(app: Flask) -> None:
    client = sign_in(app, "Ann")
    for odd in ("%", "_", "\x00", "'", "<b>", "x" * 5_000, "　", "ＲＵＬＥＳ"):
        find(client, odd)
    assert titles(find(client, "ＲＵＬＥＳ"), "Datasets")[0] == "Rules of the house"


def test_whole_words_come_first_then_beginnings_then_what_contains_the_text(app: Flask) -> None:
    here = site_of(app)
    ann = here.accounts.named("Ann").id
    dataset = here.braid.ledger.datasets(ann)[0]
    for name in ("Newborn care", "Renewal", "The new hall"):
        here.braid.ledger.put_document(dataset.id, DocumentInput(f"{name}.md", name, "md", (ChunkInput("Text."),)))
    here.conversations.create(ann, "Renewed lease")
    found = find(sign_in(app, "Ann"), "new")
    assert list(found)[:2] == ["Commands", "Documents"]
    assert titles(found, "Commands")[0] == "New conversation"
    assert titles(found, "Documents") == ["The new hall", "Newborn care", "Renewal"]
    assert next(iter(find(sign_in(app, "Ann"), "newb"))) == "Documents"
    assert list(found)[-1] == "Conversations"


def test_documents_are_found_by_their_text_and_conversations_leave_them_room(app: Flask) -> None:
    here, ann = site_of(app), site_of(app).accounts.named("Ann").id
    mine, theirs = here.braid.ledger.datasets(ann)[0], here.braid.ledger.datasets(ann + 1)[0]
    for dataset, name in ((mine, "Costs"), (theirs, "Secrets")):
        here.braid.ledger.put_document(dataset.id, DocumentInput(f"{name}.md", name, "md", (ChunkInput("A hotel."),)))
    assert here.braid.indexer.wait(WAIT_S)
    for _ in range(9):
        here.conversations.create(ann, "Which hotel?")
    found = find(sign_in(app, "Ann"), "hotel")
    assert titles(found, "Documents") == ["Costs"]
    assert titles(found, "Conversations") == ["Which hotel?"] * 4
    assert titles(find(sign_in(app, "Ann"), "hotel cos"), "Documents") == ["Costs"], "the words while they are typed"
    assert "Documents" not in find(sign_in(app, "Ann"), "no such hotel"), "it has one of three words"
    assert "Documents" not in find(sign_in(app), "hotel"), "it is neither of the administrator's"
    asked = sign_in(app, "Ann").get("/palette.json?q=hotel&to=ask").text
    assert "Costs" not in asked, "a question names what is called so"


def test_an_index_that_is_down_is_named_beside_what_is_found(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    client, asked = sign_in(app, "Ann"), []

    def down(typed: str, **_options: object) -> None:
        asked.append(typed)
        raise IndexUnavailableError("the index is being rebuilt")

    assert site_of(app).braid.indexer.wait(WAIT_S)
    assert client.get("/palette.json?q=rules").json["missing"] == ""
    monkeypatch.setattr(site_of(app).braid.manager, "search", down)
    told = client.get("/palette.json?q=rules").json
    assert told["missing"] == "Some documents' texts cannot be searched right now."
    assert "Datasets" in [group["name"] for group in told["groups"]]
    assert client.get("/palette.json?q=r").json["missing"] == "", "one letter is looked for in names alone"
    assert asked == ["rules"]


def test_who_is_signed_out_is_told_so(app: Flask) -> None:
    assert app.test_client().get("/palette.json").status_code == 401


def test_it_works_inside_a_host(braid: Braid) -> None:
    host = Flask("host")
    host.secret_key = "the host's own"
    register_braid(host, lambda: HostUser("eva"), braid=braid, url_prefix="/tools/braid")
    found = find(host.test_client(), prefix="/tools/braid")
    assert ("Search", "/tools/braid/search") in found["Pages"]
    assert ("Account", "/tools/braid/account") in found["Pages"]
    assert 'data-url="/tools/braid/palette.json"' in host.test_client().get("/tools/braid/search").text
