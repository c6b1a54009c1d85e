"""Backups that a page asks for: which earlier ones they take the place of."""

from __future__ import annotations

from braid.core.background.backups import Backups
from braid.core.backup.make import Sources
from braid.core.braid import Braid
from tests.worlds import add_notes, document, eventually, write_backup

GOOD = [f"page-2026010{day}-000000.zip" for day in range(1, 4)]
EMPTY = [f"page-2026020{day}-000000.zip" for day in range(1, 6)]
NEW = "the new one"


def _left(braid: Braid, *, empty: int, damaged: str = "") -> list[str]:
    """Make a backup beside `GOOD` and the first ``empty`` of `EMPTY`; return what is there then."""
    backups = Backups(braid, lambda: Sources(braid.data_dir, braid.data_dir / "shared_dbs.json"))
    backups.folder.mkdir()
    there = [*GOOD, *EMPTY[:empty]]
    for name in there:
        write_backup(backups.folder / name, documents=7 if name in GOOD else 0)
    if damaged:
        (backups.folder / damaged).write_bytes((backups.folder / GOOD[0]).read_bytes()[:-40])
    assert backups.start()
    eventually(lambda: not backups.state.running)
    assert backups.state.error == ""
    left = sorted(path.name for path in backups.folder.iterdir())
    assert left[-1] not in there
    return [*left[:-1], NEW]


def test_those_without_documents_take_the_places_of_good_ones_at_no_time(braid: Braid) -> None:
    braid.ledger.put_document(add_notes(braid.ledger, "zoe"), document("a.md", "the tray"))
    assert _left(braid, empty=2) == [*GOOD[1:], *EMPTY[:2], NEW]


def test_of_those_without_documents_the_newest_are_kept(braid: Braid) -> None:
    assert _left(braid, empty=5) == [*GOOD, *EMPTY[3:], NEW]


def test_what_cannot_be_opened_stays_and_is_no_error(braid: Braid) -> None:
    braid.ledger.put_document(add_notes(braid.ledger, "zoe"), document("a.md", "the tray"))
    damaged = "page-20251231-000000.zip"
    assert _left(braid, empty=0, damaged=damaged) == [damaged, *GOOD[1:], NEW]
