"""Answers without a model from several parts: what two things have each, or where a name has led to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from braid.core.chat.citations import Citation, Featured
from braid.core.chat.lookups.further import QuotedPart, terms_of
from braid.core.chat.quoting.candidates import Around, Asked
from braid.core.chat.quoting.extractive import Extract, extract, quoted_text
from braid.core.chat.quoting.tables import split_tables
from braid.core.chat.texts import say
from braid.core.text.analyzer import Analyzer

OWN_WEIGHT = 2.0
"""Weight of a term that one of several parts has, relative to those that another one has, too."""
Weigh = Callable[[Collection[str]], Mapping[str, float]]
"""Terms → their idf, without those that no passage has."""


def quotable_citations(citations: Sequence[Citation], first: int, asked: Asked, analyzer: Analyzer) -> list[Citation]:
    """Return the ``first`` citations, and further ones with a code of the question that none of these has."""
    terms = {each.number: terms_of(each.passage, analyzer) for each in citations}
    there = frozenset[str]().union(*(terms[each.number] for each in citations if each.number <= first))
    codes = {term for term in asked.weights.keys() - there if any(map(str.isdigit, term))}
    return [each for each in citations if each.number <= first or not codes.isdisjoint(terms[each.number])]


def quote_parts(
    parts: Sequence[QuotedPart],
    asked: Asked,
    citations: Sequence[Citation],
    analyzer: Analyzer,
    weigh: Weigh,
    around: Around,
) -> Extract | None:
    """Return an answer that quotes one passage for each part, the first part first; None where that part has none, or
    where two parts are columns of one table, of which one row has both.
    """
    if are_columns(parts, citations, analyzer):
        return None
    by_id = {citation.passage.chunk_id: citation for citation in citations}
    shown: list[Featured] = []
    for part in parts:
        own = [by_id[chunk_id] for chunk_id in part.chunk_ids if chunk_id in by_id]
        others = [each for each in own if all(each.number != one.citation for one in shown)]
        common = frozenset[str]().union(*(other.terms for other in parts if other is not part))
        weights = {term: weight * (1 if term in common else OWN_WEIGHT) for term, weight in weigh(part.terms).items()}
        question = replace(asked, text=part.text or asked.text, weights=weights, words={})
        quotes = (extract(question, some, analyzer, match="strong", around=around) for some in (own, others) if some)
        found = (each.shown[0] for each in quotes if each.found and each.shown[0] not in shown)
        if quote := next(found, None):
            shown.append(quote)
        elif not shown:
            return None
    featured = len(shown) if all(part.text for part in parts) else 1
    text = quoted_text(say("extractive", asked.language), asked, shown, {}, featured=featured)
    return Extract(text, True, tuple(shown)) if shown else None


def are_columns(parts: Sequence[QuotedPart], citations: Sequence[Citation], analyzer: Analyzer) -> bool:
    """Return whether a table has a column for each of two things, by the words that one has and not the other."""
    if len(parts) < 2 or not all(part.text for part in parts):
        return False
    names = parts[0].terms - parts[1].terms, parts[1].terms - parts[0].terms
    headers = {row.columns for citation in citations for row in split_tables(citation.text)[1]}
    columns = [[frozenset(analyzer.tokens(name)) for name in header[1:] if name] for header in headers]
    return all(names) and any(all(any(name <= one for one in each) for name in names) for each in columns)
