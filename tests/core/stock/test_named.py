"""The strategies by the names of classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import braid as package
from braid import Braid
from braid.core import retriever_manager
from braid.core.errors import InvalidInputError
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, document, ids

NAMES = {
    "BasicRetrieverStrategy": "basic",
    "MultiQueryRetrieverStrategy": "multi_query",
    "ContextualCompressionRetrieverStrategy": "compression",
    "HydeRetrieverStrategy": "hyde",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with ByHand(tmp_path_factory.mktemp("named"), embedding_model=HashEmbeddings()) as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a.md", "the cat", "the dog", "a bird"))
        catch_up(braid)
        yield braid


@pytest.mark.parametrize("name", NAMES)
def test_each_makes_its_strategys_retriever(opened: Braid, name: str) -> None:
    made = getattr(package, name)(opened.manager, k=2)
    assert getattr(retriever_manager, name) is getattr(package, name)
    expected = opened.get_retriever(NAMES[name], user_id=1, dataset_ids=[1], k=2).invoke("the cat")
    assert ids(made.get_retriever(1, [1]).invoke("the cat")) == ids(expected)
    assert len(made.get_retriever(user_id=1, dataset_ids=[1], k=1).invoke("the cat")) == 1
    with pytest.raises(InvalidInputError, match="there is no option 'top'"):
        made.get_retriever(1, [1], top=3)
