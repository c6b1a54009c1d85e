"""What /readyz says of each part that is ill, who may read the metrics, and what the overview warns of."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import delete, event, update
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from braid.app.factory import create_app
from braid.app.metrics import _size_of_folder
from braid.app.web.health import with_probes
from braid.config.settings import Settings, load_settings
from braid.core.backup.record import LastBackup, note_backup
from braid.core.braid import Braid
from braid.core.errors import EmbeddingError, InvalidInputError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.ledger import Noticed
from braid.core.ledger.tables import JobRow, UserRow
from braid.core.models.embeddings import embed_query
from braid.core.models.failures import MODEL_CALLS
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, sign_in, site_of
from tests.worlds import WAIT_S, document, eventually

OLD, NEW = "the-old-token-of-24-chars", "the-new-token-of-24-chars"
NOBODY_HAS_MB = 10**7


@pytest.fixture(scope="module")
def app(shelf: Braid) -> Flask:
    return make_app(shelf, Settings(metrics_tokens=(OLD, NEW)))


@pytest.fixture
def out(shelf: Braid) -> Iterator[None]:
    """The database gives nobody a connection."""

    def refuse(*_: object) -> None:
        raise OperationalError("connect", {}, sqlite3.OperationalError("connection refused"))

    pool = shelf.ledger.database.engine.pool
    event.listen(pool, "checkout", refuse)
    yield
    event.remove(pool, "checkout", refuse)


def _ready(app: Flask, purpose: str = "") -> tuple[int, dict[str, str], dict[str, str]]:
    answer = app.test_client().get("/readyz", query_string={"for": purpose} if purpose else {})
    found = dict(answer.get_json())
    return answer.status_code, found, found.pop("reasons", {})


def test_a_disk_without_room_refuses_requests(shelf: Braid) -> None:
    app = create_app(Settings(min_free_disk_mb=NOBODY_HAS_MB), shelf)
    status, found, reasons = _ready(app)
    assert (status, found["status"], found["disk"], found["ledger"]) == (503, "not ready", "failed", "ok")
    assert "MiB are free, fewer than min_free_disk_mb (10,000,000)" in reasons["disk"]


def test_a_read_only_disk_refuses_requests(app: Flask) -> None:
    refusal = OSError(errno.EROFS, "Read-only file system")
    with patch("braid.app.readiness.tempfile.TemporaryFile", side_effect=refusal):
        status, _, reasons = _ready(app)
    assert (status, reasons) == (503, {"disk": "the data directory cannot be written to: Read-only file system"})


def test_where_only_writing_is_refused_reading_is_ready(shelf: Braid, app: Flask) -> None:
    status, found, reasons = _ready(create_app(Settings(min_free_disk_mb=NOBODY_HAS_MB), shelf), "reading")
    assert (status, found["status"], found["disk"]) == (200, "impaired", "impaired")
    assert "min_free_disk_mb" in reasons["disk"]
    with patch("braid.app.readiness.tempfile.TemporaryFile", side_effect=OSError(errno.EROFS, "Read-only file system")):
        assert (_ready(app, "reading")[0], _ready(app, "writing")[0], _ready(app)[0]) == (200, 503, 503)
    with (
        patch.object(shelf.registry, "problem", return_value="line 3"),
        patch.object(shelf.registry, "entries", return_value=[]),
    ):
        assert (_ready(app, "reading")[0], _ready(app)[0]) == (200, 503)
    with patch("shutil.disk_usage", side_effect=OSError(errno.EIO, "Input/output error")):
        assert _ready(app, "reading")[0] == 503, "nothing can be read"


def test_the_servers_own_probe_takes_the_purpose(shelf: Braid) -> None:
    here = site_of(create_app(Settings(min_free_disk_mb=NOBODY_HAS_MB), shelf))
    probe = TestClient(with_probes(None, here), base_url="http://localhost")  # type: ignore[arg-type]
    found = {query: probe.get(f"/readyz{query}").status_code for query in ("", "?for=reading", "?for=readings")}
    assert found == {"": 503, "?for=reading": 200, "?for=readings": 503}


@pytest.mark.usefixtures("out")
def test_without_the_database_nothing_can_be_read(app: Flask) -> None:
    assert _ready(app, "reading")[0] == 503


def test_a_dead_model_is_told_to_all_its_cause_to_administrators_alone(app: Flask) -> None:
    reason = "the model openai:m failed: OpenAIConnectionError: Connection error. (certificate has expired)"
    MODEL_CALLS.failed("chat", "openai:m", reason)
    status, found, reasons = _ready(app)
    assert (status, found["status"], found["models"]) == (200, "impaired", "impaired")
    assert reasons == {"models": "the last call failed of the chat model; the log and the overview say why"}
    page = sign_in(app).get("/admin/").text
    assert "The language model openai:m does not answer." in page
    assert "certificate has expired" in page
    metrics = _metrics(app)
    assert metrics['braid_part_ok{part="models"}'] == 0
    assert metrics['braid_failing_models{kind="chat"}'] == 1
    failed, called = 'braid_model_failures_total{kind="chat"}', 'braid_model_calls_total{kind="chat"}'
    MODEL_CALLS.answered("chat", "openai:m")
    after = _metrics(app)
    assert (after[failed] - metrics[failed], after[called] - metrics[called]) == (0, 1)
    assert after['braid_failing_models{kind="chat"}'] == 0
    assert _ready(app)[1]["status"] == "ready"
    assert "does not answer" not in sign_in(app).get("/admin/").text


def test_what_was_noticed_of_the_site_is_told(app: Flask, shelf: Braid) -> None:
    quiet = _metrics(app)
    shelf.ledger.noticed = Noticed(secret_key_replaced=True, clock_jumped=True, missing_originals=2)
    try:
        status, found, reasons = _ready(app)
        metrics, page = _metrics(app), sign_in(app).get("/admin/").text
    finally:
        shelf.ledger.noticed = Noticed()
    assert (status, found["site"]) == (200, "impaired")
    assert reasons["site"] == (
        "the original files of 2 documents are missing; the secret of the site was replaced; the clock has jumped"
    )
    for name in ("braid_secret_key_replaced", "braid_clock_jumped"):
        assert (quiet[name], metrics[name]) == (0, 1)
    assert metrics["braid_missing_originals"] == 2
    for told in (
        "2 documents are missing. Restore them",
        "The secret of this site was replaced",
        "clock of the server",
    ):
        assert told in page


def test_a_site_that_was_never_backed_up_says_so_after_some_days(tmp_path: Path) -> None:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings(metrics_tokens=(OLD,)))
        assert _metrics(app)["braid_last_backup_timestamp_seconds"] == 0
        client = sign_in(app)
        assert "never been backed up" not in client.get("/admin/").text
        with braid.ledger.database.write() as connection:
            connection.execute(update(UserRow).values(created_at=time.time() - 4 * 86_400))
        assert "never been backed up" in client.get("/admin/").text
        note_backup(braid.data_dir, LastBackup(time.time(), "backup.zip", 1))
        assert "never been backed up" not in client.get("/admin/").text


def test_a_broken_list_of_shared_datasets_is_told_and_the_last_good_one_answers(shelf: Braid, app: Flask) -> None:
    file = shelf.registry.path
    shelf.registry.add("Handbook", "shared_main_db")
    good = file.read_text()
    file.write_text(good[:-5])
    status, found, reasons = _ready(app)
    assert (status, found["status"], found["registry"]) == (200, "impaired", "impaired")
    assert str(file) not in str(reasons), "anybody may read it"
    file.write_text(good)
    assert _ready(app)[1]["status"] == "ready"


def test_indexes_that_failed_are_counted_and_not_named(shelf: Braid, app: Flask) -> None:
    ill = [LegProgress("bm25", "user_7", "failed", error="user_7 is broken"), LegProgress("dense", "user_7", "ready")]
    with patch.object(shelf.indexer, "progress", return_value=ill):
        status, _, reasons = _ready(app)
        text = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {OLD}"}).text
    assert status == 200
    assert reasons == {"indexes": "1 of 2 indexes cannot be searched or brought up to date"}
    assert 'braid_part_ok{part="indexes"} 0.0' in text
    assert 'braid_failed_indexes{leg="bm25"} 1.0' in text


def test_indexes_that_were_removed_are_told_before_anybody_searches_and_made_again(shelf: Braid, app: Flask) -> None:
    user = site_of(app).accounts.all()[0].id
    dataset = shelf.ledger.add_dataset(user, "Pumps").id
    shelf.ledger.put_document(dataset, document("pump.md", "The pump hums."))
    assert shelf.indexer.wait(WAIT_S)
    assert _ready(app)[1]["indexes"] == "ok"
    with ExitStack() as stack:
        for follower in shelf.indexer.followers.values():
            stack.enter_context(patch.object(follower, "work", return_value=False))
        (shelf.data_dir / "indexes").rename(shelf.data_dir / "gone")  # at once, whatever is being written there
        status, _, reasons = _ready(app)
    assert (status, list(reasons), reasons["indexes"][:5]) == (200, ["indexes"], "1 of ")
    shelf.indexer.wake()
    eventually(lambda: all(each.state == "ready" and not each.pending for each in shelf.indexer.progress()))
    assert shelf.bm25.count(f"user_{user}") == 1
    assert _ready(app)[1]["indexes"] == "ok"
    shelf.ledger.remove_dataset(dataset)


def test_a_database_that_goes_while_the_indexes_are_asked_is_told(shelf: Braid, app: Flask) -> None:
    gone = OperationalError("select", {}, sqlite3.OperationalError("connection refused"))
    with patch.object(shelf.indexer, "progress", side_effect=gone):
        status, found, reasons = _ready(app)
        text = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {OLD}"}).text
    assert (status, found["status"]) == (200, "impaired")
    assert reasons == {"indexes": "the database does not say how far they are"}
    assert 'braid_part_ok{part="indexes"} 0.0' in text


def test_the_metrics_are_there_while_the_disk_does_not_answer(app: Flask) -> None:
    with patch("shutil.disk_usage", side_effect=OSError(errno.EIO, "Input/output error")):
        status, _, reasons = _ready(app)
        text = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {OLD}"}).text
    assert (status, reasons) == (503, {"disk": "the data directory cannot be read: Input/output error"})
    assert 'braid_part_ok{part="disk"} 0.0' in text
    assert "braid_disk_free_bytes" not in text


@pytest.mark.usefixtures("out")
def test_the_metrics_are_there_while_the_database_is_not(app: Flask) -> None:
    status, _, reasons = _ready(app)
    assert (status, reasons["ledger"]) == (503, "the database does not answer")
    answer = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {NEW}"})
    assert answer.status_code == 200
    assert 'braid_part_ok{part="ledger"} 0.0' in answer.text
    assert "braid_disk_free_bytes" in answer.text
    assert "braid_jobs" not in answer.text, "nobody knows"


def test_a_metrics_token_opens_the_metrics_and_nothing_else(app: Flask) -> None:
    client = app.test_client()
    for key, status in ((OLD, 200), (NEW, 200), (f"{OLD}x", 401), (OLD[:-1], 401), ("", 401)):
        assert client.get("/metrics", headers={"Authorization": f"Bearer {key}"}).status_code == status, key
    for path in ("/api/v1/datasets", "/admin/", "/search"):
        assert client.get(path, headers={"Authorization": f"Bearer {OLD}"}).status_code == 401
    assert create_app(Settings(), site_of(app).braid).test_client().get("/metrics").status_code == 401


def test_a_short_metrics_token_is_refused_and_none_is_shown() -> None:
    with pytest.raises(InvalidInputError, match="at least 24 characters") as caught:
        load_settings(env={"BRAID_METRICS_TOKENS": "short-secret"})
    assert "short-secret" not in str(caught.value)
    assert OLD not in repr(replace(Settings(), metrics_tokens=(OLD,)))


def test_an_api_token_says_when_it_ends(app: Flask) -> None:
    admin = site_of(app).accounts.all()[0]
    text = app.test_client().get("/metrics", headers=bearer(app, admin, "admin")).text
    left = float(next(line for line in text.splitlines() if line.startswith("braid_token_expires_seconds")).split()[1])
    assert 86_000 < left <= 86_400
    assert "braid_token_expires_seconds" not in sign_in(app).get("/metrics").text


def test_the_metrics_tell_jobs_sizes_connections_and_failed_sign_ins(app: Flask, shelf: Braid) -> None:
    before = _metrics(app)
    page = app.test_client()
    token = page.get("/login").text.partition('name="csrf_token" value="')[2].partition('"')[0]
    page.post("/login", data={"name": "nobody", "password": "wrong", "csrf_token": token})
    after = _metrics(app)
    failed = 'braid_sign_in_failures_total{how="failed"}'
    assert after[failed] == before[failed] + 1
    assert after['braid_jobs{state="queued"}'] == 0
    assert after["braid_oldest_waiting_job_seconds"] == 0
    assert (
        after['braid_stored_bytes{what="ledger"}']
        == Path(str(shelf.ledger.database.engine.url.database)).stat().st_size
    )
    assert after["braid_database_connections_max"] == 30
    assert after["process_resident_memory_bytes"] > 10**7
    assert after["braid_disk_free_bytes"] <= shutil.disk_usage(shelf.data_dir).total


def test_a_folder_that_goes_while_it_is_measured_is_left_out(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "segment").write_bytes(b"12345")

    def size_then_drop_the_others(path: Path) -> int:
        for folder in tmp_path.iterdir():
            if folder != path.parent:
                shutil.rmtree(folder)
        return path.stat().st_size

    with patch("braid.app.metrics._size", size_then_drop_the_others):
        assert _size_of_folder(tmp_path) == 5


def test_the_metrics_count_failed_models_and_say_how_long_work_waits(app: Flask, shelf: Braid) -> None:
    failed, admin = 'braid_model_failures_total{kind="embedding"}', site_of(app).accounts.all()[0]
    before, model = _metrics(app)[failed], HashEmbeddings()
    model.failing = True
    with pytest.raises(EmbeddingError):
        embed_query(model, "pump")
    dataset = shelf.ledger.add_dataset(admin.id, "Notes").id
    [job] = JobStore(shelf.ledger).add(admin.id, [NewJob("upload", "a.txt", dataset, {"file": "a"})])
    with shelf.ledger.database.write() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job.id).values(created_at=time.time() - 120))
    after = _metrics(app)
    assert after[failed] == before + 1
    assert after['braid_jobs{state="queued"}'] == 1
    assert after["braid_oldest_waiting_job_seconds"] >= 120
    with shelf.ledger.database.write() as connection:
        connection.execute(delete(JobRow).where(JobRow.id == job.id))
    shelf.ledger.remove_dataset(dataset)


def _metrics(app: Flask) -> dict[str, float]:
    text = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {OLD}"}).text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


@pytest.mark.parametrize(
    ("factor", "told"), [(2, "The disk is almost full"), (0.7, "The disk is filling up"), (0.1, "")]
)
def test_the_overview_warns_before_documents_are_refused(shelf: Braid, factor: float, told: str) -> None:
    free_mb = shutil.disk_usage(shelf.data_dir).free >> 20
    page = sign_in(make_app(shelf, Settings(min_free_disk_mb=int(free_mb * factor)))).get("/admin/").text
    assert (told or "Free disk space") in page
    assert ("The disk is" in page) == bool(told)
