"""Uploads are read later than they are accepted: of two requests for one document, the later one wins."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from braid.core.background.dataset_jobs import DatasetJobs, new_text, new_upload
from braid.core.data_directory import DataDirectory
from braid.core.errors import JobCancelledError, UnreadableDocumentError
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.ingest_document import ingest_document
from braid.core.ingest.parse import parse_here
from braid.core.ingest.parse_pool import ParsePool
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.spool import Spool
from braid.core.jobs.store import Job, JobStore, NewJob
from braid.core.originals.store import Originals
from braid.core.types import DocumentInput
from tests.fakes import HashEmbeddings

LIMIT = 1_000_000
SOURCE = "a.md"


@dataclass
class World:
    """A dataset with one document, "first", and jobs that the test runs by hand."""

    directory: DataDirectory
    dataset_id: int
    spool: Spool
    store: JobStore

    def accept(self, text: str) -> Job:
        content = io.BytesIO(text.encode())
        return self._queue(new_upload(self.spool, self.dataset_id, SOURCE, content, max_bytes=LIMIT))

    def accept_pasted(self, text: str) -> Job:
        return self._queue(new_text(self.spool, self.dataset_id, "a", text, max_bytes=LIMIT))

    def _queue(self, job: NewJob) -> Job:
        return self.store.add(1, [job])[0]

    def run(self, parse: Parse = parse_here) -> Job:
        """Run the next job."""
        claimed = self.store.claim(0)
        assert claimed is not None
        jobs = DatasetJobs(
            directory=self.directory,
            spool=self.spool,
            parse=parse,
            read_export=ParsePool().read_export,
            options=IngestOptions(),
            max_import_bytes=LIMIT,
            originals=Originals(self.directory),
            queue_scan=lambda job, document_id, incoming: None,
        )
        self.store.finish(claimed, jobs.store_upload(claimed, lambda done, total: None))
        return claimed

    def put(self, text: str) -> None:
        document = parse_here(Incoming.from_bytes(text.encode(), SOURCE), IngestOptions())
        self.directory.ledger.put_document(self.dataset_id, document)

    def put_by_mcp(self, text: str) -> None:
        incoming = Incoming.from_bytes(text.encode(), SOURCE)
        ingest_document(self.directory.ledger, self.dataset_id, incoming, IngestOptions(), parse=parse_here)

    def delete(self) -> None:
        self.directory.ledger.remove_document(self.dataset_id, SOURCE)

    @property
    def texts(self) -> list[str]:
        """Of the passages of the documents, none of which is failed."""
        ledger, found = self.directory.ledger, list[str]()
        for document in ledger.documents(self.dataset_id):
            assert document.state == "ready"
            found += [passage.text for passage in ledger.document_passages(document.id, [self.dataset_id])]
        return found

    def assert_superseded(self, job: Job) -> None:
        """It has ended, counts as done, and its file is not kept."""
        ended = self.store.get(1, job.id)
        assert (ended.state, ended.result["state"], ended.error) == ("done", "superseded", "")
        assert ended.payload["file"] not in self.store.kept_files()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as directory:
        directory.ledger.add_user("ann")
        dataset = directory.ledger.add_dataset(1, "notes")
        made = World(directory, dataset.id, Spool(tmp_path / "spool"), JobStore(directory.ledger))
        made.put("first")
        yield made


def later_upload(world: World) -> None:
    """By a second worker, which is done before the first."""
    world.accept("later")
    world.run()


LATER = {
    "put": (lambda world: world.put("later"), ["later"]),
    "put unchanged": (lambda world: world.put("first"), ["first"]),
    "put by MCP": (lambda world: world.put_by_mcp("later"), ["later"]),
    "put by MCP unchanged": (lambda world: world.put_by_mcp("first"), ["first"]),
    "delete": (lambda world: world.delete(), []),
}


@pytest.mark.parametrize(("later", "left"), LATER.values(), ids=LATER)
@pytest.mark.parametrize("accept", [World.accept, World.accept_pasted])
def test_a_later_request_wins_over_an_upload_that_waits(
    world: World, accept: Callable[[World, str], Job], later: Callable[[World], None], left: list[str]
) -> None:
    job = accept(world, "an upload that waits")
    later(world)
    assert world.store.claim(0) is None
    assert world.texts == left
    world.assert_superseded(job)


@pytest.mark.parametrize(("later", "left"), [*LATER.values(), (later_upload, ["later"])], ids=[*LATER, "upload"])
@pytest.mark.parametrize("is_readable", [True, False])
def test_a_later_request_wins_over_an_upload_that_is_being_read(
    world: World, later: Callable[[World], None], left: list[str], is_readable: bool
) -> None:
    def parse(incoming: Incoming, options: IngestOptions) -> DocumentInput:
        later(world)
        if not is_readable:
            raise UnreadableDocumentError(f"{SOURCE} cannot be read")
        return parse_here(incoming, options)

    job = world.accept("an upload that takes long")
    with pytest.raises(JobCancelledError):
        world.run(parse)
    assert world.texts == left
    world.assert_superseded(job)


def test_an_upload_that_comes_later_wins(world: World) -> None:
    for text in ("second", "third", "second"):
        world.accept(text)
    world.put_by_mcp("fourth")
    for text in ("fifth", "sixth"):
        world.accept(text)
        world.run()
        assert world.texts == [text]


def test_a_put_that_is_refused_supersedes_nothing(world: World) -> None:
    job = world.accept("an upload that waits")

    def refuse(stored: object) -> None:
        raise LookupError

    document = parse_here(Incoming.from_bytes(b"later", SOURCE), IngestOptions())
    with pytest.raises(LookupError):
        world.directory.ledger.put_document(world.dataset_id, document, check=refuse)
    assert world.run().id == job.id
    assert world.texts == ["an upload that waits"]


def test_a_rename_wins_over_uploads_of_both_names(world: World) -> None:
    jobs = [
        world.accept("an upload of the old name"),
        world.store.add(1, [new_upload(world.spool, world.dataset_id, "b.md", io.BytesIO(b"x"), max_bytes=LIMIT)])[0],
    ]
    document = parse_here(Incoming.from_bytes(b"first", "b.md"), IngestOptions())
    world.directory.ledger.rename_document(world.dataset_id, SOURCE, document)
    assert world.store.claim(0) is None
    assert {world.store.get(1, job.id).state for job in jobs} == {"done"}


def test_uploads_of_other_documents_and_datasets_are_read(world: World) -> None:
    other = world.directory.ledger.add_dataset(1, "other").id
    kept = [
        world.store.add(1, [new_upload(world.spool, dataset_id, name, io.BytesIO(b"x"), max_bytes=LIMIT)])[0]
        for dataset_id, name in ((world.dataset_id, "b.md"), (other, SOURCE))
    ]
    world.put("later")
    world.delete()
    assert [world.store.get(1, job.id).state for job in kept] == ["queued", "queued"]
