"""What tidying takes away: never most of what is there, and not deleted but put into ``lost/`` for thirty days."""

from __future__ import annotations

import calendar
import logging
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from braid.core.files.bucket import PRIVATE, Bucket

LOST = "lost"
"""Folder of a data directory, and prefix in a bucket: below it the day (UTC), the kind, and the name."""
KEPT_DAYS = 30
FEW = 20
"""So many files at a time are taken whatever their share is."""
LARGEST_SHARE = 0.25
"""The largest share of more files that is taken at a time."""
DAY_S = 86_400.0

logger = logging.getLogger(__name__)
_swept: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Rules:
    """Which files without an owner are taken: those from before ``before``, but not those within one of the ``spans``.

    A span is a time from which the ledger has nothing, as it is an older one than the files are. All are seconds since
    the epoch; ``now`` is the time of the tidying.
    """

    before: float
    now: float
    spans: Sequence[tuple[float, float]] = ()
    any_number: bool = False
    """Whether a person wants it, however many they are."""

    def allows(self, taken: int, there: int) -> bool:
        """Return whether so many of the files may be taken at a time."""
        return self.any_number or taken <= max(FEW, LARGEST_SHARE * there)

    def takes(self, at: float) -> bool:
        """Return whether a file from this time is taken."""
        return at <= self.before and not any(first < at <= last for first, last in self.spans)


def with_times(files: Iterable[Path]) -> Iterator[tuple[Path, float]]:
    """Yield the files that are there still, each with its time of modification."""
    for path in files:
        with suppress(FileNotFoundError):
            yield path, path.stat().st_mtime


class Lost:
    """Files of one kind, such as ``originals``, that were taken away: below a data directory, or in a bucket."""

    def __init__(self, data_dir: Path, kind: str, bucket: Bucket | None = None) -> None:
        self._folder = data_dir / LOST
        self._kind = kind
        self._bucket = bucket

    def take(self, path: Path, now: float) -> Path:
        """Move a file there; return where it is. Raises FileNotFoundError."""
        to = self._folder / _day(now) / self._kind / path.name
        to.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        if path.stat().st_dev == to.parent.stat().st_dev:
            os.rename(path, to)
        else:  # a folder that is on a disk of its own
            shutil.move(path, to)
        return to

    def take_key(self, key: str, now: float) -> None:
        """Move an object of the bucket there. Raises FileNotFoundError."""
        assert self._bucket is not None, "its keys are in a bucket"
        self._bucket.move(key, f"{LOST}/{_day(now)}/{key}")

    def files(self) -> Iterator[Path]:
        """Yield what was taken from the data directory, the newest day first."""
        for day in sorted(self._days(), reverse=True):
            folder = day / self._kind
            yield from folder.iterdir() if folder.is_dir() else ()

    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield where an object is that was taken, and the key that it had."""
        for lost, _ in self._bucket.below(f"{LOST}/") if self._bucket is not None else ():
            _, _, key = lost.removeprefix(f"{LOST}/").partition("/")
            if key.startswith(f"{self._kind}/"):
                yield lost, key

    def purge(self, now: float) -> None:
        """Delete what was taken more than thirty days ago."""
        for day in self._days():
            if _is_over(day.name, now):
                shutil.rmtree(day / self._kind, ignore_errors=True)
                with suppress(OSError):
                    day.rmdir()
        for lost, _ in list(self.objects()):
            if self._bucket is not None and _is_over(lost.split("/")[1], now):
                self._bucket.remove(lost)

    def say(self, taken: int, now: float) -> int:
        """Log and count what was taken; return it."""
        if taken:
            _swept[self._kind] = _swept.get(self._kind, 0) + taken
            until = time.strftime("%Y-%m-%d", time.gmtime(now + KEPT_DAYS * DAY_S))
            logger.warning("event=swept what=%s files=%d kept_until=%s", self._kind, taken, until)
        return taken

    def may_take(self, taken: Collection[object], there: int, rules: Rules) -> bool:
        """Return whether so many of the files may be taken at a time, and say so where they may not."""
        if rules.allows(len(taken), there):
            return True
        logger.warning(
            "event=sweep_held what=%s files=%d of=%d none of them is taken: the ledger knows too few of the files",
            *(self._kind, len(taken), there),
        )
        return False

    def times(self, files: Iterable[Path]) -> Iterator[tuple[str, float]]:
        """Yield the names of these files, and of the objects of this kind in the bucket, with their times."""
        for path, at in with_times(files):
            yield path.name, at
        for key, stored in self._bucket.below(f"{self._kind}/") if self._bucket is not None else ():
            yield key.rpartition("/")[2], stored.at

    def newest_unknown(self, files: Iterable[Path], known: Collection[str], since: float, until: float) -> float | None:
        """Return the newest time, after ``since`` and up to ``until``, of these files and objects, but for the names
        that are ``known``.
        """
        return max((at for name, at in self.times(files) if name not in known and since < at <= until), default=None)

    def _days(self) -> list[Path]:
        return list(self._folder.iterdir()) if self._folder.is_dir() else []


def swept() -> int:
    """Return how many files this process has taken away."""
    return sum(_swept.values())


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _is_over(day: str, now: float) -> bool:
    try:
        return calendar.timegm(time.strptime(day, "%Y-%m-%d")) + (KEPT_DAYS + 1) * DAY_S < now
    except ValueError:  # somebody else's folder
        return False
