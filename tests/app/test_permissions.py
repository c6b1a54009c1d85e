"""Files of Braid's own that it may not use: refused at the start, later an outage, for which jobs wait."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from braid.app.cli.root import cli
from braid.app.readiness import health_of
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import JobStore
from braid.core.ledger.database import Database, make_engine
from braid.core.ledger.outages import TEXT_OF, is_outage, outage_of, times_met
from braid.core.ledger.permissions import barred, require_permission
from tests.fakes import HashEmbeddings
from tests.forked_children import in_earnest
from tests.unprivileged import permissions_bind
from tests.web import bearer, make_app, site_of
from tests.worlds import WAIT_S, add_notes, document, eventually, logged

SAID = TEXT_OF["not_permitted"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "data"
    with Braid(folder, embedding_model=HashEmbeddings()) as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a.md", "the pump runs at 12 bar"))
        make_app(braid)
        assert braid.indexer.wait(WAIT_S)
    for name in ("originals", "uploads", "pages"):
        (folder / name).mkdir(exist_ok=True)
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of a closed data directory; whatever a test locks in it is opened again."""
    made = shutil.copytree(template, tmp_path / "data")
    yield made
    for path in (made, *made.rglob("*")):
        path.chmod(0o700)


@pytest.mark.parametrize(
    "name", ["ledger.db", "originals", "uploads", "indexes", "indexes/bm25/user_1", "secret_key", "owner.lock", "."]
)
def test_nothing_starts_on_what_it_may_not_use(folder: Path, name: str) -> None:
    path = folder / name
    path.touch() if not path.exists() else None
    path.chmod(0)
    given = {
        "BRAID_DATA_DIR": str(folder),
        "BRAID_EMBEDDING_MODEL": "openai:none",
        "BRAID_EMBEDDING_BASE_URL": "http://x",
    }
    with permissions_bind():
        said = CliRunner().invoke(cli, ["search", "pump"], env=given)
    assert said.exit_code == 2, said.output
    assert f"{str(path.resolve())!r} belongs to " in said.output
    assert "(mode 0)" in said.output
    assert f"may not read and write it, as Braid does even to search; allow it: chmod -R u+rwX {folder}" in said.output


def test_what_is_anothers_is_to_be_given_to_this_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0)
    with permissions_bind(), monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 47_110_815)
        with pytest.raises(InvalidInputError, match=r"give the data directory to the user .*: chown -R 47110815 "):
            require_permission(folder)


def test_what_others_put_beside_is_let_be(folder: Path) -> None:
    (folder / "lost+found").mkdir(mode=0)
    (folder / "secret_key").chmod(0o400)
    with permissions_bind(), Braid(folder, embedding_model=HashEmbeddings()):
        assert barred(folder) is None


def test_a_ledger_that_may_not_be_opened_is_called_so(folder: Path) -> None:
    file = folder / "ledger.db"
    file.chmod(0)
    engine = make_engine(f"sqlite:///{file}")
    with permissions_bind():
        with pytest.raises(OperationalError) as caught:
            engine.connect()
        found = outage_of(caught.value)
        with pytest.raises(InvalidInputError, match=f"Permission denied: {file}: let this user read and write it"):
            Database(f"sqlite:///{file}")
    assert found is not None
    assert (found.cause, found.reason) == ("not_permitted", f"Permission denied: {file}")


@pytest.mark.one_app
@pytest.mark.parametrize("name", ["uploads", "originals"])
def test_an_upload_waits_for_its_folder(folder: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with permissions_bind(), Braid(folder, embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid)
        here, client = site_of(app), app.test_client()
        token = bearer(app, here.accounts.all()[0])
        try:
            assert _upload(client, token).status_code == 202
            (folder / name).chmod(0)
            assert health_of(braid).parts["disk"].state == "impaired"
            here.start_jobs()
            store = JobStore(braid.ledger)
            eventually(lambda: times_met()["not_permitted"] > 1)
            assert store.counts()["failed"] == 0
            if name == "uploads":
                answer = _upload(client, token)
                assert (answer.status_code, answer.get_json()["detail"]) == (503, SAID)
                assert "Retry-After" not in answer.headers
            (folder / name).chmod(0o700)
            eventually(lambda: store.counts()["done"])
            assert store.counts()["failed"] == 0
            assert health_of(braid).parts["disk"].state == "ok"
        finally:
            (folder / name).chmod(0o700)
            here.close()
    lines = logged(caplog, "braid", said="event=outage cause=not_permitted")
    assert len(lines) == 1
    assert f'reason="Permission denied: {folder / name}' in lines[0], "the log says which file"
    assert "remedy=" in lines[0]
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.one_app
def test_a_keyword_index_that_may_not_be_opened_says_so_in_one_line(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with permissions_bind(), Braid(folder, embedding_model=HashEmbeddings()) as braid:
        assert braid.indexer.wait(WAIT_S)
        (folder / "indexes" / "bm25").chmod(0)
        braid.search("pump", user_id=1)
        eventually(lambda: braid.indexer.leg_progress("bm25", "user_1").state == "failed")
        (missing,) = braid.search("pump", user_id=1).degraded
        assert missing.reason == f"the keyword index of user_1 cannot be used: {SAID}"
        parts = health_of(braid).parts
        assert (parts["indexes"].state, parts["disk"].state) == ("impaired", "impaired")
        eventually(lambda: times_met()["not_permitted"] > 2)
        (folder / "indexes" / "bm25").chmod(0o700)
        braid.indexer.rebuild("bm25", "user_1")
        eventually(lambda: not braid.search("pump", user_id=1).degraded)
    lines = logged(caplog, "braid", said="event=outage cause=not_permitted")
    assert len(lines) == 1
    assert "Traceback" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.one_app
def test_a_parser_that_may_not_be_started_is_not_available(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "python").write_text("no program")
    with in_earnest(), Braid(folder, embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid)
        token = bearer(app, site_of(app).accounts.all()[0])
        for program in (tmp_path / "python", tmp_path / "not there"):
            monkeypatch.setattr(sys, "executable", str(program))
            answer = app.test_client().put(
                "/api/v1/datasets/1/documents", headers=token, json={"source": "c", "text": "a text"}
            )
            assert answer.status_code == 503, answer.text
    assert "event=parser_not_started" in caplog.text
    assert "event=unexpected" not in caplog.text


def test_a_file_of_the_callers_is_no_outage(tmp_path: Path) -> None:
    denied = PermissionError(13, "Permission denied", str(tmp_path))
    given = InvalidInputError("the folder cannot be read")
    given.__cause__ = denied
    assert is_outage(denied)
    assert not is_outage(given)


def _upload(client: FlaskClient, token: dict[str, str]) -> TestResponse:
    return client.post(
        "/api/v1/datasets/1/documents", headers=token, data={"file": (io.BytesIO(b"the cat sat"), "cat.txt")}
    )
