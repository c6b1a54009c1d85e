"""A server that may be killed at any moment, and the HTTP API as its clients see it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.chaos.child import HANG

ROOT = Path(__file__).resolve().parents[2]
READY_S = 120.0
ADMIN, PASSWORD = "admin", "correct horse"


class Server:
    """``settings`` are environment variables without their prefix. Users are made before the first start."""

    def __init__(self, folder: Path, users: int, **settings: object) -> None:
        self.data_dir = folder / "data"
        self.hang_file = folder / "hang"
        self.log = folder / "server.log"
        self._settings = settings
        with DataDirectory(self.data_dir, database_url=str(settings.get("DATABASE_URL", ""))) as directory:
            accounts = Accounts(directory.ledger)
            made = [accounts.create_first(ADMIN, PASSWORD)]
            made += [accounts.add(f"user{number}") for number in range(1, users)]
            self.keys = [
                ApiTokens(directory.ledger).add(each.id, "chaos", ["read", "write"], days=1)[1] for each in made
            ]
        self.url = ""

    def start(self) -> None:
        """Start the process, without waiting for it."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{port}"
        self.process = self._run("serve", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, PORT=port)
        threading.Thread(target=self._keep_log, args=(self.process,), daemon=True).start()

    def _keep_log(self, process: subprocess.Popen[str]) -> None:
        """Write the log here, where no file is limited."""
        assert process.stderr is not None
        with self.log.open("a") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()

    def wait_ready(self, most_s: float = READY_S) -> float:
        """Seconds until searches are answered. Raises RuntimeError when they are not."""
        started = time.monotonic()
        while time.monotonic() < started + most_s:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}; see {self.log}")
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return time.monotonic() - started
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise RuntimeError(f"the server is not ready after {most_s:g} s; see {self.log}")

    def dump_stacks(self) -> None:
        """Have what each thread does written to the log."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1)

    def kill(self) -> None:
        """kill -9, of the process and of those that it started; nothing where they have ended."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it as a service manager does."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def doctor(self) -> str:
        """What the doctor says of the stopped server's data; "" when ledger and indexes agree."""
        done = self._run("doctor", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = done.communicate(timeout=READY_S)
        return "" if done.returncode == 0 else str(said)

    def limit_files(self, most: int | None) -> None:
        """Let no file grow beyond so many bytes, as on a full disk; None for as large as it likes."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if most is None else most, hard))

    def _pids(self) -> list[int]:
        """The process and those that it started."""
        found = []
        for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
            with suppress(ProcessLookupError):
                if os.getpgid(pid) == self.process.pid:
                    found.append(pid)
        return found

    def held(self) -> tuple[int, int]:
        """(threads, open files)"""
        folder = Path(f"/proc/{self.process.pid}")
        return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))

    def _run(self, command: str, **options: Any) -> subprocess.Popen[str]:
        given = {
            "SHARED_DBS": self.data_dir / "shared_dbs.json",
            "DATA_DIR": self.data_dir,
            "API_RATE_LIMIT": "100000/second",
            "MIN_FREE_DISK_MB": 0,
            **self._settings,
            **{name: options.pop(name) for name in ("PORT",) if name in options},
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        environment |= {f"BRAID_{name}": str(value) for name, value in given.items()} | {HANG: str(self.hang_file)}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.child", command],
            cwd=ROOT,
            env=environment,
            text=True,
            start_new_session=True,
            **options,
        )
