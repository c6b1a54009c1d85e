"""A small disk, in memory, that can be filled to the last byte."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SIZE_MB = 512
AGAIN_S = 0.05
"""Between two fillings: what others delete meanwhile is taken, too."""


@contextmanager
def small_disk(folder: Path) -> Iterator[str]:
    """Mount a disk at the folder until the block ends; gives "", or why that is not allowed here."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=0700", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
        refused = done.stderr.strip() if done.returncode else ""
    except OSError as error:  # no such program
        refused = str(error)
    try:
        yield refused
    finally:
        if not refused:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no byte free on the folder's disk until the block ends."""
    ended = threading.Event()
    ballast = folder / "ballast"

    def fill() -> None:
        with ballast.open("ab", buffering=0) as file:
            while not ended.is_set():
                for size in (1 << 20, 1 << 12):
                    _write_all(file, bytes(size))
                ended.wait(AGAIN_S)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        ballast.unlink()


def _write_all(file: BinaryIO, block: bytes) -> None:
    with suppress(OSError):  # full
        while file.write(block) == len(block):
            pass
