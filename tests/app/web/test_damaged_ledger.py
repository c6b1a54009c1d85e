"""A ledger with pages that nobody wrote: what still answers, what is said of the rest, where it is seen, and that no
backup is made of it.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from sqlalchemy.exc import DatabaseError

from braid.app.cli.root import cli
from braid.app.mcp.calls import answer_of
from braid.app.readiness import health_of
from braid.core.background.backups import Backups
from braid.core.backup.make import Sources, make_backup
from braid.core.backup.manifest import BackupError
from braid.core.backup.record import last_backup
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.doctor import examine
from braid.core.jobs.runner import Pauses
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger import outages
from braid.core.ledger.database import make_engine
from braid.core.ledger.outages import TEXT_OF, times_met
from braid.core.ledger.schema import known_migrations
from tests.damage import damage_pages, damage_tables
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, sign_in, site_of, text_of
from tests.worlds import WAIT_S, add_notes, document, eventually, logged

SAID = TEXT_OF["ledger_damaged"]
NOW, REMEDY = "the database of the server is damaged", "restore the newest whole backup"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with documents, closed."""
    folder = tmp_path_factory.mktemp("template") / "data"
    with Braid(folder, embedding_model=HashEmbeddings()) as braid:
        notes = add_notes(braid.ledger, "ann")
        for number in range(30):
            braid.ledger.put_document(notes, document(f"{number}.md", *(f"pump {number} {n} bar" for n in range(20))))
        make_app(braid)
        assert braid.indexer.wait(WAIT_S)
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(template, tmp_path / "data")


@pytest.fixture
def running(folder: Path) -> Iterator[Braid]:
    with Braid(folder, embedding_model=HashEmbeddings()) as braid:
        assert braid.indexer.wait(WAIT_S)
        yield braid


def _damage(braid: Braid, *tables: str) -> None:
    """Damage the tables of an open ledger, none of whose pages are in the memory of its connections."""
    damage_tables(braid.data_dir / "ledger.db", *tables)
    braid.ledger.database.engine.dispose()


def _sources(folder: Path) -> Sources:
    return Sources(folder, folder / "shared_dbs.json")


def _ready(app: Flask) -> tuple[int, str, str]:
    answer = app.test_client().get("/readyz")
    form = answer.get_json()
    return answer.status_code, form["ledger"], form.get("reasons", {}).get("ledger", "")


