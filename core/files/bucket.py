"""A bucket of an S3-compatible store, or the part of one below a prefix: files are put there whole, and fetched whole.

A file is never changed once it is there, so that a copy of it in the folder for what is passing stays true.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from braid.core.errors import FilesUnavailableError, InvalidInputError, OtherSiteError
from braid.core.extras import require
from braid.core.files.claim import Claim
from braid.core.forks import tell_of_forks

URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9_.-]+)*)/?")
FETCHED = "fetched"
"""Folder of copies in a data directory."""
CONNECT_S = 5.0
STALLED_S = 20.0
"""Time without a byte after which a connection is given up."""
CALL_S = 20.0
"""Longest time for a call that carries no file."""
BYTES_PER_S = 1_000_000
"""The slowest speed of a file that is waited for, beside `CALL_S`."""
MOST_BYTES = 5 * 2**30
"""Largest file whose transfer is waited for."""
TRIES = 2
COPIES_S = 3600.0
"""Age from which a copy that nobody has asked for is deleted."""
ROOM_S = 600.0
"""Age from which a copy is deleted while the copies take more than `ROOM_BYTES`."""
ROOM_BYTES = 2 * 2**30
PRIVATE = 0o700
SITE = "site_id"
"""Key of the object that says which site the files are of."""


def open_bucket(url: str, scratch: Path) -> Bucket:
    """Return the bucket of ``s3://bucket/prefix``, which is not connected yet.

    Keys and address are taken from the environment, as every client of AWS takes them (``AWS_ACCESS_KEY_ID``,
    ``AWS_SECRET_ACCESS_KEY``, ``AWS_ENDPOINT_URL``, …). ``scratch`` is a folder of this process's machine for copies.
    Raises InvalidInputError and MissingExtraError.
    """
    if not URL.fullmatch(url):
        raise InvalidInputError(
            "files_url is no bucket; write s3://bucket or s3://bucket/prefix, and the key into the environment",
            field="files_url",
        )
    require("s3", "files_url", "fsspec", "s3fs")
    return Bucket(url, scratch)


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the bucket. ``at`` is the time at which it was put there, by the store's clock."""

    size_bytes: int
    at: float


