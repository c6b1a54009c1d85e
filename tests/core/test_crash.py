"""kill -9 at random moments: nothing acknowledged is lost, doubled or brought back. More in benchmarks/crash.py."""

from __future__ import annotations

from pathlib import Path

from benchmarks.crash import run


def test_kills_lose_nothing(tmp_path: Path) -> None:
    report = run(rounds=3, seed=11, data_dir=tmp_path / "data")

    assert report.sound, report
    assert report.kills == 3
    assert report.checked > 0
