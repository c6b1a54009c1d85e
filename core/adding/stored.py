"""Gives back and deletes what was stored, by ids, source or filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from braid.core.datasets.entry import id_of
from braid.core.errors import InvalidInputError
from braid.core.metadata import Metadata
from braid.core.metadata.values import shown
from braid.core.types import MAX_ID, Dataset, Document, Filters

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A stored document with its text.

    >>> braid.get(dataset=1, ids=["valve.md"])[0].text
    'The valve XK-4711 is closed by hand.'
    """

    id: str
    """The identity that it is stored under: its id, or else its source."""
    title: str
    file_type: str
    date: float | None
    """Seconds since the epoch."""
    metadata: Metadata
    passages: tuple[str, ...] = field(repr=False)
    """The texts of its passages in order; neighbours may share the end of one and the beginning of the other."""

    @property
    def text(self) -> str:
        """The passages, with a blank line between."""
        return "\n\n".join(self.passages)


Ids = str | int | Sequence[str | int]
"""Texts that documents were added with, ids of passages, or numbers of documents."""


def get_documents(
    directory: DataDirectory,
    ids: Ids | None = None,
    *,
    dataset: int | Dataset,
    source: str | None = None,
    filter: Filters | Mapping[str, Any] | None = None,
) -> list[StoredDocument]:
    """Return documents of a dataset, each once: those with the ids in their order, or those of the source with its
    parts, or those that the filter selects, by source. What is not there is left out.

    An id is the text that a document was added with, or that of a passage that a search has found; a number is a
    `document_id`. Raises NotFoundError when there is no such dataset, and InvalidInputError unless exactly one of the
    three is given.

    >>> [document.id for document in braid.get(dataset=1, source="pump.md")]
    ['pump.md']
    """
    selected = select_documents(directory, ids, dataset=dataset, source=source, filter=filter)
    return [stored_document(directory, each) for each in selected]


def delete_documents(
    directory: DataDirectory,
    ids: Ids | None = None,
    *,
    dataset: int | Dataset,
    source: str | None = None,
    filter: Filters | Mapping[str, Any] | None = None,
) -> int:
    """Delete the documents that `get_documents` returns for these arguments, and return how many there were.

    With a source that is given as an id, its parts are deleted, too. Searches do not find them from now on.

    >>> braid.delete(["pump.md", "no such id"], dataset=1)
    1
    """
    dataset_id = id_of(dataset)
    found = select_documents(directory, ids, dataset=dataset_id, source=source, filter=filter, with_parts=True)
    removed = directory.ledger.remove_documents(dataset_id, [each.id for each in found])
    if removed:
        directory.wake()
    return removed


def select_documents(
    directory: DataDirectory,
    ids: Ids | None,
    *,
    dataset: int | Dataset,
    source: str | None,
    filter: Filters | Mapping[str, Any] | None,
    with_parts: bool = False,
) -> list[Document]:
    """Return the documents that `get_documents` is about, without their texts; ``with_parts`` those of ``ids``, too."""
    dataset_id = directory.dataset(id_of(dataset)).id
    require_one(ids=ids, source=source, filter=filter)
    if ids is not None:
        named = [found for each in _ids(ids) for found in _with_id(directory, dataset_id, each, with_parts)]
        return list({each.id: each for each in named}.values())
    if source is not None:
        _require_text("source", source)
        own = _of_source(directory, dataset_id, source)
        naming = _matching(directory, dataset_id, Filters(metadata={"source": source}))
        return list({each.id: each for each in (*own, *naming)}.values())
    filters = read_filter(filter)
    require_condition("filter", filters)
    directory.ledger.require_filterable([dataset_id], filters, whole_documents=True)
    return _matching(directory, dataset_id, filters)


def require_one(**ways: object) -> None:
    """Raise InvalidInputError, by the names that the caller has for them, unless one of these is given."""
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "nothing says which documents"
        *names, last = ways
        raise InvalidInputError(f"{said}; give one of {', '.join(names)} and {last}", field=[*given, *ways][0])


def require_condition(name: str, filters: Filters) -> None:
    """Raise InvalidInputError for filters that select everything. ``name`` is what the caller has for them."""
    if not filters:
        raise InvalidInputError(f"{name}: it is empty, which selects everything; name a condition", field=name)


def stored_document(directory: DataDirectory, document: Document) -> StoredDocument:
    """Return a document with its text."""
    passages = directory.ledger.document_passages(document.id, [document.dataset_id])
    texts = tuple(passage.text for passage in passages)
    return StoredDocument(document.source, document.title, document.file_type, document.date, document.metadata, texts)


def _ids(given: object) -> list[str | int]:
    ids: list[Any] = [given] if isinstance(given, str | int) else list(given) if isinstance(given, Iterable) else []
    if not isinstance(given, str | int | Iterable) or isinstance(given, bytes | Mapping):
        raise InvalidInputError(f"ids is {given!r}; give an id, or a list of them", field="ids")
    for each in ids:
        if isinstance(each, bool) or not isinstance(each, int):
            _require_text("ids", each)
    return ids


def _require_text(name: str, given: object) -> None:
    if not isinstance(given, str) or not given:
        kinds = "a text that is not empty" + (", or the number of a document" if name == "ids" else "")
        raise InvalidInputError(f"{name} has {given!r}; give {kinds}", field=name)


def read_filter(given: object) -> Filters:
    """Return what was given as ``filter``. Raises InvalidInputError."""
    if isinstance(given, Filters):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"filter is {shown(given)}; give a Filters, or an object such as {{'year': {{'$gte': 2024}}}}",
            field="filter",
        )
    return Filters.of(given)


def _with_id(directory: DataDirectory, dataset_id: int, given: str | int, with_parts: bool) -> list[Document]:
    """Return the document that was added with the id, or else the one whose passage has it."""
    ledger = directory.ledger
    if isinstance(given, int):
        found = ledger.document_with_id(given, [dataset_id]) if abs(given) <= MAX_ID else None
    elif (found := ledger.document(dataset_id, given)) is None:
        passage = ledger.passages([given], [dataset_id]).get(given)
        found = None if passage is None else ledger.document_with_id(passage.document_id, [dataset_id])
    if isinstance(given, str) and with_parts and (found is None or found.source == given):
        return _of_source(directory, dataset_id, given)
    return [] if found is None else [found]


def _of_source(directory: DataDirectory, dataset_id: int, source: str) -> list[Document]:
    """Return the source with its parts."""
    own = directory.ledger.document(dataset_id, source)
    parts = directory.ledger.parts_of(dataset_id, source)
    found = {each.id: each for each in directory.ledger.documents_with_ids(list(parts.values()), [dataset_id])}
    return [*([own] if own else []), *(found[each] for each in parts.values() if each in found)]


def _matching(directory: DataDirectory, dataset_id: int, filters: Filters) -> list[Document]:
    ids, _ = directory.ledger.matching_documents([dataset_id], filters, whole_documents=True)
    return directory.ledger.documents_with_ids([int(each) for each in ids], [dataset_id])
