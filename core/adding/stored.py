"""Gives back and deletes what was stored, by ids, source or filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from braid.core.datasets.entry import id_of
from braid.core.errors import InvalidInputError
from braid.core.metadata import Metadata
from braid.core.types import PART, Dataset, Document, Filters

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


def get_documents(
    directory: DataDirectory,
    *,
    dataset: int | Dataset,
    ids: str | Sequence[str] | None = None,
    source: str | None = None,
    filter: Filters | Mapping[str, Any] | None = None,
) -> list[StoredDocument]:
    """Return documents of a dataset, each once: those with the ids in their order, or those of the source with its
    parts, or those that the filter selects, by source. What is not there is left out.

    An id is what a document was added with, or that of a passage that a search has found. Raises NotFoundError when
    there is no such dataset, and InvalidInputError unless exactly one of the three is given.

    >>> [document.id for document in braid.get(dataset=1, source="pump.md")]
    ['pump.md']
    """
    ledger, dataset_id = directory.ledger, id_of(dataset)
    found = []
    for each in _selected(directory, dataset_id, ids, source, filter):
        passages = ledger.document_passages(each.id, [dataset_id])
        texts = tuple(passage.text for passage in passages)
        found.append(StoredDocument(each.source, each.title, each.file_type, each.date, each.metadata, texts))
    return found


def delete_documents(
    directory: DataDirectory,
    *,
    dataset: int | Dataset,
    ids: str | Sequence[str] | None = None,
    source: str | None = None,
    filter: Filters | Mapping[str, Any] | None = None,
) -> int:
    """Delete the documents that `get_documents` returns for these arguments, and return how many there were.

    Searches do not find them from now on.

    >>> braid.delete(dataset=1, ids=["pump.md", "no such id"])
    1
    """
    dataset_id = id_of(dataset)
    found = _selected(directory, dataset_id, ids, source, filter)
    for each in found:
        directory.ledger.remove_document(dataset_id, each.source)
    if found:
        directory.wake()
    return len(found)


def _selected(
    directory: DataDirectory,
    dataset_id: int,
    ids: str | Sequence[str] | None,
    source: str | None,
    filter: Filters | Mapping[str, Any] | None,
) -> list[Document]:
    directory.dataset(dataset_id)
    given = [name for name, value in (("ids", ids), ("source", source), ("filter", filter)) if value is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "nothing says which documents"
        raise InvalidInputError(f"{said}; give one of ids, source and filter", field=given[0] if given else "ids")
    if ids is not None:
        found = [_with_id(directory, dataset_id, each) for each in _texts([ids] if isinstance(ids, str) else ids)]
        return list({each.id: each for each in found if each is not None}.values())
    if source is not None:
        (source,) = _texts([source], "source")
        parts = directory.ledger.documents(dataset_id, source_prefix=source + PART)
        own = directory.ledger.document(dataset_id, source)
        named = _matching(directory, dataset_id, Filters(metadata={"source": source}))
        return list({each.id: each for each in (*([own] if own else []), *parts, *named)}.values())
    filters = filter if isinstance(filter, Filters) else Filters.of(filter or {})
    if not filters:
        raise InvalidInputError(
            f"filter is {filter!r}, which selects everything; name a condition, or remove the dataset", field="filter"
        )
    return sorted(_matching(directory, dataset_id, filters), key=lambda each: each.source)


def _texts(given: Sequence[object], name: str = "ids") -> list[str]:
    for each in given:
        if not isinstance(each, str) or not each:
            raise InvalidInputError(f"{name} has {each!r}; give texts that are not empty", field=name)
    return [str(each) for each in given]


def _with_id(directory: DataDirectory, dataset_id: int, given: str) -> Document | None:
    """Return the document that was added with the id, or else the one whose passage has it."""
    if (named := directory.ledger.document(dataset_id, given)) is not None:
        return named
    passage = directory.ledger.passages([given], [dataset_id]).get(given)
    return None if passage is None else directory.ledger.document_with_id(passage.document_id, [dataset_id])


def _matching(directory: DataDirectory, dataset_id: int, filters: Filters) -> list[Document]:
    ids, _ = directory.ledger.matching_documents([dataset_id], filters)
    found = (directory.ledger.document_with_id(int(each), [dataset_id]) for each in ids)
    return [each for each in found if each is not None]
