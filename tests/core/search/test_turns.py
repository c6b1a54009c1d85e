"""Whose turn it is while a search embeds: a model in this process takes processors that others' searches want."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from braid.core.admission import Places
from braid.core.search.context import processors
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up, document


class Watched(HashEmbeddings):
    """Notes in which thread it embeds queries, and how many places nobody holds meanwhile."""

    def __init__(self, *, computes_here: bool) -> None:
        super().__init__()
        self.computes_here = computes_here
        self.places: Places | None = None
        self.seen: list[tuple[threading.Thread, int]] = []

    def embed_query(self, text: str) -> list[float]:
        if self.places is not None:
            with ExitStack() as held:
                free = sum(held.enter_context(self.places.hold_if_free()) for _ in range(processors()))
            self.seen.append((threading.current_thread(), free))
        return super().embed_query(text)

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.mark.parametrize("computes_here", [True, False])
def test_a_model_that_computes_here_does_so_in_the_turn_of_the_search(tmp_path: Path, computes_here: bool) -> None:
    model = Watched(computes_here=computes_here)
    with ByHand(tmp_path, embedding_model=model) as braid:
        user = braid.ledger.add_user("ann")
        own = braid.ledger.add_dataset(user.id, "own").id
        braid.ledger.put_document(own, document("a.md", "the pump"))
        catch_up(braid)
        model.places = braid.places
        assert braid.search("the pump", user_id=user.id, dataset_ids=[own], mode="semantic").hits
    [(thread, free)] = model.seen
    assert (thread is threading.current_thread()) is computes_here
    assert free == processors() - 1 or not computes_here
