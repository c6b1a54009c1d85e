"""The administrators' pages: what they do, what they refuse, and that nobody else gets in."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, update

from braid.app.auth.access import rule_of
from braid.app.factory import register_braid, routes_of
from braid.app.host import HostUser
from braid.app.pages.admin.audit_log import BEGINS
from braid.app.pages.admin.blueprint import csv_lines
from braid.app.pages.admin.registry_file import diff_lines
from braid.app.words.audit_log import ACTIONS
from braid.config.settings import Settings
from braid.core.accounts.usage import last_days
from braid.core.backup.record import last_backup, note_backup
from braid.core.backup.verify import verify_backup
from braid.core.braid import Braid
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.tables import UsageRow
from braid.core.types import ChunkInput, DocumentInput
from tests import scans
from tests.model_server import ModelServer, model_server
from tests.web import PASSWORD, acts, add_user, csrf_token, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S, add_notes, document, eventually, write_backup


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("ready") as running:
        yield running


@pytest.fixture
def app(braid: Braid, server: ModelServer) -> Flask:
    return make_app(
        braid,
        Settings(search_model="openai:small", search_model_base_url=server.url, search_model_api_key="the-sites-key"),
    )


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.fixture
def ben(app: Flask) -> FlaskClient:
    add_user(app, "Ben", groups=("lab",))
    return sign_in(app, "Ben")


# ---------------------------------------------------------------- who gets in


def test_every_administrators_route_is_for_administrators_alone(app: Flask, ben: FlaskClient) -> None:
    values = {"dataset_id": -1, "role": "search", "name": "ollama"}
    values |= dict.fromkeys(("user_id", "folder_id", "token_id", "grant_id", "session_id"), 1)
    token = csrf_token(ben)
    visited = 0
    for entry in app.url_map.iter_rules():
        if entry.endpoint.startswith("braid.admin."):
            with app.test_request_context():
                path = app.url_for(entry.endpoint, **{name: values[name] for name in entry.arguments})
            for method in entry.methods & {"GET", "POST"}:
                visited += 1
                assert ben.open(path, method=method, data={"csrf_token": token}).status_code == 403, path
                assert app.test_client().open(path, method=method).status_code in (302, 401), path
    assert visited > 20


def test_every_route_states_its_rule(app: Flask) -> None:
    with app.app_context():
        rules = {endpoint: rule_of(endpoint) for endpoint, _ in routes_of(app) if ".admin." in endpoint}
    assert all(stated and stated.who == "admin" for stated in rules.values()), rules


def test_only_administrators_are_led_here(admin: FlaskClient, ben: FlaskClient) -> None:
    assert 'href="/admin/"' in admin.get("/search").text
    assert 'href="/admin/"' not in ben.get("/search").text


def test_a_form_without_its_token_is_refused(admin: FlaskClient) -> None:
    assert admin.post("/admin/users/sign-up", data={"sign_up": "open"}).status_code == 400


# ---------------------------------------------------------------- shared datasets


def test_a_shared_dataset_is_added_edited_and_removed(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    added = post_form(
        admin, "/admin/shared", name="Handbook", collection_name="shared_lab", allowed_groups="lab, staff"
    )
    assert added.status_code == 302
    entry = braid.registry.entries()[0]
    assert (entry.id, entry.name, entry.allowed_groups) == (-1, "Handbook", ("lab", "staff"))
    assert "Handbook" in admin.get("/admin/shared").text
    form = {"name": "Manual", "collection_name": "shared_other", "description": "two\r\nlines", "allowed_groups": ""}
    assert "Choose at least one group" in post_form(admin, "/admin/shared/-1", **form).text, "none is not everyone"
    assert braid.registry.entries()[0].allowed_groups == ("lab", "staff")
    form["open_to"] = "everyone"
    assert post_form(admin, "/admin/shared/-1", **form).status_code == 302
    entry = braid.registry.entries()[0]
    assert (entry.name, entry.collection_name, entry.description) == ("Manual", "shared_other", "two\nlines")
    assert (entry.allowed_groups, entry.enabled) == ((), False)
    assert braid.ledger.dataset(-1).collection == "shared_other"
    assert post_form(admin, "/admin/shared/-1/remove", name="Handbook").status_code == 400
    assert braid.registry.entries()
    assert post_form(admin, "/admin/shared/-1/remove", name="Manual").status_code == 302
    assert braid.registry.entries() == ()
    actions = [entry.action for entry in acts(app)]
    assert actions == ["shared_db.removed", "shared_db.changed", "shared_db.added"]


def test_shared_datasets_and_groups_are_sorted_by_their_columns(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    add_user(app, "Ana", groups=("b", "a"))
    add_user(app, "Bea", groups=("b",))
    for name in ("Zoo", "Apes"):
        braid.registry.add(name, "shared_lab")
    rows = r'<th scope="row"><a [^>]*>([^<]+)</a>'
    assert re.findall(rows, admin.get("/admin/shared").text) == ["Zoo", "Apes"]
    assert re.findall(rows, admin.get("/admin/shared?sort=name").text) == ["Apes", "Zoo"]
    assert re.findall(rows, admin.get("/admin/groups?sort=-members").text) == ["b", "a"]
    assert 'aria-sort="descending"' in admin.get("/admin/groups?sort=-members").text
    assert admin.get("/admin/groups?sort=size").status_code == 400


def test_a_collection_with_different_readers_is_named(admin: FlaskClient, braid: Braid) -> None:
    handbook = braid.registry.add("Handbook", "shared_lab", allowed_groups=["lab"])
    minutes = braid.registry.add("Minutes", "shared_lab", allowed_groups=["lab"])
    braid.registry.add("Manual", "shared_other")
    assert 'id="mixed"' not in admin.get("/admin/shared").text
    braid.registry.update(minutes.id, allowed_groups=["sales"])
    assert _mixed(admin)[:-1] == ["Datasets with different readers share a collection: Handbook, Minutes."]
    guide = braid.registry.add("Guide", "shared_other", allowed_groups=["lab"])
    assert [told.partition(": ")[2] for told in _mixed(admin)[:-1]] == ["Guide, Manual.", "Handbook, Minutes."]
    assert "shared_" not in "".join(_mixed(admin))
    for language, comma in (("ja", "、"), ("ko", ", ")):
        assert f"Guide{comma}Manual" in "".join(_mixed(admin, language))
        assert "readers" not in "".join(_mixed(admin, language))
    braid.registry.update(guide.id, allowed_groups=[])
    braid.registry.update(handbook.id, collection_name="shared_handbook")
    assert 'id="mixed"' not in admin.get("/admin/shared").text


@pytest.mark.parametrize(
    "form",
    [
        {"name": "", "collection_name": "shared_a", "open_to": "everyone"},
        {"name": "x", "collection_name": "own", "open_to": "everyone"},
        {"name": "x", "collection_name": "shared_a", "open_to": "everyone", "description": "x" * 2001},
        {"name": "x", "collection_name": "shared_a", "open_to": "groups"},
    ],
)
def test_a_wrong_entry_is_refused_and_what_was_typed_stays(
    admin: FlaskClient, braid: Braid, form: dict[str, str]
) -> None:
    answer = post_form(admin, "/admin/shared", **form)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert f'value="{form["collection_name"]}"' in answer.text
    assert braid.registry.entries() == ()


@pytest.mark.parametrize("dataset_id", [-7, 0, 1, -(10**30)])
def test_a_shared_dataset_that_there_is_not(admin: FlaskClient, dataset_id: int) -> None:
    assert admin.get(f"/admin/shared/{dataset_id}").status_code == 404
    for action in ("", "/switch", "/remove"):
        form = {"name": "x", "collection_name": "shared_a"}
        assert post_form(admin, f"/admin/shared/{dataset_id}{action}", **form).status_code == 404


def test_what_is_switched_off_is_gone_at_once_for_others(
    admin: FlaskClient, ben: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    _share(braid, put)
    assert _finds(ben)
    post_form(admin, "/admin/shared/-1/switch", enabled="0")
    assert not _finds(ben)
    post_form(admin, "/admin/shared/-1/switch", enabled="1")
    assert _finds(ben)


def test_a_user_who_loses_the_group_loses_the_dataset_at_once(
    app: Flask, admin: FlaskClient, ben: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    _share(braid, put, "lab")
    assert _finds(ben)
    user = site_of(app).accounts.named("Ben")
    assert user
    assert post_form(admin, f"/admin/users/{user.id}/groups", groups="staff").status_code == 302
    assert not _finds(ben)
    post_form(admin, f"/admin/users/{user.id}/groups", groups="staff, lab")
    assert _finds(ben)
    post_form(
        admin, "/admin/shared/-1", name="Handbook", collection_name="shared_lab", allowed_groups="x", enabled="on"
    )
    assert not _finds(ben)


def test_a_dataset_that_left_the_list_can_still_be_removed(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Lost", "shared_lab")
    braid.mirror_registry()
    braid.registry.replace_text("[]")
    assert "Lost" in admin.get("/admin/shared").text
    assert "not in the list" in admin.get("/admin/").text
    assert post_form(admin, "/admin/shared/-1/remove", name="Lost").status_code == 302
    assert "have been deleted" in admin.get("/admin/shared").text
    assert "Lost" not in admin.get("/admin/shared").text


def test_a_dataset_that_left_the_list_is_put_back_with_its_documents(
    app: Flask, admin: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    lost = braid.registry.add("Lost", "shared_lab", allowed_groups=["lab"])
    braid.registry.add("Other", "shared_other")
    braid.mirror_registry()
    put(lost.id, "a.txt", "The tank holds 40 litres.")
    braid.registry.remove(lost.id)
    page = f"/admin/shared/{lost.id}"
    assert "Its documents are kept." in admin.get(page).text
    undecided = post_form(admin, f"{page}/put-back", name="Lost")
    assert undecided.status_code == 400
    assert "Choose at least one group" in undecided.text
    assert braid.registry.get(lost.id) is None
    post_form(admin, f"{page}/put-back", name="Lost", open_to="groups", allowed_groups_chosen="lab")
    assert braid.registry.get(lost.id) == lost
    assert braid.ledger.dataset(lost.id).documents == 1
    assert acts(app)[0].action == "shared_db.restored"
    assert post_form(admin, f"{page}/put-back", name="Lost", open_to="everyone").status_code == 400, "it is there"
    post_form(admin, f"{page}/remove", name="Lost")
    assert post_form(admin, f"{page}/put-back", name="Lost", open_to="everyone").status_code == 404
    assert post_form(admin, "/admin/shared/-77/put-back", name="x", open_to="everyone").status_code == 404


# ---------------------------------------------------------------- the file


def test_the_file_is_compared_before_it_is_saved(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    braid.mirror_registry()
    text, fingerprint = _file(admin)
    edited = text.replace("Handbook", "説明書 <b>")
    shown = post_form(admin, "/admin/shared/file", text=edited, fingerprint=fingerprint, action="check")
    assert shown.status_code == 200
    assert "<del>    &#34;name&#34;: &#34;Handbook&#34;,</del>" in shown.text
    assert "<ins>    &#34;name&#34;: &#34;説明書 &lt;b&gt;&#34;,</ins>" in shown.text
    assert braid.registry.entries()[0].name == "Handbook"
    saved = post_form(
        admin, "/admin/shared/file", text=edited.replace("\n", "\r\n"), fingerprint=fingerprint, action="save"
    )
    assert saved.status_code == 302
    assert braid.registry.entries()[0].name == "説明書 <b>"
    assert braid.registry.text()[0] == edited
    entry = site_of(app).audit.entries()[0]
    assert (entry.action, entry.detail) == ("shared_dbs.saved", "+1 -1 lines")


def test_entries_that_leave_the_list_are_named(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    _text, fingerprint = _file(admin)
    shown = post_form(admin, "/admin/shared/file", text="[]", fingerprint=fingerprint, action="check")
    assert "nobody will be able to read them: Handbook" in shown.text


def test_what_somebody_else_wrote_meanwhile_is_not_written_over(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    text, fingerprint = _file(admin)
    braid.registry.update(-1, description="by somebody else")
    answer = post_form(admin, "/admin/shared/file", text=text, fingerprint=fingerprint, action="save")
    assert answer.status_code == 409
    assert "by somebody else" in answer.text
    assert braid.registry.entries()[0].description == "by somebody else"
    again = post_form(admin, "/admin/shared/file", text=text, fingerprint=_fingerprint(answer.text), action="save")
    assert again.status_code == 302
    assert braid.registry.entries()[0].description == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[\n  {"id": -1,}\n]', "Line 2, column"),
        ('[\n\n  {"id": 1, "name": "x", "collection_name": "shared_a"}]', "Line 3: entry 1 (id 1): id is 1"),
        ("{}", "write a list"),
    ],
)
def test_a_mistake_is_named_with_its_line(admin: FlaskClient, text: str, told: str) -> None:
    _text, fingerprint = _file(admin)
    for action in ("check", "save"):
        answer = post_form(admin, "/admin/shared/file", text=text, fingerprint=fingerprint, action=action)
        assert answer.status_code == 400
        assert told in answer.text


@pytest.mark.one_machine
def test_a_broken_file_is_shown_and_can_be_mended_here(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.path.write_text("[{broken", encoding="utf-8")
    for path in ("/admin/", "/admin/shared", "/admin/shared/file"):
        assert "this is not JSON" in admin.get(path).text
    text, fingerprint = _file(admin)
    assert text == "[{broken"
    mended = '[{"id": -1, "name": "Mended", "collection_name": "shared_a"}]'
    assert "Mended" in post_form(admin, "/admin/shared/file", text=mended, fingerprint=fingerprint).text
    assert (
        post_form(admin, "/admin/shared/file", text=mended, fingerprint=fingerprint, action="save").status_code == 302
    )
    assert braid.registry.problem() is None
    assert braid.registry.entries()[0].name == "Mended"


@pytest.mark.one_machine
def test_changes_in_a_broken_file_are_refused_with_the_reason(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    admin.get("/admin/shared")
    braid.registry.path.write_text("[{broken", encoding="utf-8")
    form = {"name": "x", "collection_name": "shared_a"}
    for path in ("/admin/shared", "/admin/shared/-1"):
        assert post_form(admin, path, **form).status_code == 400
    for path in ("/admin/shared/-1/switch", "/admin/shared/-1/remove"):
        assert post_form(admin, path, name="Handbook").status_code == 400


def test_lines_that_differ_come_with_their_numbers_and_neighbours() -> None:
    before = "".join(f"{number}\n" for number in range(1, 31))
    found = list(diff_lines(before, before.replace("15\n", "15!\n").replace("30\n", "")))
    assert [(line.kind, line.old, line.new, line.text) for line in found if line.kind != "same"] == [
        ("gone", 15, None, "15"),
        ("new", None, 15, "15!"),
        ("skipped", None, None, "…"),
        ("gone", 30, None, "30"),
    ]
    assert list(diff_lines("a\r\nb", "a\nb\n")) == []


# ---------------------------------------------------------------- users


def test_a_user_is_added_changed_and_removed(app: Flask, admin: FlaskClient) -> None:
    accounts = site_of(app).accounts
    assert post_form(admin, "/admin/users", name="Cleo", password=PASSWORD, groups="lab, staff").status_code == 302
    cleo = accounts.named("Cleo")
    assert cleo
    assert (cleo.groups, cleo.is_admin) == ({"lab", "staff"}, False)
    client = sign_in(app, "Cleo")
    one = f"/admin/users/{cleo.id}"
    assert post_form(admin, f"{one}/administrator", is_admin="1").status_code == 302
    assert client.get("/admin/").status_code == 200
    post_form(admin, f"{one}/administrator", is_admin="0")
    refused = client.get("/admin/", headers={"Accept-Language": "ko"})
    assert (refused.status_code, "관리자만 이용할 수 있어요." in refused.text) == (403, True)
    post_form(admin, f"{one}/disabled", disabled="1")
    assert client.get("/search").status_code == 302
    post_form(admin, f"{one}/disabled", disabled="0")
    assert post_form(admin, f"{one}/password", password="another password").status_code == 302
    assert accounts.verify("Cleo", "another password")
    assert post_form(admin, f"{one}/remove", name="cleo").status_code == 400
    assert accounts.named("Cleo")
    assert post_form(admin, f"{one}/remove", name="Cleo").status_code == 302
    assert accounts.named("Cleo") is None
    assert len(acts(app)) == 7


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": "Cleo", "password": "short"}, "8 to 200 characters"),
        ({"name": "Cleo", "password": ""}, "8 to 200 characters"),
        ({"name": "", "password": PASSWORD}, "1 to 200 visible"),
        ({"name": "admin", "password": PASSWORD}, "is taken"),
    ],
)
def test_a_wrong_user_is_refused(app: Flask, admin: FlaskClient, form: dict[str, str], told: str) -> None:
    answer = post_form(admin, "/admin/users", **form)
    assert answer.status_code == 400
    assert told in answer.text
    assert len(site_of(app).accounts.all()) == 1


def test_the_last_administrator_stays(app: Flask, admin: FlaskClient) -> None:
    me = site_of(app).accounts.all()[0]
    for action, form, told in (
        ("administrator", {"is_admin": "0"}, "the last administrator"),
        ("disabled", {"disabled": "1"}, "You cannot suspend yourself."),
        ("remove", {"name": me.name}, "the last administrator"),
    ):
        answer = post_form(admin, f"/admin/users/{me.id}/{action}", **form)
        assert answer.status_code == 400
        assert told in answer.text
    assert site_of(app).accounts.all() == [me]
    assert acts(app) == []


def test_a_user_that_there_is_not(admin: FlaskClient) -> None:
    for user_id in (77, 10**30):
        assert admin.get(f"/admin/users/{user_id}").status_code == 404
        for action in ("groups", "administrator", "disabled", "password", "remove"):
            form = {"password": PASSWORD, "name": "x"}
            assert post_form(admin, f"/admin/users/{user_id}/{action}", **form).status_code == 404


def test_sign_up_is_opened_and_closed(app: Flask, admin: FlaskClient) -> None:
    assert app.test_client().get("/signup").status_code == 404
    post_form(admin, "/admin/users/sign-up", sign_up="open")
    assert app.test_client().get("/signup").status_code == 200
    post_form(admin, "/admin/users/sign-up", sign_up="closed")
    assert app.test_client().get("/signup").status_code == 404
    assert [entry.target for entry in acts(app)] == ["closed", "open"]


def test_in_a_host_app_users_are_the_hosts_to_change(braid: Braid) -> None:
    host = Flask("host")
    host.config.update(SECRET_KEY="of the host", TESTING=True)
    register_braid(host, lambda: HostUser("zoe", is_admin=True), braid=braid, settings=Settings(), url_prefix="/braid")
    client = host.test_client()
    page = client.get("/braid/admin/users").text
    assert "are managed by the app that Braid is built into" in page
    assert 'type="password"' not in page
    zoe = site_of(host).accounts.all()[0]
    one = f"/braid/admin/users/{zoe.id}"
    assert "administrator" in client.get(one).text
    token = csrf_token(client, "/braid/admin/users/1")
    for path in ("/braid/admin/users", f"{one}/groups", f"{one}/administrator", f"{one}/disabled", f"{one}/password"):
        assert client.post(path, data={"csrf_token": token, "name": "x", "password": PASSWORD}).status_code == 404
    assert client.get("/braid/admin/").status_code == 200
    assert 'href="/braid/admin/shared"' in client.get("/braid/admin/").text


# ---------------------------------------------------------------- models


def test_models_are_shown_without_their_keys_and_tested(admin: FlaskClient, server: ModelServer) -> None:
    page = admin.get("/admin/models").text
    assert "openai:small" in page
    assert "key from the settings" in page
    assert server.url.split("/")[2] in page
    tested = post_form(admin, "/admin/models/test", role="search", name="openai:small")
    assert "openai:small answered in" in tested.text
    server.broken = 401
    failed = post_form(admin, "/admin/models/test", role="search", name="openai:small")
    assert "is not responding" in failed.text
    assert "Incorrect API key provided (***)" in failed.text
    assert all("the-sites-key" not in text for text in (page, tested.text, failed.text))
    assert "dimensions" in post_form(admin, "/admin/models/test", role="embedding").text


def test_a_model_that_is_not_offered_is_not_asked(admin: FlaskClient, server: ModelServer) -> None:
    for form in ({"role": "search", "name": "openai:other"}, {"role": "summary", "name": ""}, {"role": "x"}, {}):
        assert post_form(admin, "/admin/models/test", **form).status_code == 400
    assert server.calls == []


def test_the_menus_are_edited(admin: FlaskClient, ben: FlaskClient) -> None:
    answer = post_form(admin, "/admin/models/summary", models="openai:large\r\n\r\n openai:large \nollama:qwen3")
    assert answer.status_code == 302
    page = ben.get("/settings").text
    assert '<option value="openai:large">' in page
    assert '<option value="ollama:qwen3">' in page
    wrong = post_form(admin, "/admin/models/summary", models="openai:large\nlarge")
    assert wrong.status_code == 400
    assert "write provider:model" in wrong.text
    assert "openai:large\nlarge</textarea>" in wrong.text
    assert '<option value="ollama:qwen3">' in ben.get("/settings").text


# ---------------------------------------------------------------- indexes, jobs, usage, audit log


def test_the_examination_finds_and_repairs(admin: FlaskClient, braid: Braid, put: Callable[..., str]) -> None:
    _share(braid, put)
    chunk = next(iter(braid.dense.ids("shared_lab")))
    post_form(admin, "/admin/indexes/examine")
    assert "Database and indexes agree" in _when_still(admin)
    braid.dense.apply("shared_lab", [], [chunk])
    post_form(admin, "/admin/indexes/examine")
    page = _when_still(admin)
    assert "Passages are missing" in page
    assert "Repair rebuilds the index" in page
    post_form(admin, "/admin/indexes/repair")
    assert "Database and indexes agree" in _when_still(admin)
    assert chunk in braid.dense.ids("shared_lab")


def test_an_index_is_rebuilt(app: Flask, admin: FlaskClient, braid: Braid, put: Callable[..., str]) -> None:
    _share(braid, put)
    assert post_form(admin, "/admin/indexes/rebuild", leg="bm25", collection="shared_lab").status_code == 302
    assert braid.indexer.wait(WAIT_S)
    assert _finds(admin)
    assert site_of(app).audit.entries()[0].target == "bm25 shared_lab"
    for form in ({"leg": "x", "collection": "shared_lab"}, {"leg": "bm25", "collection": "no such"}, {}):
        assert post_form(admin, "/admin/indexes/rebuild", **form).status_code == 400


def test_jobs_of_everybody_are_listed_by_state(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    store = JobStore(braid.ledger)
    user = add_user(app, "Cleo")
    files = braid.ledger.add_dataset(user.id, "Files").id
    store.add(user.id, [NewJob("upload", f"file {number}.pdf", files) for number in range(60)])
    job = store.claim(0)
    assert job
    store.fail(job, "it is encrypted")
    page = admin.get("/admin/jobs").text
    assert "file 59.pdf" in page
    assert "file 9.pdf" not in page
    assert "file 9.pdf" in admin.get("/admin/jobs?page=1").text
    failed = admin.get("/admin/jobs?state=failed").text
    assert "It is encrypted" in failed
    assert "file 59.pdf" not in failed
    overview = admin.get("/admin/").text
    assert "1 file could not be read." in overview, "its user's concern"
    assert "1 file could not be read." in failed
    assert "failed long ago" not in failed
    notes = braid.ledger.add_dataset(user.id, "Notes").id
    for source in ("a.pdf", "b.pdf"):  # their jobs are pruned
        braid.ledger.put_failed(notes, source, title="", file_type="pdf", error="it is damaged")
    assert "3 files could not be read." in admin.get("/admin/").text
    assert "failed long ago" in admin.get("/admin/jobs?state=failed").text
    assert "has failed" not in overview
    other = store.claim(0)
    assert other
    store.fail(other, "internal error; the log says more under job 2")
    page = admin.get("/admin/").text
    assert "1 job has failed" in page
    assert "3 files could not be read." in page, "and not the one of the fault"
    assert admin.get("/admin/jobs?state=sleeping").status_code == 400


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("audit?kind=foo", "kind"),
        ("audit?kind=People&who=Ana", "kind"),
        ("audit.jsonl?kind=foo", "kind"),
        ("jobs?user=abc", "user"),
        ("jobs?user=0", "user"),
        ("jobs?user=-1&state=failed", "user"),
        (f"jobs?user={10**30}", "user"),
        (f"jobs?user={'9' * 5000}", "user"),
    ],
)
def test_a_filter_that_there_is_not_shows_nothing_instead_of_everything(
    app: Flask, admin: FlaskClient, braid: Braid, path: str, told: str
) -> None:
    cleo = add_user(app, "Cleo")
    JobStore(braid.ledger).add(cleo.id, [NewJob("upload", "minutes.pdf", 1)])
    answer = admin.get(f"/admin/{path}")
    assert answer.status_code == 400
    assert "minutes.pdf" not in answer.text
    assert "audit.exported" not in {entry.action for entry in acts(app)}
    assert admin.get(f"/admin/{path}", headers={"Accept": "application/json"}).get_json()["field"] == told
    assert "minutes.pdf" in admin.get(f"/admin/jobs?user={cleo.id}").text
    assert "minutes.pdf" in admin.get("/admin/jobs?user=").text


def test_usage_has_charts_and_the_same_as_tables(app: Flask, admin: FlaskClient) -> None:
    cleo = add_user(app, "Cleo")
    site_of(app).usage.count(cleo.id, "search", 41)
    page = admin.get("/admin/usage?days=7").text
    assert 'class="chart"' in page
    assert re.search(r"<th scope=\"row\"><a [^>]*>Cleo</a></th> <td[^>]*>41<svg", page)
    chart, table = page.split('aria-labelledby="users-title"', 1)
    assert chart.count("<rect") == 1
    assert table.count("<rect") == 1
    site_of(app).usage.count(add_user(app, "Abe").id, "chat", 50)

    def by(sort: str) -> list[str]:
        return re.findall(r'">(Cleo|Abe)</a></th>', admin.get(f"/admin/usage?sort={sort}").text)

    assert by("") == by("-chat") == by("search") == by("name") == ["Abe", "Cleo"]
    assert (
        'aria-sort="descending"><a class="sort" href="/admin/usage?days=30&amp;sort=chat#'
        in admin.get("/admin/usage").text
    )
    assert by("-search") == by("chat") == by("-name") == ["Cleo", "Abe"]
    assert admin.get("/admin/usage?sort=age").status_code == 400
    for wrong in ("8", "abc", "", "٧"):
        refused = admin.get(f"/admin/usage?days={wrong}")
        assert (refused.status_code, "choose one of 7, 30, 90" in refused.text) == (400, True), wrong


def test_a_busy_day_does_not_flatten_the_others(app: Flask, admin: FlaskClient) -> None:
    at, days = site_of(app).braid.ledger.database, last_days(7)
    with at.write() as connection:
        for day, count in zip(days[2:], (100, 4, 4), strict=False):
            connection.execute(insert(UsageRow).values(user_id=1, kind="chat", day=day, count=count))
    page = admin.get("/admin/usage?days=7").text
    assert "highest: 100 per day · square-root scale" in page
    heights = [float(one) for one in re.findall(r'<rect x="[^"]+" width="[^"]+" y="[^"]+" height="([\d.]+)"', page)]
    assert heights[:3] == [112.0, 22.4, 22.4]  # 112 √(4/100)
    with at.write() as connection:
        connection.execute(update(UsageRow).where(UsageRow.count == 100).values(count=8))
    assert "square-root" not in admin.get("/admin/usage?days=7").text


def test_the_audit_log_is_paged(app: Flask, admin: FlaskClient) -> None:
    for number in range(51):
        site_of(app).audit.add("Ana", "user.added", f"<user {number}>")
    first, second = admin.get("/admin/audit").text, admin.get("/admin/audit?page=1").text
    assert "&lt;user 50&gt;" in first
    assert "&lt;user 0&gt;" not in first
    assert "&lt;user 0&gt;" in second
    assert admin.get("/admin/audit?page=-3").status_code == 200
    assert admin.get("/admin/audit?page=99999999999999999999").status_code == 200


def test_the_audit_log_is_filtered_by_person_and_kind_and_leads_to_what_was_changed(
    app: Flask, admin: FlaskClient, braid: Braid
) -> None:
    here, ana = site_of(app), add_user(app, "Ana")
    shared = here.shared_datasets.add("Handbook", "shared_handbook", allowed_groups=["lab"], by="Ana")
    here.audit.add("admin", "user.groups", "Ana", "lab")
    here.audit.add("admin", "user.removed", "Anabel")
    here.audit.add("Ana", "conversation.shared", "7")

    def shown(query: str) -> list[str]:
        return re.findall(r'<th scope="row">([^<]+)</th>', admin.get(f"/admin/audit?{query}").text)

    assert shown("who=Ana") == ["Conversation shared", "Groups changed", "Shared dataset added"]
    assert shown("who=Ana&kind=content") == ["Conversation shared", "Shared dataset added"]
    assert shown("kind=people") == ["User deleted", "Groups changed"]
    assert set(shown("kind=sign_ins")) == {"Signed in"}
    assert shown("who=nobody") == []
    page = admin.get("/admin/audit?who=Ana").text
    assert f'<a href="/admin/users/{ana.id}">Ana</a>' in page
    assert f'<a href="/admin/shared/{shared.id}">Handbook</a>' in page
    assert "a conversation" in page
    assert "shared_handbook" not in page
    assert "/admin/users/" not in admin.get("/admin/audit?who=Anabel").text
    assert "Anabel" not in admin.get("/admin/audit.jsonl?who=Ana").text
    assert admin.get("/admin/audit.jsonl?who=Ana&kind=people").text.count('"user.groups"') == 1
    here.audit.add("=cmd", "user.groups", "Ana", "lab")
    table = admin.get("/admin/audit.csv?who=Ana&kind=people")
    assert table.mimetype == "text/csv"
    head, *rows = csv.reader(table.text.removeprefix("\ufeff").splitlines())
    assert head == ["Date and time", "Who", "Action", "Target", "Details"]
    assert [row[1:] for row in rows] == [
        ["admin", "Groups changed", "Ana", "lab"],
        ["'=cmd", "Groups changed", "Ana", "lab"],
    ]
    assert admin.get("/admin/audit.csv?lang=ja&who=Ana").text.startswith("\ufeff日時,実行した人,")
    assert acts(app)[0].action == "audit.exported"


@pytest.mark.parametrize("begin", [*"=+-@＝＋－＠", "\t", "\n", "\r"])
def test_no_spreadsheet_calculates_a_cell(begin: str) -> None:
    [row] = csv.reader(StringIO(csv_lines([(f"{begin}1+1", "1+1", "-")]), newline=""))
    assert row == [f"'{begin}1+1", "1+1", "-"]


def test_only_acts_on_a_shared_dataset_lead_to_its_page(app: Flask, admin: FlaskClient) -> None:
    here = site_of(app)
    shared = here.shared_datasets.add("Handbook", "shared_handbook", by="Ana")
    named_so = add_user(app, f"{shared.id} night shift")
    for action in ("user.changed", "group.removed", "dataset.transferred", "folder.added"):
        here.audit.add("admin", action, named_so.name)
    page = admin.get("/admin/audit").text
    assert page.count(f'href="/admin/shared/{shared.id}"') == 1, "of the dataset that was added"
    assert f'<a href="/admin/users/{named_so.id}">{named_so.name}</a>' in page


@pytest.mark.parametrize("target", [f"-{'9' * 5000}", f"-{'9' * 18} a", "-x3", "x3 a", "--3", "-²", "-", "7 notes", ""])
def test_a_target_that_is_no_number_of_a_dataset_leads_nowhere(app: Flask, admin: FlaskClient, target: str) -> None:
    site_of(app).audit.add("admin", "dataset.removed", target)
    for path in ("", "audit"):
        page = admin.get(f"/admin/{path}")
        assert page.status_code == 200
        assert "/admin/shared/" not in page.text


def test_each_action_is_of_one_kind() -> None:
    kinds = {action: [kind for kind, begins in BEGINS.items() if action.startswith(begins)] for action in ACTIONS}
    assert {action: kind for action, kind in kinds.items() if len(kind) != 1} == {}


def test_every_page_speaks_every_language(admin: FlaskClient) -> None:
    for language in ("en", "ja", "ko"):
        for path in ("", "shared", "shared/file", "users", "users/1", "models", "indexes", "jobs", "usage", "audit"):
            answer = admin.get(f"/admin/{path}?lang={language}")
            assert answer.status_code == 200, path
            assert f'<html lang="{language}"' in answer.text


# ---------------------------------------------------------------- helpers


def _share(braid: Braid, put: Callable[..., str], *groups: str) -> None:
    braid.registry.add("Handbook", "shared_lab", allowed_groups=groups)
    braid.mirror_registry()
    put(-1, "handbook.txt", "valves are calibrated in spring")


def _mixed(client: FlaskClient, language: str = "en") -> list[str]:
    """Return the sentences of the notice about collections with different readers."""
    [notice] = re.findall(
        r'<div class="notice" id="mixed">(.*?)</div>', client.get(f"/admin/shared?lang={language}").text, re.DOTALL
    )
    return re.findall(r"<p>(.*?)</p>", notice)


def _finds(client: FlaskClient) -> bool:
    """Whether the dataset is in the picker; what the picker shows and what a search finds must agree."""
    offered = "Handbook" in client.get("/search").text
    found = "handbook.txt" in client.get("/search?q=valves&d=-1&mode=keyword").text
    assert offered == found
    return found


def _file(client: FlaskClient) -> tuple[str, str]:
    """(text, fingerprint) of the editor."""
    page = client.get("/admin/shared/file").text
    text = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert text
    return text[1].replace("&#34;", '"'), _fingerprint(page)


def _fingerprint(page: str) -> str:
    found = re.search(r'name="fingerprint" value="(\w*)"', page)
    assert found
    return found[1]


def _when_still(client: FlaskClient) -> str:
    """The page on the indexes, once nothing is under way."""

    def still() -> str:
        page = client.get("/admin/indexes").text
        return "" if "data-refresh" in page else page

    return eventually(still, pause_s=0.1)


# ---------------------------------------------------------------- backups


@pytest.mark.one_app
def test_the_overview_makes_a_backup_and_says_how_old_the_last_one_is(
    app: Flask, admin: FlaskClient, braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> list[str]:
        return sorted(path.name for path in (braid.data_dir / "backups").glob("*.zip"))

    assert "Back up now" in admin.get("/admin/").text
    kept = [f"page-2026010{day}-000000.zip" for day in range(1, 5)]
    others = ["before-0012-20260101-000000.zip", "braid-2026-01-01.zip"]
    (braid.data_dir / "backups").mkdir()
    for name in [*kept, *others]:
        write_backup(braid.data_dir / "backups" / name, documents=7)
    assert post_form(admin, "/admin/backup").status_code == 302
    eventually(lambda: not site_of(app).backups.state.running)
    assert site_of(app).backups.state.error == ""
    assert acts(app)[0].action == "backup.started"
    *there, empty = made()
    assert there == [*others, *kept], "one without documents takes the place of none"
    earlier = "page-20260105-000000.zip"
    (braid.data_dir / "backups" / empty).rename(braid.data_dir / "backups" / earlier)
    braid.ledger.put_document(add_notes(braid.ledger, "zoe"), document("a.md", "the tray"))
    assert post_form(admin, "/admin/backup").status_code == 302
    eventually(lambda: not site_of(app).backups.state.running)
    *there, newest = made()
    assert there == [*others, *kept[2:], earlier], "what others made stays, and so do the newest with documents"
    manifest = verify_backup(braid.data_dir / "backups" / newest)
    assert manifest.rows["users"] == len(braid.ledger.users())
    assert not manifest.with_keys
    page = text_of(admin.get("/admin/").text)
    assert re.search(r"Last backup (\d+ seconds?|1 minute) ago · .* kB", page)
    assert newest in page
    last = last_backup(braid.data_dir)
    assert last is not None
    note_backup(braid.data_dir, replace(last, at=last.at - 9 * 86_400))
    assert "The last backup is more than 8 days old." in admin.get("/admin/").text
    monkeypatch.setattr(braid.ledger.database, "lacks_newest", True)
    assert "The database was copied while Braid ran" in admin.get("/admin/").text
    monkeypatch.setattr("braid.core.backup.make.LEAST_ROOM", 2**60)
    post_form(admin, "/admin/backup")
    eventually(lambda: not site_of(app).backups.state.running)
    assert "The backup failed." in admin.get("/admin/").text


def test_scanned_pages_that_are_being_read_have_no_button(
    admin: FlaskClient, braid: Braid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(scans.install_fake(tmp_path, ["Rent"])))
    me = braid.ledger.users()[0].id
    dataset = braid.ledger.add_dataset(me, "Contracts").id
    chunks = (ChunkInput("The first page."),)
    braid.ledger.put_document(dataset, DocumentInput("a.pdf", "A", "pdf", chunks, metadata={"pages_to_read": 3}))
    assert 'id="read-scans"' in admin.get("/admin/").text
    JobStore(braid.ledger).add(me, [NewJob("scan", "a.pdf", dataset)])
    page = admin.get("/admin/").text
    assert "They are being read." in page
    assert 'id="read-scans"' not in page
