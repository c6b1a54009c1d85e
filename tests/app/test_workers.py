"""Several processes with one data directory: `python -m tests.chaos.workers` and `tests.chaos.readers` in short."""

from __future__ import annotations

from pathlib import Path

from tests.chaos import readers, workers


def test_two_workers_and_an_owner_that_is_killed(tmp_path: Path) -> None:
    seen = workers.run(tmp_path / "data", workers=2, clients=4, kills=1, requests=10)
    assert seen.requests >= 20


def test_readers_go_on_while_who_indexes_is_killed(tmp_path: Path, is_long: bool) -> None:
    kills = 5 if is_long else 1
    seen = readers.run(tmp_path / "data", readers=2, kills=kills)
    assert len(seen.said) == 3 + kills, "each process has searched"
    assert len(seen.stored) >= readers.WRITES * (kills + 1)
