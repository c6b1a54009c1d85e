"""Writers of one process take turns: none waits longer than those before it take."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.turns import Turns
from tests.worlds import WAIT_S

WRITERS = 12


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


def test_one_that_has_waited_too_long_goes_on_and_takes_nobody_elses_turn() -> None:
    turns, order = Turns(), list[str]()

    def wait(name: str, timeout_s: float) -> None:
        with turns.turn(timeout_s):
            order.append(name)

    with turns.turn(WAIT_S):
        impatient = threading.Thread(target=wait, args=("impatient", 0.1))
        patient = threading.Thread(target=wait, args=("patient", WAIT_S))
        impatient.start()
        impatient.join(WAIT_S)
        patient.start()
        time.sleep(0.2)
        order.append("first")
    patient.join(WAIT_S)
    assert order == ["impatient", "first", "patient"]
    with turns.turn(0):
        order.append("free")
    assert order[-1] == "free"


def test_an_error_gives_the_turn_back() -> None:
    turns = Turns()
    for _ in range(2):
        try:
            with turns.turn(0):
                raise ValueError
        except ValueError:
            assert not turns._is_taken
