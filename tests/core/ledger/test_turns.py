"""Writers of one process take turns: none waits longer than those before it take."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from braid.core.ledger.ledger import Ledger

WRITERS = 12
WAIT_S = 60


def test_writers_come_in_the_order_in_which_they_asked(tmp_path: Path) -> None:
    database = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}").database
    came: list[int] = []

    def write(number: int) -> None:
        with database.write():
            came.append(number)
            time.sleep(0.01)

    with database.write():
        writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
            time.sleep(0.2)  # so that it asks before the next one
    for writer in writers:
        writer.join(WAIT_S)
    assert came == list(range(WRITERS))
    database.close()
