"""Tidying: never by one reading of a clock, never most of what is there, and what it takes can be had back."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.idempotency import IdempotencyKeys
from braid.core.background.background import Background
from braid.core.background.retention import RetentionDays
from braid.core.background.tidying import Clock
from braid.core.braid import Braid
from braid.core.doctor import examine, repair
from braid.core.files.lost import FEW, swept
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import NewJob
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, document

DAY_S = 86_400.0
OLD_S = 7_200.0
"""Age of files that are old enough to be swept."""


@dataclass
class Hands:
    """A clock whose hands a test moves: off the right time by ``off``, and up for ``up`` seconds."""

    off: float = 0.0
    up: float = 0.0

    def now(self) -> float:
        return time.time() + self.off

    def uptime(self) -> float:
        return self.up


@contextmanager
def tidying(path: Path, hands: Hands) -> Iterator[tuple[Braid, Background]]:
    """An open data directory, of which only expired tokens are deleted by age, beside what always is."""
    with Braid(path, embedding_model=HashEmbeddings()) as braid:
        clock = Clock(braid.ledger, now=hands.now, uptime=hands.uptime)
        background = Background(braid, clock=clock, retention=RetentionDays(expired_tokens=30))
        yield braid, background
        background.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The data directory of a site that was tidied just now."""
    with tidying(tmp_path / "data", Hands()) as (braid, background):
        add_notes(braid.ledger)
        background.tidying.tidy(everything=True)
    return tmp_path / "data"


def keep(braid: Braid, background: Background, source: str, tmp_path: Path) -> Path:
    """Keep the file of a document; return where it is. It is old enough to be swept."""
    path = tmp_path / "file"
    path.write_bytes(source.encode())
    incoming = Incoming.from_file(path, source)
    stored = braid.ledger.put_document(1, document(source, "text", content_hash=incoming.content_hash))
    background.originals.keep(stored.document_id, incoming)
    found = braid.data_dir / "originals" / incoming.content_hash[:2] / incoming.content_hash
    path.unlink()
    os.utime(found, (time.time() - OLD_S,) * 2)
    return found


@pytest.fixture
def fill(tmp_path: Path) -> Callable[[Braid, Background], tuple[object, ...]]:
    """Add one of each that goes by age; returns what is there of them."""

    def make(braid: Braid, background: Background) -> tuple[object, ...]:
        ApiTokens(braid.ledger).add(1, "token", ["read"], days=7)
        WebSessions(braid.ledger).open(1)
        IdempotencyKeys(braid.ledger).begin(1, "key", "hash")
        kept = background.spool.write(lambda file: file.write(b"x"))
        [job] = background.store.add(1, [NewJob("upload", "a.md", 1, {"file": kept.name})])
        background.store.cancel(1, job.id)
        keep(braid, background, "a.md", tmp_path)
        braid.ledger.remove_document(1, "a.md")
        return there(braid, background)

    return make


def there(braid: Braid, background: Background) -> tuple[object, ...]:
    keys = braid.ledger.database.rows("SELECT count(*) FROM idempotency_keys")
    originals = [path.name for path in (braid.data_dir / "originals").rglob("*") if path.is_file()]
    tokens, sessions = ApiTokens(braid.ledger).of_user(1), WebSessions(braid.ledger).of_user(1)
    return (
        len(tokens),
        len(sessions),
        keys[0][0],
        background.store.counts(),
        len(background.store.kept_files()),
        originals,
    )


