"""Scanned pages in the app: read by machine after the rest, cited with the place marked, waiting where nothing reads
them. A small program stands in for Tesseract; the real one is tried in `tests/browser/test_evidence.py`.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.background import scan_jobs
from braid.core.background.scan_jobs import ScanRules
from braid.core.braid import Braid
from braid.core.ingest.scans.reading import PageReading
from braid.core.jobs.runner import JobStopped
from braid.core.jobs.store import Job
from braid.core.originals.scans import Scans
from braid.core.types import ChunkInput, Dataset, Document, DocumentInput, Passage
from tests import samples, scans
from tests.fakes import HashEmbeddings
from tests.web import csrf_token, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S, eventually

LINES = ["The deposit is 48,250 EUR", "and falls due in March"]
HALF = samples.pdf([["The contract begins today"], [], ["Signed in Kobe"]], drawn=(2, 3))
PICTURE = samples.noisy_picture()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("scans")
    with Braid(folder / "data", embedding_model=HashEmbeddings()) as braid:
        opened = make_app(braid, Settings(scan_pages_per_minute=10_000), jobs=True)
        yield opened
        site_of(opened).close()


@pytest.fixture(scope="module")
def here(app: Flask) -> Site:
    return site_of(app)


@pytest.fixture(scope="module")
def browser(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program is; every page turned by 90 degrees."""
    return scans.install_fake(tmp_path_factory.mktemp("program"), LINES, turn=90)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The file in which the program counts the pages that it reads."""
    monkeypatch.setenv("PATH", str(folder))
    return folder / "pages"


@pytest.fixture
def dataset(here: Site, browser: FlaskClient) -> Iterator[Dataset]:
    """A dataset whose scanned pages wait for no later test."""
    post_form(browser, "/datasets", name="Scans")
    made = here.braid.ledger.all_datasets()[-1]
    yield made
    here.braid.ledger.remove_dataset(made.id)


def upload(browser: FlaskClient, here: Site, dataset: Dataset, name: str, content: bytes) -> Document:
    """Upload a file as the page's script does; the document, once nothing is to be done any more."""
    headers = {"X-CSRFToken": csrf_token(browser), "Accept": "application/json"}
    address = f"/datasets/{dataset.id}/files"
    browser.post(
        address, data=content, query_string={"name": name}, headers=headers, mimetype="application/octet-stream"
    )
    return settled(here, dataset, name)


def settled(here: Site, dataset: Dataset, name: str) -> Document:
    store = here.background.store
    eventually(lambda: {"queued": 0, "running": 0}.items() <= store.counts(dataset_id=dataset.id).items())
    found = here.braid.ledger.document(dataset.id, name)
    assert found is not None
    return found


def passages(here: Site, document: Document) -> list[Passage]:
    return here.braid.ledger.document_passages(document.id, [document.dataset_id])


# ---------------------------------------------------------------- where nothing reads them


