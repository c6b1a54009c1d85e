"""Titles and headings of the newest documents, and when they are read again."""

from __future__ import annotations

import pytest

from braid.core.datasets.outlines import Outlines, says_something
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput
from tests.databases import on_both_databases


def put(ledger: Ledger, dataset_id: int, title: str, *paths: str) -> None:
    chunks = tuple(ChunkInput(f"About {path}.", heading_path=path) for path in paths or ("",))
    ledger.put_document(dataset_id, DocumentInput(f"{title}.md", title, "md", chunks))


@on_both_databases
def test_the_newest_come_first_with_their_innermost_headings(ledger: Ledger) -> None:
    user = ledger.add_user("ann").id
    mine, other = ledger.add_dataset(user, "mine").id, ledger.add_dataset(user, "other").id
    put(ledger, mine, "Old", "Old", "Old > Pumps", "Old > Pumps > Seals", "Old > Pumps")
    put(ledger, other, "Elsewhere", "Elsewhere > Secret")
    put(ledger, mine, "New")
    ledger.put_failed(mine, "scan.pdf", title="scan", file_type="pdf", error="has no text")
    found = Outlines(ledger).newest([ledger.dataset(mine)], limit=5)
    assert [(each.title, [part.heading for part in each.sections]) for each in found] == [
        ("New", [""]),
        ("Old", ["", "Pumps", "Seals"]),
    ]
    assert [part.text for part in found[1].sections] == [
        "About Old.",
        "About Old > Pumps.",
        "About Old > Pumps > Seals.",
    ]
    assert Outlines(ledger).newest([ledger.dataset(mine)], limit=1) == found[:1]


def test_documents_long_before_the_newest_of_others_are_found(ledger: Ledger) -> None:
    user = ledger.add_user("ann").id
    mine, other = ledger.add_dataset(user, "mine").id, ledger.add_dataset(user, "other").id
    put(ledger, mine, "Mine")
    put(ledger, other, "Later")
    assert [each.title for each in Outlines(ledger, recent_ids=1).newest([ledger.dataset(mine)], limit=5)] == ["Mine"]


def test_they_are_read_again_when_something_changed(ledger: Ledger) -> None:
    mine = ledger.add_dataset(ledger.add_user("ann").id, "mine").id
    outlines = Outlines(ledger, again_s=0.0)
    assert outlines.newest([ledger.dataset(mine)], limit=5) == ()
    put(ledger, mine, "First")
    before = outlines.newest([ledger.dataset(mine)], limit=5)
    assert outlines.newest([ledger.dataset(mine)], limit=5) is before
    put(ledger, mine, "Second")
    assert [each.title for each in outlines.newest([ledger.dataset(mine)], limit=5)] == ["Second", "First"]
    ledger.remove_document(mine, "First.md")
    assert [each.title for each in outlines.newest([ledger.dataset(mine)], limit=5)] == ["Second"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The seal lasts a year.", True),
        ("シールは 1 年もちます。", True),
        ("씰은 1년 동안 쓸 수 있어요", True),
        ("index | modules | next | previous", False),
        ("1. Seals ........ 2\n2. Bearings ....... 5", False),
        ("1. Seals ........ 2\n2. Bearings ....... 5\n" * 30, False),
        ("Seal, 4 mm, 3 EUR\n" * 20, True),
        ("", False),
    ],
)
def test_menus_and_tables_of_contents_say_nothing(text: str, says: bool) -> None:
    assert says_something(text) is says


def test_headings_over_menus_are_not_asked_about(ledger: Ledger) -> None:
    mine = ledger.add_dataset(ledger.add_user("ann").id, "mine").id
    chunks = (
        ChunkInput("index | modules | next", heading_path="Manual > Navigation"),
        ChunkInput("The seal lasts a year.", heading_path="Manual > Seals"),
    )
    ledger.put_document(mine, DocumentInput("m.html", "Manual", "html", chunks))
    [outline] = Outlines(ledger).newest([ledger.dataset(mine)], limit=5)
    assert [each.heading for each in outline.sections] == ["Seals"]


def test_sections_of_a_document_and_those_beside_a_passage(ledger: Ledger) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    mine, his = ledger.add_dataset(ann, "mine").id, ledger.add_dataset(ben, "his").id
    paths = ("M", "M > One", "M > Two", "M > Two", "M > Two > Three", "M > Four")
    for dataset in (mine, his):
        put(ledger, dataset, "M", *paths)
    outlines = Outlines(ledger)
    [document] = ledger.documents(mine)
    sections = outlines.of_document(document.id, mine)
    assert [(each.heading, each.path, each.position) for each in sections] == [
        ("", "M", 0),
        ("One", "M > One", 1),
        ("Two", "M > Two", 2),
        ("Three", "M > Two > Three", 4),
        ("Four", "M > Four", 5),
    ]
    assert sections[3].text == "About M > Two > Three."
    assert outlines.of_document(document.id, his) == (), "of another dataset"
    cited = ledger.document_passages(document.id, [mine])[3].chunk_id
    assert [each.heading for each in outlines.near([cited], [mine])] == ["Three", "Four", "One"]
    assert outlines.near([cited], [his]) == (), "not readable"
    assert outlines.near(["no such passage"], [mine, his]) == ()
