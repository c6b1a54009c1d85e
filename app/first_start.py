"""Prepares a new data directory: the local user, a first personal dataset and a sample to search."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from braid.app.opening import FIRST_DATASET, LOCAL_USER, SAMPLE_DESCRIPTION, SAMPLE_NAME
from braid.core.braid import Braid
from braid.core.datasets.registry import SharedDataset, render
from braid.core.errors import InvalidInputError, RegistryConflictError
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ledger.change_log import ChangeLog

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
