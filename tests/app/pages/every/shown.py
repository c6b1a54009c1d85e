"""A library in three languages, and what is found in it."""

from __future__ import annotations

from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.worlds import WAIT_S

NOTES, EMPTY, HANDBOOK = 1, 2, -1


LIBRARY = (
    (NOTES, "notes/printer.md", "Printer notes", "The printer shows error E-4711 when the tray is empty."),
    (NOTES, "notes/printer.ja.md", "プリンターのメモ", "用紙がないと、プリンターにエラーコードが表示されます。"),
    (NOTES, "notes/printer.ko.md", "프린터 메모", "용지가 없으면 프린터에 오류 코드가 나타납니다."),
    (HANDBOOK, "travel.md", "Travel", "Book trains through the travel office.", "Hotels need a receipt."),
)


def fill(braid: Braid) -> Braid:
    """The local user with a full and an empty dataset, and a shared dataset."""
    user = braid.ledger.add_user("local")
    braid.ledger.add_dataset(user.id, "My notes")
    braid.ledger.add_dataset(user.id, "Empty")
    braid.registry.add("Handbook", "shared_main_db", description="For everybody")
    braid.dataset(HANDBOOK)
    for dataset_id, source, title, *texts in LIBRARY:
        chunks = tuple(ChunkInput(text) for text in texts)
        braid.ledger.put_document(dataset_id, DocumentInput(source, title, "md", chunks))
    assert braid.indexer.wait(WAIT_S)
    return braid


def results_of(client: FlaskClient, query: str, **arguments: object) -> str:
    """The HTML of the result part."""
    response = client.get("/search", query_string={"q": query, "d": [NOTES, HANDBOOK], **arguments})
    assert response.status_code == 200
    return response.text.partition('<section id="results"')[2]
