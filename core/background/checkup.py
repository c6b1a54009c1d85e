"""The doctor in the background: a page asks for an examination or a repair, and later for its outcome."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy.exc import SQLAlchemyError

from braid.core.background.shared_work import SharedWork
from braid.core.braid import Braid
from braid.core.doctor import Finding, examine, repair
from braid.core.errors import BraidError
from braid.core.ledger.outages import log_failure, outage_of

Running = Literal["", "examining", "repairing"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckupState:
    """The state of the examination, with the ``findings`` of the last one that ended."""

    running: Running = ""
    findings: Sequence[Finding] = ()
    at: float | None = None
    """End of that examination, in seconds since the epoch; None before the first."""
    error: str = ""


class Checkup:
    """Runs one examination at a time, of all processes. Each of them sees its state, also after a start."""

    def __init__(self, braid: Braid) -> None:
        self._braid = braid
        self._work = SharedWork(braid.ledger, "checkup")

    @property
    def state(self) -> CheckupState:
        """The state now."""
        found, is_running = self._work.read()
        findings = tuple(Finding(**form) for form in found.get("findings", ()))
        running: Running = found.get("running", "") if is_running else ""
        return CheckupState(running, findings, found.get("at"), found.get("error", ""))

    def examine(self) -> bool:
        """Start comparing the ledger with the indexes. False when an examination or a repair is running already."""
        return self._begin("examining", lambda: examine(self._braid))

    def repair(self) -> bool:
        """Start repairing what was found, then examine again. False when either is running already."""
        findings = self.state.findings

        def repair_and_examine() -> Sequence[Finding]:
            repair(self._braid, findings)
            return examine(self._braid)

        return self._begin("repairing", repair_and_examine)

    def _begin(self, what: Literal["examining", "repairing"], work: Callable[[], Sequence[Finding]]) -> bool:
        if not self._work.begin(running=what, error=""):
            return False
        threading.Thread(target=self._run, args=(work,), name="braid-checkup", daemon=True).start()
        return True

    def _run(self, work: Callable[[], Sequence[Finding]]) -> None:
        try:
            found: dict[str, Any] = {"findings": [asdict(finding) for finding in work()], "at": time.time()}
        except BraidError as error:
            found = {"error": str(error)}
        except Exception as error:  # the edge of a thread: the page must not wait for ever
            log_failure(logger, "the examination", error)
            outage = outage_of(error)
            found = {"error": outage.text if outage else f"internal error ({type(error).__name__}); the log says more"}
        try:
            self._work.end(**found)
        except SQLAlchemyError as error:  # it counts as interrupted
            log_failure(logger, "the examination", error)