@pytest.mark.usefixtures("nothing_installed")
def test_without_tesseract_pages_wait_until_one_button_reads_them(
    browser: FlaskClient, here: Site, dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "sudo apt-get install tesseract-ocr tesseract-ocr-jpn tesseract-ocr-jpn-vert tesseract-ocr-kor"
    half = upload(browser, here, dataset, "half.pdf", HALF)
    picture = upload(browser, here, dataset, "receipt.png", PICTURE)
    assert (half.state, half.metadata["pages_to_read"]) == ("ready", 2)
    assert (picture.state, picture.metadata["pages_to_read"]) == ("failed", 1)
    for document in (half, picture):
        assert command in browser.get(f"/datasets/{dataset.id}/documents/{document.id}").text
    listed = browser.get(f"/datasets/{dataset.id}?state=incomplete").text
    assert "Text recognition (OCR) is pending for 2 scanned pages" in listed
    told = {"en": "pending for 3 pages", "ja": "3 ページ", "ko": "3"}
    for language, words in told.items():
        overview = browser.get("/admin/", headers={"Accept-Language": language}).text
        assert words in overview
        assert command in overview
        assert 'id="read-scans"' not in overview

    monkeypatch.setenv("PATH", str(folder))
    assert 'id="read-scans"' in browser.get("/admin/").text
    post_form(browser, "/admin/scans/read")
    assert "2 documents will be read." in browser.get("/admin/").text
    for document in (half, picture):
        read = settled(here, dataset, document.source)
        assert read.state == "ready"
        assert "pages_to_read" not in read.metadata
        assert any("48,250 EUR" in passage.text for passage in passages(here, read))
    assert 'id="scans"' not in browser.get("/admin/").text
    post_form(browser, "/admin/scans/read")
    assert "Nothing to read." in browser.get("/admin/").text


def test_a_setting_turns_reading_off(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here.background.scans, "rules", ScanRules(pages_per_minute=0))
    found = upload(browser, here, dataset, "half.pdf", HALF)
    page = browser.get(f"/datasets/{dataset.id}/documents/{found.id}").text
    assert "Reading of scanned pages is turned off on this server (setting scan_pages_per_minute)." in page
    assert "turned off" in browser.get("/admin/").text


# ---------------------------------------------------------------- where they are read


def test_a_half_scanned_file_is_read_whole_and_its_marks_are_on_the_picture(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path
) -> None:
    found = upload(browser, here, dataset, "half.pdf", HALF)
    assert found.metadata["scanned_pages"] == "2, 3"
    assert 0.89 < float(str(found.metadata["scan_confidence"])) < 0.93
    own, *read = passages(here, found)
    assert (own.page, own.confidence) == (1, None)
    assert [passage.page for passage in read] == [2, 3], "page 3 has a stamp alone beside its picture"
    assert all(passage.text == "\n".join(LINES) and 0.88 < (passage.confidence or 0) < 0.93 for passage in read)
    assert here.braid.indexer.wait(WAIT_S)

    told = {"en": "read by machine, 9", "ja": "OCR で読み取り、確信度 9", "ko": "OCR 신뢰도 9"}
    for language, words in told.items():
        for address in (f"/documents/passage/{read[0].chunk_id}?as=text", f"/search?q=deposit&d={dataset.id}"):
            assert words in browser.get(address, headers={"Accept-Language": language}).text, address

    address = f"/documents/passage/{read[0].chunk_id}/page/2"
    shown = lxml.html.fromstring(browser.get(address).text)
    assert "read by machine" in shown.text_content()
    marks = [{name: int(mark.get(name)) for name in ("x", "y", "width", "height")} for mark in shown.xpath("//rect")]
    assert len(marks) == len(LINES)
    height_of_page = int(shown.xpath("//svg/@viewbox")[0].split()[3])
    # the program says that its words are at 400 and 500 pixels from the top of a page of 2480 pixels, which is turned
    assert [round(mark["y"] / height_of_page * 2480, -1) for mark in marks] == [400, 500]
    assert "".join(shown.xpath("//svg//text/text()")) == "".join(LINES)
    said = lxml.html.fromstring(browser.get(f"{address}?said=0-{len(LINES[0])}").text)
    assert len(said.xpath("//rect[@class='mark around']")) == len(LINES), "the passage, faintly"
    [sentence] = said.xpath("//rect[@class='mark']")
    assert (sentence.get("id"), int(sentence.get("y"))) == ("cited", marks[0]["y"])
    with Image.open(io.BytesIO(browser.get(f"{address}.png").data)) as picture:
        assert picture.width > picture.height, "it was turned upright"


def test_an_image_file_is_found_and_its_place_marked(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path
) -> None:
    pages = [Image.effect_noise((850, 1200), 40), Image.effect_noise((850, 1200), 40)]
    stream = io.BytesIO()
    pages[0].save(stream, "TIFF", save_all=True, append_images=pages[1:])
    for name, content, count in (("receipt.jpg", samples.noisy_picture("JPEG"), 1), ("fax.tiff", stream.getvalue(), 2)):
        found = upload(browser, here, dataset, name, content)
        assert (found.state, found.title) == ("ready", name.partition(".")[0])
        read = passages(here, found)
        assert [passage.page for passage in read] == list(range(1, count + 1))
        last = f"/documents/passage/{read[-1].chunk_id}"
        assert browser.get(last).location == f"{last}/page/{count}"
        assert len(lxml.html.fromstring(browser.get(f"{last}/page/{count}").text).xpath("//rect")) == len(LINES)
        assert browser.get(f"{last}/page/{count}.png").mimetype == "image/png"


def test_pages_that_were_read_are_not_read_again_and_a_page_without_text_is_told(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path
) -> None:
    upload(browser, here, dataset, "half.pdf", HALF)
    before = installed.read_text()
    upload(browser, here, dataset, "half.pdf", HALF)
    assert installed.read_text() == before

    words = installed.with_name("words.tsv")
    with_text = words.read_text()
    words.write_text(with_text.splitlines()[0])
    try:
        found = upload(browser, here, dataset, "photo.png", samples.noisy_picture())
    finally:
        words.write_text(with_text)
    assert (found.state, found.error) == ("failed", "photo.png has no text in it")
    assert "1 of 1 pages has no text (1)" in browser.get(f"/datasets/{dataset.id}/documents/{found.id}").text


@pytest.mark.parametrize("killed", ["$$", "$PPID"], ids=["Tesseract", "the process that reads"])
def test_a_page_whose_reader_is_killed_is_read_once_more_and_then_waits(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path, killed: str
) -> None:
    program = installed.with_name("tesseract")
    works = program.read_text()
    tried = installed.with_name("tried")
    tried.unlink(missing_ok=True)
    program.write_text(works.replace("echo page >> pages;", f"echo page >> tried; kill -9 {killed};"))
    try:
        found = upload(browser, here, dataset, "contract.pdf", HALF)
    finally:
        program.write_text(works)
    assert tried.read_text().count("page") == 4, "two pages, each twice"
    assert (found.state, found.metadata["pages_to_read"]) == ("ready", 2)
    waiting = Scans(here.braid.ledger.database).waiting_documents(dataset_ids=[dataset.id])
    assert [each.source for each in waiting] == ["contract.pdf"]
    post_form(browser, "/admin/scans/read")
    read = settled(here, dataset, "contract.pdf")
    assert "pages_to_read" not in read.metadata
    assert any("48,250 EUR" in passage.text for passage in passages(here, read))


def test_an_interrupted_job_goes_on_behind_the_page_that_it_gave_up(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, program = here.background.scans, installed.with_name("tesseract")
    rules, works = jobs.rules, program.read_text()
    monkeypatch.setattr(jobs, "rules", ScanRules(pages_per_minute=0))
    document = upload(browser, here, dataset, "lease.pdf", HALF)
    monkeypatch.setattr(jobs, "rules", rules)
    payload = {"document_id": document.id, "content_hash": document.content_hash}
    job = Job(0, 1, "scan", dataset.id, "lease.pdf", payload, "running", "", {}, 0, 0, 1, 0.0, 0.0, None)

    def run(job: Job) -> tuple[Job, list[int]]:
        """Run the job until it has tried a page: the job as the next start finds it, and the pages that are read."""
        told: list[tuple[int, int]] = []

        def end(done: int, total: int) -> None:
            if done != job.done:
                told.append((done, total))
                raise JobStopped

        with pytest.raises(JobStopped):
            jobs.run(job, end)
        [(done, total)] = told
        return replace(job, done=done, total=total), list(jobs.store.of(document))

    program.write_text(works.replace("echo page >> pages;", "kill -9 $$;"))
    try:
        job, read = run(job)
    finally:
        program.write_text(works)
    assert (job.done, job.total, read) == (1, 2, [])
    job, read = run(job)
    assert (job.done, read) == (2, [3])
    job, read = run(job)
    assert sorted(read) == [2, 3], "the page that was given up comes last"


def test_what_was_uploaded_meanwhile_is_not_overwritten(
    browser: FlaskClient, here: Site, dataset: Dataset, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = here.background.scans
    read = jobs._read

    def replace_meanwhile(*given: object) -> object:
        monkeypatch.undo()
        monkeypatch.setenv("PATH", str(installed.parent))
        ledger = here.braid.ledger
        ledger.remove_document(dataset.id, "half.pdf")
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(jobs), "_read", lambda self, *given: replace_meanwhile(*given))
    headers = {"X-CSRFToken": csrf_token(browser), "Accept": "application/json"}
    browser.post(f"/datasets/{dataset.id}/files", data=HALF, query_string={"name": "half.pdf"}, headers=headers)
    store = here.background.store
    eventually(lambda: [job for job in store.all() if job.kind == "scan" and job.dataset_id == dataset.id])
    eventually(lambda: {"queued": 0, "running": 0}.items() <= store.counts(dataset_id=dataset.id).items())
    assert here.braid.ledger.document(dataset.id, "half.pdf") is None
    [job] = [job for job in store.all() if job.kind == "scan" and job.dataset_id == dataset.id]
    assert job.result["state"] == "superseded"


def test_a_job_for_earlier_bytes_keeps_nothing_from_being_read(here: Site) -> None:
    jobs, ledger = here.background.scans, here.braid.ledger
    dataset = ledger.add_dataset(ledger.users()[0].id, "replaced")
    put = ledger.put_document(
        dataset.id, DocumentInput("https://x.example/docs/7?dl=1", "", "png", (ChunkInput("a"),), content_hash="v1")
    )
    first = ledger.document_with_id(put.document_id, [dataset.id])
    assert first is not None
    here.background.store.add(1, [replace(scan_jobs._new(first, {}), dataset_id=dataset.id)])
    assert jobs._is_queued(first)
    assert not jobs._is_queued(replace(first, content_hash="v2"))
    assert scan_jobs._filename(first) == "7?dl=1.png"
    assert not Scans(ledger.database).add(replace(first, content_hash="v0"), 1, PageReading((), 0, 0))
    assert Scans(ledger.database).add(first, 1, PageReading((), 0, 0))


def test_no_more_pages_are_read_per_minute_than_allowed(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = here.background.scans
    monkeypatch.setattr(jobs, "rules", ScanRules(pages_per_minute=600))
    told: list[tuple[int, int]] = []
    started = time.monotonic()
    for _ in range(4):
        jobs._wait_for_turn(lambda done, total: told.append((done, total)), 1, 2)
    assert time.monotonic() - started >= 0.3
    assert told == [(1, 2)] * len(told)
    assert told, "a job that waits can be cancelled"
