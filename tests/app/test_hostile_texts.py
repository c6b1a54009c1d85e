"""Texts that hold or blow up a parser, sent by MCP and by the API: the server answers everybody meanwhile."""

from __future__ import annotations

import binascii
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.forked_children import in_earnest
from tests.served import Served
from tests.worlds import WAIT_S, processor_s

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")

SECRET = "sk-of-the-test"
OWN_S = 6.0
"""Less than a parser takes of the processor's time before it is ended."""
GROWTH_KIB = 300 * 1024
TIMEOUT_S = 8


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {"PARSE_TIMEOUT_S": TIMEOUT_S, "PARSE_MEMORY_MB": 600, "SUMMARY_MODEL_API_KEY": SECRET}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        with in_earnest():  # its memory is measured, and what it has loaded
            running = Served(tmp_path_factory.mktemp("texts") / "data", fake_model=True, **settings)
        with running:
            yield running


@pytest.fixture(scope="module")
def key(served: Served) -> str:
    with DataDirectory(served.data_dir) as directory:
        user = directory.ledger.users()[0]
        return ApiTokens(directory.ledger).add(user.id, "test", ("read", "write"), days=1)[1]


def pdf_bomb() -> str:
    """Two megabytes of letters and digits: a PDF whose one page unpacks to 344 MB."""
    page = zlib.compress(b"BT /F 12 Tf 1 0 0 1 20 700 Tm (hello) Tj ET\n" * 8_000_000, 9)
    stream = binascii.hexlify(page).decode() + ">"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[4 0 R]>>",
        f"<</Length {len(stream)}/Filter[/ASCIIHexDecode/FlateDecode]>>stream\n{stream}\nendstream",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    text, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(text))
        text += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer<</Size 6/Root 1 0 R>>\nstartxref\n{len(text)}\n%%EOF"
    return f"{text}xref\n0 6\n0000000000 65535 f \n{table}{trailer}"


def attributes() -> str:
    return "<p " + " ".join(f"a{number:x}=1" for number in range(200_000)) + ">x</p>"


@contextmanager
def watched(served: Served) -> Iterator[None]:
    """The server answers while it is given something to parse, which takes none of its own time, and does not grow."""
    statuses, worked_s, before, done = set(), processor_s(served.process.pid), peak_kib(served), threading.Event()

    def ask() -> None:
        while not done.wait(0.1):
            statuses.add(httpx.get(f"{served.client.base_url}/healthz", timeout=WAIT_S).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()
    assert statuses <= {200}
    assert processor_s(served.process.pid) - worked_s < OWN_S
    assert peak_kib(served) - before < GROWTH_KIB


def peak_kib(served: Served) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{served.process.pid}/status").read_text())
    assert found is not None
    return int(found[1])


def readers(served: Served) -> list[Path]:
    """The processes that the server has started to read files, as folders of /proc."""
    parent = re.compile(rf"^PPid:\s+{served.process.pid}$", re.MULTILINE)
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if parent.search((folder / "status").read_text()) and b"parse_worker" in (folder / "cmdline").read_bytes():
                found.append(folder)
        except OSError:  # it has ended meanwhile
            continue
    return found


def put_by_mcp(served: Served, key: str, text: str, file_type: str) -> dict[str, Any]:
    arguments = {"text": text, "filepath": f"evil/{file_type}", "file_type": file_type}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call |= {"params": {"name": "put_document", "arguments": arguments}}
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    answer = httpx.post(f"{served.client.base_url}/mcp", json=call, headers=headers, timeout=WAIT_S)
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()["result"]["structuredContent"]
    return result


def put_by_api(served: Served, key: str, text: str) -> httpx.Response:
    body = {"source": "evil", "text": text, "format": "md"}
    headers = {"Authorization": f"Bearer {key}"}
    address = f"{served.client.base_url}/api/v1/datasets"
    dataset_id = httpx.get(address, headers=headers, timeout=WAIT_S).json()["items"][0]["id"]
    return httpx.put(f"{address}/{dataset_id}/documents", json=body, headers=headers, timeout=WAIT_S)


REFUSED: dict[str, tuple[Callable[[], str], str, str]] = {
    "code": (lambda: "a<b<" * 200_000, "cpp", r"took more than|takes more than|crash"),
    "pdf": (pdf_bomb, "pdf", r"took more than|takes more than|crash|unpacks"),
    "attributes": (attributes, "html", r"took more than|attributes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mcp_refuses_what_its_parser_cannot_bear(served: Served, key: str, name: str) -> None:
    make, file_type, reason = REFUSED[name]
    text = make()
    with watched(served):
        answer = put_by_mcp(served, key, text, file_type)
    assert (answer["status"], answer["error_type"]) == ("error", "UnreadableDocumentError")
    assert re.search(reason, answer["message"])


def test_five_megabytes_of_hostile_code_are_plain_text(served: Served, key: str) -> None:
    with watched(served):
        answer = put_by_mcp(served, key, "a<b<" * 1_249_000, "cpp")
    assert answer["status"] == "success" or "took more than" in answer["message"]


@pytest.mark.parametrize("text", ["*a **b " * 70_000, "[a](" * 120_000, ">" * 400_000 + "a", "漢" * 490_000])
def test_the_api_answers_meanwhile(served: Served, key: str, text: str) -> None:
    with watched(served):
        answer = put_by_api(served, key, text)
    assert answer.status_code in (200, 201, 400)
    if answer.status_code == 400:
        assert answer.json()["field"] == "text"


def test_nothing_of_it_stays_in_the_spool(served: Served, key: str) -> None:
    assert put_by_mcp(served, key, "The tray is empty.", "txt")["status"] == "success"
    assert served.spooled() == []


def test_the_process_that_parses_has_no_keys_and_the_server_no_parsers(served: Served, key: str) -> None:
    assert put_by_mcp(served, key, "def tray(): ...", "py")["status"] == "success"
    [process] = readers(served)
    names = {entry.partition(b"=")[0].decode() for entry in (process / "environ").read_bytes().split(b"\0") if entry}
    assert SECRET.encode() not in (process / "environ").read_bytes()
    assert not {name for name in names if name.startswith("BRAID_") or name.endswith("_KEY")}
    assert re.search(r"^NoNewPrivs:\s+1$", (process / "status").read_text(), re.MULTILINE)
    assert "tree_sitter" in (process / "maps").read_text()
    loaded = Path(f"/proc/{served.process.pid}/maps").read_text()
    assert not [name for name in ("tree_sitter", "pdfium", "lxml/etree") if name in loaded]
