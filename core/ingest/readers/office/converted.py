"""Word, Excel and PowerPoint files of 1997 to 2003: LibreOffice, where it is installed, writes them in today's formats.

It runs as a child of the process that reads, which is limited in memory and time, with a profile of its own that is
deleted afterwards, without macros and, on Linux where a user may make namespaces, without a network; it dies with its
parent.
"""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.archive import MAX_UNPACKED_FACTOR
from braid.core.ingest.readers.document import ParsedDocument, SourceFile

logger = logging.getLogger("braid.core.ingest.converted")
"""Not below ``readers``, of whose warnings the command line shows none: they are of files, and shown with them."""

ERRORS: tuple[type[Exception], ...] = (OSError, ValueError)

TIMEOUT_S = 50.0
"""Less than the process that reads has."""
LEFT_S = 3600.0
NETWORK_KEPT = "event=office_has_network remedy=user_namespaces"
"""What the log says where LibreOffice keeps the network, since this system lets no user leave it."""
MAX_WRITTEN = 1_000_000_000
"""Bytes of one file that LibreOffice may write."""
MAX_STARTS = 3
_RESTARTS = (79, 81)
"""Exit statuses with which LibreOffice asks to be started again, as it does with a new profile."""
PARTS = {"doc": ("docx", "writer"), "xls": ("xlsx", "calc"), "ppt": ("pptx", "impress")}
"""What each format is written as, and the part of LibreOffice that reads it."""
_PREFIX = "braid-office-"
_PR_SET_PDEATHSIG, _NEW_NETWORK, _NEW_USER = 1, 0x40000000, 0x10000000
_SETTINGS = {
    "/org.openoffice.Office.Common/Security/Scripting": {
        "DisableMacrosExecution": "true",
        "MacroSecurityLevel": "3",
        "BlockUntrustedRefererLinks": "true",
        "DisableActiveContent": "true",
        "DisableOLEAutomation": "true",
    },
    "/org.openoffice.Office.Writer/Content/Update": {"Link": "0", "Field": "false"},
    "/org.openoffice.Office.Calc/Content/Update": {"Link": "1"},
}


def read(file: SourceFile) -> ParsedDocument:
    """Return what the reader of today's format finds. Macros are not run, and links are not followed."""
    suffix, part = PARTS[file.file_type]
    program = find_program()
    if program is None:
        raise file.unreadable(
            "%(name)s needs LibreOffice to be read, which is not installed: apt-get install "
            "libreoffice-%(part)s-nogui; or save it as %(format)s",
            part=part,
            format=f".{suffix}",
            code="not_here",
        )
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        written = _convert(file, program, Path(folder), suffix)
        if written is None or written.stat().st_size > MAX_UNPACKED_FACTOR * file.max_bytes:
            raise ValueError("LibreOffice has written nothing, or too much")
        content = written.read_bytes()
    parsed = read_document(f"{file.stem}.{suffix}", content, max_bytes=max(file.max_bytes, len(content)))
    return replace(parsed, file_type=file.file_type)


def keeps_network() -> bool:
    """Whether LibreOffice has run in this process with the network."""
    return _network.is_kept


class _Network:
    is_kept = False


_network = _Network()


def _sweep() -> None:
    """Delete what a process has left that was killed an hour ago or earlier."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT_S:
                shutil.rmtree(left, ignore_errors=True)


def find_program() -> str | None:
    """Return the path of LibreOffice, without the script that starts it where it can be told; None if there is none."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        return None
    program = Path(os.path.realpath(found)).with_name("soffice.bin")
    return str(program) if program.is_file() else found


def _convert(file: SourceFile, program: str, folder: Path, suffix: str) -> Path | None:
    """Return the file that LibreOffice has written; None when it has not."""
    source = folder / f"document.{file.file_type}"
    source.write_bytes(file.content)
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_settings(), encoding="utf-8")
    command = [program, f"-env:UserInstallation={profile.parent.as_uri()}", "--headless", "--norestore", "--nologo"]
    command += ["--nolockcheck", "--nodefault", "--convert-to", suffix, "--outdir", str(folder / "out"), str(source)]
    deadline = time.monotonic() + TIMEOUT_S
    try:
        for _ in range(MAX_STARTS):
            if _run(command, folder, max(0.0, deadline - time.monotonic())) not in _RESTARTS:
                break
    except subprocess.TimeoutExpired as error:
        raise file.unreadable(
            "%(name)s took more than %(seconds)s seconds to read; split it",
            seconds=format(TIMEOUT_S, "g"),
            code="too_large",
        ) from error
    written = folder / "out" / f"document.{suffix}"
    return written if written.is_file() and not written.is_symlink() else None


def _run(command: list[str], folder: Path, timeout_s: float) -> int:
    told, tell = os.pipe()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={"HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8", "PATH": os.environ.get("PATH", "")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            preexec_fn=_shut_in(tell) if sys.platform == "linux" else None,
            check=False,
        )
    finally:
        os.close(tell)
        with os.fdopen(told, "rb") as said:
            if said.read() and not _network.is_kept:
                _network.is_kept = True
                logger.warning(NETWORK_KEPT)
    return done.returncode


def _shut_in(tell: int) -> Callable[[], None]:
    """Return what the child does before it becomes LibreOffice: it dies with its parent, and leaves the network, or
    writes to the pipe ``tell`` that it could not.
    """
    import resource  # which only systems like Unix have

    library = ctypes.CDLL(None)

    def begin() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))
        if not _leave_network(library):
            os.write(tell, b"!")

    return begin


def _leave_network(library: ctypes.CDLL) -> bool:
    """Give up the network; False where this system does not let this user."""
    if library.unshare(_NEW_NETWORK) == 0:  # only root may do that alone
        return True
    return bool(library.unshare(_NEW_USER | _NEW_NETWORK) == 0)


def _settings() -> str:
    items = "".join(
        f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, properties in _SETTINGS.items()
        for name, value in properties.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        f'xmlns:xs="http://www.w3.org/2001/XMLSchema">{items}</oor:items>'
    )
