"""Further searches for a question in the languages of the documents that are not its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
    """Return the first search with what these find behind its own passages. Each is told of."""
    found = FurtherResult(first)
    for query, search in searches:
        if stopped():
            break
        started = monotonic()
        more = search()
        merged = merge(found.search, more, more.hits)
        new, ms = len(merged.hits) - len(found.search.hits), (monotonic() - started) * 1000
        lookup = Lookup("search", query, "language", len(more.hits), new, ms)
        tell(lookup)
        found = FurtherResult(merged, (*found.lookups, lookup), found.bill + Bill(searches=2, ms=ms))
    return found


def only_in(code: str, found: SearchResult, k: int) -> SearchResult:
    """Return a search with the ``k`` best of its passages that may be in a language."""
    hits = [hit for hit in found.hits if may_be_in(code, hit.passage.text[:SEEN_CHARS])]
    return replace(found, hits=tuple(hits[:k]))