@pytest.mark.one_app
def test_what_can_be_answered_is_and_what_meets_the_damage_says_so(
    running: Braid, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(running)
    client, token = sign_in(app), bearer(app, site_of(app).accounts.all()[0])
    assert _ready(app) == (200, "ok", "")
    _damage(running, "conversations")
    with caplog.at_level(logging.INFO):
        hits = app.test_client().post("/api/v1/search", json={"query": "pump 7"}, headers=token)
        assert hits.status_code == 200
        assert len(hits.get_json()["hits"]) > 0
        for _ in range(3):
            answer = app.test_client().get("/api/v1/conversations", headers=token)
            assert (answer.status_code, answer.get_json()["detail"]) == (503, SAID)
            assert "Retry-After" not in answer.headers, "no waiting ends it"
        page = client.get("/chat?lang=en")
        assert (page.status_code, SAID[0].upper() + SAID[1:] in page.text) == (503, True)
        models = app.test_client().post(
            "/v1/chat/completions",
            json={"model": "braid", "messages": [{"role": "user", "content": "x"}]},
            headers=token,
        )
        assert models.status_code != 500
        assert _ready(app) == (503, "failed", NOW)
        assert app.test_client().get("/readyz?for=reading").get_json()["ledger"] == "impaired"
    lines = logged(caplog, "braid", said="event=outage cause=ledger_damaged")
    assert len(lines) == 1, "one line per minute and cause"
    assert lines[0].startswith("event=outage cause=ledger_damaged times=1")
    assert 'reason="database disk image is malformed"' in lines[0]
    assert REMEDY in lines[0]
    assert not any(record.exc_info for record in caplog.records)
    assert "event=unexpected" not in caplog.text


@pytest.mark.one_app
def test_it_is_known_until_the_end_whoever_met_it_and_seen_where_administrators_look(running: Braid) -> None:
    app = make_app(running)
    client = sign_in(app)
    assert "The database is damaged" not in client.get("/admin/?lang=en").text
    _damage(running, "feedback")
    with pytest.raises(Exception, match="malformed"):  # a thread, a job, a follower: whoever asks the database
        running.ledger.database.rows("SELECT count(*) FROM feedback")
    assert running.ledger.database.rows("SELECT count(*) FROM documents") == [(30,)], "this one is sound"
    assert _ready(app) == (503, "failed", NOW)
    metrics = client.get("/metrics").text
    assert 'braid_part_ok{part="ledger"} 0.0' in metrics
    assert 'braid_outages_total{cause="ledger_damaged"} 1.0' in metrics
    assert 'braid_outages_total{cause="not_permitted"} 0.0' in metrics
    page = client.get("/admin/?lang=en").text
    assert '<span class="state failed">damaged</span>' in page
    overview = text_of(page)
    assert (
        "The database is damaged. Keep the backups you have, stop Braid, and restore the newest good one." in overview
    )


@pytest.mark.one_app
@pytest.mark.parametrize(("pages", "seed"), [(3, 1), (40, 2), (40, 3)])
def test_any_damage_is_no_internal_error(folder: Path, caplog: pytest.LogCaptureFixture, pages: int, seed: int) -> None:
    """Three pages while nobody has it open, forty while somebody does."""
    if pages == 3:
        damage_pages(folder / "ledger.db", pages, seed)
    with Braid(folder, embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid)
        token = bearer(app, site_of(app).accounts.all()[0])
        if pages > 3:
            damage_pages(folder / "ledger.db", pages, seed)
            braid.ledger.database.engine.dispose()
        api = app.test_client()
        answers = [api.get(f"/api/v1/datasets/1/documents?limit={n}", headers=token) for n in (1, 10, 100)]
        answers += [api.post("/api/v1/search", json={"query": f"pump {n}"}, headers=token) for n in range(5)]
        answers += [api.get(f"/api/v1/{what}", headers=token) for what in ("datasets", "jobs", "conversations", "me")]
        answers += [api.get(path) for path in ("/", "/login", "/readyz")]
        assert {answer.status_code for answer in answers} <= {200, 302, 401, 404, 503}
        assert braid.ledger.database.damage
        assert health_of(braid).parts["ledger"].state == "failed"
    assert "event=unexpected" not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_text_that_is_none_is_damage_and_is_not_quoted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("CREATE TABLE t (secret)")
        database.execute("INSERT INTO t VALUES (CAST(x'736563726574ff' AS TEXT))")
    engine = make_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.connect() as connection, pytest.raises(Exception, match="UTF-8") as caught:
        connection.exec_driver_sql("SELECT * FROM t").all()
    engine.dispose()
    found = outages.outage_of(caught.value)
    assert found is not None
    assert (found.cause, found.reason) == ("ledger_damaged", "Could not decode to UTF-8 column 'secret'")


@pytest.mark.one_app
def test_a_job_that_meets_it_is_tried_again_and_not_failed(running: Braid) -> None:
    app = make_app(running, jobs=True)
    site_of(app).background._runner._pauses = Pauses(record_s=(0.2,), outage_s=0.2)
    try:
        _damage(running, "documents")
        (job,) = site_of(app).background.add(1, [NewJob("export", "notes", 1, {})])
        eventually(lambda: times_met()["ledger_damaged"] > 1)
        store = JobStore(running.ledger)
        eventually(lambda: store.get(1, job.id).state == "queued")
    finally:
        site_of(app).close()


# ---------------------------------------------------------------- doctor


@pytest.mark.parametrize("table", ["documents", "feedback", "alembic_version"])
def test_the_doctor_reads_the_ledger_whole_and_ends_with_damage(folder: Path, table: str) -> None:
    damage_tables(folder / "ledger.db", table)
    given = {
        "BRAID_DATA_DIR": str(folder),
        "BRAID_EMBEDDING_MODEL": "openai:none",
        "BRAID_EMBEDDING_BASE_URL": "http://x",
    }
    found = CliRunner().invoke(cli, ["doctor", "--wait", "0"], env=given)
    assert found.exit_code == 1, found.output
    assert "the ledger is damaged: " in found.output
    assert "restore a backup" in found.output


def test_other_commands_name_it_with_the_remedy(folder: Path) -> None:
    damage_tables(folder / "ledger.db", "documents")
    given = {
        "BRAID_DATA_DIR": str(folder),
        "BRAID_EMBEDDING_MODEL": "openai:none",
        "BRAID_EMBEDDING_BASE_URL": "http://x",
    }
    found = CliRunner().invoke(cli, ["documents", "list", "--dataset", "1"], env=given)
    assert found.exit_code == 2, found.output
    assert f"{NOW} (database disk image is malformed); stop Braid and restore" in found.output


def test_a_tool_of_mcp_says_so(running: Braid) -> None:
    _damage(running, "documents")
    with pytest.raises(DatabaseError) as caught:
        running.ledger.documents(1)
    assert answer_of(caught.value, "SearchError", "ChromaDBError")["message"] == SAID


def test_the_doctor_finds_rows_whose_document_is_gone(running: Braid) -> None:
    with closing(sqlite3.connect(running.data_dir / "ledger.db")) as other, other:
        other.execute("DELETE FROM documents WHERE id = 1")  # without foreign keys, which are off in a new connection
    (finding, *_) = examine(running)
    assert finding.problem == "ledger"
    assert "refers to none of documents" in finding.detail
    assert running.ledger.database.damage


# ---------------------------------------------------------------- backups


def test_no_backup_is_made_of_a_damaged_ledger(folder: Path, tmp_path: Path) -> None:
    make_backup(_sources(folder), tmp_path / "good.zip")
    before = last_backup(folder)
    damage_tables(folder / "ledger.db", "feedback")
    with pytest.raises(BackupError, match=r"the ledger is damaged: .*; no backup was made, and those made before are"):
        make_backup(_sources(folder), tmp_path / "bad.zip")
    assert last_backup(folder) == before
    said = CliRunner().invoke(cli, ["backup", str(tmp_path / "bad.zip")], env={"BRAID_DATA_DIR": str(folder)})
    assert said.exit_code == 2
    assert "the ledger is damaged" in said.output
    assert "Backup written" not in said.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "good.zip"], "nothing of it is left"


