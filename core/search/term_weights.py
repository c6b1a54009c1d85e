"""Term weights: the idf of each word of a question over the collections of a scope."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.answers import Bm25Statistics
from braid.core.indexes.base import KeywordIndex
from braid.core.indexes.bm25 import bm25_idf
from braid.core.ledger.ledger import Ledger
from braid.core.search.filter_plan import counted_datasets
from braid.core.text.analyzer import Analyzer
from braid.core.types import CollectionScope, Scope


@dataclass(frozen=True, slots=True)
class TermWeights:
    """Computes idf over all collections of a scope whose keyword index answers."""

    bm25: KeywordIndex
    analyzer: Analyzer
    ledger: Ledger
    scope: Scope

    def of_text(self, text: str) -> dict[str, float]:
        """Return the text's terms with their idf; a term that no passage has weighs as if one had it.

        All terms weigh the same when no keyword index answers.
        """
        terms = frozenset(self.analyzer.tokens(text))
        documents, having = self._count(terms)
        if not documents:
            return dict.fromkeys(terms, 1.0)
        return {term: bm25_idf(documents, max(n, 1)) for term, n in having.items()}

    def known(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the idf of the terms that occur in a passage. All weigh the same when no keyword index answers."""
        documents, having = self._count(terms)
        return _idf(documents, having) if documents else dict.fromkeys(terms, 1.0)

    def idf(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the idf of the terms that occur in a passage; empty when no keyword index answers."""
        return _idf(*self._count(terms))

    def passages_with(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the number of passages that have each of the terms; empty when no keyword index answers."""
        documents, having = self._count(terms)
        return having if documents else {}

    def passages(self) -> int:
        """Return the number of all passages; 0 when no keyword index answers."""
        return self._count(frozenset())[0]

    def _count(self, terms: Collection[str]) -> tuple[int, dict[str, float]]:
        """Return the number of passages, and per term the number of passages that have it."""
        stored: dict[str, list[int]] = {}
        for dataset in self.ledger.datasets_in([c.collection for c in self.scope.collections]):
            stored.setdefault(dataset.collection, []).append(dataset.id)
        counts = [
            found.counts
            for c in self.scope.collections
            if (found := self._statistics(c, counted_datasets(c, stored.get(c.collection, ())), terms))
        ]
        documents = sum(found.documents for found in counts)
        return documents, {term: sum(c.document_frequency.get(term, 0) for c in counts) for term in terms}

    def _statistics(
        self, scope: CollectionScope, counted: Collection[int] | None, terms: Collection[str]
    ) -> Bm25Statistics | None:
        try:
            return self.bm25.statistics(scope.collection, terms, dataset_ids=counted)
        except IndexUnavailableError:  # the search of the same request reports it
            return None


def _idf(documents: int, having: Mapping[str, float]) -> dict[str, float]:
    return {term: bm25_idf(documents, n) for term, n in having.items() if n}
