"""The answers of tools, as the protocol publishes their schemas. Fields that they do not name are passed on, too."""

from __future__ import annotations

from typing import Any, Literal, Required

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

OPEN = ConfigDict(extra="allow", use_attribute_docstrings=True)
"""What derives from an answer with this, or is a part of it, has it too."""


@with_config(OPEN)
class Answer(TypedDict, total=False):
    """What every tool answers."""

    status: Required[Literal["success", "error"]]
    message: str
    """What was done, or why it failed and what to do."""
    error_type: str
    """``ValidationError``, ``NotFoundError`` …; only on failure."""


class Missing(TypedDict):
    """A part that could not answer."""

    part: str
    reason: str


class Place(TypedDict):
    """Another document with the same passage."""

    filepath: str
    title: str
    dataset_id: int


class ReadFilterShown(TypedDict):
    """A filter that was read from the query."""

    kind: Literal["dataset", "file_type", "metadata", "date"]
    said: str
    """The words of the query."""
    value: str
    key: str
    applied: bool
    why: str
    passages: int
    """Passages that are left with it."""
    reason: str


class AddedFormShown(TypedDict):
    """Another form of a name in the query."""

    said: str
    added: str


class Found(TypedDict, total=False):
    """A passage, or a document with its best one."""

    filepath: Required[str]
    id: str
    """The document's, for fetch."""
    title: str
    url: str
    """Where a person may open it; empty where there is no page of it."""
    score: float
    more_in_document: int
    """Number of other passages of the document that were found, where results are documents."""
    also_in: list[Place]
    """Other places with the same text."""
    document: str
    """The passage's text."""
    excerpt: str
    occurrences: int
    metadata: Required[dict[str, Any]]
    """``passage`` is its number in the document, for read_document."""
    document_metadata: dict[str, Any]


class FoundAnswer(Answer, total=False):
    """Passages."""

    results: list[Found]
    count: int


class SearchAnswer(FoundAnswer, total=False):
    """Passages, best first."""

    hits_by_dataset: dict[str, int]
    read_filters: list[ReadFilterShown]
    """What ``question_filters`` read from the query, whether it was applied or not."""
    added_forms: list[AddedFormShown]
    """Other forms of names in the query, such as what an abbreviation stands for, that were searched, too."""
    did_you_mean: str
    """The query with near words of the documents in place of those that none of them has."""
    notes: list[str]
    """What had no effect on the search, and what of the documents that were found could not be read."""
    query_vector_dimension: int | None
    persist_directory: str
    degraded: list[Missing]
    unresolved_dataset_ids: list[int]


class ExactAnswer(FoundAnswer, total=False):
    """Passages with a text in them, by filepath."""

    complete: bool
    """Whether every passage with the text, as whole words, is listed."""
    missing: list[str]
    """Why there may be more."""
    unresolved_dataset_ids: list[int]


class PassageShown(TypedDict):
    """A passage of a document that is read."""

    passage: int
    text: str
    heading_path: str
    page: int | None
    line: int | None


class ReadAnswer(Answer, total=False):
    """Passages of one document, in order."""

    filepath: str
    id: str
    title: str
    url: str
    file_type: str
    dataset_id: int
    also_in_datasets: list[int]
    passages: list[PassageShown]
    total: int
    """Number of the document's passages."""
    next: int | None
    """The passage to go on from; null at the end."""


@with_config(OPEN)
class DocumentShown(TypedDict):
    """A document as connectors of chat assistants take it."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class FetchAnswer(Answer, total=False):
    """A document's text."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]
    """``next_id`` fetches the rest of a long document."""


class LinkShown(TypedDict):
    """A document in the list of a connector."""

    id: str
    title: str
    url: str
    text: str


@with_config(OPEN)
class LinksShown(TypedDict):
    """What a connector finds."""

    results: list[LinkShown]


class DatasetShown(TypedDict):
    """A dataset that may be searched."""

    id: int
    name: str
    kind: Literal["personal", "shared"]
    description: str
    documents: int
    passages: int
    owner: str
    may_write: bool
    metadata_keys: dict[str, str]


class DatasetsAnswer(Answer, total=False):
    """The datasets that may be searched."""

    datasets: list[DatasetShown]
    count: int


class ExplainAnswer(Answer, total=False):
    """Why a document's best passage is, or is not, found, per dataset."""

    filepath: str
    passages: list[dict[str, Any]]
    count: int


class CheckedShown(TypedDict):
    """A sentence, and how it agrees with what it cites."""

    start: int
    """Of the sentence in ``text``, in characters."""
    end: int
    verdict: Literal["stands", "open", "not_found", "differs", "elsewhere", "uncited"]
    cited: list[int]
    sources: list[dict[str, Any]]
    """The sentences that support it: ``passage``, ``start``, ``end``."""
    findings: list[dict[str, Any]]
    """What differs or is not found: ``said`` in the text, ``there`` in ``passage``."""


class CheckAnswer(Answer, total=False):
    """A text with its citations as ``[1]``, and its sentences."""

    text: str
    sentences: list[CheckedShown]
    removed_citations: int
    """Citations of passages that were not given, which ``text`` has no more."""


class StoredAnswer(Answer, total=False):
    """Where the document is stored, or is again."""

    filepath: str
    dataset_id: int


class DeleteAnswer(Answer, total=False):
    """Where the document was deleted."""

    filepath: str
    dataset_ids: list[int]


class DeletedAnswer(Answer, total=False):
    """How many documents there were, and are no more."""

    deleted: int
