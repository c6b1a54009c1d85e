"""Filters that a question asks for, and how they are applied: where they are unambiguous and leave enough passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from braid.core.ledger.ledger import Ledger
from braid.core.metadata.where import conditions_of, parse_where
from braid.core.search.question.vocabulary import Vocabulary, vocabulary_of
from braid.core.search.question.wishes import Question, Wish
from braid.core.text.normalization import fold
from braid.core.types import Filters, ReadFilter, ReadWhy, Scope, SearchOptions

FilterWords = Mapping[str, bool]
"""What the user has decided on words of the question, as `ReadFilter.said` has them: whether they are a filter."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a search looks after the question was read, with the filters that were read."""

    scope: Scope
    options: SearchOptions
    read: tuple[ReadFilter, ...] = ()


def read_question(
    text: str,
    scope: Scope,
    options: SearchOptions,
    *,
    ledger: Ledger,
    shared_names: Mapping[int, str],
    words: FilterWords | None = None,
    today: date | None = None,
) -> Reading:
    """Return the scope and the options with the filters that the question asks for, and all that were read.

    The scope is only ever made narrower. A filter is applied by itself where its words can hardly mean anything else,
    and ``k`` passages are left; ``words`` that the user has decided on are followed. What the options filter already
    is left as it is. ``shared_names`` are the names of shared datasets by id.
    """
    datasets = {each.id: each for each in ledger.datasets_in([c.collection for c in scope.collections])}
    names = {
        dataset_id: shared_names.get(dataset_id, datasets[dataset_id].name)
        for dataset_id in sorted(scope.dataset_ids & datasets.keys())
        if datasets[dataset_id].conversation_id is None
    }
    vocabulary = partial(_vocabulary, ledger, scope.dataset_ids)
    question = Question(fold(text), names, vocabulary, today or date.today())
    reading = Reading(scope, options)
    chunks = {dataset_id: datasets[dataset_id].chunks for dataset_id in scope.dataset_ids & datasets.keys()}
    for wish in question.wishes():
        if not _is_given(wish, options.filters):
            reading = _Reader(ledger, chunks, words or {}).read(reading, wish)
    return reading


def _vocabulary(ledger: Ledger, dataset_ids: frozenset[int]) -> Vocabulary:
    return vocabulary_of(ledger.database, dataset_ids)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Decides on one wish after the other."""

    ledger: Ledger
    chunks: Mapping[int, int]
    """Passages of the datasets by id."""
    words: FilterWords

    def read(self, reading: Reading, wish: Wish) -> Reading:
        """Return the reading with the wish decided; as it is where the wish would select all, or nothing."""
        narrowed = Reading(_within(reading.scope, wish), _with(reading.options, wish), reading.read)
        left, before = self._passages(narrowed), self._passages(reading)
        if not 0 < left < before:
            return reading
        chosen = self.words.get(wish.said)
        wanted = wish.sure if chosen is None else chosen
        applied = wanted and (chosen is not None or left >= reading.options.k)
        why: ReadWhy = "asked" if applied else "few" if wanted else "unsure"
        if chosen is not None:
            why = "chosen" if chosen else "taken_off"
        read = ReadFilter(wish.kind, wish.said, wish.value, wish.key, applied, why, left, _reason(wish, why, left))
        return replace(narrowed if applied else reading, read=(*reading.read, read))

    def _passages(self, reading: Reading) -> int:
        ids, filters = reading.scope.dataset_ids, reading.options.filters
        if not filters:
            return sum(self.chunks.get(each, 0) for each in ids)
        return self.ledger.matching_documents(ids, filters, limit=1)[1] if ids else 0


def _is_given(wish: Wish, filters: Filters) -> bool:
    """Return whether the search has a filter of its own of what is wished for."""
    if wish.filters.file_types:
        return bool(filters.file_types)
    if wish.kind == "date" and (filters.date_from is not None or filters.date_to is not None):
        return True
    return bool(wish.key) and any(each.key == wish.key for each in conditions_of(parse_where(filters.metadata)))


def _within(scope: Scope, wish: Wish) -> Scope:
    return scope.within(wish.dataset_ids) if wish.kind == "dataset" else scope


def _with(options: SearchOptions, wish: Wish) -> SearchOptions:
    given, read = options.filters, wish.filters
    if not read:
        return options
    both = [each for each in (given.metadata, read.metadata) if each]
    filters = replace(
        given,
        file_types=given.file_types | read.file_types,
        date_from=given.date_from if read.date_from is None else read.date_from,
        date_to=given.date_to if read.date_to is None else read.date_to,
        metadata={"$and": both} if len(both) > 1 else both[0] if both else {},
    )
    return replace(options, filters=filters)


def _reason(wish: Wish, why: ReadWhy, left: int) -> str:
    """Return in one sentence what was read, and why it is applied or not."""
    what = {
        "dataset": f"only the dataset {wish.value}",
        "file_type": f"only files of the types {wish.value}",
        "metadata": f"only documents whose {wish.key} is {wish.value}",
        "date": f"only documents of {wish.value}" + (f" by their {wish.key}" if wish.key else ""),
    }[wish.kind]
    passages = f"{left} passage{'' if left == 1 else 's'}"
    told = {
        "asked": f"is asked for, and leaves {passages}",
        "chosen": f"was chosen, and leaves {passages}",
        "taken_off": "was taken off",
        "unsure": "is not applied, because the words may mean something else",
        "few": f"is not applied, because it would leave {passages}",
    }[why]
    return f"“{wish.said}”: {what} {told}."


def remarks(read: Iterable[ReadFilter]) -> list[str]:
    """Return the reasons of the filters that are applied, to explain what is found."""
    return [each.reason for each in read if each.applied]
