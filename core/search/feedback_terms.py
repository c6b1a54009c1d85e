"""Pseudo-relevance feedback: expands the query by the passages of the first pass. Pure functions.

Users' feedback, thumbs and clicks, is in `braid.core.chat.feedback`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from braid.core.text.analyzer import Analyzer
from braid.core.types import Hit, Passage, indexed_text
from braid.core.vector import Vector

FEEDBACK_CHARS = 1_500
"""Characters of each passage that are read; more would take long and add little."""
QUERY_WEIGHT = 0.6
"""Weight of the query's own terms in the expanded query."""


def relevance_model(texts: Sequence[Sequence[str]], weights: Sequence[float]) -> dict[str, float]:
    """Return P(term | relevant): how often each token occurs in the texts, weighted by text; sums to 1.

    RM1 of Lavrenko and Croft, "Relevance-Based Language Models", SIGIR 2001.
    """
    model: dict[str, float] = {}
    total = sum(weight for text, weight in zip(texts, weights, strict=True) if text)
    for text, weight in zip(texts, weights, strict=True):
        for term, count in Counter(text).items():
            model[term] = model.get(term, 0.0) + weight / total * count / len(text)
    return model


def rm3(query: Sequence[str], feedback: Mapping[str, float], query_weight: float = QUERY_WEIGHT) -> dict[str, float]:
    """Return the query's tokens and the feedback terms, interpolated; sums to 1, or to ``query_weight`` without
    feedback.

    RM3 of Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD".
    """
    total = sum(feedback.values())
    mixed = {term: query_weight * count / len(query) for term, count in Counter(query).items()}
    for term, weight in feedback.items():
        mixed[term] = mixed.get(term, 0.0) + (1 - query_weight) * weight / total
    return mixed


def rocchio(query: Vector, passages: Sequence[Vector], weight: float = 1.0) -> Vector:
    """Return the mean of the query's vector and those of relevant passages, each weighing ``weight``: (dim,), unit
    length.

    Rocchio, "Relevance Feedback in Information Retrieval", in Salton, The SMART Retrieval System, 1971, without its
    term for passages that are not relevant.
    """
    mean = query + weight * np.sum(passages, axis=0) if len(passages) else query
    unit: Vector = np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
    return unit


def passage_text(passage: Passage) -> str:
    """Return the passage's first FEEDBACK_CHARS characters, as the keyword index has them."""
    return indexed_text(passage.title, passage.heading_path, passage.text[:FEEDBACK_CHARS])


def reciprocal_ranks(hits: Sequence[Hit]) -> list[float]:
    """Return for each hit a weight that falls with its rank, whatever the scale of the scores."""
    return [1 / rank for rank in range(1, len(hits) + 1)]


def best_terms(weights: Mapping[str, float], count: int) -> dict[str, float]:
    """Return the heaviest terms, heaviest first; ties by the term."""
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:count])


def words_of(analyzer: Analyzer, terms: Iterable[str], texts: Sequence[str]) -> list[str]:
    """Return each term as it is written in the texts, for people to read; no word twice."""
    terms = list(terms)
    written: dict[str, str] = {}
    for text in texts:
        if len(written) == len(terms):
            break
        for piece in analyzer.spans(text):
            if piece.token in terms:
                written.setdefault(piece.token, text[piece.start : piece.end])
    return list(dict.fromkeys(written.get(term, term) for term in terms))
