"""What came of it, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from tests.chaos.fleet.caller import FleetFigures
from tests.chaos.fleet.leases import NOTICED_S, TAKEN_S, Leases
from tests.chaos.fleet.load import Killer
from tests.chaos.fleet.machines import Fleet
from tests.chaos.fleet.outages import LONGEST_S, Outages
from tests.chaos.fleet.warden import Warden

ENDS_S = 15.0
"""Time that a process which finds no database when it starts takes to end."""
WRITES = ("put", "upload", "delete", "reembed", "conversation", "begin once", "message", "ask", "stop")


@dataclass
class FleetReport:
    """Filled while processes are killed. A promise that was broken is in `broken`."""

    fleet: Fleet
    figures: FleetFigures
    outages: Outages
    leases: Leases
    killer: Killer
    warden: Warden
    left: list[str] = field(default_factory=list)
    """What was not as it should be at the end, when all was quiet."""
    stopped: Mapping[str, int] = field(default_factory=dict)
    """Exit statuses."""

    @property
    def broken(self) -> dict[str, list[str]]:
        """Promises, and where they were broken."""
        figures = self.figures
        return {
            "acknowledged and lost": figures.lost,
            "back again, or another text": figures.ghosts,
            "there twice": figures.doubled,
            "shown to another user": figures.leaked,
            "missing and not said": figures.silent,
            "not 503 without PostgreSQL": figures.unrefused,
            "answers that do not end": figures.hanging,
            "errors without a reason": [f"{times} × {what}" for what, times in figures.errors.most_common()],
            "taken over late": self.leases.late(),
            "not whole after an outage": [
                f"{each.kind}, after {LONGEST_S:g} s" for each in self.outages.all if each.whole_s > LONGEST_S
            ],
            "ended by themselves": self.ended(),
            "processes left behind": self.fleet.orphans,
            "not stopped in order": [f"{name}: {status}" for name, status in self.stopped.items() if status],
            "at the end": self.left,
        }

    def ended(self) -> list[str]:
        """Processes that ended by themselves, though the database was there."""
        return [what for what, at in self.fleet.ended if not self.outages.touched("postgres", at - ENDS_S, at)]

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept."""
        return not any(self.broken.values())

    def text(self) -> str:
        """The table."""
        done, deaths = self.figures.acknowledged, self.leases.deaths
        taken = {
            kind: [seconds for death in deaths for (of, _), seconds in death.taken.items() if of == kind]
            for kind in ("claim", "job", "answer")
        }
        kills = ", ".join(f"{name} {times}" for name, times in sorted(self.killer.kills.items()))
        writes = ", ".join(f"{kind} {done[kind]}" for kind in WRITES)
        lines = [
            "",
            f"kills                     {sum(self.killer.kills.values())} ({kills})",
            f"s to ready again          {_spread(self.fleet.starts)}",
            f"s until noticed           {_spread([each.noticed for each in deaths if each.noticed >= 0])}"
            f"   limit {NOTICED_S:g}",
            *(
                f"s until {_WHAT[kind]:18}{_spread(seconds)}   limit {TAKEN_S:g}, times {len(seconds)}"
                for kind, seconds in taken.items()
            ),
            f"s until a client found all {_spread(self.figures.checked_s)}, times {len(self.figures.checked_s)}",
            f"claims that nobody needed {sum(each.idle for each in deaths)}",
            *(
                f"{each.kind + ' out':26}{each.up - each.down:6.1f} s, whole {each.whole_s:.1f} s after its return"
                for each in self.outages.all
            ),
            f"503 without PostgreSQL    {self.figures.refused}",
            f"degraded without Milvus   {self.figures.named}",
            f"broken off by kills       {self.figures.broken_off}",
            f"requests answered         {sum(done.values())}",
            f"acknowledged writes       {sum(done[kind] for kind in WRITES)} ({writes})",
            f"searches                  {sum(done[kind] for kind in ('search', 'search all', 'pry'))},"
            f" and {self.figures.checks} of checks",
            f"revoked, each web asked   {self.warden.revoked}",
        ]
        for name, what in self.broken.items():
            lines += [f"{name + ':':26}{len(what)}", *(f"    {each}" for each in what[:10])]
        return "\n".join(lines)


_WHAT = {"claim": "indexing taken", "job": "a job is queued", "answer": "an answer is over"}


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):6.1f} median, {max(seconds):.1f} worst" if seconds else "     –"
