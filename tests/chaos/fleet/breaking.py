"""Whether the oracle can fail: each promise is broken behind the fleet's back, and must be found to be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from tests.chaos.fleet.clients import FleetClient
from tests.chaos.fleet.leases import NOTICED_S, Leases
from tests.chaos.fleet.load import writing
from tests.chaos.fleet.machines import Fleet
from tests.chaos.fleet.outages import Outages
from tests.chaos.fleet.report import FleetReport
from tests.worlds import eventually

SOON_S = 4.0
OUTAGE_S = 4.0


@dataclass
class Breaking:
    """Breaks one promise after the other. Each method returns what was noted of it."""

    fleet: Fleet
    outages: Outages
    leases: Leases
    clients: list[FleetClient]
    report: FleetReport

    def run(self) -> None:
        """Break all of them; print what was found, and raise AssertionError where nothing was."""
        for client in self.clients:
            client.catch_up_s = client.ended_s = SOON_S
        acts: tuple[Callable[[], list[str]], ...] = (
            *(self.lost, self.ghosts, self.doubled, self.leaked, self.hanging),
            *(self.errors, self.leases_kept, self.silent, self.unrefused),
        )
        missed = []
        for act in acts:
            found = act()
            print(f"    {act.__name__:12} {'found: ' + found[0][:110] if found else 'NOT FOUND'}", flush=True)
            missed += [] if found else [act.__name__]
        assert not missed, f"the oracle does not notice {missed}"

    def lost(self) -> list[str]:
        """A document that was acknowledged is deleted from the ledger."""
        client = self.clients[0]
        self._run("DELETE FROM documents WHERE dataset_id = %s AND source = %s", client.dataset, client.certain()[0])
        client.check()
        return self.report.figures.lost

    def ghosts(self) -> list[str]:
        """A document has another text than it was given."""
        client = self.clients[1]
        of_first = "SELECT id FROM documents WHERE dataset_id = %s AND source = %s"
        statement = f"UPDATE chunks SET text = 'user2wfalse the printer needs paper' WHERE document_id = ({of_first})"
        self._run(statement, client.dataset, client.certain()[0])
        client.check()
        return self.report.figures.ghosts

    def doubled(self) -> list[str]:
        """A conversation is there twice."""
        client = self.clients[2]
        columns = "user_id, title, created_at, updated_at, pinned"
        self._run(f"INSERT INTO conversations ({columns}) SELECT {columns} FROM conversations WHERE user_id = %s"
                  " LIMIT 1", client.person.id)  # fmt: skip
        client.check()
        return self.report.figures.doubled

    def leaked(self) -> list[str]:
        """A dataset is given to another user."""
        one, other = self.clients[0], self.clients[2]
        self._run("UPDATE datasets SET user_id = %s WHERE id = %s", other.person.id, one.dataset)
        other.others = [one]
        other.pry()
        self._run("UPDATE datasets SET user_id = %s WHERE id = %s", one.person.id, one.dataset)
        return self.report.figures.leaked

    def hanging(self) -> list[str]:
        """An answer is said to be written by a process that lives, and is not."""
        client = self.clients[0]
        number = next(number for number, (least, _) in client.conversations.items() if least)
        settings = "jsonb_set(settings::jsonb, '{writer}', to_jsonb((SELECT MAX(name) FROM processes)))::json"
        last = "SELECT MAX(id) FROM messages WHERE conversation_id = %s"
        self._run(f"UPDATE messages SET state = 'running', settings = {settings} WHERE id = ({last})", number)
        client.wait_until_ended(number)
        self._run("UPDATE messages SET state = 'complete' WHERE state = 'running'")
        return self.report.figures.hanging

    def silent(self) -> list[str]:
        """Answers are whole, though Milvus is said not to be there."""
        with self._pretended(), writing(self.clients):
            self.outages.have("milvus", OUTAGE_S)
        return [what for what in self.report.figures.silent if "while Milvus is not there" in what]

    def unrefused(self) -> list[str]:
        """Requests are answered, though PostgreSQL is said not to be there."""
        with self._pretended(), writing(self.clients):
            self.outages.have("postgres", OUTAGE_S)
        return self.report.figures.unrefused

    def errors(self) -> list[str]:
        """A web process ends that nobody has killed."""
        with writing(self.clients):
            time.sleep(1)
            process = self.fleet.webs[0]
            process.popen.kill()
            eventually(lambda: self.report.ended(), SOON_S)
        self.fleet.wait_ready()
        return [what for what in self.report.ended() if "web" in what]

    def leases_kept(self) -> list[str]:
        """A process that was killed goes on to say that it lives."""
        worker = next(each for each in self.fleet.processes if each.works)
        self.leases.killed(worker.name, self.fleet.kill(worker))
        name, until = self.leases.deaths[-1].name, time.monotonic() + NOTICED_S + 1
        while time.monotonic() < until:
            self._run("UPDATE processes SET seen_at = EXTRACT(EPOCH FROM clock_timestamp()) WHERE name = %s", name)
            time.sleep(1)
        return self.leases.late()

    @contextmanager
    def _pretended(self) -> Iterator[None]:
        self.outages.pretended = True
        yield
        self.outages.pretended = False

    def _run(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.fleet.postgres.get_uri(), autocommit=True) as connection:
            changed = connection.execute(statement, values).rowcount  # type: ignore[call-overload]
        assert changed, f"nothing was changed by {statement}"
