"""Files that cannot be read, on each way in: named with a plain reason, never ready with nothing; the others go on."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import docx
import pytest
from flask import Flask
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.folders.store import NewSyncedFolder
from braid.core.ingest.ingest import ingest_paths
from braid.core.ingest.parse_pool import Outcome, ParseProcess
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import table
from braid.core.ingest.readers.document import ParsedDocument, SourceFile
from braid.core.processes.child import IsStopped, never
from tests import samples
from tests.command_line import CommandLine
from tests.fakes import HashEmbeddings
from tests.web import bearer, csrf_token, make_app, sign_in, site_of
from tests.worlds import eventually, write

MAX_MB = 1
LARGE = b"word " * (MAX_MB * 2**20 // 5 + 1)


def without_text() -> bytes:
    stream = io.BytesIO()
    docx.Document().save(stream)
    return stream.getvalue()


FAILING: Mapping[str, tuple[bytes, str]] = {
    "cut.docx": (samples.docx_manual()[:5_000], "is a zip archive that is damaged or cut off"),
    "cut.pdf": (samples.pdf([["Half a page"]])[:200], "was cut off"),
    "locked.pdf": (samples.pdf([["secret"]], password="secret"), "is encrypted with a password"),
    "locked.xlsx": (samples.ole("EncryptedPackage"), "encrypted with a password"),
    "locked.zip": (samples.with_zip_password(samples.zipped({"a.txt": b"secret"})), "is encrypted with a password"),
    "empty.md": (b"", "is empty"),
    "blank.docx": (without_text(), "has no text in it"),
    "wrong.pdf": (samples.PNG, "is a PNG image"),
    "program.txt": (b"MZ" + bytes(2_000), "only its text can be read"),
    "large.txt": (LARGE, f"at most {MAX_MB * 2**20:,}|more than {MAX_MB * 2**20:,}"),
    "dies.csv": (b"a,b\n1,2\n", "its form is not one that is known|made the program that reads it crash"),
}
GOOD = {"a first.txt": b"The tide table.", "z last.txt": b"The crane log."}


@pytest.fixture(autouse=True)
def dying(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of tables fails in this process, and kills another one in which it runs."""

    def read(file: SourceFile) -> ParsedDocument:
        raise SystemError("the reader is gone")

    ask = ParseProcess.ask

    def ask_and_die(
        self: ParseProcess, request: object, timeout_s: float, is_stopped: IsStopped = never
    ) -> Outcome | None:
        if isinstance(request, dict) and str(request.get("filename")).endswith(".csv"):
            self.kill()
        return ask(self, request, timeout_s, is_stopped)

    monkeypatch.setattr(table, "read", read)
    monkeypatch.setattr(ParseProcess, "ask", ask_and_die)


@pytest.fixture
def files(open_folder: Path) -> Path:
    return write(open_folder / "files", {**GOOD, **{name: content for name, (content, _) in FAILING.items()}})


@pytest.fixture
def app(tmp_path: Path, open_folder: Path) -> Iterator[Flask]:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        opened = make_app(braid, Settings(max_file_mb=MAX_MB, folder_roots=(str(open_folder),)), jobs=True)
        yield opened
        site_of(opened).close()


Told = dict[str, str]
"""What was told of each file, by its name."""


def documents(here: Site, dataset: int) -> Told:
    return {Path(each.source).name: each.error for each in here.braid.ledger.documents(dataset)}


def in_library(app: Flask, dataset: int, files: Path) -> Told:
    options = IngestOptions(max_file_bytes=MAX_MB * 2**20)
    report = ingest_paths(site_of(app).braid, dataset, [files], options=options)
    assert (report.put, report.failed) == (len(GOOD), len(FAILING))
    return {Path(source).name: reason for source, reason in report.failures}


