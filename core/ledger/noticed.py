"""What was noticed of a site at its start or in its tidying, for readiness, metrics and the overview to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Noticed:
    """Belongs to one open ledger; whoever notices something sets it, and takes it back when it is well again."""

    secret_key_replaced: bool = False
    """Whether the site began with another secret than it had; until the next start."""
    clock_jumped: bool = False
    """Whether the clock is not believed, so that nothing is deleted by age."""
    missing_originals: int | None = None
    """Contents that documents were read from and whose file is gone; None before the first count."""

    def ill(self) -> Iterator[str]:
        """Yield a sentence per thing that is not as it should be, without names."""
        if self.missing_originals:
            yield f"the original files of {self.missing_originals:,} documents are missing"
        if self.secret_key_replaced:
            yield "the secret of the site was replaced"
        if self.clock_jumped:
            yield "the clock has jumped"
