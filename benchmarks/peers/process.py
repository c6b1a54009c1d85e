"""A peer in a process of its own, with the libraries of Braid's environment or of the peers'."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT

PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
TITLES = {
    "braid": "Braid",
    "lancedb": "LanceDB",
    "raw": "tantivy + Chroma",
    "txtai": "txtai",
    "llamaindex": "LlamaIndex",
    "haystack": "Haystack",
    "langchain_kept": "LangChain",
    "langchain_rebuilt": "LangChain, BM25 per query",
}
"""Names for readers, by module of ``benchmarks.peers.engines``."""


class PeerProcess:
    """Sends orders to a `benchmarks.peers.worker`. Between orders the process is stopped, so that it costs nothing."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        python = Path(sys.executable) if name == "braid" else PEERS_PYTHON
        self.missing = "" if python.exists() else f"there is no {python.relative_to(ROOT)}; run make bench-peers"
        self.dead = ""
        self.second: PeerProcess | None = None
        """Another process that searches what this one has built."""
        self._log = log
        if self.missing:
            return
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "HAYSTACK_TELEMETRY_ENABLED": "False"}
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.peers.worker", name],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("a"),
        )

    def order(self, do: str, timeout_s: float, **arguments: Any) -> dict[str, Any]:
        """The answer; ``failed`` says why there is none, ``over_s`` that it took longer than ``timeout_s``."""
        if self.dead:
            return {"failed": self.dead}
        started = time.perf_counter()
        self._process.send_signal(signal.SIGCONT)
        try:
            return self._exchange({"do": do, **arguments}, timeout_s)
        except (BrokenPipeError, EOFError):
            self.dead = f"the process ended with {self._process.wait()}"
        except TimeoutError:
            self.dead = f"over {time.perf_counter() - started:.0f} s"
            self._process.kill()
            return {"failed": self.dead, "over_s": timeout_s}
        finally:
            if not self.dead:
                self._process.send_signal(signal.SIGSTOP)
        return {"failed": self.dead}

    def _exchange(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        return json.loads(line)

    def attach(self, timeout_s: float, *, workload: str, folder: str) -> bool:
        """Start a second process over the same files; return whether the library can be searched so."""
        second = PeerProcess(self.name, self._log)
        second.order("hello", timeout_s)
        if "failed" in second.order("attach", timeout_s, workload=workload, folder=folder):
            second.close()
            return False
        self.second = second
        return True

    def close(self) -> None:
        """Close the library, then end the process; the second one first."""
        if self.second is not None:
            self.second.close()
        if self.missing:
            return
        self.order("close", 30.0)
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
