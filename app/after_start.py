"""What the server does once it answers, in a thread, so that it answers sooner: store the sample, load."""

from __future__ import annotations

import gc
import importlib
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

from braid.app import first_start
from braid.core.braid import Braid
from braid.core.ledger.outages import log_failure

logger = logging.getLogger(__name__)

MODULES = ("langgraph.graph", "braid.app.mcp.server", "braid.core.langchain")
"""What chat, MCP and retrievers load. The embedding model is loaded by the indexer, provider packages with
the first model that is asked. A request that needs a module while it is loaded waits for it."""
Step = Callable[[], object]


class AfterStart:
    """Does the steps, `steps_of` the data directory unless others are given, one after the other, each at most once.
    `close` waits for the running one.
    """

    def __init__(self, braid: Braid, steps: Sequence[Step] | None = None) -> None:
        self._steps = steps_of(braid) if steps is None else steps
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="braid-after-start", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Leave out the steps that have not begun. To be called before Braid is closed."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        for step in self._steps:
            if self._closing.is_set():
                return
            try:
                step()
            except ModuleNotFoundError as error:
                logger.info("event=not_installed module=%s", error.name)
            except Exception as error:  # the edge of a thread: without one step the server still answers
                log_failure(logger, "a step after the start", error)


def steps_of(braid: Braid) -> Sequence[Step]:
    """Return the steps for a data directory, in their order: the store of files, the sample, then what takes long."""
    return (
        *([braid.bucket.load] if braid.bucket is not None else []),
        partial(first_start.load_sample, braid),
        *(partial(importlib.import_module, name) for name in MODULES),
        keep_loaded,
    )


def keep_loaded() -> None:
    """Leave what is loaded now out of garbage collections: looking through it would stop everybody for 0.2 s."""
    gc.collect()
    gc.freeze()
