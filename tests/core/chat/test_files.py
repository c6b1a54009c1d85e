"""Files of a conversation: a dataset of its own that nobody else can search, and that goes with the conversation."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import event, select

from braid.core.accounts.accounts import Accounts
from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.tables import DatasetRow, EmbeddingRow
from braid.core.types import ChunkInput, DocumentInput, Mode
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up

TEXT = "The valve XK-4711 is closed by hand."


@pytest.fixture
def store(braid: Braid) -> ConversationStore:
    return ConversationStore(braid.ledger, braid.registry)


def attach(braid: Braid, store: ConversationStore, name: str = "Ann") -> tuple[int, int, int]:
    """A user with a conversation that has a file: their ids, and that of the dataset."""
    user = braid.ledger.add_user(name)
    conversation = store.create(user.id)
    dataset = store.files.add_dataset(user.id, conversation.id)
    braid.ledger.put_document(dataset.id, DocumentInput("valve.md", "Valve", "md", (ChunkInput(TEXT),)))
    catch_up(braid)
    return user.id, conversation.id, dataset.id


def found(braid: Braid, user_id: int | None, ids: list[int] | None, mode: Mode = "hybrid") -> list[str]:
    return [hit.passage.source for hit in braid.search(TEXT, user_id=user_id, dataset_ids=ids, mode=mode).hits]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_its_owner_asks_it_by_name_and_nobody_else_at_all(braid: Braid, store: ConversationStore, mode: Mode) -> None:
    ann, _, dataset = attach(braid, store)
    other = braid.ledger.add_user("Ben")
    braid.ledger.add_dataset(ann, "notes")
    braid.ledger.add_dataset(other.id, "notes")
    assert found(braid, ann, [dataset], mode) == ["valve.md"]
    assert found(braid, ann, None, mode) == []
    for user_id in (other.id, None):
        result = braid.search(TEXT, user_id=user_id, dataset_ids=[dataset], mode=mode)
        assert (result.hits, result.unresolved_dataset_ids) == ((), (dataset,))


def test_it_is_in_no_list(braid: Braid, store: ConversationStore) -> None:
    ann, conversation, dataset = attach(braid, store)
    assert braid.ledger.datasets(ann) == []
    assert [each.id for each in braid.ledger.attached_datasets(ann)] == [dataset]
    assert store.files.add_dataset(ann, conversation).id == dataset
    assert store.files.dataset(braid.ledger.add_user("Ben").id, conversation) is None


def test_files_of_another_users_conversation(braid: Braid, store: ConversationStore) -> None:
    _, conversation, _ = attach(braid, store)
    ben = braid.ledger.add_user("Ben")
    with pytest.raises(NotFoundError):
        store.files.add_dataset(ben.id, conversation)
    with pytest.raises(NotFoundError):
        store.files.keep(ben.id, conversation, "Mine")
    with pytest.raises(NotFoundError):
        store.delete(ben.id, conversation)
    assert len(braid.ledger.all_datasets()) == 1


def test_it_goes_with_the_conversation_with_vectors_index_entries_and_jobs(
    braid: Braid, store: ConversationStore
) -> None:
    ann, conversation, dataset = attach(braid, store)
    JobStore(braid.ledger).add(ann, [NewJob("export", "Files", dataset)])
    collection = f"user_{ann}"
    assert (braid.bm25.count(collection), braid.dense.count(collection)) == (1, 1)
    store.delete(ann, conversation)
    braid.wake()
    catch_up(braid)
    assert (braid.bm25.count(collection), braid.dense.count(collection)) == (0, 0)
    assert found(braid, ann, [dataset]) == []
    assert JobStore(braid.ledger).count_not_done(ann) == 0
    with braid.ledger.database.read() as connection:
        assert connection.execute(select(EmbeddingRow.chunk_id)).all() == []
        assert connection.execute(select(DatasetRow.removed_at)).scalar_one() is not None


def test_what_is_deleted_is_found_by_nobody_and_comes_back_without_being_embedded_again(
    braid: Braid, store: ConversationStore, embeddings: HashEmbeddings
) -> None:
    ann, conversation, dataset = attach(braid, store)
    embedded = embeddings.documents_embedded
    store.discard(ann, conversation)
    assert found(braid, ann, [dataset]) == []
    assert (store.files.dataset(ann, conversation), braid.ledger.attached_datasets(ann)) == (None, [])
    for use in (store.files.add_dataset, store.messages, store.links.share, store.discard):
        with pytest.raises(NotFoundError):
            use(ann, conversation)
    assert store.restore(ann, [conversation]) == [conversation]
    catch_up(braid)
    assert found(braid, ann, [dataset]) == ["valve.md"]
    assert embeddings.documents_embedded == embedded


def test_files_of_a_deleted_conversation_go_with_its_age_and_with_its_user(
    braid: Braid, store: ConversationStore
) -> None:
    ann, conversation, dataset = attach(braid, store)
    store.discard(ann, conversation)
    assert store.delete_discarded(store.deleted(ann)[0].deleted_at or 0) == 0, "not yet older"
    assert store.delete_discarded(time.time() + 1) == 1
    assert store.restore(ann, [conversation]) == store.deleted(ann) == []
    with pytest.raises(NotFoundError):
        braid.ledger.dataset(dataset)
    ben, later, files = attach(braid, store, "Ben")
    store.discard(ben, later)
    Accounts(braid.ledger).remove(ben)
    with pytest.raises(NotFoundError):
        braid.ledger.dataset(files)


def test_it_goes_with_its_user(braid: Braid, store: ConversationStore) -> None:
    ann, _, _ = attach(braid, store)
    Accounts(braid.ledger).remove(ann)
    catch_up(braid)
    assert braid.ledger.all_datasets() == []
    assert braid.bm25.count(f"user_{ann}") == 0


def test_what_is_kept_is_a_dataset_without_being_embedded_again(
    braid: Braid, store: ConversationStore, embeddings: HashEmbeddings
) -> None:
    ann, conversation, dataset = attach(braid, store)
    embedded = embeddings.documents_embedded
    with pytest.raises(InvalidInputError):
        store.files.keep(ann, conversation, " ")
    with pytest.raises(InvalidInputError, match="you have 0 datasets, which is the limit"):
        store.files.keep(ann, conversation, "Valves", most=0)
    assert braid.ledger.datasets(ann) == []
    assert braid.ledger.dataset(dataset).name != "Valves", "what is refused changes nothing"
    kept = store.files.keep(ann, conversation, "Valves")
    assert (kept.id, kept.name, kept.conversation_id) == (dataset, "Valves", None)
    catch_up(braid)
    assert embeddings.documents_embedded == embedded
    assert found(braid, ann, None) == ["valve.md"]
    assert store.files.dataset(ann, conversation) is None
    store.delete(ann, conversation)
    assert [each.name for each in braid.ledger.datasets(ann)] == ["Valves"]


def test_conversation_and_files_are_deleted_together_or_not_at_all(braid: Braid, store: ConversationStore) -> None:
    user, conversation, dataset = attach(braid, store)
    broken = True

    def fail(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if broken and statement.startswith("DELETE FROM conversations"):
            raise OSError("the server is killed here")

    event.listen(braid.ledger.database.engine, "before_cursor_execute", fail)
    with pytest.raises(OSError, match="killed"):
        store.delete(user, conversation)
    assert found(braid, user, [dataset]) == ["valve.md"]
    broken = False
    assert store.delete(user, conversation)
    assert found(braid, user, [dataset]) == []
