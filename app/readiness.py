"""What Braid needs to answer and to store, part by part, with the reason of each that is ill.

The reasons name no dataset, collection or path: anybody may read them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from braid.core.braid import Braid
from braid.core.errors import FilesUnavailableError
from braid.core.files.bucket import Bucket
from braid.core.ledger.outages import TEXT_OF, outage_of
from braid.core.ledger.owners.owner import read_note
from braid.core.ledger.permissions import barred
from braid.core.models.failures import MODEL_CALLS

PartName = Literal["ledger", "disk", "registry", "indexes", "owner", "files", "models", "site"]
State = Literal["ok", "impaired", "failed"]
MEBIBYTE = 1 << 20
READING = "reading"
"""The purpose ``/readyz?for=reading`` asks about."""
FILES_S = 2.0
"""How long the store of files has to answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part: ``impaired`` leaves something out and answers the rest, ``failed`` refuses requests.

    ``reads`` says of a part that failed whether searches, answers and pages go on, so that only writing is refused.
    """

    state: State = "ok"
    reason: str = ""
    reads: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """All parts."""

    parts: Mapping[PartName, Part]

    def seen_for(self, purpose: str) -> Health:
        """Return the health as it is for a purpose: for ``reading``, what only refuses writing is impaired."""
        if purpose != READING:
            return self
        return Health(
            {name: replace(part, state="impaired") if part.reads else part for name, part in self.parts.items()}
        )

    @property
    def state(self) -> State:
        """The worst state of a part."""
        states = {part.state for part in self.parts.values()}
        return "failed" if "failed" in states else "impaired" if "impaired" in states else "ok"

    @property
    def status(self) -> int:
        """The HTTP status: 503 when a part refuses requests."""
        return 503 if self.state == "failed" else 200

    @property
    def text(self) -> str:
        """The report as JSON."""
        words = {"ok": "ready", "impaired": "impaired", "failed": "not ready"}
        states = {name: part.state for name, part in self.parts.items()}
        reasons = {name: part.reason for name, part in self.parts.items() if part.reason}
        return json.dumps({"status": words[self.state], **states, **({"reasons": reasons} if reasons else {})})


def health_of(braid: Braid, *, min_free_mb: int = 0) -> Health:
    """Ask every part. The ledger may take as long as the database lets it."""
    parts: dict[PartName, Part] = {
        "ledger": _ledger(braid),
        "disk": _written(braid, disk_of(braid, min_free_mb=min_free_mb)),
        "registry": _registry(braid),
        "indexes": _indexes(braid),
        "owner": _owner(braid),
        "models": _models(),
        "site": _site(braid),
    }
    if braid.bucket is not None:
        parts["files"] = _files(braid.bucket)
    return Health(parts)


def without_ledger(braid: Braid, reason: str, *, min_free_mb: int = 0) -> Health:
    """Ask the parts that are not in the database, which does not answer."""
    disk = disk_of(braid, min_free_mb=min_free_mb)
    return Health({"ledger": Part("failed", reason), "disk": disk, "owner": _owner(braid)})


def disk_of(braid: Braid, *, min_free_mb: int) -> Part:
    """Return whether the data directory can be read, and has room."""
    try:
        free = shutil.disk_usage(braid.data_dir).free
    except OSError as error:
        return Part("failed", f"the data directory cannot be read: {error.strerror}")
    if free < min_free_mb * MEBIBYTE:
        reason = f"{free // MEBIBYTE:,} MiB are free, fewer than min_free_disk_mb ({min_free_mb:,})"
        return Part("failed", reason, reads=True)
    return Part()


def _written(braid: Braid, disk: Part) -> Part:
    """Try whether a byte can be written: a disk that is full or broken for writing may say otherwise of itself."""
    if disk.state == "failed":
        return disk
    try:
        with tempfile.TemporaryFile(dir=braid.data_dir) as file:
            file.write(b"\0")
    except OSError as error:
        return Part("failed", f"the data directory cannot be written to: {error.strerror}", reads=True)
    if barred(braid.data_dir) is not None:
        return Part("impaired", TEXT_OF["not_permitted"].partition(";")[0])
    return disk


def _ledger(braid: Braid) -> Part:
    try:
        braid.ledger.shared_ids()
        is_read_only = braid.ledger.database.is_read_only()
    except SQLAlchemyError as error:
        outage = outage_of(error)
        return Part("failed", outage.text.partition(";")[0] if outage else "the database cannot be read")
    if braid.ledger.database.damage:  # of another page than those that were read just now
        return Part("failed", TEXT_OF["ledger_damaged"].partition(";")[0], reads=True)
    return Part("impaired", "the database can only be read now") if is_read_only else Part()


def _registry(braid: Braid) -> Part:
    try:
        if not braid.registry.problem():
            return Part()
    except SQLAlchemyError:
        return Part("impaired", "the list of shared datasets is in the database, which does not answer")
    if braid.registry.entries():
        return Part("impaired", "the list of shared datasets has an error; its last valid version is in effect")
    return Part("failed", "the list of shared datasets has an error, and there is no valid version of it", reads=True)


def _files(bucket: Bucket) -> Part:
    try:
        bucket.check(seconds=FILES_S)
    except FilesUnavailableError as error:
        return Part("impaired", f"the store of files does not answer, or refuses: {error.strerror}")
    return Part()


def _indexes(braid: Braid) -> Part:
    if braid.closed:
        return Part("failed", "the indexes are closed")
    try:
        progress = list(braid.indexer.progress())
    except SQLAlchemyError:  # how much is left to do is in the ledger
        return Part("impaired", "the database does not say how far they are")
    ill = sum(part.state == "failed" for part in progress)
    if ill:
        return Part("impaired", f"{ill} of {len(progress)} indexes cannot be searched or brought up to date")
    return Part()


def _models() -> Part:
    """Return what recent calls of models say; none is called for this."""
    kinds = sorted({model.kind for model in MODEL_CALLS.failing()})
    if kinds:
        said = " and ".join("the reranker" if kind == "reranker" else f"the {kind} model" for kind in kinds)
        return Part("impaired", f"the last call failed of {said}; the log and the overview say why")
    return Part()


def _site(braid: Braid) -> Part:
    ill = "; ".join(braid.ledger.noticed.ill())
    return Part("impaired", ill) if ill else Part()


def _fleet(braid: Braid) -> Part:
    """Return whether a member is there that works."""
    try:
        living = braid.living()
    except SQLAlchemyError:
        return Part("impaired", "the database does not say whether anybody works")
    if living is not None and not living.working:
        return Part("impaired", "nobody indexes or runs jobs: start a worker")
    return Part()


def _owner(braid: Braid) -> Part:
    if braid.closed:
        return Part("failed", "Braid is closed")
    if braid.is_member:
        return _fleet(braid)
    if braid.has_lost_ledger:
        return Part("failed", "another server has taken the database: stop one of the two")
    if braid.is_owner:
        return Part()
    if read_note(braid.data_dir) is None:
        return Part("impaired", "no process indexes or runs jobs: the next one takes over in a moment")
    return Part()
