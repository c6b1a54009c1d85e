"""Small disks: one in memory that can be filled to the last byte, one in a file that can break."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SIZE_MB = 512
BREAKABLE_MB = 96
AGAIN_S = 0.05
"""Between two fillings: what others delete meanwhile is taken, too."""


@contextmanager
def small_disk(folder: Path, *, megabytes: int = SIZE_MB) -> Iterator[str]:
    """Mount a disk at the folder until the block ends; gives "", or why that is not allowed here."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    refused = _refusal(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder)])
    try:
        yield refused
    finally:
        if not refused:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@dataclass(frozen=True)
class BreakableDisk:
    """A disk that turns read-only under those who write, as after an error of the device; ``refused`` says why there
    is none."""

    folder: Path
    image: Path
    refused: str

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Break it. It stays so after the block, until nobody has a file open, and `mend`."""
        subprocess.run(["mount", "-o", "remount,abort", str(self.folder)], check=True)
        yield

    def mend(self) -> None:
        """Unmount it, check it as at a start of the computer, and mount it again."""
        subprocess.run(["umount", str(self.folder)], check=True)
        done = subprocess.run(["e2fsck", "-f", "-y", str(self.image)], capture_output=True, text=True)
        assert done.returncode <= 2, done.stdout  # 1, 2: something was mended
        subprocess.run(["mount", "-o", "loop", str(self.image), str(self.folder)], check=True)


@contextmanager
def breakable_disk(folder: Path) -> Iterator[BreakableDisk]:
    """Mount a disk at the folder until the block ends."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    image = folder.with_name("disk.img")
    with image.open("wb") as file:
        file.truncate(BREAKABLE_MB << 20)
    refused = _refusal(["mkfs.ext4", "-q", str(image)]) or _refusal(["mount", "-o", "loop", str(image), str(folder)])
    try:
        if not refused:
            (folder / "lost+found").rmdir()  # a data directory is empty at first
        yield BreakableDisk(folder, image, refused)
    finally:
        if not refused:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)  # mended or not
        image.unlink()


def _refusal(command: list[str]) -> str:
    """Run a command; return why it does not work here, or ""."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:  # no such program
        return str(error)
    return done.stderr.strip() or str(done.returncode) if done.returncode else ""


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no byte free on the folder's disk from the beginning of the block to its end."""
    ended, full = threading.Event(), threading.Event()
    ballast = folder / "ballast"

    def fill() -> None:
        with ballast.open("ab", buffering=0) as file:
            while not ended.is_set():
                for size in (1 << 20, 1 << 12):
                    _write_all(file, bytes(size))
                full.set()
                ended.wait(AGAIN_S)

    thread = threading.Thread(target=fill)
    thread.start()
    full.wait()
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
