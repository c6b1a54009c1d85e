"""How much each word of a question tells: idf over the collections of a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.bm25 import Bm25Index, Bm25Statistics
from braid.core.search.fusion import bm25_idf
from braid.core.text.analyzer import Analyzer
from braid.core.types import Scope


@dataclass(frozen=True, slots=True)
class TermWeights:
    """Idf summed over the collections of a scope. Where no keyword index can tell, all terms weigh the same."""

    bm25: Bm25Index
    analyzer: Analyzer
    scope: Scope

    def of_text(self, text: str) -> dict[str, float]:
        """The text's terms with their idf; those that no passage has weigh as if one had them."""
        return self._idf(frozenset(self.analyzer.tokens(text)), unknown=True)

    def known(self, terms: Collection[str]) -> Mapping[str, float]:
        """The idf of those terms that a passage has."""
        return self._idf(terms, unknown=False)

    def _idf(self, terms: Collection[str], *, unknown: bool) -> dict[str, float]:
        statistics = [found for c in self.scope.collections if (found := self._statistics(c.collection, terms))]
        documents = sum(found.documents for found in statistics)
        if not documents:
            return dict.fromkeys(terms, 1.0)
        frequencies = {term: sum(s.document_frequency.get(term, 0) for s in statistics) for term in terms}
        return {term: bm25_idf(documents, max(n, 1)) for term, n in frequencies.items() if n or unknown}

    def _statistics(self, collection: str, terms: Collection[str]) -> Bm25Statistics | None:
        try:
            return self.bm25.statistics(collection, terms)
        except IndexUnavailableError:  # the search of the same request names it
            return None
