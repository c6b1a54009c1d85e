"""What options take, and how tables are shown."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import click
import pytest
from rich.cells import cell_len

from braid.app.cli.options import FileTypes, Moment
from braid.app.cli.output import print_table
from braid.app.terminal import one_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", datetime(2026, 1, 31)),
        ("2026-01-31T18:30", datetime(2026, 1, 31, 18, 30)),
        ("2026-01-31 18:30:05", datetime(2026, 1, 31, 18, 30, 5)),
        ("2026-01-31T18:30+00:00", datetime.fromisoformat("2026-01-31T18:30+00:00")),
    ],
)
def test_dates(text: str, expected: datetime) -> None:
    assert Moment().convert(text, None, None) == expected.timestamp()


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90min", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("1.5d", timedelta(hours=36)),
        ("2w", timedelta(days=14)),
    ],
)
def test_durations(text: str, ago: timedelta) -> None:
    assert Moment().convert(text, None, None) == pytest.approx(time.time() - ago.total_seconds(), abs=5)


def test_a_date_may_mean_its_end() -> None:
    end = Moment(end_of_day=True)
    assert end.convert("2026-01-31", None, None) == pytest.approx(datetime(2026, 2, 1).timestamp(), abs=0.001)
    assert end.convert("2026-01-31T18:00", None, None) == datetime(2026, 1, 31, 18).timestamp()


@pytest.mark.parametrize("text", ["5m", "yesterday", "", "7 days", "-3d", "2026-13-01", "9999999d", "0001-01-01x"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(click.BadParameter, match="neither a date"):
        Moment().convert(text, None, None)


def test_file_types() -> None:
    assert FileTypes().convert("PDF, .md,,htm,markdown", None, None) == {"pdf", "md", "html"}


@pytest.mark.parametrize("text", ["pfd", "pdf,exe", "", ","])
def test_what_is_no_file_type(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is none of txt, md, html"):
        FileTypes().convert(text, None, None)


def test_tables_in_a_pipe_are_aligned_and_uncut(capsys: pytest.CaptureFixture[str]) -> None:
    long = "長い" * 200
    print_table(
        ("name", "size"), [("日本語の文書", 1), ("한국어", 10_000), (long, 5), ("[red]x[/red]", 7)], right=("size",)
    )
    lines = capsys.readouterr().out.splitlines()
    assert len({cell_len(line) for line in lines}) == 1, "right-aligned, so all lines end in one column"
    assert lines[3].startswith(long)
    assert lines[4].startswith("[red]x[/red]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\n b\tc", "a b c"), ("\x1b[31mred", "�[31mred"), ("caf\udce9", "caf?"), ("a\u202eb", "a�b")],
)
def test_what_would_steer_the_terminal_is_shown_harmless(text: str, shown: str) -> None:
    assert one_line(text) == shown
