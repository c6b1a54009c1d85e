"""The list of datasets: found by name, sorted, a page at a time, light and quick with hundreds of them."""

from __future__ import annotations

import re
import time

import pytest
from flask.testing import FlaskClient

from braid.app.pages.datasets import dataset_list
from braid.core.braid import Braid
from braid.core.datasets.shares import Share, Shares
from braid.core.jobs.store import NewJob
from braid.core.types import ChunkInput, DocumentInput
from tests.web import make_app, sign_in, site_of, text_of
from tests.worlds import WAIT_S

MANY = 500
MAX_BYTES = 150_000
MAX_S = 1.0


def fill(braid: Braid, names: list[str], *, empty: tuple[str, ...] = ()) -> FlaskClient:
    client = sign_in(make_app(braid))
    me = braid.ledger.users()[0].id
    for number, name in enumerate(names):
        dataset = braid.ledger.add_dataset(me, name)
        texts = () if name in empty else tuple(ChunkInput(f"Text {number} {part}.") for part in range(number % 3 + 1))
        if texts:
            size = 1_000 - number
            braid.ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", texts, size_bytes=size))
    return client


def listed(client: FlaskClient, **arguments: object) -> list[str]:
    page = client.get("/datasets", query_string=arguments).text
    return re.findall(r'<th scope="row"><a [^>]+>([^<]+)</a>', page)


def test_a_few_are_listed_as_they_were_added_without_a_filter(braid: Braid) -> None:
    client = fill(braid, ["b", "a", "c"], empty=("c",))
    assert listed(client) == ["b", "a", "c"]
    assert 'id="find-datasets"' not in client.get("/datasets").text
    page = text_of(client.get("/datasets").text)
    assert page.index("New dataset") < page.index("Your datasets")


def test_a_document_whose_scanned_pages_wait_is_no_waiting_file(braid: Braid) -> None:
    client = fill(braid, ["a"])
    [me], [dataset] = braid.ledger.users(), braid.ledger.all_datasets()
    assert braid.indexer.wait(WAIT_S)
    site_of(client.application).background.store.add(me.id, [NewJob("scan", "a.md", dataset.id)])
    assert "Scanned pages of 1 document are still being read" in text_of(client.get("/datasets").text)
    page = text_of(client.get(f"/datasets/{dataset.id}").text)
    assert "Scanned pages of 1 document are still being read" in page
    assert "1 of 1 ready" in page
    assert "cannot be found yet" not in page
    assert "file waiting" not in page


def test_those_that_the_user_shares_say_so(braid: Braid) -> None:
    client = fill(braid, ["Plans", "Notes"])
    braid.ledger.add_user("ben")
    Shares(braid.ledger, braid.registry, audit=lambda *_: None).put(braid.dataset(1), Share("user", "ben"), by="ann")
    page = text_of(client.get("/datasets").text)
    assert "Plans shared" in page
    assert "Notes shared" not in page


def test_from_eight_on_they_are_found_sorted_and_empty_ones_folded(braid: Braid) -> None:
    names = ["Pumps 1", "valves", "Pumps 2", "Äpfel", "会議", "Empty pumps", "Zebra", "anchor"]
    client = fill(braid, names, empty=("Empty pumps",))
    full = [name for name in names if name != "Empty pumps"]
    assert listed(client) == full
    assert "1 empty dataset" in text_of(client.get("/datasets").text)
    assert listed(client, name="PUMPS") == ["Pumps 1", "Pumps 2", "Empty pumps"]
    assert listed(client, name="2 pumps") == ["Pumps 2"]
    assert listed(client, order="name") == ["anchor", "Pumps 1", "Pumps 2", "valves", "Zebra", "Äpfel", "会議"]
    assert listed(client, order="newest") == full[::-1]
    assert listed(client, order="size")[0] == "Pumps 1"
    assert listed(client, order="nonsense") == full
    assert "No dataset matches." in text_of(client.get("/datasets?name=%25").text)
    for odd in ("page=-1", "page=99", "page=x", "name=%00", f"page={10**30}"):
        assert client.get(f"/datasets?{odd}").status_code == 200


def test_pages_of_the_list_keep_what_was_asked(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_list, "PER_PAGE", 4)
    client = fill(braid, [f"Shelf {number}" for number in range(10)])
    first = client.get("/datasets?name=shelf&order=newest").text
    assert listed(client, name="shelf", order="newest") == ["Shelf 9", "Shelf 8", "Shelf 7", "Shelf 6"]
    following = re.search(r'<a href="([^"]+)" rel="next"', first)
    assert following is not None
    second = client.get(following[1].replace("&amp;", "&")).text
    assert re.findall(r">(Shelf \d)</a>", second) == ["Shelf 5", "Shelf 4", "Shelf 3", "Shelf 2"]
    assert 'rel="prev"' in second
    assert "order=newest" in second[second.index("data-live") :]


def test_hundreds_are_light_and_quick(braid: Braid) -> None:
    empty = tuple(f"A rather long name of an archive, number {number:03}" for number in range(0, MANY, 3))
    names = [f"A rather long name of an archive, number {number:03}" for number in range(MANY)]
    client = fill(braid, names, empty=empty)
    for path in ("/datasets", "/datasets?name=archive", "/admin/indexes"):
        client.get(path)
        started = time.thread_time()  # the request is answered in this thread, beside other tests
        page = client.get(path)
        took = time.thread_time() - started
        assert len(page.data) < MAX_BYTES, path
        assert took < MAX_S, path
    for path in ("/chat", "/search"):
        client.get(path)
        started = time.thread_time()
        packed = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert time.thread_time() - started < 2 * MAX_S, path
        assert len(packed.data) < 30_000, path
    indexes = text_of(client.get("/admin/indexes").text)
    assert "number 000" in indexes
    assert "and 497 others" in indexes
    assert "number 004" not in indexes
