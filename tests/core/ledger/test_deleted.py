"""Datasets that are deleted so that they can be restored."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.braid import Braid
from braid.core.datasets.metadata_keys import metadata_keys
from braid.core.doctor import examine
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.deleted import DeletedDatasets
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.databases import on_both_databases
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up

DOCUMENT = DocumentInput("pump.md", "Pump", "md", (ChunkInput("The zircon pump is closed by hand."),))


def found(braid: Braid, user_id: int, ids: list[int] | None = None) -> list[str]:
    return [hit.passage.source for hit in braid.search("zircon pump", user_id=user_id, dataset_ids=ids).hits]


def test_nobody_finds_it_and_it_comes_back_without_being_embedded_again(
    braid: Braid, embeddings: HashEmbeddings
) -> None:
    ann = braid.ledger.add_user("ann").id
    dataset = braid.ledger.add_dataset(ann, "notes").id
    braid.ledger.put_document(dataset, DOCUMENT)
    catch_up(braid)
    embedded, deleted = embeddings.documents_embedded, DeletedDatasets(braid.ledger)
    deleted.discard(dataset)
    assert (found(braid, ann), found(braid, ann, [dataset]), braid.ledger.datasets(ann)) == ([], [], [])
    catch_up(braid)
    assert (braid.bm25.count(f"user_{ann}"), braid.dense.count(f"user_{ann}")) == (0, 0)
    assert list(examine(braid)) == []
    deleted.restore(ann, dataset)
    catch_up(braid)
    assert found(braid, ann) == ["pump.md"]
    assert embeddings.documents_embedded == embedded
    assert list(examine(braid)) == []


@on_both_databases
def test_what_was_deleted_is_its_owners_until_it_is_too_old(ledger: Ledger) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    dataset, other = (ledger.add_dataset(ann, name).id for name in ("notes", "minutes"))
    put = ledger.put_document(dataset, DOCUMENT)
    deleted = DeletedDatasets(ledger)
    deleted.discard(dataset)
    for gone in (deleted.discard, ledger.dataset, ledger.remove_dataset):
        with pytest.raises(NotFoundError):
            gone(dataset)
    [listed] = deleted.of_user(ann)
    assert (listed.id, listed.name, listed.documents, deleted.of_user(ben)) == (dataset, "notes", 1, [])
    for refused in (lambda: deleted.restore(ben, dataset), lambda: deleted.erase(ben, dataset)):
        with pytest.raises(NotFoundError, match="that can be restored"):
            refused()
    with pytest.raises(NotFoundError):
        deleted.restore(ann, other)
    with pytest.raises(InvalidInputError, match="you have 1 datasets, which is the limit"):
        deleted.restore(ann, dataset, most=1)
    assert deleted.erase_old(listed.deleted_at) == 0
    assert deleted.erase_old(time.time() + 1) == 1
    assert deleted.of_user(ann) == []
    assert ledger.documents_with_ids([put.document_id], [dataset]) == []


@on_both_databases
def test_nothing_of_it_is_read_in_a_scope_that_was_resolved_before(ledger: Ledger) -> None:
    dataset = ledger.add_dataset(ledger.add_user("ann").id, "notes").id
    text = "The Service Level Agreement (SLA) covers the zircon pump."
    put = ledger.put_document(dataset, replace(DOCUMENT, chunks=(ChunkInput(text),), metadata={"team": "pumps"}))
    [chunk_id] = [passage.chunk_id for passage in ledger.document_passages(put.document_id, [dataset])]
    scope, selected = [dataset], Filters(metadata={"team": "pumps"})

    def read() -> list[object]:
        ids, chunks = ledger.matching_documents(scope, selected)
        return [
            sorted(ledger.visible([chunk_id], scope)),
            sorted(ledger.passage_rows([chunk_id], scope)),
            sorted(ledger.matching_passages(scope, selected)),
            (ids.tolist(), chunks),
            [term.long for term in ledger.terms(scope, ["sla"])],
            ledger.document_with_id(put.document_id, scope) is not None,
            ledger.documents_with_ids([put.document_id], scope) != [],
            list(metadata_keys(ledger.database, scope)),
        ]

    passages, documents = [chunk_id], ([put.document_id], 1)
    terms, keys = ["Service Level Agreement"], ["team"]
    assert read() == [passages, passages, passages, documents, terms, True, True, keys]
    DeletedDatasets(ledger).discard(dataset)
    assert read() == [[], [], [], ([], 0), [], False, False, []]


@on_both_databases
def test_documents_count_until_they_are_gone_for_good(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    dataset, other = (ledger.add_dataset(ann, name).id for name in ("notes", "minutes"))
    ledger.put_document(dataset, DOCUMENT)
    deleted = DeletedDatasets(ledger)
    deleted.discard(dataset)
    with pytest.raises(InvalidInputError, match="you have 1 documents, with deleted ones"):
        ledger.put_document(other, DOCUMENT, most=1)
    deleted.erase(ann, dataset)
    ledger.put_document(other, DOCUMENT, most=1)


def test_it_goes_with_its_user_and_the_oldest_of_too_many_go(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.ledger.deleted.MOST_DELETED", 2)
    ann = ledger.add_user("ann").id
    deleted = DeletedDatasets(ledger)
    for name in ("a", "b", "c"):
        deleted.discard(ledger.add_dataset(ann, name).id)
    assert [each.name for each in deleted.of_user(ann)] == ["c", "b"]
    Accounts(ledger).remove(ann)
    assert deleted.of_user(ann) == []
