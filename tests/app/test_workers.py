"""Several worker processes serve one data directory: `python -m tests.chaos.workers` in short."""

from __future__ import annotations

from pathlib import Path

from tests.chaos import workers


def test_two_workers_and_an_owner_that_is_killed(tmp_path: Path) -> None:
    seen = workers.run(tmp_path / "data", workers=2, clients=4, kills=1, requests=10)
    assert seen.requests >= 20
