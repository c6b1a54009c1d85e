"""Strategy ``compression``: only the sentences that answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from braid.core.errors import Reason
from braid.core.models.replies import parse_sentence_numbers
from braid.core.models.untrusted_text import as_data
from braid.core.search.strategies.base import Parameter, RefineOnly, Tools
from braid.core.text.sentences import code_blocks, sentences
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import Hit, Query
from braid.core.vector import Vector

PROMPT_TOKENS = 12_000
"""Most tokens, estimated, of the sentences that the model is given; for the other passages similarity chooses."""
GAP = " … "
PROSE_TYPES = frozenset({"", "txt", "md", "html", "pdf", "docx", "pptx", "xlsx", "csv", "json", "eml", "epub", "text"})

Kept = Mapping[int, Sequence[int]]
"""Number of a hit → numbers of its sentences that are kept, both from 0."""


class Compression(RefineOnly):
    """Keeps of every passage the sentences that answer, at least one; identity, position and order stay.

    The model is asked once, for numbers of sentences, so that every sentence shown is in its passage. Without a model
    the sentences nearest to the query by meaning are kept.
    """

    description = "Shows of each passage only the sentences that answer."
    costs: Mapping[Literal["llm", "feedback"], str] = {
        "llm": "1 model call for all passages, 1 embedding",
        "feedback": "no model call, 1 embedding, 1 batch with each sentence of the passages shown",
    }
    parameters: Mapping[str, Parameter] = MappingProxyType(
        {
            "max_sentences": Parameter(
                300, 1, 2_000, "Sentences of one result among which is chosen; the passages after these are shown whole"
            ),
            "margin": Parameter(
                0.02, 0.0, 2.0, "Greatest difference in cosine between a sentence kept and the best of its passage"
            ),
        }
    )

    def refine(self, query: Query, hits: Sequence[Hit], tools: Tools) -> Sequence[Hit]:
        """Shorten the hits' texts. A text stays whole where sentences could not be chosen, which is reported."""
        parts = [_parts(hit) for hit in hits]
        shown = _within_limit(parts, int(query.parameters["max_sentences"]))
        if shown < len(hits):
            tools.note(Reason("only the first %(count)s passages were compressed; ask for fewer", count=shown))
        if not any(len(of_hit) > 1 for of_hit in parts[:shown]):
            return hits
        kept = dict(_choose_by_model(query, parts[:shown], tools))
        rest = [[] if number in kept else of_hit for number, of_hit in enumerate(parts[:shown])]
        if any(len(of_hit) > 1 for of_hit in rest):
            kept |= _choose_by_similarity(hits, rest, tools, query.parameters["margin"])
        return [
            _shorten(hit, parts[number], kept[number]) if number in kept else hit for number, hit in enumerate(hits)
        ]


def _parts(hit: Hit) -> list[str]:
    prose = hit.passage.file_type in PROSE_TYPES
    return (sentences if prose else code_blocks)(hit.passage.text)


def _within_limit(parts: Sequence[Sequence[str]], most: int) -> int:
    """Count the first passages with no more than ``most`` sentences together; the very first counts in any case."""
    total = 0
    for number, of_hit in enumerate(parts):
        total += len(of_hit)
        if number and total > most:
            return number
    return len(parts)


def _choose_by_model(query: Query, parts: Sequence[Sequence[str]], tools: Tools) -> Kept:
    numbered = _number_sentences(parts)
    if tools.model_name and len(numbered) < len(parts):
        tools.note(Reason("the model was given the first %(count)s passages alone; ask for fewer", count=len(numbered)))
    if not numbered:
        return {}
    said = "\n\n".join(numbered)
    chosen = tools.ask(tools.prompts.compression, parse_sentence_numbers, question=query.text, sentences=said)
    if chosen is None:
        return {}
    asked = set(tools.analyzer.tokens(query.text))
    kept: dict[int, list[int]] = {}
    for p, of_hit in enumerate(parts[: len(numbered)]):
        kept[p] = [s for s in range(len(of_hit)) if (p + 1, s + 1) in chosen]
        kept[p] = kept[p] or [_most_shared_words(asked, of_hit, tools)]
    return kept


def _number_sentences(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the sentences of the first passages, as data, each with its number; as many passages as the prompt may
    hold.
    """
    numbered: list[str] = []
    left = PROMPT_TOKENS
    for p, of_hit in enumerate(parts, start=1):
        lines = (f"{p}.{s} {as_data(' '.join(sentence.split()))}" for s, sentence in enumerate(of_hit, start=1))
        text = "\n".join(lines)
        left -= estimate_tokens(text)
        if left < 0:
            break
        numbered.append(text)
    return numbered


def _most_shared_words(asked: set[str], of_hit: Sequence[str], tools: Tools) -> int:
    return max(range(len(of_hit)), key=lambda s: (len(asked & set(tools.analyzer.tokens(of_hit[s]))), -s))


def _choose_by_similarity(hits: Sequence[Hit], parts: Sequence[Sequence[str]], tools: Tools, margin: float) -> Kept:
    numbers: dict[str, list[tuple[int, int]]] = {}
    for p, of_hit in enumerate(parts):
        if len(of_hit) > 1:
            numbers.setdefault(tools.fingerprint(hits[p].passage), []).extend((p, s) for s in range(len(of_hit)))
    queries = tools.query_vectors()
    texts = {model: [parts[p][s].strip() for p, s in places] for model, places in numbers.items() if model in queries}
    vectors = tools.embed_passages(texts)
    kept: dict[int, list[int]] = {}
    for model, found in vectors.items():
        cosines: Vector = found @ queries[model]
        of_passage: dict[int, list[tuple[int, float]]] = {}
        for (p, s), cosine in zip(numbers[model], cosines.tolist(), strict=True):
            of_passage.setdefault(p, []).append((s, cosine))
        for p, scored in of_passage.items():
            best = float(np.max([cosine for _, cosine in scored]))
            kept[p] = [s for s, cosine in scored if cosine >= best - margin]
    return kept


def _shorten(hit: Hit, of_hit: Sequence[str], kept: Sequence[int]) -> Hit:
    text, last = "", -1
    for s in kept:
        if s != last + 1:
            text = text.rstrip() + GAP
        text += of_hit[s]
        last = s
    if last < len(of_hit) - 1:
        text = text.rstrip() + GAP
    return replace(hit, passage=replace(hit.passage, text=text.strip()))
