"""A library with kinds of documents, and what a search page of it has."""

from __future__ import annotations

import re
from datetime import datetime

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput, Hit, Occurrence, Passage
from tests.worlds import WAIT_S

NOTES, OTHER, HANDBOOK = 1, 2, -1


LIBRARY = (
    (NOTES, "lab/alloy.pdf", "Alloy trial", "pdf", "The alloy was annealed at 450 °C for 2 h in argon.", 3),
    (NOTES, "lab/polymer.md", "Polymer film", "md", "The polymer film was cast from toluene at 25 °C.", None),
    (OTHER, "home/garden.docx", "Garden", "docx", "Tomatoes need water and sun.", 1),
    (HANDBOOK, "handbook/safety.html", "Safety", "html", "Argon displaces air: open a window.", None),
)


DAY = datetime(2026, 3, 5, 12).timestamp()


def fill(braid: Braid) -> Braid:
    """The administrator's two datasets and a shared one."""
    user = braid.ledger.add_user("ann")
    braid.ledger.add_dataset(user.id, "Laboratory")
    braid.ledger.add_dataset(user.id, "Home")
    braid.registry.add("Handbook", "shared_main_db")
    braid.dataset(HANDBOOK)
    for dataset_id, source, title, file_type, text, page in LIBRARY:
        chunk = ChunkInput(text, page=page, page_end=page)
        braid.ledger.put_document(dataset_id, DocumentInput(source, title, file_type, (chunk,), date=DAY))
    assert braid.indexer.wait(WAIT_S)
    return braid


def titles(page: str) -> list[str]:
    return re.findall(r'<h\d id="title-\d+">.*?<a [^>]+>([^<]+)</a>', page)


def hit(chunk_id: str, *also: str) -> Hit:
    passage = Passage(chunk_id, 1, 1, "c", "s", "t", "md", "", "x", 0, None, None, None, None, None, {})
    return Hit(passage, 1.0, (), tuple(Occurrence(each, 2, "s", "t") for each in also))
