"""Which stored answers may repeat what their user may no longer read, since a model that wrote them had read it.

Passages were found for an answer. A model that completes a question, or writes an answer, is also given the turns
before; one that writes another answer to a question is given the earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from braid.core.batches import batches
from braid.core.chat.columns import asked_datasets
from braid.core.chat.turns.branches import Branches
from braid.core.chat.turns.cited_passages import MOST_IDS, found_in
from braid.core.ledger.database import Database
from braid.core.ledger.tables import CitationRow, MessageRow

WITHOUT_MODEL = frozenset({"none", "feedback", "extractive"})
LostOf = Callable[[Collection[int]], frozenset[int]]
"""Returns those of the given datasets that the user may no longer read."""


def lost_answers(database: Database, branches: Branches, rows: Sequence[Any], lost_of: LostOf) -> frozenset[int]:
    """Return the ids of those of the messages that may repeat what the user may no longer read."""
    settings = {row.id: row.settings for row in rows if row.role == "assistant"}
    found = {id_: found_in(each) for id_, each in settings.items()}
    by_model = {id_ for id_, each in settings.items() if _has_read(each)}
    read = _all_read(branches, by_model)
    questions = {question for id_ in read if (question := branches.parent(id_)) is not None}
    searched, cited = searched_in(each for _, each in _settings(database, questions)), _cited(database, read)
    lost = lost_of(frozenset[int]().union(searched or (), *cited.values(), *found.values()))
    if searched is not None and not lost:
        return frozenset()
    for id_, each in _settings(database, read - settings.keys()):
        found[id_] = found_in(each)
        by_model |= {id_} if _has_read(each) else set()
    found = {id_: datasets | cited.get(id_, frozenset()) for id_, datasets in found.items()}
    lost |= lost_of(frozenset[int]().union(*found.values()))
    repeat: set[int] = set()
    for id_ in sorted(found):  # a message has a higher id than those before it
        before = branches.before(id_) if id_ in by_model else ()
        if found[id_] & lost or repeat.intersection(before):
            repeat.add(id_)
    return frozenset(repeat & settings.keys())


def searched_in(questions: Iterable[Mapping[str, Any]]) -> frozenset[int] | None:
    """Return the datasets that questions with these settings were asked to; None if those are not stored."""
    datasets: set[int] = set()
    for settings in questions:
        asked = asked_datasets(settings)
        if asked.is_everything:
            return None
        datasets.update(asked.ids)
    return frozenset(datasets)


def _has_read(settings: Mapping[str, Any]) -> bool:
    """Return whether a model, which reads the turns before, had a part in an answer with these settings."""
    return any(settings.get(name, "none") not in WITHOUT_MODEL for name in ("query_generator", "generator"))


def _all_read(branches: Branches, answers: Iterable[int]) -> frozenset[int]:
    """Return the answers that a model may have read for these, or for one of those that it read, and so on."""
    read: set[int] = set()
    left = [before for id_ in answers for before in branches.before(id_)]
    while left:
        id_ = left.pop()
        if id_ not in read:
            read.add(id_)
            left += branches.before(id_)
    return frozenset(read)


def _cited(database: Database, answers: Collection[int]) -> dict[int, frozenset[int]]:
    """Return the datasets that each of the answers cites."""
    cited: dict[int, frozenset[int]] = {}
    for part in batches(sorted(answers), MOST_IDS):
        pairs = select(CitationRow.message_id, CitationRow.dataset_id).where(CitationRow.message_id.in_(part))
        for message_id, dataset_id in database.fetch(pairs.distinct()):
            cited[message_id] = cited.get(message_id, frozenset()) | {dataset_id}
    return cited


def _settings(database: Database, ids: Collection[int]) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for part in batches(sorted(ids), MOST_IDS):
        statement = select(MessageRow.id, MessageRow.settings).where(MessageRow.id.in_(part))
        yield from ((row.id, row.settings) for row in database.fetch(statement))
