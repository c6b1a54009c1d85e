"""The age of the oldest change that an index lacks, whichever databases and collections there are."""

from __future__ import annotations

from braid.core.ledger.change_log import LOCAL, ChangeLog, IndexState, State
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.waiting_changes import WaitingChanges
from braid.core.types import Leg
from tests.databases import on_both_databases
from tests.worlds import document

LEGS: tuple[Leg, ...] = ("bm25", "dense")


class Waiting:
    """Changes of two collections, seen by a clock that is set by hand."""

    def __init__(self, ledger: Ledger, **options: int) -> None:
        self.ledger = ledger
        self.log = ChangeLog(ledger.database)
        self.datasets = [ledger.add_dataset(ledger.add_user(name).id, "notes").id for name in ("ann", "bob")]
        self._changes = WaitingChanges(ledger.database, LOCAL, clock=lambda: self.now, **options)
        self.now = 0.0

    def at(self, now: float) -> list[float]:
        self.now = now
        ages = self._changes.ages()
        return [ages[leg] for leg in LEGS]

    def put(self, user: int, source: str) -> None:
        self.ledger.put_document(self.datasets[user - 1], document(source, f"passage of {source}"))

    def applied(self, leg: Leg, user: int, state: State = "ready") -> None:
        collection = f"user_{user}"
        self.log.set_state(leg, collection, IndexState("v", self.log.heads()[collection], state))


@on_both_databases
def test_the_oldest_change_that_a_leg_lacks_has_an_age(ledger: Ledger) -> None:
    waiting = Waiting(ledger)
    assert waiting.at(10) == [0, 0]
    waiting.put(1, "a")
    assert waiting.at(100) == [0, 0], "seen just now"
    assert waiting.at(160) == [60, 60]
    waiting.applied("bm25", 1)
    assert waiting.at(160) == [0, 60]
    waiting.put(2, "b")
    assert waiting.at(170) == [0, 70]
    assert waiting.at(200) == [30, 100]
    waiting.applied("dense", 1, "rebuilding")
    assert waiting.at(200) == [30, 30], "what is built again is not waiting"
    waiting.applied("dense", 1)
    waiting.applied("bm25", 2)
    waiting.applied("dense", 2)
    assert waiting.at(210) == [0, 0]
    ledger.remove_document(waiting.datasets[0], "a")
    waiting.at(220)
    assert waiting.at(250) == [30, 30], "a deletion waits, too"


def test_many_looks_are_thinned_and_the_oldest_stays(ledger: Ledger) -> None:
    waiting = Waiting(ledger, most_looks=4)
    for number in range(12):
        waiting.put(1, f"{number}")
        assert waiting.at(100 + number) == [number, number]
        assert len(waiting._changes._looks) <= 4
