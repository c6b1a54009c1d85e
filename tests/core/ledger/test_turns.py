"""Writers of one process take turns: none waits longer than those before it take."""

from __future__ import annotations

import threading
from pathlib import Path

from braid.core.ledger.ledger import Ledger
from tests.worlds import WAIT_S, eventually

WRITERS = 12


def test_writers_come_in_the_order_in_which_they_asked(tmp_path: Path) -> None:
    database = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}").database
    came: list[int] = []

    def write(number: int) -> None:
        with database.write():
            came.append(number)

    def waiting() -> int:
        return len(database._turns._waiting.get(None, ()))

    with database.write():
        writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for number, writer in enumerate(writers, start=1):
            writer.start()
            eventually(lambda number=number: waiting() == number)  # it asks before the next one  # type: ignore[misc]
    for writer in writers:
        writer.join(WAIT_S)
    assert came == list(range(WRITERS))
    database.close()
