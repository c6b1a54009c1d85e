"""Embedding a dataset again."""

from __future__ import annotations

import pytest

from braid.core.braid import Braid
from braid.core.errors import NotFoundError
from braid.core.indexes.reembed import reembed
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up


def test_embedding_again_makes_every_vector_of_the_dataset_anew(braid: Braid, embeddings: HashEmbeddings) -> None:
    dataset_id = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
    other = braid.ledger.add_dataset(1, "other")
    for number in range(45):
        chunks = (ChunkInput(f"text {number}"), ChunkInput("more"))
        braid.ledger.put_document(dataset_id, DocumentInput(f"{number}", f"{number}", "txt", chunks))
    braid.ledger.put_document(other.id, DocumentInput("kept", "kept", "txt", (ChunkInput("not touched"),)))
    catch_up(braid)
    assert embeddings.documents_embedded == 91
    before = braid.manager.search("text 7", user_id=1, dataset_ids=[dataset_id], mode="semantic")
    assert reembed(braid, dataset_id) == 90
    catch_up(braid)
    assert embeddings.documents_embedded == 181
    after = braid.manager.search("text 7", user_id=1, dataset_ids=[dataset_id], mode="semantic")
    assert [hit.passage.chunk_id for hit in after.hits] == [hit.passage.chunk_id for hit in before.hits]
    with pytest.raises(NotFoundError):
        reembed(braid, 99)
