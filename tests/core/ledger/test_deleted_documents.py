"""Documents that are deleted so that they can be restored."""

from __future__ import annotations

import time

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.transfer import transfer_datasets
from braid.core.braid import Braid
from braid.core.doctor import examine
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.deleted import DeletedDatasets
from braid.core.ledger.deleted_documents import DeletedDocuments
from braid.core.ledger.ledger import Ledger
from braid.core.types import PART, ChunkInput, DocumentInput, Filters
from tests.databases import on_both_databases
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up


def document(source: str, text: str = "") -> DocumentInput:
    chunk = ChunkInput(text or f"The zircon pump of {source} is closed by hand.")
    return DocumentInput(source, source.title(), "md", (chunk,), source + text, metadata={"site": "south"})


def found(braid: Braid, user_id: int, ids: list[int] | None = None) -> set[str]:
    return {hit.passage.source for hit in braid.search("zircon pump", user_id=user_id, dataset_ids=ids).hits}


def sources(ledger: Ledger, dataset: int) -> list[str]:
    return [each.source for each in ledger.documents(dataset)]


def test_nobody_finds_them_and_they_come_back_whole_without_being_embedded_again(
    braid: Braid, embeddings: HashEmbeddings
) -> None:
    ledger, ann = braid.ledger, braid.ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes").id
    ids = [ledger.put_document(dataset, document(source)).document_id for source in ("a.md", "b.md", "c.md")]
    catch_up(braid)
    before = ledger.documents(dataset), ledger.dataset(dataset), ledger.document_passages(ids[0], [dataset])
    selection = Filters(metadata={"site": "south"})
    embedded, deleted = embeddings.documents_embedded, DeletedDocuments(ledger)
    gone = deleted.discard(dataset, ids[:2])
    assert gone.documents == 2
    for _ in range(2):  # before the indexes follow, and after
        assert (found(braid, ann), found(braid, ann, [dataset, *gone.deletions])) == ({"c.md"}, {"c.md"})
        assert ledger.document_with_id(ids[0], [dataset]) is None
        assert ledger.document_passages(ids[0], [dataset]) == []
        assert ledger.passages([before[2][0].chunk_id], [dataset]) == {}
        assert list(ledger.matching_documents([dataset], selection)[0]) == ids[2:]
        assert (ledger.dataset(dataset).documents, ledger.dataset(dataset).chunks) == (1, 1)
        catch_up(braid)
    assert (braid.bm25.count(f"user_{ann}"), braid.dense.count(f"user_{ann}")) == (1, 1)
    assert list(examine(braid)) == []
    assert [each.id for each in ledger.datasets(ann)] == [dataset]
    assert DeletedDatasets(ledger).of_user(ann) == []
    assert [each.source for each in deleted.of_dataset(dataset)] == ["a.md", "b.md"]
    restored = deleted.restore(dataset, deletions=gone.deletions)
    assert ({each.id for each in restored.documents}, restored.taken) == ({*ids[:2]}, ())
    catch_up(braid)
    after = ledger.documents(dataset), ledger.dataset(dataset), ledger.document_passages(ids[0], [dataset])
    assert after == before
    assert found(braid, ann) == {"a.md", "b.md", "c.md"}
    assert list(ledger.matching_documents([dataset], selection)[0]) == ids
    assert embeddings.documents_embedded == embedded
    assert (deleted.of_dataset(dataset), list(examine(braid))) == ([], [])


@on_both_databases
def test_another_document_of_the_same_source_stays_and_the_deleted_one_says_so(ledger: Ledger) -> None:
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    first = ledger.put_document(dataset, document("a.md", "old")).document_id
    other = ledger.put_document(dataset, document("b.md")).document_id
    deleted.discard(dataset, [first, other])
    second = ledger.put_document(dataset, document("a.md", "new"))
    assert second.is_new
    restored = deleted.restore(dataset, [first, other])
    assert [each.id for each in restored.documents] == [other]
    assert [each.id for each in restored.taken] == [first]
    assert [each.id for each in deleted.of_dataset(dataset)] == [first]
    assert deleted.discard_source(dataset, "a.md")
    both = deleted.restore(dataset, [first, second.document_id])
    assert ([each.id for each in both.documents], [each.id for each in both.taken]) == ([second.document_id], [first])
    ledger.remove_document(dataset, "a.md")
    assert len(deleted.restore(dataset, [first]).documents) == 1
    assert [each.text for each in ledger.document_passages(first, [dataset])] == ["old"]


