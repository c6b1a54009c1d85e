"""Uploads that are too large, broken, disguised or many: clear errors, nothing stored half, the server answers on."""

from __future__ import annotations

import io
import json
import select
import socket
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import Document
from tests import samples
from tests.fakes import HashEmbeddings
from tests.served import Served
from tests.web import csrf_token, make_app, sign_in, site_of
from tests.worlds import WAIT_S, eventually

MAX_MB = 5
GIGABYTE = 10**9


# ---------------------------------------------------------------- what files contain, and what they are called


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("hostile") / "data", embedding_model=HashEmbeddings()) as braid:
        opened = make_app(braid, Settings(max_file_mb=MAX_MB, parse_memory_mb=1024), jobs=True)
        yield opened
        site_of(opened).close()


@pytest.fixture(scope="module")
def here(app: Flask) -> Site:
    return site_of(app)


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.fixture
def dataset_id(here: Site) -> int:
    return here.braid.ledger.add_dataset(here.accounts.all()[0].id, "Uploads").id


@pytest.fixture
def read(client: FlaskClient, here: Site, dataset_id: int) -> Callable[[str, bytes], Document]:
    """Upload one file, and wait for what becomes of it."""

    def upload(name: str, content: bytes) -> Document:
        headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
        address = f"/datasets/{dataset_id}/files"
        sent = client.post(
            address, data=content, query_string={"name": name}, headers=headers, mimetype="application/octet-stream"
        )
        assert sent.status_code == 202, sent.get_data(as_text=True)
        user, job = here.accounts.all()[0].id, sent.get_json()["job"]
        eventually(lambda: here.background.store.get(user, job).ended)
        [document] = here.braid.ledger.documents(dataset_id)
        return document

    return upload


def zip_bomb() -> bytes:
    """A Word document whose text unpacks to a gigabyte of spaces."""
    parts = samples.unzipped(samples.docx_manual())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            with archive.open(name, "w", force_zip64=True) as entry:
                if name == "word/document.xml":
                    for _ in range(GIGABYTE // 2**20):
                        entry.write(b" " * 2**20)
                entry.write(content)
    return stream.getvalue()


UNREADABLE = {
    "bomb.docx": zip_bomb,
    "photo.pdf": lambda: samples.PNG,
    "program.docx": lambda: b"MZ" + bytes(2000),
    "empty.txt": lambda: b"",
    "old.doc": lambda: samples.OLE_HEADER,
    "archive.zip": lambda: samples.zipped({"a.zip": samples.zipped({"b.zip": samples.zipped({"a.txt": b"text"})})}),
    "half.pdf": lambda: samples.pdf([["Half a page"]])[:200],
    "table.xlsx": lambda: b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_fails_whole_with_a_reason(
    here: Site, dataset_id: int, read: Callable[[str, bytes], Document], name: str
) -> None:
    document = read(name, UNREADABLE[name]())
    assert (document.state, document.chunks) == ("failed", 0)
    assert name in document.error
    assert "Error" not in document.error
    assert here.braid.dataset(dataset_id).chunks == 0


def test_of_a_document_with_macros_the_text_is_read(
    here: Site, dataset_id: int, read: Callable[[str, bytes], Document]
) -> None:
    document = read("macros.docm", samples.docm_manual())
    texts = [passage.text for passage in here.braid.ledger.document_passages(document.id, [dataset_id])]
    assert any("ten books" in text for text in texts)
    assert not any("AutoOpen" in text for text in texts)


SCRIPT = "<script>alert(1)</script>"
HARMLESS = {
    "page.html": f"<h1>Fees</h1>{SCRIPT}<p onclick='alert(1)'>Two euros</p><iframe src='//evil'></iframe>",
    "drawing.svg": f"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'>{SCRIPT}<text>Two euros</text></svg>",
    "note.md": f"# Fees\n\n{SCRIPT} Two euros [x](javascript:alert(1))",
    "picture.txt": "%PDF-1.4 is how a PDF begins; it costs Two euros",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_scripts_in_documents_are_shown_as_text_or_not_at_all(
    client: FlaskClient, dataset_id: int, read: Callable[[str, bytes], Document], name: str
) -> None:
    document = read(name, HARMLESS[name].encode())
    page = client.get(f"/datasets/{dataset_id}/documents/{document.id}")
    assert page.status_code == 200
    text = page.get_data(as_text=True)
    assert document.state == "failed" or "Two euros" in text
    assert SCRIPT not in text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("../../../etc/passwd.txt", "etc/passwd.txt"),
        ("..\\..\\windows\\system.txt", "windows/system.txt"),
        ("/etc/shadow.txt", "etc/shadow.txt"),
        ("a\x00b\r\nSet-Cookie: x.txt", "abSet-Cookie: x.txt"),
        ("invoice\u202eftp.exe.txt", "invoiceftp.exe.txt"),
        ("<img src=x onerror=alert(1)>.txt", "<img src=x onerror=alert(1)>.txt"),
    ],
)
def test_names_lead_nowhere(here: Site, read: Callable[[str, bytes], Document], name: str, source: str) -> None:
    before = sorted(here.braid.data_dir.parent.iterdir())
    assert read(name, b"Two euros").source == source
    assert sorted(here.braid.data_dir.parent.iterdir()) == before


@pytest.mark.parametrize("name", ["", "..", "x" * 1001])
def test_names_that_cannot_be_are_refused(client: FlaskClient, here: Site, dataset_id: int, name: str) -> None:
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    sent = client.post(f"/datasets/{dataset_id}/files", data=b"x", query_string={"name": name}, headers=headers)
    assert (sent.status_code, sent.get_json()["field"]) == (400, "file")
    assert here.background.store.counts(dataset_id=dataset_id)["queued"] == 0


def test_a_pdf_of_a_thousand_pages(read: Callable[[str, bytes], Document]) -> None:
    document = read("long.pdf", samples.pdf([[f"Page {number}", "Two euros"] for number in range(1, 1001)]))
    assert (document.state, document.chunks) == ("ready", 1000)


# ---------------------------------------------------------------- what goes over the wire


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served") / "data", fake_model=True, MAX_FILE_MB=MAX_MB) as running:
        yield running


def request_head(served: Served, dataset_id: int, length: str) -> bytes:
    cookies = "; ".join(f"{name}={value}" for name, value in served.client.cookies.items())
    lines = [
        f"POST /datasets/{dataset_id}/files?name=big.txt HTTP/1.1",
        f"Host: 127.0.0.1:{served.port}",
        f"Cookie: {cookies}",
        f"X-CSRFToken: {served.token()}",
        "Accept: application/json",
        length,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def answer_of(connection: socket.socket) -> tuple[int, str]:
    """Status and detail."""
    received = b""
    while b"}" not in received and (some := connection.recv(65_536)):
        received += some
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["detail"]


def test_two_gigabytes_are_refused_by_what_is_declared(served: Served) -> None:
    head = request_head(served, served.new_dataset(), "Content-Length: 2147483648")
    with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT_S) as connection:
        connection.sendall(head)
        assert answer_of(connection) == (413, "at most 5,242,880 bytes are accepted at once; split it")
    assert served.spooled() == []


def test_bodies_of_unknown_length_are_counted(served: Served) -> None:
    head = request_head(served, served.new_dataset(), "Transfer-Encoding: chunked")
    block = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT_S) as connection:
        connection.sendall(head)
        sent = 0
        while sent < 200 and not select.select([connection], [], [], 0)[0]:
            connection.sendall(block)
            sent += 1
        assert answer_of(connection) == (413, "at most 5,242,880 bytes are accepted at once; split it")
    assert sent < 200
    assert served.spooled() == []


