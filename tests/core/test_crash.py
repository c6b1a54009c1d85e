"""kill -9 at random moments: nothing acknowledged is lost, doubled or brought back. More in benchmarks/crash.py."""

from __future__ import annotations

from pathlib import Path

from benchmarks.crash import run


def test_kills_lose_nothing(tmp_path: Path, is_long: bool) -> None:
    rounds = 5 if is_long else 1
    report = run(rounds=rounds, seed=11, data_dir=tmp_path / "data")

    assert report.sound, report
    assert report.kills == rounds
    assert report.checked > 0
