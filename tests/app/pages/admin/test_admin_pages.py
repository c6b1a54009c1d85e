"""The administrators' pages: what they do, what they refuse, and that nobody else gets in."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, update

from braid.app.auth.access import rule_of
from braid.app.factory import routes_of
from braid.app.pages.admin.audit_log import BEGINS
from braid.app.pages.admin.blueprint import csv_lines
from braid.app.words.audit_log import ACTIONS
from braid.core.accounts.usage import last_days
from braid.core.backup.record import last_backup, note_backup
from braid.core.backup.verify import verify_backup
from braid.core.braid import Braid
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.tables import UsageRow
from braid.core.types import ChunkInput, DocumentInput
from tests import scans
from tests.app.pages.admin.shared_datasets import finds, share
from tests.model_server import ModelServer
from tests.web import acts, add_user, csrf_token, post_form, site_of, text_of
from tests.worlds import WAIT_S, add_notes, document, eventually, write_backup

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
    share(braid, put)
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
    share(braid, put)
    assert post_form(admin, "/admin/indexes/rebuild", leg="bm25", collection="shared_lab").status_code == 302
    assert braid.indexer.wait(WAIT_S)
    assert finds(admin)
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
