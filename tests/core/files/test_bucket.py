"""A bucket: files are there whole for every machine, and a store that does not answer is never "no such file"."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from braid.core.errors import FilesUnavailableError, InvalidInputError
from braid.core.files import bucket as bucket_module
from braid.core.files.bucket import Bucket, open_bucket
from braid.core.ledger.outages import Outage, outage_of
from tests.s3_server import BUCKET, SECRET, connect

CALLS: dict[str, Callable[[Bucket, Path], object]] = {
    "add": lambda bucket, path: bucket.add(path, "uploads/a"),
    "fetch": lambda bucket, path: bucket.fetch("uploads/a"),
    "find": lambda bucket, path: bucket.find("uploads/a"),
    "below": lambda bucket, path: list(bucket.below("uploads/")),
    "remove": lambda bucket, path: bucket.remove("uploads/a"),
    "check": lambda bucket, path: bucket.check(),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"The pump runs at 12 bar.")
    path.chmod(0o600)
    return path


def test_what_one_machine_adds_the_other_has_until_it_is_removed(files_url: str, tmp_path: Path, file: Path) -> None:
    one, other = open_bucket(files_url, tmp_path / "one"), open_bucket(f"{files_url}/", tmp_path / "other")
    one.check()
    one.add(file, "originals/ab/abc", keep=True)
    assert file.exists()
    one.add(file, "uploads/1")
    assert not file.exists(), "it is the copy now"
    for bucket in (one, other):
        assert bucket.fetch("originals/ab/abc").read_bytes() == b"The pump runs at 12 bar."
        assert bucket.fetch("uploads/1").stat().st_mode & 0o077 == 0
        assert set(dict(bucket.below(""))) == {"originals/ab/abc", "uploads/1"}
        assert set(dict(bucket.below("uploads/"))) == {"uploads/1"}
    stored = other.find("originals/ab/abc")
    assert stored is not None
    assert stored.size_bytes == 24
    assert abs(stored.at - time.time()) < 5
    other.remove("uploads/1")
    other.remove("uploads/1")
    assert other.find("uploads/1") is None
    assert other.find("uploads/") is None
    with pytest.raises(FileNotFoundError):
        other.fetch("uploads/1")
    assert not [path.name for path in (tmp_path / "other").iterdir() if path.name.startswith(".")]


def test_copies_are_used_again_and_go_when_nobody_asks_for_them(files_url: str, tmp_path: Path, file: Path) -> None:
    bucket = open_bucket(files_url, tmp_path / "copies")
    bucket.add(file, "uploads/1")
    copy = bucket.fetch("uploads/1")
    hour_ago = time.time() - bucket_module.COPIES_S - 1
    os.utime(copy, (hour_ago, hour_ago))
    assert bucket.fetch("uploads/1") == copy
    assert bucket.tidy() == 0, "somebody has just asked for it"
    os.utime(copy, (hour_ago, hour_ago))
    assert bucket.tidy() == 1
    assert bucket.fetch("uploads/1").exists()


def test_who_fetches_many_does_not_fill_the_disk(
    files_url: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = open_bucket(files_url, tmp_path / "copies")
    for name in "abc":
        bucket.add(file, name, keep=True)
    monkeypatch.setattr(bucket_module, "ROOM_BYTES", 24)
    before = bucket.fetch("a")
    long_ago = time.time() - bucket_module.ROOM_S - 1
    os.utime(before, (long_ago, long_ago))
    assert bucket.fetch("b").exists()
    assert not before.exists()
    assert bucket.fetch("c").exists()


def test_a_store_that_is_not_there_or_refuses_is_an_outage(
    s3_bucket: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = open_bucket("s3://no-such-bucket/files", tmp_path / "copies")
    require_outage(gone, file, "NoSuchBucket", calls=CALLS)
    monkeypatch.setattr(Bucket, "_files", connect)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    require_outage(open_bucket(s3_bucket, tmp_path / "copies"), file, "EndpointConnectionError", calls=["fetch"])
    assert file.exists()


def require_outage(bucket: Bucket, file: Path, reason: str, *, calls: Iterable[str]) -> None:
    for name in calls:
        with pytest.raises(FilesUnavailableError) as caught:
            CALLS[name](bucket, file)
        assert outage_of(caught.value) == Outage("files_down", reason), name
        assert SECRET not in str(caught.value)


def test_a_store_that_hangs_is_waited_for_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bucket, "_files", connect)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "braid")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        began = time.monotonic()
        with pytest.raises(FilesUnavailableError):
            open_bucket(f"s3://{BUCKET}", tmp_path).check(seconds=0.2)
        assert time.monotonic() - began < bucket_module.STALLED_S


@pytest.mark.parametrize("url", ["s3://", "s3://B/x", "http://bucket", "s3://bucket//x", "s3://key:secret@bucket"])
def test_what_is_no_bucket_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="write s3://bucket or s3://bucket/prefix") as caught:
        open_bucket(url, tmp_path)
    assert "secret" not in str(caught.value)