@pytest.mark.parametrize("days", [400, -8], ids=["a year ahead", "a week back"])
def test_nothing_is_deleted_by_a_clock_that_jumped(
    data_dir: Path, days: int, fill: Callable[[Braid, Background], tuple[object, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    hands = Hands()
    with tidying(data_dir, hands) as (braid, background):
        before = fill(braid, background)
        hands.off = days * DAY_S
        background.tidying.tidy(everything=True)
        hands.up = DAY_S - 1
        background.tidying.tidy(everything=True)
        assert there(braid, background) == before
        assert braid.ledger.noticed.clock_jumped
        assert caplog.text.count("event=clock_jumped") == 1
        hands.off = 0  # the clock is right again
        background.tidying.tidy(everything=True)
        assert not braid.ledger.noticed.clock_jumped
        assert there(braid, background)[:5] == before[:5]


def test_a_clock_is_believed_after_a_day_of_running(
    data_dir: Path, fill: Callable[[Braid, Background], tuple[object, ...]]
) -> None:
    hands = Hands(off=400 * DAY_S)
    with tidying(data_dir, hands) as (braid, background):
        fill(braid, background)
        background.tidying.tidy(everything=True)
        hands.up = DAY_S
        background.tidying.tidy(everything=True)
        assert there(braid, background)[:3] == (0, 0, 0)
        assert not any(background.store.counts().values())


def test_a_start_with_a_wrong_clock_deletes_nothing_of_an_earlier_version(
    data_dir: Path, fill: Callable[[Braid, Background], tuple[object, ...]]
) -> None:
    """It noted no time of its last tidying: the newest of its rows is the last time that is known."""
    with tidying(data_dir, Hands()) as (braid, background):
        before = fill(braid, background)
        with braid.ledger.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM app_settings WHERE name = 'tidied_at'")
    with tidying(data_dir, Hands(off=400 * DAY_S)) as (braid, background):
        background.tidying.tidy(everything=True)
        assert there(braid, background) == before


def test_what_is_taken_is_kept_for_thirty_days_counted_and_said(
    data_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hands, count = Hands(), swept()
    with tidying(data_dir, hands) as (braid, background):
        path = keep(braid, background, "a.md", tmp_path)
        braid.ledger.remove_document(1, "a.md")
        background.tidying.tidy(everything=True)
        lost = list((data_dir / "lost").glob(f"*/originals/{path.name}"))
        assert (path.exists(), len(lost), swept() - count) == (False, 1, 1)
        assert "event=swept what=originals files=1 kept_until=" in caplog.text
        for days in (6, 12, 18, 24, 30):
            hands.off = days * DAY_S
            background.tidying.tidy(everything=True)
        assert lost[0].exists()
        hands.off = 32 * DAY_S
        background.tidying.tidy(everything=True)
        assert not lost[0].exists()


def test_what_a_document_has_again_comes_back(data_dir: Path, tmp_path: Path) -> None:
    with tidying(data_dir, Hands()) as (braid, background):
        path = keep(braid, background, "a.md", tmp_path)
        waiting = background.spool.write(lambda file: file.write(b"x")).name
        os.utime(data_dir / "uploads" / waiting, (time.time() - OLD_S,) * 2)
        background.store.add(1, [NewJob("upload", "b.md", 1, {"file": waiting})])
    ledger = (data_dir / "ledger.db").read_bytes()
    with tidying(data_dir, Hands()) as (braid, background):
        braid.ledger.remove_document(1, "a.md")
        with braid.ledger.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM jobs")
        background.tidying.tidy(everything=True)
        assert not path.exists()
        assert not (data_dir / "uploads" / waiting).exists()
    (data_dir / "ledger.db").write_bytes(ledger)
    with tidying(data_dir, Hands()) as (braid, background):
        background.tidying.tidy(everything=True)
        assert path.read_bytes() == b"a.md"
        assert background.spool.path(waiting).read_bytes() == b"x"
        assert list(background.originals.damaged()) == []


def test_most_of_what_is_there_is_never_taken(data_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tidying(data_dir, Hands()) as (braid, background):
        paths = [keep(braid, background, f"{number}.md", tmp_path) for number in range(FEW + 1)]
        for number in range(FEW + 1):
            braid.ledger.remove_document(1, f"{number}.md")
        background.tidying.tidy(everything=True)
        assert all(path.exists() for path in paths)
        assert f"event=sweep_held what=originals files={FEW + 1} of={FEW + 1}" in caplog.text
        [found] = [each for each in examine(braid) if each.problem == "unclaimed"]
        assert found.detail.startswith(f"no document has {FEW + 1} of {FEW + 1} original files")
        assert repair(braid, [found])
        assert not any(path.exists() for path in paths)
        assert len(list((data_dir / "lost").glob("*/originals/*"))) == FEW + 1


def test_files_that_are_newer_than_an_older_ledger_stay(
    data_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with tidying(data_dir, Hands()) as (braid, background):
        keep(braid, background, "before.md", tmp_path)
    shutil.copy(data_dir / "ledger.db", tmp_path / "older.db")
    with tidying(data_dir, Hands()) as (braid, background):
        newer = keep(braid, background, "newer.md", tmp_path)
        waiting = data_dir / "uploads" / background.spool.write(lambda file: file.write(b"x")).name
    shutil.copy(tmp_path / "older.db", data_dir / "ledger.db")
    # Both are as old as files that are swept, and newer than all that the ledger has.
    with tidying(data_dir, Hands()) as (braid, background), braid.ledger.database.write() as connection:
        connection.exec_driver_sql("UPDATE documents SET updated_at = updated_at - 30000")
    for path in (newer, waiting):
        os.utime(path, (time.time() - OLD_S,) * 2)
    for _ in range(2):  # also after the ledger has gone on
        with tidying(data_dir, Hands()) as (braid, background):
            background.tidying.tidy(everything=True)
            braid.ledger.put_document(1, document("later.md", "text"))
            background.tidying.tidy(everything=True)
    assert newer.exists()
    assert waiting.exists()
    assert caplog.text.count("event=older_ledger") == 1
