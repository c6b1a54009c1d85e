"""A document at a glance: its outline, the words that tell it from others, and questions that its text answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from flask_babel import format_date

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.questions import tried
from braid.core.chat.asking.follow_up import content_words
from braid.core.datasets.outlines import SECTIONS, OutlineSection
from braid.core.search.term_weights import TermWeights
from braid.core.text.dates import dates_in
from braid.core.types import Dataset, Document, Passage

QUESTIONS = 3
TERMS = 8
DATES = 8
SEEN_FOR_DATES = 200
"""Passages at the beginning of a document that its dates are taken from."""
SEEN_PASSAGES = 30
SEEN_CHARS = 400
"""Characters of a passage that its words are taken from."""
MIN_WORD_CHARS = 2
HEADING_WEIGHT = 3
"""Passages that have a word, as many as one heading that has it counts for."""
FEW_PASSAGES = 3
"""From this number of passages on, a key term has to be in two of them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one sees of a document before reading it."""

    sections: tuple[OutlineSection, ...]
    terms: tuple[str, ...]
    questions: tuple[str, ...]
    dates: tuple[tuple[str, Passage], ...]
    """The days that the document names, in its order, each with the first passage that does."""


def summary_of(dataset: Dataset, document: Document) -> Summary:
    """Return the outline, the key terms, the dates and tried questions of a document that the user may read."""
    parts = site().outlines.of_document(document.id, dataset.id)
    sections = tuple(each for each in parts if each.heading)[:SECTIONS]
    passages = site().braid.ledger.document_passages(document.id, [dataset.id], limit=SEEN_FOR_DATES)
    seen = passages[:: -(-len(passages) // SEEN_PASSAGES) or 1]  # of all parts: what it begins with may be a licence
    terms = _key_terms(dataset, [passage.text[:SEEN_CHARS] for passage in seen], [each.heading for each in sections])
    return Summary(sections, terms, tuple(tried([parts], most=QUESTIONS)), _dates(passages))


def _dates(passages: Sequence[Passage]) -> tuple[tuple[str, Passage], ...]:
    first: dict[str, Passage] = {}
    for passage in passages:
        for day in dates_in(passage.text):
            first.setdefault(day, passage)
    return tuple((format_date(date.fromisoformat(day), "long"), first[day]) for day in [*first][:DATES])


def _key_terms(dataset: Dataset, texts: Sequence[str], headings: Sequence[str]) -> tuple[str, ...]:
    """Return the words that many of the texts have and few passages of the dataset, the weightiest first.

    A word weighs more with each heading that has it.
    """
    here = site().braid
    headed = Counter(terms for each in headings for terms in content_words(each, here.analyzer).values())
    spelled: dict[frozenset[str], str] = {}
    counts: Counter[frozenset[str]] = Counter()
    for text in texts:
        words = {terms: word for word, terms in content_words(text, here.analyzer).items() if _is_word(word)}
        counts.update(words.keys())
        for terms, word in words.items():
            spelled[terms] = min(spelled.get(terms, word), word, key=len)
    least = 1 if len(texts) < FEW_PASSAGES else 2
    often = {terms: count for terms, count in counts.items() if count >= least}
    scope = here.manager.check(user_id=identity().account.id, dataset_ids=[dataset.id])
    known = {term for terms in often for term in terms}
    idf = TermWeights(here.bm25, here.analyzer, here.ledger, scope).known(known)

    def weight(terms: frozenset[str]) -> float:
        return (often[terms] + HEADING_WEIGHT * headed[terms]) * sum(idf.get(term, 0.0) for term in terms) / len(terms)

    best = sorted(often, key=lambda terms: (-weight(terms), spelled[terms]))
    return tuple(spelled[terms] for terms in best[:TERMS])


def _is_word(word: str) -> bool:
    return len(word) >= MIN_WORD_CHARS and any(letter.isalpha() for letter in word)
