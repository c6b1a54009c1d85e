"""Further searches for a question in the languages of the documents that are not its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from time import monotonic

from braid.core.chat.asking.other_languages import may_be_in
from braid.core.chat.lookups.further import FurtherResult, merge
from braid.core.chat.lookups.lookup import Bill, Lookup
from braid.core.text.scripts import SEEN_CHARS
from braid.core.types import SearchResult

MOST_NEAR = 200
"""Passages by meaning among which those in another language are looked for."""

Elsewhere = tuple[str, Callable[[], SearchResult]]
"""A further search, and its query."""


def search_elsewhere(
    first: SearchResult, searches: Sequence[Elsewhere], *, stopped: Callable[[], bool], tell: Callable[[Lookup], object]
) -> FurtherResult:
    """Return the first search with what these find behind its own passages. Each query is told of once."""
    found = FurtherResult(first)
    for query, group in groupby(searches, key=itemgetter(0)):
        started, before, hits, number = monotonic(), found.search, 0, 0
        for _, search in group:
            if not stopped():
                more = search()
                found = replace(found, search=merge(found.search, more, more.hits))
                hits, number = hits + len(more.hits), number + 1
        if number:
            new, ms = len(found.search.hits) - len(before.hits), (monotonic() - started) * 1000
            lookup = Lookup("search", query, "language", hits, new, ms)
            tell(lookup)
            bill = found.bill + Bill(searches=2 * number, ms=ms)
            found = FurtherResult(found.search, (*found.lookups, lookup), bill)
    return found


def only_in(code: str, found: SearchResult, k: int) -> SearchResult:
    """Return a search with the ``k`` best of its passages that may be in a language."""
    hits = [hit for hit in found.hits if may_be_in(code, hit.passage.text[:SEEN_CHARS])]
    return replace(found, hits=tuple(hits[:k]))
