"""Uploads, pages, texts, exports and imports as background jobs: real files, processes, indexes and a web server."""

from __future__ import annotations

import io
import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from braid.core.background.background import Background
from braid.core.background.dataset_jobs import (
    new_export,
    new_reembed,
    new_text,
    new_upload,
    new_url,
)
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.parse_pool import ParseProcess
from braid.core.ingest.plan import IngestOptions
from braid.core.jobs.store import Job, NewJob
from braid.core.types import ChunkInput, DocumentInput
from tests import samples
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, catch_up, eventually, html_page, web_site

LIMIT = 5_000_000


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with Braid(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as opened:
        opened.ledger.add_user("ann")
        yield opened


@pytest.fixture(scope="module")
def background(braid: Braid) -> Iterator[Background]:
    opened = Background(
        braid, options=IngestOptions(max_file_bytes=LIMIT), max_import_bytes=LIMIT, allow_private_urls=True
    )
    opened.start()
    yield opened
    opened.close()


@pytest.fixture
def dataset_id(braid: Braid) -> int:
    return braid.ledger.add_dataset(1, "notes").id


@pytest.fixture
def do(background: Background) -> Callable[..., list[Job]]:
    """Queue jobs, and wait until they have ended."""

    def run(*jobs: NewJob) -> list[Job]:
        ids = [job.id for job in background.add(1, jobs)]
        eventually(lambda: all(background.store.get(1, job_id).ended for job_id in ids))
        return [background.store.get(1, job_id) for job_id in ids]

    return run


def upload(background: Background, dataset_id: int, name: str, content: bytes) -> NewJob:
    return new_upload(background.spool, dataset_id, name, io.BytesIO(content), max_bytes=LIMIT)


def spooled(background: Background) -> list[Path]:
    return list(background.spool._folder.iterdir())


# ---------------------------------------------------------------- files


def test_uploads_become_documents_and_leave_nothing_behind(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    before = {*spooled(background)}
    jobs = do(
        upload(background, dataset_id, "資料/図書館.pdf", samples.pdf([["Fees"], [samples.JAPANESE[:40]]])),
        upload(background, dataset_id, "../../manual.docx", samples.docx_manual()),
    )
    assert [(job.state, job.error) for job in jobs] == [("done", "")] * 2
    assert [job.title for job in jobs] == ["資料/図書館.pdf", "manual.docx"]
    documents = {document.id: document for document in braid.ledger.documents(dataset_id)}
    for job in jobs:
        stored = documents[job.result["document_id"]]
        assert (stored.source, stored.chunks, job.result["state"]) == (job.title, job.result["chunks"], "put")
    eventually(lambda: {*spooled(background)} <= before)
    catch_up(braid)
    found = braid.manager.search(samples.JAPANESE[:20], user_id=1, dataset_ids=[dataset_id], mode="keyword")
    assert ("資料/図書館.pdf", 2) in [(hit.passage.source, hit.passage.page) for hit in found.hits]


def test_an_uploaded_file_is_kept_as_it_came_and_a_typed_text_is_not(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    content, scan = samples.pdf([["Fees"]]), samples.pdf([[]])
    do(
        upload(background, dataset_id, "fees.pdf", content),
        upload(background, dataset_id, "scan.pdf", scan),
        new_text(background.spool, dataset_id, "Typed", "Some text.", max_bytes=LIMIT),
    )
    documents = {document.source: document for document in braid.ledger.documents(dataset_id)}
    assert documents["scan.pdf"].state == "failed"
    found = {source: background.originals.find(document) for source, document in documents.items()}
    assert {source: path.read_bytes() for source, path in found.items() if path} == {
        "fees.pdf": content,
        "scan.pdf": scan,
    }


def test_the_same_file_again_is_unchanged(
    background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    [first] = do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros."))
    [again] = do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros."))
    assert (again.state, again.result) == ("done", {**first.result, "state": "unchanged"})


def test_a_file_that_cannot_be_read_fails_with_the_reason_and_can_be_tried_again(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    [job] = do(upload(background, dataset_id, "photo.pdf", samples.PNG))
    assert job.state == "failed"
    assert "photo.pdf is a PNG image" in job.error
    [document] = braid.ledger.documents(dataset_id)
    assert (document.state, document.error) == ("failed", job.error)
    assert len(spooled(background)) >= 1
    again = background.retry(1, job.id)
    eventually(lambda: background.store.get(1, again.id).ended)
    assert background.store.get(1, again.id).error == job.error


def test_too_large_a_file_is_never_queued(background: Background, dataset_id: int) -> None:
    before = spooled(background)
    with pytest.raises(InvalidInputError, match=r"big\.txt has more than 5,000,000 bytes"):
        upload(background, dataset_id, "big.txt", b"x" * (LIMIT + 1))
    assert spooled(background) == before


def test_a_dataset_that_goes_meanwhile_is_named(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    job = upload(background, dataset_id, "a.md", b"text")
    braid.remove_dataset(dataset_id)
    [ended] = do(job)
    assert (ended.state, ended.error) == ("failed", f"there is no dataset {dataset_id}")


def test_pasted_text_is_a_document(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    [job] = do(new_text(background.spool, dataset_id, "도서관 안내", samples.KOREAN, max_bytes=LIMIT))
    assert job.state == "done"
    [document] = braid.ledger.documents(dataset_id)
    assert (document.source, document.title) == ("도서관 안내.md", "도서관 안내")
    for title, text, field in (("", "text", "title"), ("title", " \n", "text")):
        with pytest.raises(InvalidInputError) as caught:
            new_text(background.spool, dataset_id, title, text, max_bytes=LIMIT)
        assert caught.value.field == field


def test_many_files_at_once_are_all_done(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    jobs = do(*(upload(background, dataset_id, f"folder/{n}.txt", f"text number {n}".encode()) for n in range(60)))
    assert {job.state for job in jobs} == {"done"}
    assert braid.ledger.dataset(dataset_id).documents == 60


# ---------------------------------------------------------------- pages


@pytest.fixture
def site() -> Iterator[str]:
    page = b"<title>Fees</title><script>steal()</script><h1>Fees</h1><p>Two euros a day.</p>"
    with web_site(html_page(page)) as address:
        yield address


def test_a_page_becomes_a_document_under_its_address(
    braid: Braid, dataset_id: int, do: Callable[..., list[Job]], site: str
) -> None:
    [job] = do(new_url(dataset_id, f"{site}/library/fees#top", allow_private=True))
    assert (job.state, job.title) == ("done", f"{site}/library/fees")
    [document] = braid.ledger.documents(dataset_id)
    assert (document.source, document.title, document.file_type) == (f"{site}/library/fees", "Fees", "html")
    [passage] = braid.ledger.document_passages(document.id, [dataset_id])
    assert passage.text == "Two euros a day."


def test_a_page_that_cannot_be_fetched_fails_and_leaves_no_document(
    braid: Braid, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    [job] = do(new_url(dataset_id, "http://127.0.0.1:1/", allow_private=True))
    assert (job.state, job.error.startswith("http://127.0.0.1:1/ cannot be reached")) == ("failed", True)
    assert braid.ledger.documents(dataset_id) == []
    with pytest.raises(InvalidInputError):
        new_url(dataset_id, "file:///etc/passwd")


def test_a_start_leaves_alone_what_another_process_is_taking_in(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    taken_in = upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros a day.")
    later = Background(braid)
    later.start()
    later.close()
    [job] = do(taken_in)
    assert (job.state, job.error) == ("done", "")


# ---------------------------------------------------------------- whole datasets


def test_a_dataset_goes_out_and_comes_in_again(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros a day."))
    catch_up(braid)
    [exported] = do(new_export(braid, dataset_id))
    assert (exported.state, exported.result["filename"]) == ("done", "notes.zip")
    path = background.spool.path(exported.result["file"])
    assert path.stat().st_size == exported.result["size_bytes"]
    with path.open("rb") as file:
        job = background.new_import(1, file, max_bytes=LIMIT, name="copy")
    [imported] = do(job)
    counts = {"documents": 1, "chunks": 1, "embedded": 1, "originals": 1, "originals_not_kept": {}}
    assert (imported.state, imported.result) == ("done", counts)
    copy = braid.ledger.dataset(imported.dataset_id or 0)
    original = background.originals.find(braid.ledger.documents(copy.id)[0])
    assert original is not None
    assert original.read_bytes() == b"# Fees\n\nTwo euros a day."
    assert (copy.name, copy.documents) == ("copy", 1)
    page = braid.data_dir / "pages" / f"{'0' * 64}-1"
    page.parent.mkdir()
    page.touch()
    os.utime(path, (0, 0))
    background.tidying.tidy(everything=True)
    assert path.exists()
    assert not page.exists(), "no document has this content"


def test_originals_that_somebody_deleted_are_noticed_when_files_are_tidied(
    braid: Braid,
    background: Background,
    dataset_id: int,
    do: Callable[..., list[Job]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros a day."))
    document = braid.ledger.documents(dataset_id)[0]
    original = background.originals.find(document)
    assert original is not None
    background._try_to_tidy()
    assert braid.ledger.noticed.missing_originals == 0
    content = original.read_bytes()
    original.unlink()
    for _ in range(2):
        background._try_to_tidy()
    assert braid.ledger.noticed.missing_originals == 1
    told = [record.getMessage() for record in caplog.records if "originals_missing" in record.getMessage()]
    assert told == ["event=originals_missing count=1 remedy=restore_a_backup"]
    original.write_bytes(content)
    background._try_to_tidy()
    assert braid.ledger.noticed.missing_originals == 0


def test_what_is_no_export_is_refused_at_once_and_makes_no_dataset(braid: Braid, background: Background) -> None:
    before = (braid.ledger.datasets(1), spooled(background))
    with pytest.raises(InvalidInputError, match="no export of a dataset"):
        background.new_import(1, io.BytesIO(b"no zip"), max_bytes=LIMIT)
    assert (braid.ledger.datasets(1), spooled(background)) == before


def test_an_import_that_turns_out_wrong_leaves_nothing(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros a day."))
    [exported] = do(new_export(braid, dataset_id))
    broken = io.BytesIO()
    with zipfile.ZipFile(background.spool.path(exported.result["file"])) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"documents": 1', b'"documents": 2'))
    broken.seek(0)
    job = background.new_import(1, broken, max_bytes=LIMIT)
    [ended] = do(job)
    assert ended.state == "failed"
    assert "no export of a dataset" in ended.error
    with pytest.raises(NotFoundError):
        braid.ledger.dataset(job.dataset_id or 0)


def test_an_import_whose_process_dies_keeps_what_it_stored_and_can_be_tried_again(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):  # more than the pipe holds, so that the process is still at work
        chunks = tuple(ChunkInput(f"{number} {'word ' * 1_000}{part}") for part in range(8))
        braid.ledger.put_document(dataset_id, DocumentInput(f"{number}.md", "", "md", chunks))
    [exported] = do(new_export(braid, dataset_id))
    with background.spool.path(exported.result["file"]).open("rb") as file:
        job = background.new_import(1, file, max_bytes=LIMIT, name="copy")
    copy = job.dataset_id or 0
    receive = ParseProcess.receive

    def dies_at_the_third_document(process: ParseProcess, *args: Any) -> Any:
        if braid.ledger.dataset(copy).documents == 2:
            os.kill(process._process.pid, signal.SIGKILL)
            process._process.wait()
        return receive(process, *args)

    with monkeypatch.context() as patched:
        patched.setattr(ParseProcess, "receive", dies_at_the_third_document)
        [ended] = do(job)
    assert ended.state == "failed"
    assert "made the program that reads it crash (SIGKILL)" in ended.error
    assert 2 <= braid.ledger.dataset(copy).documents < 20
    background.retry(1, ended.id)
    eventually(lambda: background.store.get(1, ended.id).state == "done")
    assert braid.ledger.dataset(copy).documents == 20


def test_vectors_are_made_anew(
    braid: Braid, background: Background, dataset_id: int, do: Callable[..., list[Job]]
) -> None:
    do(upload(background, dataset_id, "a.md", b"# Fees\n\nTwo euros a day."))
    (again,) = do(new_reembed(braid, dataset_id))
    assert (again.state, again.result) == ("done", {"chunks": 1})
    catch_up(braid)
    assert braid.manager.search("euros", user_id=1, dataset_ids=[dataset_id]).hits


# ---------------------------------------------------------------- closing and starting


def test_what_is_at_work_when_braid_is_closed_is_done_at_the_next_start(tmp_path: Path) -> None:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        first = Background(braid, workers=1)
        first.start()
        table = b"a,b\n" + b"".join(b"%d,two\n" % n for n in range(100_000))
        jobs = [upload(first, dataset, "big.csv", table), upload(first, dataset, "small.md", b"text")]
        big, small = first.add(1, jobs)
        eventually(lambda: first.store.get(1, big.id).state != "queued", pause_s=0.01)
        first.close(0.0)
        assert [first.store.get(1, job.id).state for job in (big, small)] == ["queued", "queued"]
        assert braid.ledger.documents(dataset) == []
        second = Background(braid, workers=1)
        second.start()
        eventually(lambda: second.store.get(1, small.id).ended)
        assert [second.store.get(1, job.id).state for job in (big, small)] == ["done", "done"]
        assert {document.state for document in braid.ledger.documents(dataset)} == {"ready"}
        second.close()
