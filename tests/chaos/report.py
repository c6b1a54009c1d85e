"""What came of it, as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.chaos.oracle import Figures

WRITES = ("dataset", "put", "upload", "delete", "conversation", "message", "reembed")
NOT_DAMAGED = (
    "ledger.db and uploads/ are the truth until a document is read, secret_key and shared_dbs.json have no other copy"
)


@dataclass
class Report:
    """Filled while things are broken."""

    figures: Figures
    skipped: dict[str, str] = field(default_factory=dict)
    """Kind of fault → why it cannot be made here."""
    whole_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Kind of fault → seconds from its end until everything was listed, found and sound, for each."""
    ready_s: list[float] = field(default_factory=list)
    """From each start of the process until it is ready."""
    leaks: list[str] = field(default_factory=list)
    growth: tuple[int, int] = (0, 0)
    """Most threads and files that a process had more than after its first fault."""
    unsound: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    """Faults after which the server does not answer again by itself."""

    @property
    def broken(self) -> dict[str, list[str]]:
        """Promises and where they were broken."""
        return {
            "lost": self.figures.lost,
            "ghosts": self.figures.ghosts,
            "doubled": self.figures.doubled,
            "leaks": self.leaks,
            "does not answer": self.frozen,
            "the doctor found": self.unsound,
            "errors without a fault": _counted(self.figures.errors),
        }

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept."""
        return not any(self.broken.values())

    def text(self) -> str:
        """The table."""
        done = self.figures.acknowledged
        lines = ["", f"{'fault':24}{'times':>6}   s until all is found, and the doctor content (median, worst)"]
        for name, seconds in self.whole_s.items():
            lines.append(f"{name:24}{len(seconds):6}   {_spread(seconds)}")
        lines += [f"{name:24}     –   {why}" for name, why in self.skipped.items()]
        lines += [
            f"not damaged: {NOT_DAMAGED}",
            f"acknowledged writes: {sum(done[kind] for kind in WRITES)}"
            f" ({', '.join(f'{kind} {done[kind]}' for kind in WRITES)})",
            f"searches of checks: {self.figures.checks}",
            f"s to ready, {len(self.ready_s)} starts (median, worst): {_spread(self.ready_s)}",
            f"most growth of a process: {self.growth[0]} threads, {self.growth[1]} files",
        ]
        for name, what in self.broken.items():
            lines += [f"{name}: {len(what)}", *(f"    {each}" for each in what[:10])]
        return "\n".join(
            [*lines, "answers under faults:", *(f"    {each}" for each in _counted(self.figures.under_fault))]
        )


def _spread(seconds: Sequence[float]) -> str:
    return f"{median(seconds):6.1f} {max(seconds):6.1f}" if seconds else ""


def _counted(counter: dict[str, int]) -> list[str]:
    return [f"{times} × {what}" for what, times in sorted(counter.items(), key=lambda item: -item[1])]
