"""What a list says of its documents agrees with what each document says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from braid.core.datasets import listing
from braid.core.datasets.listing import DocumentState, find_documents, overviews
from braid.core.indexes.document_progress import document_progress
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, fill


def test_a_document_whose_passages_have_vectors_is_ready_before_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"notes": {"a long report": [f"page {number}" for number in range(9)], "a letter": ["Dear Ann"]}}
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = braid.ledger.dataset(fill(braid, contents, {})["notes"])
        report, letter = sorted(braid.ledger.documents(dataset.id), key=lambda each: each.source == "a letter")

        def in_state(state: DocumentState) -> list[str]:
            found, total = find_documents(
                braid.ledger.database,
                dataset,
                index_names=braid.index_names,
                fingerprint_of=braid.fingerprint_of,
                state=state,
            )
            assert total == len(found)
            return [each.source for each in found]

        def waiting() -> int:
            database, names = braid.ledger.database, braid.index_names
            about = overviews(database, [dataset], index_names=names, fingerprint_of=braid.fingerprint_of)
            return about[dataset.id].waiting

        def done() -> list[str]:
            progress = document_progress(braid, dataset.id, [report.id, letter.id])
            return [each.source for each in (report, letter) if progress[each.id].stage == "done"]

        assert (waiting(), in_state("done"), done()) == (2, [], [])
        braid.ledger.store_embeddings(
            braid.fingerprint_of(dataset.collection),
            [each.chunk_id for each in braid.ledger.document_passages(letter.id, {dataset.id}, limit=9)],
            np.eye(1, 64, dtype=np.float32),
        )
        assert (waiting(), in_state("done"), done()) == (2, [], []), "the keyword index has neither"
        braid.catch_up("bm25")
        assert (waiting(), in_state("done"), in_state("waiting")) == (1, ["a letter"], ["a long report"])
        assert done() == ["a letter"]
        with monkeypatch.context() as patch:
            patch.setattr(listing, "MAX_LOOKED_AT", 9)
            assert waiting() == 2, "so many passages are not looked at one by one"
        braid.catch_up("dense")
        assert (waiting(), in_state("done")) == (0, ["a letter", "a long report"])
        assert done() == ["a long report", "a letter"]


def test_a_thousand_collections_are_looked_over_at_once(tmp_path: Path) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        one = braid.ledger.dataset(fill(braid, {"notes": {"a letter": ["Dear Ann"]}}, {})["notes"])
        braid.catch_up("bm25")  # so that its state is another than that of those which were never indexed
        many = [replace(one, collection=f"elsewhere_{number}") for number in range(1_500)]
        found = overviews(braid.ledger.database, [one, *many], index_names=braid.index_names)
        assert found[one.id].waiting == 1
