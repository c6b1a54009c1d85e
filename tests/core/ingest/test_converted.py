"""Files of Word, Excel and PowerPoint 97–2003 by a LibreOffice that does as it is told, and what it is told."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.office import converted
from tests import samples
from tests.worlds import logged

STAND_IN = """#!{python} -S
import json, os, pathlib, shutil, socket, sys, time
here = pathlib.Path({here!r})
args = sys.argv[1:]
profile = pathlib.Path(args[0].partition("file://")[2])
source, out = pathlib.Path(args[-1]), pathlib.Path(args[args.index("--outdir") + 1])
starts = json.loads((here / "starts").read_text()) if (here / "starts").exists() else []
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=1).close()
    network = True
except OSError:
    network = False
settings = (profile / "user" / "registrymodifications.xcu").read_text()
start = dict(args=args, env=dict(os.environ), settings=settings, content=len(source.read_bytes()), network=network)
starts.append(start)
(here / "starts").write_text(json.dumps(starts))
{behaviour}
"""
WRITES = 'out.mkdir(exist_ok=True); shutil.copy(here / "answer.docx", out / "document.docx")'
OLD = samples.ole("WordDocument")


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, port: int = 9) -> None:
    program = folder / "bin" / "soffice"
    program.parent.mkdir()
    (folder / "answer.docx").write_bytes(samples.docx_manual())
    text = STAND_IN.format(python=sys.executable, here=str(folder), port=port, behaviour=behaviour)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("BRAID_SECRET_KEY", "of the server")


def read() -> ParsedDocument:
    return read_document("old manual.doc", OLD, max_bytes=5_000_000)


def test_an_old_file_is_converted_without_macros_network_and_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: socket.socket
) -> None:
    install(tmp_path, monkeypatch, "if len(starts) < 2: sys.exit(81)\n" + WRITES, server.getsockname()[1])
    parsed = read()
    assert (parsed.title, parsed.file_type) == ("Library manual", "doc")
    assert any(section.heading_path == "Lending > Fees" for section in parsed.sections)
    first, second = json.loads((tmp_path / "starts").read_text())  # the first start of a profile ends with a restart
    assert first["args"] == second["args"]
    assert {"--headless", "--norestore", "--convert-to", "docx"} <= set(first["args"])
    for setting in ("DisableMacrosExecution", "DisableActiveContent", "BlockUntrustedRefererLinks"):
        assert f'"{setting}" oor:op="fuse"><value>true' in first["settings"]
    assert first["content"] == len(OLD)
    assert "BRAID_SECRET_KEY" not in first["env"]
    assert set(first["env"]) - {"LC_CTYPE"} == {"HOME", "TMPDIR", "LANG", "PATH"}
    assert not Path(first["env"]["HOME"]).exists()  # nothing of the file is left behind
    if sys.platform == "linux" and Path("/proc/self/uid_map").exists():
        assert not first["network"] or not can_leave_the_network()


def test_where_a_user_may_not_leave_the_network_the_log_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, monkeypatch, WRITES, server.getsockname()[1])
    monkeypatch.setattr(converted, "_leave_network", lambda library: False)
    monkeypatch.setattr(converted, "_network", converted._Network())
    monkeypatch.setattr(logging.getLogger("braid.core.ingest.readers"), "level", logging.ERROR)  # as commands have it
    assert not converted.keeps_network()
    read()
    read()
    starts = json.loads((tmp_path / "starts").read_text())
    assert [start["network"] for start in starts] == [True, True]
    assert converted.keeps_network()
    assert logged(caplog, "braid.core.ingest") == [converted.NETWORK_KEPT]


def can_leave_the_network() -> bool:
    import subprocess

    done = subprocess.run(["/bin/true"], preexec_fn=_leave, check=False)
    return done.returncode == 0


def _leave() -> None:
    import ctypes
    import os

    library = ctypes.CDLL(None)
    if library.unshare(0x40000000) != 0 and library.unshare(0x50000000) != 0:
        os._exit(1)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.doc", "apt-get install libreoffice-writer-nogui; or save it as .docx"),
        ("a.xls", "apt-get install libreoffice-calc-nogui; or save it as .xlsx"),
        ("a.ppt", "apt-get install libreoffice-impress-nogui; or save it as .pptx"),
    ],
)
def test_without_libreoffice_the_command_that_installs_it_is_said(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    stream = {"a.doc": "WordDocument", "a.xls": "Workbook", "a.ppt": "PowerPoint Document"}[name]
    with pytest.raises(UnreadableDocumentError) as caught:
        read_document(name, samples.ole(stream), max_bytes=5_000_000)
    assert str(caught.value) == f"{name} needs LibreOffice to be read, which is not installed: {command}"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("sys.exit(1)", "is damaged, or is not a document of Word 97–2003"),
        ("sys.exit(81)", "is damaged, or is not a document of Word 97–2003"),
        ("time.sleep(60)", "took more than 0.4 seconds to read"),
        ('out.mkdir(); (out / "document.docx").symlink_to("/etc/hostname")', "is damaged"),
        ('out.mkdir(); (out / "document.docx").write_bytes(bytes(60_000_000))', "is damaged"),
        ('out.mkdir(); (out / "document.docx").write_bytes(b"PK")', "is plain text, not a Word document"),
    ],
    ids=["fails", "restarts", "hangs", "link", "huge", "broken"],
)
def test_what_it_cannot_write_is_refused(
    behaviour: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, behaviour)
    if "sleep" in behaviour:
        monkeypatch.setattr(converted, "TIMEOUT_S", 0.4)
    with pytest.raises(UnreadableDocumentError, match=reason):
        read()
