"""The doctor in the background: a page asks for an examination or a repair, and later for its outcome."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from braid.core.braid import Braid
from braid.core.doctor import Finding, examine, repair
from braid.core.errors import BraidError
from braid.core.ledger.outages import log_failure, outage_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckupState:
    """The state of the examination, with the ``findings`` of the last one that ended."""

    running: Literal["", "examining", "repairing"] = ""
    findings: Sequence[Finding] = ()
    at: float | None = None
    """End of that examination, in seconds since the epoch; None before the first."""
    error: str = ""


class Checkup:
    """Runs one examination at a time. Its state is lost when the process ends; nothing depends on it."""

    def __init__(self, braid: Braid) -> None:
        self._braid = braid
        self._lock = threading.Lock()
        self._state = CheckupState()

    @property
    def state(self) -> CheckupState:
        """The state now."""
        with self._lock:
            return self._state

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
        with self._lock:
            if self._state.running:
                return False
            self._state = replace(self._state, running=what, error="")
        threading.Thread(target=self._run, args=(work,), name="braid-checkup", daemon=True).start()
        return True

    def _run(self, work: Callable[[], Sequence[Finding]]) -> None:
        try:
            state = CheckupState(findings=work(), at=time.time())
        except BraidError as error:
            state = replace(self.state, running="", error=str(error))
        except Exception as error:  # the edge of a thread: the page must not wait for ever
            log_failure(logger, "the examination", error)
            outage = outage_of(error)
            said = outage.text if outage else f"internal error ({type(error).__name__}); the log says more"
            state = replace(self.state, running="", error=said)
        with self._lock:
            self._state = state