def test_the_button_of_the_page_keeps_the_good_ones(running: Braid) -> None:
    backups = Backups(running, lambda: _sources(running.data_dir))
    backups.folder.mkdir(exist_ok=True)
    good = [f"page-2026010{day}-000000.zip" for day in range(1, 4)]
    for name in good:
        (backups.folder / name).write_bytes(b"a good one")
    _damage(running, "feedback")
    for _ in range(3):
        assert backups.start()
        eventually(lambda: not backups.state.running)
        assert "the ledger is damaged" in backups.state.error
    assert sorted(path.name for path in backups.folder.iterdir()) == good
    assert running.ledger.database.damage, "who has it open knows as well"
    assert last_backup(running.data_dir) is None


def test_nothing_is_upgraded_whose_copy_is_damaged(folder: Path) -> None:
    damage_tables(folder / "ledger.db", "feedback")
    first = known_migrations()[0].revision
    engine = make_engine(f"sqlite:///{folder / 'ledger.db'}")
    with engine.execution_options(braid_write=True).begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{first}'")
    engine.dispose()
    with pytest.raises(BackupError, match="is not upgraded, since it cannot be copied first: the ledger is damaged"):
        DataDirectory(folder, embedding_model=HashEmbeddings())
    assert not list((folder / "backups").iterdir())
