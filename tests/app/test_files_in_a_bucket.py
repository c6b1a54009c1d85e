"""An app whose uploads and files of documents are in a bucket: stored, downloaded, exported, and out of order."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.errors import FilesUnavailableError
from braid.core.files.bucket import Bucket
from braid.core.ledger.outages import times_met
from tests.fakes import HashEmbeddings
from tests.web import add_user, bearer, make_app, site_of
from tests.worlds import WAIT_S, eventually, older_than

API = "/api/v1"
PUMP = b"# Pump\n\nThe pump runs at 12 bar."


@pytest.fixture
def app(tmp_path: Path, files_url: str) -> Iterator[Flask]:
    with Braid(tmp_path, embedding_model=HashEmbeddings(), files_url=files_url) as braid:
        made = make_app(braid, Settings(), jobs=True)
        yield made
        site_of(made).close()


@pytest.fixture
def bucket(app: Flask) -> Bucket:
    found = site_of(app).braid.bucket
    assert found is not None
    return found


def done(caller: FlaskClient, headers: dict[str, str], job: int) -> None:
    def is_done() -> bool:
        state = caller.get(f"{API}/jobs/{job}", headers=headers).get_json()["state"]
        assert state != "failed"
        return bool(state == "done")

    eventually(is_done, pause_s=0.1)


def test_files_are_in_the_bucket_and_an_outage_of_it_is_named(
    app: Flask, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, caller = site_of(app), app.test_client()
    headers = bearer(app, add_user(app, "ann"))
    dataset = caller.post(f"{API}/datasets", json={"name": "Notes"}, headers=headers).get_json()["id"]
    where = f"{API}/datasets/{dataset}"

    def upload() -> tuple[int, dict[str, object]]:
        files = {"file": (io.BytesIO(PUMP), "pump.md")}
        answer = caller.post(f"{where}/documents", data=files, headers=headers)
        return answer.status_code, answer.get_json()

    [job] = upload()[1]["items"]  # type: ignore[misc]
    done(caller, headers, job["id"])
    eventually(lambda: [key.partition("/")[0] for key, _ in bucket.below("")] == ["originals", "site_id"])
    [document] = caller.get(f"{where}/documents", headers=headers).get_json()["items"]
    original = f"{where}/documents/{document['id']}/original"
    assert caller.get(original, headers=headers, buffered=True).data == PUMP
    part = caller.get(original, headers={**headers, "Range": "bytes=2-5"}, buffered=True)
    assert (part.status_code, part.data) == (206, b"Pump")

    fetched = here.braid.data_dir / "fetched"
    for path in fetched.iterdir():
        path.unlink()
    exported = caller.post(f"{where}/exports", headers=headers).get_json()
    done(caller, headers, exported["id"])
    assert not [path.name for path in fetched.iterdir() if path.name.startswith("originals")], (
        "an export keeps no copies"
    )
    download = f"{where}/exports/{exported['id']}"
    with zipfile.ZipFile(io.BytesIO(caller.get(download, headers=headers, buffered=True).data)) as archive:
        assert archive.read(f"originals/{hashlib.sha256(PUMP).hexdigest()}") == PUMP
    assert not [path for name in ("uploads", "originals") for path in here.braid.data_dir.glob(f"{name}/**/*.*")]

    assert here.braid.indexer.wait(WAIT_S)
    bucket.tidy()
    for path in fetched.iterdir():
        path.unlink()
    met = times_met()["files_down"]
    with monkeypatch.context() as patch:
        patch.setattr(bucket, "_root", "no-such-bucket/files")
        for answer in (caller.get(original, headers=headers), caller.get(download, headers=headers)):
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            assert "the store of files does not answer" in answer.get_json()["detail"]
        assert upload()[0] == 503
        assert times_met()["files_down"] >= met + 3
        ready = caller.get("/readyz")
        assert ready.status_code == 200, "searches go on"
        assert json.loads(ready.text)["files"] == "impaired"
        found = caller.post(f"{API}/search", json={"query": "pump"}, headers=headers).get_json()
        assert [hit["passage"]["source"] for hit in found["hits"]] == ["pump.md"]
    assert caller.get(original, headers=headers, buffered=True).data == PUMP
    assert upload()[0] == 202

    caller.delete(f"{where}?permanently=true", headers=headers)
    here.background.originals.sweep(older_than(-1))
    assert not list(bucket.below("originals/"))


def test_the_start_waits_for_no_bucket(tmp_path: Path, files_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started, is_down, in_time = threading.Event(), threading.Event(), list[bool]()

    def hang(_: Bucket) -> int:
        is_down.set()
        in_time.append(started.wait(WAIT_S))
        raise FilesUnavailableError("EndpointConnectionError")

    monkeypatch.setattr(Bucket, "tidy", hang)
    met = times_met()["files_down"]
    with Braid(tmp_path, embedding_model=HashEmbeddings(), files_url=files_url) as braid:
        app = make_app(braid, Settings(), jobs=True)
        assert is_down.wait(WAIT_S)
        assert app.test_client().get("/healthz").status_code == 200
        started.set()
        eventually(lambda: times_met()["files_down"] > met)
        assert in_time[0], "the start waited for the bucket"
        site_of(app).close()
