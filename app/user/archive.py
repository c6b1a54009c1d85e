"""Everything that is stored of one user, as one zip archive, for requests of access and before an account goes."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, or_, select

from braid.core.accounts.accounts import Accounts
from braid.core.chat.export import as_json
from braid.core.chat.store import ConversationStore
from braid.core.data_directory import DataDirectory
from braid.core.datasets.listing import find_documents
from braid.core.ingest.exports.dataset_export import document_lines
from braid.core.json_form import json_line, to_json
from braid.core.ledger.tables import AuditRow, Base, UserRow
from braid.core.originals.store import Originals
from braid.core.types import Dataset

ROWS_PER_READ = 100
PIECE_BYTES = 1 << 20
OWN_FORM = ("conversations", "datasets")
"""Tables that are written in a form of their own."""
_UNSAFE = re.compile(r"[^\w.\- ]+")

Part = tuple[str, Iterable[bytes]]


def archive(directory: DataDirectory, user_id: int) -> Iterator[bytes]:
    """Yield the bytes of a zip archive with all that is stored of a user; a few rows or a MiB at a time in memory.

    ``account.json``; ``conversations.jsonl`` with messages and citations; ``datasets.jsonl``, and for each dataset
    ``documents.jsonl`` with the passages and the original ``files`` as far as they are kept; a ``.jsonl`` for every
    other table with rows of the user; ``audit_log.jsonl``. Passwords, keys and tokens, hashed or encrypted, and answers
    that are kept for repeated requests are left out. An archive that was cut off has no directory, and no program
    opens it. Raises NotFoundError.
    """
    account = Accounts(directory.ledger).get(user_id)  # raises here, before anything is sent
    return _zipped(_parts(directory, user_id, account.name))


def archive_name(user_id: int) -> str:
    """Return the name of a user's archive: ASCII, without the user's name."""
    return f"user-{user_id}.zip"


def _parts(directory: DataDirectory, user_id: int, name: str) -> Iterator[Part]:
    directory.mirror_registry()
    [row] = _rows(directory, UserRow.metadata.tables["users"], UserRow.id == user_id)
    yield "account.json", [json.dumps(to_json(row), ensure_ascii=False, indent=2).encode()]
    yield "conversations.jsonl", _conversations(directory, user_id)
    ledger = directory.ledger
    datasets = [*ledger.datasets(user_id), *ledger.attached_datasets(user_id)]
    yield "datasets.jsonl", map(json_line, datasets)
    for dataset in datasets:
        yield f"datasets/{dataset.id}/documents.jsonl", document_lines(directory, dataset)
        yield from _files(directory, dataset)
    for table in Base.metadata.sorted_tables:
        if "user_id" in table.columns and table.name not in OWN_FORM:
            yield f"{table.name}.jsonl", map(json_line, _rows(directory, table, table.columns.user_id == user_id))
    audit = Base.metadata.tables[AuditRow.__tablename__]
    named = or_(audit.c.actor == name, audit.c.target == name)
    theirs = and_(named, audit.c.at >= row["created_at"])  # not of somebody removed who had the name before
    yield f"{audit.name}.jsonl", map(json_line, _rows(directory, audit, theirs))


def _conversations(directory: DataDirectory, user_id: int) -> Iterator[bytes]:
    store = ConversationStore(directory.ledger, directory.registry)
    for found in store.all(user_id):
        path, others = (store.each(user_id, found.id, ids) for ids in store.ids(user_id, found.id))
        yield from (piece.encode() for piece in as_json(found, path, others, line_end=""))
        yield b"\n"


def _files(directory: DataDirectory, dataset: Dataset) -> Iterator[Part]:
    originals, offset = Originals(directory), 0
    while True:
        documents, total = find_documents(
            directory.ledger.database,
            dataset,
            index_names=directory.index_names,
            limit=ROWS_PER_READ,
            offset=offset,
        )
        for document in documents:
            if (path := originals.find(document)) is not None:
                last = re.split(r"[/\\]", document.source)[-1]
                name = _UNSAFE.sub("_", last)[-100:].strip(". ") or "file"
                yield f"datasets/{dataset.id}/files/{document.id} {name}", _pieces(path)
        offset += len(documents)
        if not documents or offset >= total:
            return


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _rows(directory: DataDirectory, table: Table, wanted: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
    """Yield the rows, without what a secret could be tried out on, and without answers that are kept to be repeated:
    those may have what the user may no longer read."""
    columns = [each for each in table.columns if not each.name.endswith("hash") and each.name not in ("secret", "body")]
    statement, offset = select(*columns).where(wanted).order_by(*table.primary_key.columns).limit(ROWS_PER_READ), 0
    while True:
        rows = directory.ledger.database.fetch(statement.offset(offset))
        yield from (dict(row._mapping) for row in rows)
        offset += len(rows)
        if len(rows) < ROWS_PER_READ:
            return


class _Pipe(io.RawIOBase):
    """Keeps what an archive writes until it is taken."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken, self._written = b"".join(self._written), []
        return taken


def _zipped(parts: Iterable[Part]) -> Iterator[bytes]:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w") as packed:
        for name, pieces in parts:
            entry = zipfile.ZipInfo(name, time.localtime()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            with packed.open(entry, "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
                    if taken := pipe.take():
                        yield taken
    yield pipe.take()
