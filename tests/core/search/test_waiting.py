"""Waiting for collections of which one does not answer."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.indexes.bm25 import Bm25Index, Bm25Statistics
from tests.worlds import catch_up, document

LONG_S = 30.0


def test_a_collection_that_does_not_answer_is_named_and_the_others_are_searched(
    braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = braid.ledger.add_user("ann")
    own = braid.ledger.add_dataset(user.id, "own").id
    braid.ledger.put_document(own, document("a.md", "the pump"))
    guide = braid.registry.add("Guide", "shared_guide").id
    braid.mirror_registry()
    braid.ledger.put_document(guide, document("b.md", "the pump of the guide"))
    catch_up(braid, "bm25")
    hung, count = threading.Event(), Bm25Index.statistics

    def hang(self: Bm25Index, collection: str, terms: Collection[str], **options: Any) -> Bm25Statistics:
        if collection == "shared_guide":
            hung.wait(LONG_S)
        return count(self, collection, terms, **options)

    monkeypatch.setattr(Bm25Index, "statistics", hang)
    context = braid.manager._context
    object.__setattr__(context, "leg_timeout_s", 2.0)
    try:
        result = braid.search("pump", user_id=user.id, dataset_ids=[own, guide], mode="keyword")
        assert [hit.passage.source for hit in result.hits] == ["a.md"]
        assert [(part.leg, part.collection) for part in result.degraded] == [("bm25", "shared_guide")]
        assert "no answer within 2 s" in result.degraded[0].reason
    finally:
        hung.set()
    object.__setattr__(context, "leg_timeout_s", LONG_S)
    whole = braid.search("pump", user_id=user.id, dataset_ids=[own, guide], mode="keyword")
    assert ({hit.passage.source for hit in whole.hits}, whole.degraded) == ({"a.md", "b.md"}, ())
