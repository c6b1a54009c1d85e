"""One data directory alone follows a ledger in PostgreSQL whose indexes are in the directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from braid.core.braid import Braid
from braid.core.errors import NotOwnerError
from braid.core.ledger.database import Database
from braid.core.ledger.member import Member
from braid.core.ledger.owners.ownership import LedgerOwnership
from braid.core.ledger.owners.site import write_note
from tests.fakes import HashEmbeddings
from tests.worlds import eventually

BEAT_S = 0.05


@pytest.fixture
def database(new_postgres_url: Callable[[], str]) -> Iterator[Database]:
    opened = Database(new_postgres_url())
    yield opened
    opened.close()


def directory(path: Path) -> Path:
    path.mkdir()
    write_note(path, "a site")
    return path


def test_a_second_directory_is_refused_and_the_same_one_goes_on(
    tmp_path: Path, new_postgres_url: Callable[[], str]
) -> None:
    url = new_postgres_url()
    with Braid(tmp_path / "one", database_url=url, embedding_model=HashEmbeddings()) as one:
        with pytest.raises(NotOwnerError, match=rf"{tmp_path}/one on .* docs/scale\.md"):
            Braid(tmp_path / "other", database_url=url, embedding_model=HashEmbeddings())
        with Braid(tmp_path / "one", database_url=url, embedding_model=HashEmbeddings()) as guest:
            assert (one.is_owner, guest.is_owner) == (True, False)
    with Braid(tmp_path / "other", database_url=url, embedding_model=HashEmbeddings()) as other:
        assert other.is_owner, "the first has ended"


def test_a_killed_owner_is_followed_at_once_in_its_directory_and_soon_in_another(
    database: Database, tmp_path: Path
) -> None:
    one, other = directory(tmp_path / "one"), directory(tmp_path / "other")
    killed = LedgerOwnership(database, one, beat_s=3600)
    killed.acquire()  # its heart never beats
    same = LedgerOwnership(database, one, beat_s=3600)
    same.acquire()  # a wait would take hours
    following = LedgerOwnership(database, other, beat_s=BEAT_S)
    following.acquire()
    following.release()
    LedgerOwnership(database, one, beat_s=3600).acquire()


def test_who_has_lost_the_ledger_notices_it(database: Database, tmp_path: Path) -> None:
    one = LedgerOwnership(database, directory(tmp_path / "one"), beat_s=BEAT_S)
    one.acquire()
    other = LedgerOwnership(database, directory(tmp_path / "other"), beat_s=3600)
    other._take(_row_of(database))
    eventually(lambda: str(tmp_path / "other") in one.lost_to or other._take(_row_of(database)))
    eventually(lambda: one.lost_to)
    one.release()
    assert str(tmp_path / "other") in _row_of(database), "it takes nothing of the other's away"


def test_a_fleet_and_a_directory_do_not_share_a_ledger(database: Database, tmp_path: Path) -> None:
    member = Member(database)
    assert member.name
    with pytest.raises(NotOwnerError, match="of a fleet"):
        LedgerOwnership(database, directory(tmp_path / "one")).acquire()
    member.leave()
    owner = LedgerOwnership(database, tmp_path / "one", beat_s=BEAT_S)
    owner.acquire()
    with pytest.raises(NotOwnerError, match="alone may index it"):
        LedgerOwnership(database, directory(tmp_path / "member"), beat_s=4 * BEAT_S).require_none()
    owner.release()
    LedgerOwnership(database, tmp_path / "member", beat_s=3600).require_none()


def _row_of(database: Database) -> str:
    return str(database.rows("SELECT value FROM app_settings WHERE name = 'owner'")[0][0])
