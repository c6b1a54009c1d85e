"""Titles and headings of the newest documents, and when they are read again."""

from __future__ import annotations

from braid.core.datasets.outlines import Outlines
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
    assert [(each.title, each.headings) for each in found] == [("New", ()), ("Old", ("Pumps", "Seals"))]
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
