"""Owners share datasets and conversations: what others see, do and ask for, and that it ends when it is taken back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.accounts.accounts import Account
from braid.core.background.dataset_jobs import new_text
from braid.core.braid import Braid
from braid.core.datasets.shares import Share
from tests.web import acts, add_user, bearer, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S, document, eventually

FACT = "The pump of the north station runs at 4711 bar."


@dataclass
class World:
    """Ann has a dataset; Ben has none of his own that matters."""

    app: Flask
    braid: Braid
    ann: Account
    ben: Account
    dataset: int

    def browser(self, name: str) -> FlaskClient:
        return sign_in(self.app, name)

    def call(self, account: Account, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = bearer(self.app, account)
        answer = self.app.test_client().open(f"/api/v1{path}", method=method, json=body, headers=headers)
        return answer.json if answer.is_json else answer.status_code

    def share(self, name: str = "ben", *, kind: str = "user", change: bool = False) -> None:
        dataset = self.braid.ledger.dataset(self.dataset)
        self.braid.shares.put(dataset, Share(kind, name, change), by="ann")  # type: ignore[arg-type]

    def take_back(self, name: str = "ben") -> None:
        self.braid.shares.remove(self.braid.ledger.dataset(self.dataset), "user", name, by="ann")


@pytest.fixture
def world(braid: Braid) -> World:
    app = make_app(braid)
    ann, ben = add_user(app, "ann"), add_user(app, "ben", groups=("lab",))
    dataset = braid.ledger.add_dataset(ann.id, "Stations").id
    braid.ledger.put_document(dataset, document("pump.md", FACT, title="Pump"))
    assert braid.indexer.wait(WAIT_S)
    return World(app, braid, ann, ben, dataset)


def readers(client: FlaskClient, dataset: int) -> str:
    """The sentence that says who can read the dataset."""
    found = re.search(r'<p id="readers">(.*?)</p>', client.get(f"/datasets/{dataset}").text, re.DOTALL)
    assert found
    return text_of(found[1])


# ---------------------------------------------------------------- datasets


def test_an_owner_shares_on_the_page_and_takes_it_back(world: World) -> None:
    ann, ben, page = world.browser("ann"), world.browser("ben"), f"/datasets/{world.dataset}"
    assert readers(ann, world.dataset) == "Only you can read this dataset."
    assert ben.get(page).status_code == 404
    post_form(ann, f"{page}/share", kind="user", name="ben", may_write="0")
    assert readers(ann, world.dataset) == "Besides you, ben can read this dataset."
    assert readers(ben, world.dataset) == "ann shares this dataset with you. You can read it."
    post_form(ann, f"{page}/share", kind="group", name="lab", may_write="1")
    assert readers(ann, world.dataset) == (
        "Besides you, ben, the group “lab” can read this dataset. "
        "Of these, the group “lab” can also add documents and remove them."
    )
    ann.get("/login?lang=ja")
    assert "ben さん、グループ「lab」もこのデータセットを閲覧できます" in readers(ann, world.dataset)
    ann.get("/login?lang=en")
    assert readers(ben, world.dataset).endswith("You can read it, add documents and remove them.")
    post_form(ann, f"{page}/unshare", kind="user", name="ben")
    post_form(ann, f"{page}/unshare", kind="group", name="lab")
    assert ben.get(page).status_code == 404
    assert [(act.actor, act.action) for act in acts(world.app)][:4] == [
        ("ann", "dataset.unshared"),
        ("ann", "dataset.unshared"),
        ("ann", "dataset.shared"),
        ("ann", "dataset.shared"),
    ]


def test_who_reads_does_not_change_share_or_delete(world: World) -> None:
    world.share()
    ben, page = world.browser("ben"), f"/datasets/{world.dataset}"
    html = ben.get(page).text
    assert "upload-form" not in html
    for form in ("text", "name", "delete", "share", "unshare", "hand-over", "export", "reembed", "documents/remove"):
        assert post_form(ben, f"{page}/{form}", title="T", text="X", name="ben", kind="user").status_code == 403, form
    api = f"/datasets/{world.dataset}"
    assert world.call(world.ben, "GET", f"{api}/shares")["status"] == 403
    assert world.call(world.ben, "PATCH", api, {"name": "Mine"})["status"] == 403
    assert world.call(world.ben, "DELETE", api)["status"] == 403
    assert world.call(world.ben, "PUT", f"{api}/documents", {"source": "a", "text": "b"})["status"] == 403
    assert world.braid.ledger.dataset(world.dataset).name == "Stations"


def test_who_may_change_adds_and_removes_documents_but_is_no_owner(world: World) -> None:
    world.share("lab", kind="group", change=True)
    api = f"/datasets/{world.dataset}"
    assert world.call(world.ben, "PUT", f"{api}/documents", {"source": "valve.md", "text": "It is closed."})
    assert len(world.braid.ledger.documents(world.dataset)) == 2
    world.call(world.ben, "POST", f"{api}/documents/delete", {"source": "pump.md"})
    assert [each.source for each in world.braid.ledger.documents(world.dataset)] == ["valve.md"]
    assert world.call(world.ben, "DELETE", api)["status"] == 403
    assert world.call(world.ben, "POST", f"{api}/shares", {"name": "admin"})["status"] == 403


def test_the_api_lists_what_is_shared_with_its_owner(world: World) -> None:
    api = f"/datasets/{world.dataset}"
    assert world.call(world.ann, "POST", f"{api}/shares", {"name": "ben"})["shares"] == [
        {"kind": "user", "name": "ben", "may_write": False}
    ]
    [shown] = [each for each in world.call(world.ben, "GET", "/datasets")["items"] if each["id"] == world.dataset]
    assert (shown["kind"], shown["owner"], shown["may_write"]) == ("personal", "ann", False)
    found = world.call(world.ben, "POST", "/search", {"query": "north station pump", "dataset_ids": "all"})
    assert [hit["passage"]["dataset_id"] for hit in found["hits"]] == [world.dataset]
    own = world.call(world.ben, "POST", "/search", {"query": "north station pump"})
    assert own["hits"] == [], "what others share is searched when it is chosen"
    assert world.call(world.ann, "POST", f"{api}/shares/delete", {"name": "ben"})["shares"] == []
    assert world.call(world.ben, "GET", api)["status"] == 404


def test_the_picker_says_who_shares(world: World) -> None:
    world.share()
    ben = world.browser("ben")
    for page in ("/chat", "/search", "/datasets"):
        html = text_of(ben.get(page).text)
        assert "Stations" in html, page
        assert "shared by ann" in html, page


def test_who_does_not_want_it_takes_it_out_of_the_list(world: World) -> None:
    world.share()
    world.share("lab", kind="group")
    ben, page = world.browser("ben"), f"/datasets/{world.dataset}"
    assert "Remove from my list" in ben.get(page).text
    post_form(ben, f"{page}/leave")
    assert "Remove from my list" not in ben.get(page).text, "it is shared with a group now"
    assert post_form(ben, f"{page}/leave").status_code == 404
    assert "Remove from my list" not in world.browser("ann").get(page).text


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"kind": "user", "name": "nobody"}, "There is nobody named “nobody”."),
        ({"kind": "group", "name": "board"}, "There is no group named “board” with members."),
        ({"kind": "user", "name": "ann"}, "This already belongs to ann."),
    ],
)
def test_a_name_that_is_none_is_said_on_the_page(world: World, form: dict[str, str], told: str) -> None:
    answer = post_form(world.browser("ann"), f"/datasets/{world.dataset}/share", **form)
    assert answer.status_code == 400
    assert told in text_of(answer.text)


def test_people_are_found_by_two_letters(world: World) -> None:
    client = world.browser("ann")

    def found(kind: str, name: str) -> list[str]:
        return list(client.get(f"/datasets/people.json?kind={kind}&name={name}").json or ())

    assert found("user", "be") == ["ben"]
    assert found("group", "LA") == ["lab"]
    assert found("user", "b") == found("user", "an") == found("group", "zz") == []
    for kind in ("admin", "anyone"):
        assert client.get(f"/datasets/people.json?kind={kind}&name=be").status_code == 404


def test_a_dataset_is_handed_over(world: World) -> None:
    world.share()
    page = f"/datasets/{world.dataset}"
    ann, ben = world.browser("ann"), world.browser("ben")
    assert post_form(ann, f"{page}/hand-over", name="nobody").status_code == 400
    assert post_form(ann, f"{page}/hand-over", name="ben").status_code == 302
    assert ann.get(page).status_code == 404
    assert readers(ben, world.dataset) == "Only you can read this dataset."
    assert acts(world.app)[0].action == "dataset.transferred"


def test_a_dataset_is_handed_to_nobody_who_has_too_many(world: World) -> None:
    from dataclasses import replace

    here = site_of(world.app)
    here.settings = replace(here.settings, max_user_datasets=1)
    world.braid.ledger.add_dataset(world.ben.id, "mine")
    answer = world.call(world.ann, "POST", f"/datasets/{world.dataset}/hand-over", {"name": "ben"})
    assert (answer["status"], "which are the limits" in answer["detail"]) == (400, True)


def test_administrators_give_a_shared_dataset_editors(world: World) -> None:
    entry = site_of(world.app).shared_datasets.add("Handbook", "shared_main_db", by="admin")
    admin, ben, page = sign_in(world.app), world.browser("ben"), f"/datasets/{entry.id}"
    assert "Everyone with an account can read this dataset. Administrators manage" in readers(ben, entry.id)
    assert post_form(ben, f"{page}/text", title="T", text="X").status_code == 403
    assert post_form(ben, f"{page}/share", kind="user", name="ben", may_write="1").status_code == 403
    post_form(admin, f"{page}/share", kind="user", name="ben", may_write="1")
    assert "Administrators and ben can add documents" in readers(admin, entry.id)
    assert readers(ben, entry.id).endswith("You can add documents and remove them.")
    assert post_form(ben, f"{page}/text", title="T", text="X").status_code == 302
    assert ben.get(f"/admin/shared/{entry.id}").status_code == 403


def test_a_job_of_somebody_who_may_no_longer_change_the_dataset_fails(braid: Braid) -> None:
    app = make_app(braid, jobs=False)
    here = site_of(app)
    ann, ben = add_user(app, "ann"), add_user(app, "ben")
    dataset = braid.ledger.add_dataset(ann.id, "Stations")
    braid.shares.put(dataset, Share("user", "ben", may_write=True), by="ann")
    jobs = [new_text(here.background.spool, dataset.id, title, "Text.", max_bytes=100) for title in ("one", "two")]
    here.background.add(ben.id, jobs)
    braid.shares.remove(dataset, "user", "ben", by="ann")
    here.start_jobs()
    try:
        store = here.background.store
        failed = eventually(lambda: [job for job in store.of_user(ben.id) if job.error])
        assert "ben may no longer change dataset" in failed[0].error
        assert braid.ledger.documents(dataset.id) == []
    finally:
        here.close()


def test_administrators_see_where_somebody_else_finds_something_but_not_what(world: World) -> None:
    world.share("admin")
    secret = world.braid.ledger.add_dataset(world.ann.id, "Diary").id
    world.braid.ledger.put_document(secret, document("day.md", "The pump was loud at 815 today.", title="Monday"))
    assert world.braid.indexer.wait(WAIT_S)
    admin = sign_in(world.app)
    page = text_of(post_form(admin, "/admin/see-as", name="ann", q="pump").text)
    assert "Searched: Stations, Diary" in page
    assert "Pump Stations" in page
    assert page.count("Meaning") == 1, (
        "why the one is found that the administrator may read, and no numbers of the other"
    )
    assert "a passage that you cannot read Diary" in page
    assert not any(told in page for told in ("815", "Monday", "day.md"))
    last = acts(world.app)[0]
    assert (last.action, last.target, last.detail) == ("search.as_user", "ann", "pump")
    assert post_form(admin, "/admin/see-as", name="nobody", q="pump").status_code == 400
    assert post_form(admin, "/admin/see-as", name="ann", q="").status_code == 400


def test_an_administrator_sees_what_a_group_finds_and_no_text_of_it(world: World) -> None:
    here, admin = site_of(world.app), sign_in(world.app)
    here.accounts.set_groups(world.ben.id, ["crew"])
    here.shares.put(world.braid.ledger.dataset(world.dataset), Share("group", "crew"), by="ann")
    registry, ledger = world.braid.registry, world.braid.ledger
    groups = {"Rules": ["crew"], "All": [], "Board": ["board"], "Off": ["crew"]}
    listed = {name: registry.add(name, "shared_all", allowed_groups=opened).id for name, opened in groups.items()}
    registry.update(listed["Off"], enabled=False)
    world.braid.mirror_registry()
    for name, dataset in listed.items():
        text = f"The pump of {name} runs at 815."
        ledger.put_document(dataset, document(f"{name}.md", text, title=f"Pump of {name}"))
    assert world.braid.indexer.wait(WAIT_S)
    page = text_of(post_form(admin, "/admin/see-as", kind="group", name="crew", q="pump").text)
    searched = page.partition("Searched:")[2]
    assert [name for name in ("Stations", "Rules", "All", "Board", "Off") if name in searched] == [
        "Stations",
        "Rules",
        "All",
    ]
    assert "a passage that you cannot read Stations" in page
    assert "a passage that you cannot read Rules" in page
    assert "Pump of All" in page, "which everybody reads"
    assert re.findall(r"The pump of (\w+) runs at 815", page) == ["All"], "its text, and that of no other"
    last = acts(world.app)[0]
    assert (last.action, last.target, last.detail) == ("search.as_group", "crew", "pump")
    assert "no group named" in post_form(admin, "/admin/see-as", kind="group", name="ben", q="pump").text
    assert post_form(admin, "/admin/see-as", kind="group", name="crew", q="").status_code == 400
    assert 'value="group" checked' in admin.get("/admin/see-as?kind=group&name=crew").text
    assert "/admin/see-as?kind=group" in admin.get("/admin/group?name=crew").text


# ---------------------------------------------------------------- asking for access


def test_a_citation_that_one_may_no_longer_read_is_asked_for(world: World) -> None:
    world.share()
    ben, ann = world.browser("ben"), world.browser("ann")
    asked = post_form(ben, "/chat/messages", text="At how many bar does the north pump run?", d=str(world.dataset))
    page = asked.headers["location"].partition("#")[0]
    assert "4711" in text_of(ben.get(page).text)
    world.take_back()
    html = ben.get(page).text
    assert "4711 bar" not in html
    assert "you may no longer read this source" in html
    address = re.search(r'formaction="([^"]+ask-access\?number=1)"', html)
    assert address
    post_form(ben, address[1])
    html = ben.get(page).text
    assert "You have asked for access." in html
    assert "ask-access" not in html
    for where in ("/datasets", f"/datasets/{world.dataset}"):
        assert "ben asks to read “Stations”." in text_of(ann.get(where).text), where
    assert "asks to read" not in text_of(ben.get("/datasets").text)
    post_form(ann, f"/datasets/{world.dataset}/share", kind="user", name="ben", may_write="0", back="index")
    assert "asks to read" not in text_of(ann.get("/datasets").text)
    assert "4711" in text_of(ben.get(page).text)


def test_a_request_is_declined(world: World) -> None:
    site_of(world.app).shares.ask(world.ben.id, world.dataset)
    ann = world.browser("ann")
    answer = post_form(ann, f"/datasets/{world.dataset}/decline", name="ben", back="index")
    assert answer.headers["location"].endswith("/datasets")
    assert "asks to read" not in ann.get("/datasets").text
    assert post_form(ann, f"/datasets/{world.dataset}/decline", name="ben").status_code == 404


def test_only_what_is_withheld_can_be_asked_for(world: World) -> None:
    world.share()
    ben = world.browser("ben")
    asked = post_form(ben, "/chat/messages", text="At how many bar does the north pump run?", d=str(world.dataset))
    page = asked.headers["location"].partition("#")[0]
    answer_id = re.findall(r'id="message-(\d+)"', ben.get(page).text)[-1]
    for number in ("1", "9", "x", ""):
        assert post_form(ben, f"{page}/messages/{answer_id}/ask-access?number={number}").status_code == 404
    assert site_of(world.app).shares.asked_by(world.ben.id) == frozenset()


# ---------------------------------------------------------------- conversations


def shared_link(world: World, client: FlaskClient, question: str) -> tuple[str, str]:
    """The addresses of a new conversation and of its link."""
    asked = post_form(client, "/chat/messages", text=question, d="all")
    page = asked.headers["location"].partition("#")[0]
    post_form(client, f"{page}/link")
    found = re.search(r'id="link" readonly value="[^"]*(/chat/shared/[^"]+)"', client.get(f"{page}/manage").text)
    assert found
    return page, found[1]


def test_a_shared_conversation_shows_what_its_reader_may_read(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    page, link = shared_link(world, ann, "At how many bar does the north pump run?")
    html = ben.get(link).text
    assert "At how many bar does the north pump run?" in html
    assert "4711 bar" not in html
    assert "pump.md" not in html
    assert "you may not read this source" in html
    world.share()
    assert "4711" in ben.get(link).text
    assert ben.get(page).status_code == 404, "the link is all that is shared"
    world.take_back()
    assert "4711 bar" not in ben.get(link).text


def test_a_shared_conversation_goes_on_as_the_readers_own_with_what_they_may_read(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    page, link = shared_link(world, ann, "At how many bar does the north pump run?")
    post_form(ann, f"{page}/messages/2/feedback", kind="down")
    assert f'action="{link}/copy"' in ben.get(link).text
    assert "/copy" not in ann.get(link).text
    assert '<a href="/chat">Chat</a>' in ben.get(link).text
    own = post_form(ben, f"{link}/copy").headers["location"]
    html = ben.get(own).text
    assert "At how many bar does the north pump run?" in html
    assert "4711 bar" not in html
    assert "[Left out: you may not read what is cited here.]" in html
    exported = ben.get(f"{own}/export.json").text
    secret = ("4711 bar", "pump.md", "Stations", f"user_{world.ann.id}", '"down"')
    assert [told for told in secret if told in exported] == []
    assert ann.get(own).status_code == 404
    answer = post_form(ben, f"{own}/messages", text="And the south pump?", d="all")
    assert answer.headers["location"].startswith(own)
    assert "south" not in ann.get(page).text

    world.share()
    own = post_form(ben, f"{link}/copy").headers["location"]
    assert "4711" in ben.get(own).text
    post_form(ann, f"{page}/link/end")
    assert "4711" in ben.get(own).text, "the copy does not end with the link"
    assert post_form(ben, f"{link}/copy").status_code == 404
    world.take_back()
    html = ben.get(own).text
    assert "4711 bar" not in html
    assert "you may no longer read this source" in html
    assert "4711 bar" not in ben.get(f"{own}/export.json").text


@pytest.mark.parametrize(("language", "told"), [("ja", "閲覧する権限がありません"), ("ko", "볼 권한이 없어요")])
def test_what_a_reader_may_not_read_is_said_in_the_language_of_the_page(world: World, language: str, told: str) -> None:
    _, link = shared_link(world, world.browser("ann"), "At how many bar does the north pump run?")
    html = world.browser("ben").get(link, headers={"Accept-Language": language}).text
    assert told in html
    assert "Left out" not in html


def test_copies_are_not_counted_as_asked_by_their_readers(world: World) -> None:
    _, link = shared_link(world, world.browser("ann"), "zyxwv qwrtp vacation")
    for name in ("cid", "dora"):
        add_user(world.app, name)
    browsers = [world.browser(name) for name in ("ben", "cid", "dora")]
    for browser in browsers:
        post_form(browser, f"{link}/copy")
    assert "zyxwv" not in sign_in(world.app).get("/admin/usage").text
    for browser in browsers:
        post_form(browser, "/chat/messages", text="zyxwv qwrtp vacation", d="all")
    assert "zyxwv" in sign_in(world.app).get("/admin/usage").text


def test_a_source_of_a_shared_conversation_is_asked_for(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    _, link = shared_link(world, ann, "At how many bar does the north pump run?")
    address = re.search(r'formaction="([^"]+ask-access\?number=1)"', ben.get(link).text)
    assert address
    post_form(ben, address[1])
    assert "You have asked for access." in ben.get(link).text
    assert "ben asks to read “Stations”." in text_of(ann.get("/datasets").text)


def test_what_was_deleted_is_not_shown_to_who_never_could_read_it(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    page, link = shared_link(world, ann, "At how many bar does the north pump run?")
    world.braid.remove_dataset(world.dataset)
    assert "4711" in ann.get(page).text
    assert "4711 bar" not in ben.get(link).text


def test_a_link_shows_what_was_there_and_ends_when_it_is_taken_back(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    page, link = shared_link(world, ann, "At how many bar does the north pump run?")
    post_form(ann, f"{page}/messages", text="And what of the south one?", d="all")
    assert "south" not in ben.get(link).text
    assert world.app.test_client().get(link).status_code == 302, "an account is needed"
    post_form(ann, f"{page}/link")
    assert ben.get(link).status_code == 404, "a new link takes the place of the old one"
    new = re.search(r"/chat/shared/[^\"]+", ann.get(f"{page}/manage").text)
    assert new
    assert "south" in ben.get(new[0]).text
    post_form(ann, f"{page}/link/end")
    assert ben.get(new[0]).status_code == 404
    assert [act.action for act in acts(world.app)][:3] == ["conversation.unshared"] + 2 * ["conversation.shared"]


def test_a_link_leads_nowhere_while_its_conversation_is_deleted_and_comes_back_with_it(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    page, link = shared_link(world, ann, "At how many bar does the north pump run?")
    assert ben.get(link).status_code == 200
    post_form(ann, f"{page}/delete")
    assert ben.get(link).status_code == 404
    post_form(ann, "/chat/shelf", act="undelete", c=page.rpartition("/")[2])
    assert ben.get(link).status_code == 200
    assert link in ann.get(f"{page}/manage").text


def test_a_source_opened_from_a_shared_conversation_leads_back_to_it(world: World) -> None:
    ann, ben = world.browser("ann"), world.browser("ben")
    _, link = shared_link(world, ann, "At how many bar does the north pump run?")
    world.share()
    source = re.search(r'href="(/documents/passage/[^"]+)"', ben.get(link).text)
    assert source
    page = ben.get(unescape(source[1])).text
    assert re.search(rf'<a href="{link}">Back to the conversation', page)
    assert re.search(r'href="/chat" aria-current="page"', page)
    assert not re.search(r'href="/search" aria-current="page"', page)


def test_programs_share_and_read_conversations(world: World) -> None:
    made = world.call(world.ann, "POST", "/conversations", {"title": "Pumps"})["id"]
    world.call(world.ann, "POST", f"/conversations/{made}/messages", {"message": "At how many bar does the pump run?"})
    url = world.call(world.ann, "PUT", f"/conversations/{made}/link")["url"]
    path = f"/shared-conversations/{url.rpartition('/')[2]}"
    read = world.call(world.ben, "GET", path)
    assert (read["owner"], read["title"], read["next"]) == ("ann", "Pumps", None)
    assert [each["role"] for each in read["messages"]] == ["user", "assistant"]
    assert [each["fate"] for each in read["messages"][1]["citations"]] == ["withheld"]
    assert "4711 bar" not in str(read)
    world.share()
    assert "4711" in str(world.call(world.ben, "GET", path))
    first = world.call(world.ben, "GET", f"{path}?limit=1")
    assert len(first["messages"]) == 1
    assert first["next"]
    assert world.call(world.ann, "DELETE", f"/conversations/{made}/link") == 204
    assert world.call(world.ben, "GET", path)["status"] == 404


def test_a_link_ends_with_its_owner(world: World) -> None:
    _, link = shared_link(world, world.browser("ann"), "At how many bar does the north pump run?")
    ben = world.browser("ben")
    site_of(world.app).accounts.set_disabled(world.ann.id, True)
    assert ben.get(link).status_code == 404
