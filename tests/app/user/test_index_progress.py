"""The progress of indexes as a user sees it, where a collection also has datasets that they may not read."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import add_user, make_app, sign_in
from tests.worlds import WAIT_S, eventually


@pytest.fixture
def ann(braid: Braid, embeddings: HashEmbeddings) -> FlaskClient:
    """A user of the group lab. Two shared datasets are in one collection: theirs with 3 passages, and one of sales."""
    app = make_app(braid)
    braid.registry.add("Lab", "shared_x", allowed_groups=["lab"])
    braid.registry.add("Sales", "shared_x", allowed_groups=["sales"])
    braid.mirror_registry()
    put(braid, -1, 3)
    put(braid, -2, 4)
    assert braid.indexer.wait(WAIT_S)
    add_user(app, "ann", groups=("lab",))
    return sign_in(app, "ann")


def put(braid: Braid, dataset_id: int, passages: int, source: str = "a.md") -> None:
    chunks = tuple(ChunkInput(f"passage {number} of {source}") for number in range(passages))
    braid.ledger.put_document(dataset_id, DocumentInput(source, "A", "md", chunks))


def waiting(client: FlaskClient) -> Any:
    status = client.get("/status.json").json
    assert status is not None
    return status["total"], status["waiting"]["dense"]


def pending(client: FlaskClient) -> int:
    found = client.get("/api/v1/datasets/-1/statistics").json
    assert found is not None
    return next(part["pending"] for part in found["indexes"] if part["leg"] == "dense")


def test_only_passages_of_readable_datasets_are_counted(
    ann: FlaskClient, braid: Braid, embeddings: HashEmbeddings
) -> None:
    assert waiting(ann) == (3, 0)
    assert "Ready: 3 passages" in ann.get("/status.json").json["text"]  # type: ignore[index]
    embeddings.failing = True
    put(braid, -2, 5, "secret.md")
    eventually(lambda: any(part.pending for part in braid.indexer.progress()))
    assert waiting(ann) == (3, 0)
    assert pending(ann) == 0
    put(braid, -1, 2, "mine.md")
    eventually(lambda: waiting(ann) == (5, 2))
    assert pending(ann) == 2
    assert "of 12" not in ann.get("/chat").text
    embeddings.failing = False
    braid.indexer.wake()
    assert braid.indexer.wait(WAIT_S)
    assert waiting(ann) == (5, 0)


def test_of_a_rebuild_the_readable_share_is_shown(ann: FlaskClient, braid: Braid) -> None:
    from braid.app.user.index_progress import progress_with
    from braid.core.indexes.leg_progress import LegProgress

    class Rebuilding:
        def progress(self) -> tuple[LegProgress, ...]:
            return (
                LegProgress("dense", "shared_x", "rebuilding", 7, 9.0),
                LegProgress("bm25", "shared_x", "rebuilding", 1),
            )

    class Seen:
        indexer, ledger = Rebuilding(), braid.ledger

    mine = [dataset for dataset in braid.ledger.all_datasets() if dataset.id == -1]
    found = progress_with(Seen(), mine)  # type: ignore[arg-type]
    assert [part.pending for part in found] == [3, 1]
    both = [dataset for dataset in braid.ledger.all_datasets() if dataset.id < 0]
    assert [part.pending for part in progress_with(Seen(), both)] == [7, 1]  # type: ignore[arg-type]