@on_both_databases
def test_they_go_for_good_by_age_by_wish_and_with_their_dataset(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    dataset, other = (ledger.add_dataset(ann, name).id for name in ("notes", "minutes"))
    deleted, datasets = DeletedDocuments(ledger), DeletedDatasets(ledger)
    ids = [ledger.put_document(dataset, document(f"{n}.md")).document_id for n in range(4)]
    for each in ids:
        deleted.discard(dataset, [each])
    assert deleted.erase(dataset, ids[:1]) == 1
    for refused in (lambda: deleted.restore(dataset, ids[:1]), lambda: deleted.erase(other, ids[1:])):
        with pytest.raises(NotFoundError, match="no such deleted document"):
            refused()
    listed = deleted.of_dataset(dataset)
    assert [each.id for each in listed] == [ids[3], ids[2], ids[1]]
    assert datasets.erase_old(listed[-1].deleted_at) == 0
    assert datasets.erase_old(time.time() + 1) == 3
    assert deleted.of_dataset(dataset) == []
    again = ledger.put_document(dataset, document("x.md")).document_id
    deleted.discard(dataset, [again])
    datasets.discard(dataset)
    with pytest.raises(NotFoundError, match="there is no dataset"):
        deleted.restore(dataset, [again])
    datasets.restore(ann, dataset)
    assert len(deleted.restore(dataset, [again]).documents) == 1
    deleted.discard(dataset, [again])
    ledger.remove_dataset(dataset)
    assert deleted.of_dataset(dataset) == []


@on_both_databases
def test_they_count_until_they_are_gone_and_go_with_their_user(ledger: Ledger) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    dataset, deleted = ledger.add_dataset(ann, "notes").id, DeletedDocuments(ledger)
    put = ledger.put_document(dataset, document("a.md")).document_id
    deleted.discard(dataset, [put])
    with pytest.raises(InvalidInputError, match=r"you have 1 documents, .* which is the limit"):
        ledger.put_document(dataset, document("b.md"), most=1)
    transfer_datasets(ledger, ann, ben)
    ledger.put_document(ledger.add_dataset(ann, "new").id, document("b.md"), most=1)
    with pytest.raises(InvalidInputError, match="which is the limit"):
        ledger.put_document(dataset, document("b.md"), most=1)
    Accounts(ledger).remove(ben)
    assert deleted.of_dataset(dataset) == []


def test_only_the_newest_deletions_can_be_undone(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.ledger.deleted_documents.MOST_DELETIONS", 2)
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    for source in ("a.md", "b.md", "c.md"):
        deleted.discard(dataset, [ledger.put_document(dataset, document(source)).document_id])
    assert [each.source for each in deleted.of_dataset(dataset)] == ["c.md", "b.md"]
    assert deleted.discard(dataset, [10**6]).deletions == ()


def test_a_reading_that_ends_later_does_not_bring_one_back(ledger: Ledger) -> None:
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    put = ledger.put_document(dataset, document("a.md")).document_id
    deleted.discard(dataset, [put])
    assert ledger.put_reading(dataset, document("a.md")) is None
    assert sources(ledger, dataset) == []
    ledger.put_document(dataset, document("b.md"))
    parts = ledger.put_documents(dataset, [document("r.pdf"), document("r.pdf", "two")], pieces=[0, 1])
    assert deleted.discard_source(dataset, "r.pdf")
    assert sources(ledger, dataset) == ["b.md"]
    assert len(deleted.restore(dataset, [each.document_id for each in parts]).documents) == 2


@on_both_databases
def test_all_parts_of_a_source_come_back_however_many_batches_they_were(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.ledger.ledger.DOCUMENTS_PER_BATCH", 2)
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    names = ["a.md", *(f"a.md{PART}{number}" for number in range(2, 7))]
    for name in names:
        ledger.put_document(dataset, document(name))
    assert deleted.discard_source(dataset, "a.md")
    assert sources(ledger, dataset) == []
    back = deleted.restore(dataset, [each.id for each in deleted.of_source(dataset, "a.md")])
    assert sorted(each.source for each in back.documents) == names


@on_both_databases
def test_parts_of_a_replaced_document_stay_deleted_with_it(ledger: Ledger) -> None:
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    ids = [ledger.put_document(dataset, document(name)).document_id for name in ("a.md", f"a.md{PART}2")]
    gone = deleted.discard(dataset, ids)
    ledger.put_document(dataset, document("a.md", "new"))
    back = deleted.restore(dataset, ids, deletions=gone.deletions)
    assert (back.documents, [each.id for each in back.taken]) == ((), ids)
    assert sources(ledger, dataset) == ["a.md"]
    alone = ledger.put_document(dataset, document(f"a.md{PART}3")).document_id
    deleted.discard(dataset, [alone])
    assert [each.id for each in deleted.restore(dataset, [alone]).documents] == [alone]


@on_both_databases
def test_a_number_that_no_document_can_have_names_none(ledger: Ledger) -> None:
    dataset, deleted = ledger.add_dataset(ledger.add_user("ann").id, "notes").id, DeletedDocuments(ledger)
    for act in (deleted.restore, deleted.erase):
        with pytest.raises(NotFoundError, match="no such deleted document"):
            act(dataset, [10**30, -1, 0])
