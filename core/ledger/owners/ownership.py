"""Ownership of a ledger in PostgreSQL whose indexes are in a data directory: one directory alone may follow it.

Two would each prune changes that the other has not indexed. The row that says whose the ledger is changes with each
heartbeat; who finds another's there waits for that, and so depends on no clock and no session of the server's.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
import threading
from pathlib import Path

from sqlalchemy import Select, delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from braid.core.errors import NotOwnerError
from braid.core.ledger import prepared
from braid.core.ledger.database import Database, execute
from braid.core.ledger.member import living_names
from braid.core.ledger.outages import log_failure
from braid.core.ledger.owners.site import OWNER, noted_in
from braid.core.ledger.tables import AppSettingRow

BEAT_S = 5.0
LEASE_BEATS = 3
"""Heartbeats that an owner may miss before another directory takes its place."""

logger = logging.getLogger(__name__)


class LedgerOwnership:
    """Holds a ledger for one data directory from `acquire` to `release`, with a thread for its heartbeat.

    ``lost_to`` names the other directory when one has taken the ledger meanwhile, as after an outage that this process
    alone met.
    """

    def __init__(self, database: Database, data_dir: Path, *, beat_s: float = BEAT_S) -> None:
        self._database = database
        self._where = f"{data_dir} on {socket.gethostname()}"
        noted = noted_in(data_dir)
        self._directory = noted.directory if noted else str(data_dir)
        self._beat_s = beat_s
        self._ended = threading.Event()
        self._beating: threading.Thread | None = None
        self.lost_to = ""

    def acquire(self) -> None:
        """Become the owner: at once where the last one was this directory or has ended, else once it is found dead.

        Raises NotOwnerError, within a few heartbeats, when another one lives, or a fleet.
        """
        self._require_no_fleet()
        if other := self._take(""):
            self._await_end(other)
            if other := self._take(other):
                raise self._refusal(json.loads(other)["where"])
        self._beating = threading.Thread(target=self._beat, name="braid-ledger-owner", daemon=True)
        self._beating.start()

    def release(self) -> None:
        """Give the ledger up, so that another directory may have it at once."""
        self._ended.set()
        if self._beating is None:
            return
        self._beating.join(self._beat_s)
        try:
            with self._database.write() as connection:
                found = connection.execute(_row()).scalar()
                if found and json.loads(found)["directory"] == self._directory:
                    connection.execute(delete(AppSettingRow).where(AppSettingRow.name == OWNER))
        except SQLAlchemyError as error:  # the database is out; it is free for this directory, and soon for another
            log_failure(logger, "giving up the ledger", error)

    def require_none(self) -> None:
        """Wait until a directory that had the ledger is found dead. Raises NotOwnerError when it lives."""
        found = self._database.find(_row())
        if found:
            self._await_end(found)
            self._database.change(delete(AppSettingRow).where(AppSettingRow.name == OWNER))

    def _take(self, dead: str) -> str:
        """Write this directory's row over none, its own, or the row ``dead``; return another's, which stays."""
        with self._database.write() as connection:
            execute(connection, prepared.ADD_APP_SETTING, name=OWNER, value=self._form())
            found: str = connection.execute(_row().with_for_update()).scalar_one()
            if json.loads(found)["directory"] not in ("", self._directory) and found != dead:
                return found
            connection.execute(update(AppSettingRow).where(AppSettingRow.name == OWNER).values(value=self._form()))
        return ""

    def _await_end(self, other: str) -> None:
        """Wait for as long as an owner may be silent. Raises NotOwnerError when it says that it lives."""
        logger.warning("event=waiting_for_owner where=%r", json.loads(other)["where"])
        for _ in range(LEASE_BEATS):
            self._ended.wait(self._beat_s)
            found = self._database.find(_row())
            if found not in (None, other):
                raise self._refusal(json.loads(found)["where"])

    def _refusal(self, where: str) -> NotOwnerError:
        return NotOwnerError(
            f"the ledger {self._database.engine.url.render_as_string(hide_password=True)} is open with the data "
            f"directory {where}, which alone may index it; use that one, or put the indexes into Milvus (milvus_url), "
            "with which any number of servers may have it open: docs/scale.md",
            owner=where,
        )

    def _require_no_fleet(self) -> None:
        with self._database.read() as connection:
            names = living_names(connection)
        if names:
            raise self._refusal(f"of a fleet, such as that of {names[0].partition('/')[0]}")

    def _beat(self) -> None:
        while not self._ended.wait(self._beat_s):
            try:
                other = self._take("")
            except Exception as error:  # the edge of a thread: it must outlive an outage of the database
                log_failure(logger, "the heartbeat of the ledger's owner", error)
                continue
            if other and not self.lost_to:
                logger.error("event=owner_lost to=%r stop one of the two servers", json.loads(other)["where"])
            self.lost_to = json.loads(other)["where"] if other else ""

    def _form(self) -> str:
        return json.dumps({"directory": self._directory, "where": self._where, "beat": secrets.token_hex(8)})


def _row() -> Select[str]:
    return select(AppSettingRow.value).where(AppSettingRow.name == OWNER)
