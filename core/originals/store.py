"""The files of documents, kept once per content beside the ledger; those of synced folders stay where they are."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from sqlalchemy import delete, func, insert, literal, select

from braid.core.accounts.app_settings import AppSettings
from braid.core.batches import batches
from braid.core.data_directory import PRIVATE, DataDirectory
from braid.core.files.bucket import Stored
from braid.core.files.lost import Lost, Rules, with_times
from braid.core.folders.store import SyncedFolder, SyncedFolders
from braid.core.ingest.incoming import Incoming
from braid.core.ledger.database import take_time
from braid.core.ledger.tables import DocumentRow, OriginalRow
from braid.core.types import Document

ORIGINALS = "originals"
LET_BE_S = 3600.0
"""A younger file may belong to an upload that is not a job yet, or to a document that is not stored yet: also at the
start, since other processes may be at work already.
"""
SPANS = "older_ledger"
"""Name of the app setting with the spans of `braid.core.files.lost.Rules`."""
HASHES_PER_READ = 5_000
LOCK_PATIENCE = "60s"
_CHANGING = threading.Lock()
_NAME = re.compile(r"[0-9a-f]{64}")
_AS_STORED = (OriginalRow.document_id == DocumentRow.id, OriginalRow.content_hash == DocumentRow.content_hash)
"""A document that was written again from a text keeps the row of its earlier file until it gets another or goes."""

logger = logging.getLogger(__name__)


class Originals:
    """Files below ``originals/`` of the data directory, named by the SHA-256 of their bytes.

    The ledger says whose they are: a document that only claims a hash, has no file. With a bucket they are there, and
    what it cannot do now raises FilesUnavailableError.

    >>> originals = Originals(braid)
    >>> originals.count()
    (0, 0)
    """

    def __init__(self, directory: DataDirectory) -> None:
        self._folder = directory.data_dir / ORIGINALS
        self._bucket = directory.bucket
        self._lost = Lost(directory.data_dir, ORIGINALS, directory.bucket)
        self._settings = AppSettings(directory.ledger)
        self._database = directory.ledger.database
        self._synced = SyncedFolders(directory)

    def keep(self, document_id: int, incoming: Incoming) -> None:
        """Keep the file at ``incoming.path`` as the document's, unless the document has other bytes by now.

        Raises OSError, as on a full disk.
        """
        assert incoming.path is not None, "the file is to be on the disk"
        with self._alone(incoming.content_hash):
            if self._bucket is not None:
                self._bucket.add(incoming.path, self._key(incoming.content_hash), keep=True)
            else:
                self._place(incoming.path, incoming.content_hash)
            self._note(document_id, incoming)

    def _place(self, file: Path, content_hash: str) -> None:
        path = self._path(content_hash)
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        partial = path.with_name(f".{secrets.token_hex(8)}")
        try:
            _link_or_copy(file, partial)
            os.utime(partial)  # so that `sweep` lets it be until the ledger has it
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)  # a link to a file that is there already is not replaced but left

    def _note(self, document_id: int, incoming: Incoming) -> None:
        stored = select(DocumentRow.id, DocumentRow.content_hash, literal(incoming.size_bytes)).where(
            DocumentRow.id == document_id, DocumentRow.content_hash == incoming.content_hash
        )
        with self._database.write() as connection:
            connection.execute(delete(OriginalRow).where(OriginalRow.document_id == document_id))
            columns = ["document_id", "content_hash", "size_bytes"]
            connection.execute(insert(OriginalRow).from_select(columns, stored))

    @contextlib.contextmanager
    def _alone(self, content_hash: str) -> Iterator[None]:
        """Keep others from keeping and from sweeping this content in a bucket, where nothing is renamed at once."""
        if self._bucket is None:
            yield
        elif self._database.engine.dialect.name != "postgresql":  # there is one process that does either
            with _CHANGING:
                yield
        else:
            with self._database.write() as connection:
                take_time(connection)  # while a file is on its way to the bucket: the lock must hold until it is noted
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE}'")
                number = int.from_bytes(bytes.fromhex(content_hash[:16]), signed=True)
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (number,))
                yield

    def find(self, document: Document) -> Path | None:
        """Return the file that the document was read from; None where none was kept, or a synced one has changed.

        Of a bucket it is a copy, which stays for ten minutes at least.
        """
        path = self.place(document)
        return path if path is not None and path.is_file() else None

    def place(self, document: Document, *, to: Path | None = None) -> Path | None:
        """Return where the document's file should be; a kept one may be gone, by other hands. None as by `find`.

        With ``to``, one of a bucket is written there, and no copy stays: for who reads many, each once.
        """
        statement = select(OriginalRow.content_hash).where(OriginalRow.document_id == document.id)
        kept = self._database.find(statement)
        if kept and kept == document.content_hash:
            return self._copy(kept, to)
        return _in_synced_folder(document, self._synced.all())

    def ids_with_file(self, documents: Collection[Document]) -> set[int]:
        """Return the ids of those of the documents whose file was kept, or lies in a synced folder."""
        statement = select(OriginalRow.document_id).where(
            OriginalRow.document_id.in_([document.id for document in documents]), *_AS_STORED
        )
        kept = set(self._database.values(statement))
        folders = self._synced.all()
        return kept | {each.id for each in documents if each.id not in kept and _in_synced_folder(each, folders)}

    def count(self) -> tuple[int, int]:
        """Return the number of kept contents, and their bytes."""
        once = select(OriginalRow.content_hash, func.max(OriginalRow.size_bytes).label("size"))
        contents = once.where(*_AS_STORED).group_by(OriginalRow.content_hash).subquery()
        sums = select(func.count(), func.coalesce(func.sum(contents.c.size), 0))
        [(number, size)] = self._database.fetch(sums)
        return int(number), int(size)

    def known(self, hashes: Collection[str]) -> set[str]:
        """Return those of the hashes that a document has."""
        found: set[str] = set()
        for some in batches(sorted(hashes), HASHES_PER_READ):
            statement = select(DocumentRow.content_hash).where(DocumentRow.content_hash.in_(some)).distinct()
            found.update(self._database.values(statement))
        return found

    # ------------------------------------------------------------ looking after the files

    def sweep(self, rules: Rules) -> int:
        """Take away files that no document has, and what an interrupted `keep` left, into ``lost/``; return how many.

        Those that were taken away, and that a document has again, come back first.
        """
        wanted = self._hashes()
        self._bring_back(wanted)
        there = list(self._files())
        gone = [path for path, at in with_times(there) if path.name not in wanted and rules.takes(at)]
        taken = 0
        for path in gone if self._lost.may_take(gone, len(there), rules) else ():
            with contextlib.suppress(FileNotFoundError):
                taken += self._take(path, rules)
        self._lost.purge(rules.now)
        return self._lost.say(taken + self._sweep_bucket(wanted, rules), rules.now)

    def held(self) -> tuple[int, int]:
        """Return how many files no document has that `sweep` lets be because they are so many, and of how many."""
        wanted, rules = self._hashes(), self.rules()
        there = dict(self._lost.times(self._files()))
        gone = sum(name not in wanted and rules.takes(at) for name, at in there.items())
        return (0 if rules.allows(gone, len(there)) else gone), len(there)

    def rules(self, now: float | None = None, *, any_number: bool = False) -> Rules:
        """Return which files are taken if they are nobody's: an hour old, and not newer than an older ledger."""
        now = time.time() if now is None else now
        spans = [(first, last) for first, last in self._settings.get(SPANS, [])]
        return Rules(now - LET_BE_S, now, spans, any_number)

    def newest_unknown(self, since: float, until: float) -> float | None:
        """Return when the newest file was kept that no document has, of those from after ``since``, up to ``until``."""
        return self._lost.newest_unknown(self._files(), self._hashes(), since, until)

    def missing(self) -> int:
        """Return how many contents of documents have no file any more; lists names, and opens no file."""
        wanted = self._hashes()
        if self._bucket is not None:
            gone = wanted - {key.rpartition("/")[2] for key, _ in self._bucket.below(f"{ORIGINALS}/")}
        else:
            gone = wanted - {path.name for path in self._files()}
        return len(gone & self._hashes()) if gone else 0  # a document may have been removed meanwhile

    def damaged(self) -> Iterator[str]:
        """Say which kept files are missing or have another size, a sentence each."""
        columns = select(OriginalRow.content_hash, OriginalRow.size_bytes).where(*_AS_STORED).distinct()
        rows = self._database.fetch(columns.order_by(OriginalRow.content_hash))
        shard, in_bucket = "", dict[str, Stored]()
        for content_hash, size_bytes in rows:
            if self._bucket is not None and shard != content_hash[:2]:
                shard = content_hash[:2]
                in_bucket = dict(self._bucket.below(f"{ORIGINALS}/{shard}/"))
            try:
                stored = in_bucket.get(self._key(content_hash))
                found = stored.size_bytes if stored else self._path(content_hash).stat().st_size
            except FileNotFoundError:
                yield f"the original {content_hash[:12]}… is not there any more"
                continue
            if found != size_bytes:
                yield f"the original {content_hash[:12]}… has {found:,} bytes, and had {size_bytes:,}"

    def bring_in(self) -> int:
        """Put files of the folder into the bucket, which it was before there was one; return how many."""
        if self._bucket is None:
            return 0
        wanted = self._hashes()
        there = [path for path in self._files() if path.name in wanted]
        brought = 0
        for path in there:
            with contextlib.suppress(FileNotFoundError):  # another process has moved it
                self._bucket.add(path, self._key(path.name))
                brought += 1
        return brought

    def _sweep_bucket(self, wanted: Collection[str], rules: Rules) -> int:
        if self._bucket is None:
            return 0
        there, gone = 0, []
        for key, stored in self._bucket.below(f"{ORIGINALS}/"):
            content_hash, there = key.rpartition("/")[2], there + 1
            if content_hash not in wanted and rules.takes(stored.at) and _NAME.fullmatch(content_hash):
                gone.append(key)
        taken = 0
        for key in gone if self._lost.may_take(gone, there, rules) else ():
            content_hash = key.rpartition("/")[2]
            with self._alone(content_hash):
                now = self._bucket.find(key)
                if now is not None and rules.takes(now.at) and not self._is_wanted(content_hash):
                    self._lost.take_key(key, rules.now)
                    taken += 1
        return taken

    def _bring_back(self, wanted: Collection[str]) -> None:
        """Put back what was taken away while the ledger was another one, or an older one."""
        found = 0
        for path in [path for path in self._lost.files() if path.name in wanted]:
            if not self._path(path.name).exists():
                self._place(path, path.name)
                path.unlink()
                found += 1
        for lost, key in list(self._lost.objects()):
            content_hash = key.rpartition("/")[2]
            if self._bucket is not None and content_hash in wanted:
                with self._alone(content_hash):
                    if self._bucket.find(key) is None:
                        self._bucket.move(lost, key)
                        found += 1
        if found:
            logger.warning("event=found_again what=%s files=%d", ORIGINALS, found)

    def _copy(self, content_hash: str, to: Path | None) -> Path:
        """Return where the file is, or a copy of it; it may be gone."""
        path = self._path(content_hash)
        if self._bucket is not None and not path.is_file():
            with contextlib.suppress(FileNotFoundError):
                if to is None:
                    return self._bucket.fetch(self._key(content_hash))
                self._bucket.fetch_to(self._key(content_hash), to)
                return to
        return path

    def _key(self, content_hash: str) -> str:
        return f"{ORIGINALS}/{content_hash[:2]}/{content_hash}"

    def _path(self, content_hash: str) -> Path:
        if not _NAME.fullmatch(content_hash):
            raise ValueError(f"{content_hash[:80]!r} is no SHA-256 in hexadecimal digits")
        return self._folder / content_hash[:2] / content_hash

    def _files(self) -> Iterator[Path]:
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            yield from folder.iterdir()

    def _hashes(self) -> set[str]:
        statement = select(OriginalRow.content_hash).where(*_AS_STORED).distinct()
        return set(self._database.values(statement))

    def _is_wanted(self, content_hash: str) -> bool:
        statement = select(OriginalRow.document_id).where(OriginalRow.content_hash == content_hash, *_AS_STORED)
        return self._database.row(statement.limit(1)) is not None

    def _take(self, path: Path, rules: Rules) -> bool:
        """Take a file away, unless another process has just kept the same content again."""
        lost = self._lost.take(path, rules.now)
        if self._is_wanted(path.name) or not rules.takes(lost.stat().st_mtime):
            os.replace(lost, path)
            return False
        return True


def _in_synced_folder(document: Document, folders: Iterable[SyncedFolder]) -> Path | None:
    """Return the file of a document of a synced folder, where it has the size and date that it was read with."""
    for folder in folders:
        prefix = folder.source_prefix
        if folder.dataset_id != document.dataset_id or not document.source.startswith(prefix):
            continue
        root = os.path.realpath(folder.folder)
        path = Path(os.path.realpath(os.path.join(root, document.source.removeprefix(prefix))))
        if path.is_relative_to(root) and path.is_file():
            stat = path.stat()
            return path if (stat.st_size, stat.st_mtime) == (document.size_bytes, document.date) else None
    return None


def _link_or_copy(path: Path, to: Path) -> None:
    """Link, because the file is never written again; copy where another disk or system allows no link."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)
        os.chmod(to, 0o600)