def test_a_short_body_of_unknown_length_is_taken_whole(served: Served) -> None:
    dataset_id = served.new_dataset()
    head = request_head(served, dataset_id, "Transfer-Encoding: chunked")
    with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT_S) as connection:
        connection.sendall(head + b"4\r\nTwo \r\n5\r\neuros\r\n0\r\n\r\n")
        assert b" 202 " in connection.recv(100)
    assert served.wait_read(dataset_id) == {"big.txt": "ready"}


@pytest.mark.parametrize("length", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_an_upload_that_breaks_off_leaves_nothing(served: Served, length: str) -> None:
    dataset_id = served.new_dataset()
    with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT_S) as connection:
        connection.sendall(request_head(served, dataset_id, length) + b"7a120\r\n" + b"x" * 400_000)
    assert served.wait_read(dataset_id) == {}
    assert served.spooled() == [], "it gets a name when it is there as a whole"


def test_many_files_at_once(served: Served, is_long: bool) -> None:
    dataset_id, headers = served.new_dataset(), served.headers()
    numbers = range(500 if is_long else 60)

    def send(number: int) -> int:
        content = f"# Note {number}\n\nThe answer is {number}.".encode()
        return served.upload(dataset_id, f"notes/{number}.md", content, headers).status_code

    with ThreadPoolExecutor(20) as threads:
        sent = list(threads.map(send, numbers))
        for _ in range(5):  # each within the time that the client waits
            assert served.client.get("/datasets").status_code == 200
    assert set(sent) == {202}
    assert served.wait_read(dataset_id) == {f"notes/{number}.md": "ready" for number in numbers}
    assert served.spooled() == []


def test_a_server_that_is_stopped_amid_uploads_loses_none(tmp_path: Path) -> None:
    names = [f"report-{number}.pdf" for number in range(20)]
    files = [samples.pdf([[f"{name} page {number}"] for number in range(20)]) for name in names]
    # It takes longer to read than all take to send.
    files[10] = samples.pdf([[f"line {line} of page {page}" for line in range(60)] for page in range(500)])
    with Served(tmp_path / "data", fake_model=True, MAX_FILE_MB=MAX_MB, JOB_WORKERS=1) as served:
        dataset_id, headers = served.new_dataset(), served.headers()
        for name, content in zip(names, files, strict=True):
            assert served.upload(dataset_id, name, content, headers).status_code == 202
        assert served.stop() == 0
        assert served.spooled(), "nothing was left to do; the test shows nothing"
        served.start()
        assert served.wait_read(dataset_id) == dict.fromkeys(names, "ready")
        assert served.spooled() == []
