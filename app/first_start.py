"""A start: a new data directory is prepared, and what takes long is done in a thread once the server answers."""

from __future__ import annotations

import gc
import importlib
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from braid.app.opening import FIRST_DATASET, LOCAL_USER, SAMPLE_DESCRIPTION, SAMPLE_NAME
from braid.core.braid import Braid
from braid.core.datasets.registry import SharedDataset, render
from braid.core.errors import InvalidInputError, RegistryConflictError
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.outages import log_failure

logger = logging.getLogger(__name__)

SAMPLE_COLLECTION = "shared_main_db"
SAMPLE_FOLDER = Path(__file__).parent / "sample"


def prepare(braid: Braid) -> None:
    """Add the local user with a dataset, and the sample, to a new data directory. Later starts change nothing.

    The indexer embeds the sample.
    """
    begin(braid)
    load_sample(braid)


def begin(braid: Braid) -> None:
    """Do the part of `prepare` that takes no time: list the sample, which `load_sample` stores, and add the user."""
    _sample_entry(braid)
    if not braid.ledger.users():
        with suppress(InvalidInputError):  # another process of a fleet, which starts at the same time, was first
            user = braid.ledger.add_user(LOCAL_USER)
            braid.ledger.add_dataset(user.id, FIRST_DATASET)


def load_sample(braid: Braid) -> None:
    """Store the sample in the shared dataset made for it, unless anything was ever stored there.

    A registry that lists only other datasets stays as it is.
    """
    entry = _sample_entry(braid)
    if entry is None:
        logger.info("event=first_start sample=left_out")
        return
    if braid.dataset(entry.id).documents or ChangeLog(braid.ledger.database).heads().get(entry.collection_name, 0):
        return
    for path in sorted(SAMPLE_FOLDER.glob("*.md")):
        ingest_bytes(braid, entry.id, path.name, path.read_bytes())


def _sample_entry(braid: Braid) -> SharedDataset | None:
    """Return the sample's entry, or None if there are other shared datasets only. Adds it if there are none at all."""
    entries = braid.registry.entries()
    if not entries and not braid.registry.problem() and not braid.ledger.shared_ids():
        text, version = braid.registry.text()
        sample = SharedDataset(-1, SAMPLE_NAME, SAMPLE_COLLECTION, description=SAMPLE_DESCRIPTION)
        if "".join(text.split()) in ("", "[]"):  # others may have listed something since the entries were read
            with suppress(RegistryConflictError):  # here, too
                braid.registry.replace_text(render([sample]), of=version)
        entries = braid.registry.entries()
    return next((entry for entry in entries if entry.name == SAMPLE_NAME), None)


# ---------------------------------------------------------------- once the server answers


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
        partial(load_sample, braid),
        *(partial(importlib.import_module, name) for name in MODULES),
        keep_loaded,
    )


def keep_loaded() -> None:
    """Leave what is loaded now out of garbage collections: looking through it would stop everybody for 0.2 s."""
    gc.collect()
    gc.freeze()
