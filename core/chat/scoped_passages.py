"""Reads passages of the documents that a turn may read by their place: of a document, and beside one that was found."""

from __future__ import annotations

from braid.core.ledger.ledger import Ledger
from braid.core.types import Passage, Scope


class ScopedPassages:
    """The passages within a scope, as the ledger has them."""

    def __init__(self, ledger: Ledger, scope: Scope) -> None:
        self._ledger = ledger
        self._scope = scope

    def of_document(self, document_id: int, limit: int, first: int = 0) -> list[Passage]:
        """Return up to ``limit`` passages of a document from position ``first`` on."""
        return self._ledger.document_passages(document_id, self._scope.dataset_ids, limit=limit, offset=first)

    def count(self) -> int:
        """Return the number of passages that may be searched."""
        datasets = self._ledger.datasets_in({each.collection for each in self._scope.collections})
        return sum(dataset.chunks for dataset in datasets if dataset.id in self._scope.dataset_ids)

    def neighbours(self, passage: Passage, distance: int = 2) -> list[Passage]:
        """Return a passage with those up to ``distance`` before and after it in its document."""
        first = max(0, passage.position - distance)
        return self.of_document(passage.document_id, passage.position + distance + 1 - first, first)

    def around(self, passage: Passage) -> tuple[str, str]:
        """Return the texts of the passages before and after one, of the same heading; empty where there are none."""
        near = self.neighbours(passage, 1)
        texts = {one.position: one.text for one in near if one.heading_path == passage.heading_path}
        return texts.get(passage.position - 1, ""), texts.get(passage.position + 1, "")
