"""What became of the passages that stored answers cite, and answers without the text that a user may no longer read.

A user may lose a group, or a dataset that others share, after a passage was cited. What such a passage says is then
shown nowhere: neither its citation nor the lines of the answer that may repeat it, which are all but those that cite
others alone. Nor are answers whose model had read such a passage: one that completes a question, or writes an answer,
is also given the turns before, and one that writes another answer to a question is given the earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select

from braid.core.batches import batches
from braid.core.chat.columns import asked_datasets
from braid.core.chat.marks import MARKS, marked, number_of, shown
from braid.core.chat.texts import Language, say
from braid.core.chat.turns.branches import Branches
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import NotFoundError, Reason
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import CitationRow, DatasetRow, DocumentRow, MessageRow
from braid.core.text.scripts import question_language

Fate = Literal["current", "changed", "deleted", "withheld"]
"""The passage is as it was cited; its document is there with another text; it is gone; the user may not read it now."""
MOST_IDS = 500
"""Ids in one statement."""
_TELLS = (
    *("calculation", "featured", "also", "editions", "printed_pages", "lookups", "support", "search"),
    *("query", "question", "notes", "degraded"),
)
"""Settings of an answer that may repeat what its passages say."""


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of cited passages, for one user."""

    readable: frozenset[int]
    """The datasets that the user may read."""
    own_deleted: frozenset[int]
    """Personal datasets that are deleted and were the user's, who had read them."""
    chunk_ids: frozenset[str]
    """Passages that are as they were cited."""
    documents: Mapping[tuple[int, str], int]
    """Dataset and source of documents that are there, with their ids."""

    def of(self, cited: Any) -> Fate:
        """Return the fate of a citation, a row of the table or an object with its fields."""
        if cited.dataset_id in self.own_deleted:
            return "deleted"
        if cited.dataset_id not in self.readable:
            return "withheld"
        if cited.chunk_id in self.chunk_ids:
            return "current"
        return "changed" if (cited.dataset_id, cited.source) in self.documents else "deleted"


def fates(ledger: Ledger, registry: Registry, user_id: int, cited: Sequence[Any]) -> Fates:
    """Look up what became of the citations."""
    readable = readable_of(ledger, registry, user_id, {row.dataset_id for row in cited})
    chunk_ids = ledger.visible(sorted({row.chunk_id for row in cited}), readable)
    gone = [row for row in cited if row.chunk_id not in chunk_ids]
    return Fates(
        readable,
        _own_deleted(ledger, user_id, {row.dataset_id for row in gone} - readable),
        frozenset(chunk_ids),
        _documents(ledger, [row for row in gone if row.dataset_id in readable]),
    )


def readable_of(
    ledger: Ledger, registry: Registry, user_id: int | None, dataset_ids: Collection[int]
) -> frozenset[int]:
    """Return those of the datasets that the user may read."""
    readable: set[int] = set()
    for part in batches(sorted(dataset_ids), MOST_IDS):
        readable |= resolve_scope(ledger, registry, user_id=user_id, dataset_ids=part).dataset_ids
    return frozenset(readable)


def lost_of(ledger: Ledger, registry: Registry, user_id: int | None, dataset_ids: Collection[int]) -> frozenset[int]:
    """Return those of the datasets that the user may no longer read, but for personal ones that the user deleted."""
    lost = frozenset(dataset_ids) - readable_of(ledger, registry, user_id, dataset_ids)
    return lost - _own_deleted(ledger, user_id, lost)


def require_readable(ledger: Ledger, registry: Registry, user_id: int | None, dataset_ids: Collection[int]) -> None:
    """Raise NotFoundError for what `lost_of` returns. While all may be read it costs few small queries."""
    if lost_of(ledger, registry, user_id, dataset_ids):
        raise NotFoundError(
            Reason("you may no longer read some of the documents that this answer was written from; ask again")
        )


def found_in(settings: Mapping[str, Any]) -> frozenset[int]:
    """Return the datasets of the passages that were found for an answer with these settings."""
    return frozenset(hit["dataset_id"] for hit in (settings.get("search") or {}).get("hits", ()))


def withheld_text(
    text: str,
    marks: Sequence[int] | None,
    numbers: Collection[int],
    question: str | None = None,
    *,
    reader: Language | None = None,
) -> tuple[str, tuple[int, ...]]:
    """Return an answer and the places of its citations without the lines that may repeat the passages ``numbers``:
    those that cite one of them, and those that cite nothing. That they are left out is said in the language of the
    question, or of the answer where it is not known: an answer may quote documents in another one. ``reader`` is the
    language of another reader, who may never have read them.

    >>> withheld_text("It costs 5 EUR [1].\\nIt is red [2].", None, {1})[0].splitlines()[1]
    'It is red [2].'
    """
    said = say("withheld_from_reader", reader) if reader else say("withheld", question_language(question or text))
    said = f"[{said}]"
    kept: list[str] = []
    for line in marked(text, marks).split("\n"):
        cited = {number_of(found) for found in MARKS.findall(line)}
        if not line.strip() or (cited and not cited.intersection(numbers)):
            kept.append(line)
        elif next((before for before in reversed(kept) if before), "") != said:
            kept.append(said)
    return shown("\n".join(kept))


def withheld_settings(settings: Mapping[str, Any], marks: tuple[int, ...]) -> dict[str, Any]:
    """Return the settings of an answer without what may repeat its passages."""
    return {**{name: value for name, value in settings.items() if name not in _TELLS}, "marks": list(marks)}


def _own_deleted(ledger: Ledger, user_id: int | None, dataset_ids: Collection[int]) -> frozenset[int]:
    if not dataset_ids or user_id is None:
        return frozenset()
    own = DatasetRow.user_id == user_id, DatasetRow.removed_at.is_not(None)
    return frozenset(ledger.database.values(select(DatasetRow.id).where(*own))) & frozenset(dataset_ids)


def _documents(ledger: Ledger, cited: Sequence[Any]) -> dict[tuple[int, str], int]:
    if not cited:
        return {}
    sources, datasets = {row.source for row in cited}, {row.dataset_id for row in cited}
    columns = select(DocumentRow.dataset_id, DocumentRow.source, DocumentRow.id)
    found: dict[tuple[int, str], int] = {}
    for part in batches(sorted(sources), MOST_IDS):
        named = DocumentRow.dataset_id.in_(sorted(datasets)), DocumentRow.source.in_(part)
        found |= {(row.dataset_id, row.source): row.id for row in ledger.database.fetch(columns.where(*named))}
    return found


# ---------------------------------------------------------------- answers whose model had read what is lost

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