def in_a_watched_folder(app: Flask, dataset: int, files: Path) -> Told:
    background = site_of(app).background
    folder = background.supervisor.add(site_of(app).accounts.all()[0].id, NewSyncedFolder(dataset, str(files)))
    job = eventually(lambda: background.sync_jobs.find_last(folder))
    ended = eventually(lambda: (found := background.sync_jobs.find_last(folder)) and found.ended and found)
    assert (ended.id, ended.state, ended.result["put"]) == (job.id, "done", len(GOOD))
    return {Path(each["source"]).name: each["reason"] for each in ended.result["failures"]}


def on_the_page(app: Flask, dataset: int, files: Path) -> Told:
    client = sign_in(app)
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    told = {}
    for path in sorted(files.iterdir()):
        with client.post(
            f"/datasets/{dataset}/files",
            query_string={"name": path.name},
            data=path.read_bytes(),
            headers=headers,
            mimetype="application/octet-stream",
        ) as sent:
            if sent.status_code != 202:
                told[path.name] = f"{path.name}: {sent.text}"
    return told | _once_read(app, dataset)


def multipart(name: str, content: bytes) -> dict[str, Any]:
    """Return the body of a form with one file: the test client keeps a large one in a file that it leaves open."""
    boundary, body = encode_multipart({"file": FileStorage(io.BytesIO(content), name)})
    return {"data": body, "content_type": f"multipart/form-data; boundary={boundary}"}


def in_the_api(app: Flask, dataset: int, files: Path) -> Told:
    headers = bearer(app, site_of(app).accounts.all()[0])
    told = {}
    for path in sorted(files.iterdir()):
        form = multipart(path.name, path.read_bytes())
        with app.test_client().post(f"/api/v1/datasets/{dataset}/documents", headers=headers, **form) as sent:
            if sent.status_code != 202:
                told[path.name] = f"{path.name}: {sent.text}"
    return told | _once_read(app, dataset)


def _once_read(app: Flask, dataset: int) -> Told:
    here = site_of(app)
    eventually(lambda: all(job.ended for job in here.background.store.all(limit=len(GOOD) + len(FAILING))))
    return {name: reason for name, reason in documents(here, dataset).items() if reason}


@pytest.mark.parametrize("way", [in_library, in_a_watched_folder, on_the_page, in_the_api])
def test_each_failing_file_is_named_and_the_others_are_read(
    app: Flask, files: Path, way: Callable[[Flask, int, Path], Told]
) -> None:
    here = site_of(app)
    dataset = here.braid.ledger.add_dataset(here.accounts.all()[0].id, "files").id
    _check(way(app, dataset, files))
    stored = here.braid.ledger.documents(dataset)
    assert {Path(each.source).name for each in stored if each.state == "ready"} == set(GOOD)
    assert all(each.chunks for each in stored if each.state == "ready")


def test_so_does_the_command_line(tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAID_MAX_FILE_MB", str(MAX_MB))
    run = CommandLine(tmp_path)
    run("user", "add", "ann", "--password-stdin", answer="correct horse battery\n")
    run("dataset", "add", "files", "--user", "ann")
    printed = run.json("ingest", "--dataset", 1, files, status=1)
    assert (printed["put"], printed["failed"]) == (len(GOOD), len(FAILING))
    _check({Path(each["source"]).name: each["reason"] for each in printed["failures"]})


def _check(told: Told) -> None:
    assert told.keys() == FAILING.keys()
    for name, (_, reason) in FAILING.items():
        assert name in told[name]
        assert re.search(reason, told[name]), told[name]
        assert not re.search("unexpected|Error|Traceback|gone", told[name])


@pytest.mark.parametrize("name", [*FAILING, *GOOD])
def test_what_is_no_export_makes_no_dataset(app: Flask, tmp_path: Path, name: str) -> None:
    content = FAILING[name][0] if name in FAILING else GOOD[name]
    here = site_of(app)
    account = here.accounts.all()[0]
    before = [each.id for each in here.braid.ledger.datasets(account.id)]
    form = multipart(name, content)
    with app.test_client().post("/api/v1/imports", headers=bearer(app, account), **form) as sent:
        assert sent.status_code == 400
        assert "no zip archive" in sent.text or "password" in sent.text or "must have" in sent.text, sent.text
    assert [each.id for each in here.braid.ledger.datasets(account.id)] == before
