"""Shows progress on stderr: bars on a terminal, plain lines otherwise."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from braid.app.cli.output import complain, make_console
from braid.app.terminal import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from braid.core.indexes.indexer import Indexer
    from braid.core.indexes.leg_progress import LegProgress
    from braid.core.ingest.ingest import IngestProgress
    from braid.core.types import Leg

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_LOOKS = 0.25
PATIENCE_S = 5.0  # the indexer tries again by itself, so an error may pass
NAMES: dict[Leg, str] = {"bm25": "Keyword index", "dense": "Embedding"}


class Count(NamedTuple):
    """Progress: steps done and in total, and the seconds left if they can be estimated."""

    done: int
    total: int
    seconds_left: float | None = None

    def __str__(self) -> str:
        left = "" if not self.seconds_left else f", about {self.seconds_left:.0f} s left"
        return f"{self.done:,} of {self.total:,}{left}"


class Bars:
    """Named counters that go up to a total. Without a terminal, prints a line every 5 seconds; not if ``quiet``."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bars: Progress | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        console = make_console(stderr=True)
        if console.is_terminal and not self._quiet:
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
            self._bars = Progress(*columns, console=console, transient=True)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, counts: Mapping[str, Count]) -> None:
        """Update the named counters."""
        if self._quiet:
            return
        if self._bars is None:
            if time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
                self._last_line = time.monotonic()
                complain(", ".join(f"{name}: {count}" for name, count in counts.items()))
            return
        tasks = {task.description: task.id for task in self._bars.tasks}
        for name, count in counts.items():
            task = tasks[name] if name in tasks else self._bars.add_task(name, count="")
            self._bars.update(task, completed=count.done, total=count.total, count=str(count))

    def line(self, text: str) -> None:
        """Print a line that stays, above the bars."""
        if self._bars is None:
            complain(text)
        else:
            self._bars.console.print(one_line(text), soft_wrap=True)


class FileProgress(Bars):
    """Shows the progress of `braid.core.ingest.ingest.ingest_paths`: a bar of files, and a line per failed file."""

    done = total = 0

    def show_file(self, progress: IngestProgress) -> None:
        """Count one more file as done."""
        self.done, self.total = progress.done, progress.total
        if progress.document.state == "failed":
            self.line(f"failed: {progress.document.source}: {progress.document.reason}")
        self.show({"Files": Count(self.done, self.total)})


def follow_indexing(indexer: Indexer) -> bool:
    """Wait until both legs have indexed what is stored.

    Returns False, and prints the reason, if a leg fails for longer than `PATIENCE_S` seconds.
    """
    highest: Counter[Leg] = Counter()
    moved = time.monotonic()
    with Bars() as bars:
        while not indexer.wait(SECONDS_BETWEEN_LOOKS):
            progress = indexer.progress()
            pending = _pending(progress)
            highest |= pending
            left = {leg: max((p.seconds_left or 0.0 for p in progress if p.leg == leg), default=0.0) for leg in NAMES}
            bars.show({NAMES[leg]: Count(most - pending[leg], most, left[leg]) for leg, most in highest.items()})
            if not _is_stuck(progress):
                moved = time.monotonic()
            elif time.monotonic() - moved > PATIENCE_S:
                errors = "; ".join(sorted({f"{NAMES[leg.leg]}: {leg.error}" for leg in progress if leg.error}))
                bars.line(f"stored, but not completely indexed ({errors}); the next start tries again")
                return False
    return True


def _pending(progress: Sequence[LegProgress]) -> Counter[Leg]:
    """Return leg → passages still to be indexed, in all collections."""
    pending: Counter[Leg] = Counter()
    for leg in progress:
        pending[leg.leg] += leg.pending
    return pending


def _is_stuck(progress: Sequence[LegProgress]) -> bool:
    """Return whether an error blocks every collection that still has work."""
    left = [leg for leg in progress if leg.pending or leg.error]
    return bool(left) and all(leg.error for leg in left)
