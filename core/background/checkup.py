"""The doctor in the background: a page asks for an examination or a repair, and later for its outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from braid.core.background.shared_work import SharedWork
from braid.core.braid import Braid
from braid.core.doctor import Finding, examine, repair

Running = Literal["", "examining", "repairing"]


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
        return self._work.start(self._examine, running="examining")

    def repair(self) -> bool:
        """Start repairing what was found, then examine again. False when either is running already."""
        findings = self.state.findings

        def repair_and_examine() -> Mapping[str, Any]:
            repair(self._braid, findings)
            return self._examine()

        return self._work.start(repair_and_examine, running="repairing")

    def _examine(self) -> Mapping[str, Any]:
        return {"findings": [asdict(finding) for finding in examine(self._braid)], "at": time.time()}