class Bucket:
    """Files by their keys, such as ``originals/ab/ab12…``. Safe to use from any thread.

    What the store cannot do now raises FilesUnavailableError; FileNotFoundError says that it answered, and has no such
    file. With a ``claim``, a bucket of another site is not used either: nothing is read, written or deleted there.
    """

    def __init__(self, url: str, scratch: Path) -> None:
        self.url = url
        self._root = url.removeprefix("s3://").rstrip("/")
        self._scratch = scratch
        self.claim: Claim | None = None
        self._is_ours = False
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._opening = threading.Lock()
        self._opened: Any = None
        self._fetched_bytes = 0  # since copies were last tidied for them

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, connect again when somebody asks."""
        if in_child:
            self._begin()

    def add(self, path: Path, key: str, *, keep: bool = False) -> None:
        """Put the file at ``path`` there, whole or not at all. It becomes a copy here, or stays with ``keep``."""
        size = path.stat().st_size
        self._require_ours()
        with self._asked():
            self._run("_put_file", str(path), self._at(key), seconds=_seconds(size))
        if not keep:
            self._scratch.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
            os.replace(path, self._copy(key))

    def fetch(self, key: str) -> Path:
        """Return this machine's copy of a file, which stays for ten minutes at least. Raises FileNotFoundError."""
        copy = self._copy(key)
        with suppress(FileNotFoundError):
            os.utime(copy)  # so that `tidy` lets it be
            return copy
        self._scratch.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        partial = copy.with_name(f".{secrets.token_hex(8)}")
        try:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self.fetch_to(key, partial)
            self._fetched_bytes += partial.stat().st_size
            os.replace(partial, copy)
        finally:
            partial.unlink(missing_ok=True)
        if self._fetched_bytes > ROOM_BYTES:  # many are asked for at once, as for an archive
            self._fetched_bytes = 0
            self.tidy()
        return copy

    def fetch_to(self, key: str, path: Path) -> None:
        """Write a file to ``path``, past the copies. Raises FileNotFoundError."""
        self._require_ours()
        with self._asked():
            self._run("_get_file", self._at(key), str(path), seconds=_seconds(MOST_BYTES))

    def find(self, key: str) -> Stored | None:
        """Say how large a file is; None where there is none."""
        return next((stored for name, stored in self.below(key) if name == key), None)

    def below(self, prefix: str) -> Iterator[tuple[str, Stored]]:
        """Yield the files whose keys begin so: ``originals/``, or a whole key; no more than 1,000 are in memory."""
        name, _, root = self._root.partition("/")
        begin = f"{root}/" if root else ""
        asked: dict[str, object] = {"Bucket": name, "Prefix": begin + prefix}
        self._require_ours()
        while True:
            with self._asked():
                page = self._run("_call_s3", "list_objects_v2", **asked, seconds=CALL_S)
            for each in page.get("Contents", ()):
                yield each["Key"].removeprefix(begin), Stored(each["Size"], each["LastModified"].timestamp())
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def move(self, key: str, to: str) -> None:
        """Give a file another key; this machine's copy is deleted. Raises FileNotFoundError."""
        self._require_ours()
        with self._asked():
            self._run("_cp_file", self._at(key), self._at(to), seconds=_seconds(MOST_BYTES))
        self.remove(key)

    def remove(self, key: str) -> None:
        """Delete a file and this machine's copy; other machines delete theirs within the hour."""
        self._require_ours()
        with self._asked():
            self._run("_rm_file", self._at(key), seconds=CALL_S)
        self._copy(key).unlink(missing_ok=True)

    def require_site(self, *, seconds: float = CALL_S) -> None:
        """Raise OtherSiteError unless the bucket is of the site of the claim; one without an id gets it."""
        if self.claim is None:
            return
        self._is_ours = False
        place = f"the bucket {self.url!r}"
        found = self._site(seconds)
        has = "files" if not found and self.claim.is_new and self._has_files(seconds) else ""
        if self.claim.check(place, found, has=has):
            self._write_site(self.claim.site, seconds, over=self.claim.takes)
            self.claim = replace(self.claim, takes=False)
            self.claim.check(place, self._site(seconds))  # another process may have been first
        self._is_ours = True

    def _require_ours(self, seconds: float = CALL_S) -> None:
        if not self._is_ours and self.claim is not None:
            try:
                self.require_site(seconds=seconds)
            except OtherSiteError as error:
                raise FilesUnavailableError("the bucket is of another site") from error

    def _site(self, seconds: float) -> str:
        try:
            with self._asked():
                return str(self._run("_cat_file", self._at(SITE), seconds=seconds).decode())
        except FileNotFoundError:
            return ""

    def _has_files(self, seconds: float) -> bool:
        name, _, root = self._root.partition("/")
        with self._asked():
            prefix = f"{root}/" if root else ""
            return bool(
                self._run("_call_s3", "list_objects_v2", Bucket=name, Prefix=prefix, seconds=seconds)["KeyCount"]
            )

    def _write_site(self, site: str, seconds: float, *, over: bool) -> None:
        """Write the id; unless ``over``, only where there is none, as far as the store knows that condition."""
        name, _, key = self._at(SITE).partition("/")
        condition: dict[str, Any] = {} if over else {"IfNoneMatch": "*"}
        put: dict[str, Any] = {"Bucket": name, "Key": key, "Body": site.encode(), "seconds": seconds}
        try:
            with self._asked():
                self._run("_call_s3", "put_object", **put, **condition)
        except FilesUnavailableError as error:
            if over or error.strerror not in ("NotImplemented", "PreconditionFailed", "ParamValidationError", "501"):
                raise
            if error.strerror != "PreconditionFailed" and not self._site(seconds):
                with self._asked():
                    self._run("_call_s3", "put_object", **put)

    def check(self, *, seconds: float = CALL_S) -> None:
        """Raise FilesUnavailableError unless the store answers for this bucket."""
        name, _, root = self._root.partition("/")
        self._require_ours(seconds)
        with self._asked():
            self._run("_call_s3", "list_objects_v2", Bucket=name, Prefix=root, MaxKeys=1, seconds=seconds)

    def tidy(self) -> int:
        """Delete copies that nobody has asked for lately; return how many."""
        now = time.time()
        there: list[tuple[float, int, Path]] = []
        for path in self._scratch.iterdir() if self._scratch.is_dir() else ():
            with suppress(FileNotFoundError):
                stat = path.stat()
                there.append((stat.st_mtime, stat.st_size, path))
        total, removed = sum(size for _, size, _ in there), 0
        for at, size, path in sorted(there):
            if at < now - (ROOM_S if total > ROOM_BYTES else COPIES_S):
                path.unlink(missing_ok=True)
                total, removed = total - size, removed + 1
        return removed

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _copy(self, key: str) -> Path:
        return self._scratch / key.replace("/", "-")

    def _run(self, name: str, *args: object, seconds: float, **options: Any) -> Any:
        from fsspec.asyn import sync

        files = self._files()
        return sync(files.loop, getattr(files, name), *args, timeout=seconds, **options)

    def load(self) -> None:
        """Load the packages that ask the store: in two threads at once, some of them trip over each other."""
        self._files()

    def _files(self) -> Any:
        with self._opening:
            if self._opened is None:
                import s3fs

                patience = {"connect_timeout": CONNECT_S, "read_timeout": STALLED_S, "retries": {"max_attempts": 1}}
                self._opened = s3fs.S3FileSystem(
                    config_kwargs=patience, skip_instance_cache=True, use_listings_cache=False
                )
                self._opened.retries = TRIES
            return self._opened

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Tell a store that does not answer, or refuses, from one that has no such file, and from a full disk here."""
        try:
            yield
        except FileNotFoundError as error:
            if _code(error) == "NoSuchBucket":
                raise _unavailable(error) from None
            raise
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                raise
            raise _unavailable(error) from None
        except Exception as error:
            if not type(error).__module__.startswith(("botocore", "aiobotocore", "aiohttp", "fsspec", "asyncio")):
                raise
            raise _unavailable(error) from None


def _unavailable(error: BaseException) -> FilesUnavailableError:
    """Return the error without its message, which may name an address with a key in it."""
    return FilesUnavailableError(_code(error) or type(error).__name__)


def _code(error: BaseException) -> str:
    """Return the store's own word for what is wrong, such as NoSuchBucket; empty where it did not answer."""
    response = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _seconds(size_bytes: int) -> float:
    return CALL_S + size_bytes / BYTES_PER_S
