"""Adds what a program has at hand: texts, objects, LangChain documents, with metadata, in batches.

A document is identified by its ``id``, or else by its ``source``, or else by its text and metadata.

Several documents with the same source and no id are the parts of that source, such as the pages of a PDF file: the
second is stored as ``SOURCE#part=2``. LangChain documents add to the parts that are there, in one call or in many, as
they do in every vector store; an equal one is not stored twice. An object with a ``source`` is what is stored under it,
so the objects of one call replace those of an earlier one, as LangChain documents do with ``replace_sources``.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

from braid.core.adding.given_document import GivenDocument, LangChainDocument, read_given
from braid.core.datasets.entry import id_of
from braid.core.errors import InvalidInputError
from braid.core.ingest.plan import IngestOptions
from braid.core.ledger.document_batch import DOCUMENTS_PER_BATCH
from braid.core.ledger.document_writes import PutResult
from braid.core.metadata import clean_metadata
from braid.core.types import PART, Dataset, DocumentInput

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory

Addable = str | Mapping[str, Any] | LangChainDocument
State = Literal["added", "changed", "unchanged", "refused"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """The outcome for one of the documents given."""

    source: str
    """The identity that it is stored under; empty where it was refused."""
    state: State
    document_id: int | None = None
    reason: str = ""
    """Why it was refused, with the remedy."""
    left_out: tuple[str, ...] = ()
    """Why keys of a loader's metadata were left out, one sentence each; the rest is stored."""


@dataclass(frozen=True, slots=True)
class AddProgress:
    """Counts while documents are added: ``done`` of ``total``, which is None for an iterator.

    >>> seen = []
    >>> report = braid.add(["The tank is made of steel."], dataset=1, on_progress=seen.append)
    >>> seen
    [AddProgress(done=1, total=1, added=1, changed=0, unchanged=0, refused=0)]
    """

    done: int
    total: int | None
    added: int
    changed: int
    unchanged: int
    refused: int


@dataclass(frozen=True, slots=True)
class AddReport:
    """The outcomes of `add_documents`, in the order of the documents given.

    >>> report = braid.add(["The tank is emptied weekly.", "", "The tank is emptied weekly."], dataset=1)
    >>> report.added, report.unchanged, [each.reason for each in report.refused]
    (1, 1, ['the text is empty; leave the document out'])
    """

    documents: tuple[AddedDocument, ...]
    removed: int = 0
    """Parts of earlier calls that their source has no longer."""
    chunks: int = 0
    """Passages added, which are to be embedded."""

    @property
    def added(self) -> int:
        """Number of documents that were not there before."""
        return self._count("added")

    @property
    def changed(self) -> int:
        """Number of documents that had another text, title, date or metadata."""
        return self._count("changed")

    @property
    def unchanged(self) -> int:
        """Number of documents that were there already, just so."""
        return self._count("unchanged")

    @property
    def refused(self) -> tuple[AddedDocument, ...]:
        """The documents that were not stored, each with the reason."""
        return tuple(each for each in self.documents if each.state == "refused")

    def _count(self, state: State) -> int:
        return sum(each.state == state for each in self.documents)


def add_documents(
    directory: DataDirectory,
    documents: Addable | Iterable[Addable],
    *,
    dataset: int | Dataset,
    metadata: Mapping[str, Any] | None = None,
    replace_sources: bool = False,
    on_progress: Callable[[AddProgress], None] = lambda progress: None,
    options: IngestOptions | None = None,
) -> AddReport:
    """Store texts in a dataset, and say what was done with each: this is the call for many documents.

    ``documents`` is one, or any iterable, of texts, LangChain documents, and objects with ``text`` and perhaps ``id``,
    ``source``, ``title``, ``file_type`` (``txt`` unless given), ``date`` and ``metadata``. ``metadata`` is added to
    that of each document, whose own values win. Long texts are split as by `ingest_paths`; of ``options``, the sizes
    matter. With ``replace_sources`` LangChain documents without an id are all that their sources have from now on;
    without, they are added to what is there.

    Each batch of 500 documents is one transaction, after which ``on_progress`` is called. A document that cannot be
    stored is refused with the reason, and the others are stored. Raises NotFoundError when there is no such dataset,
    and InvalidInputError when ``documents`` or ``metadata`` is nothing of the kind, both before anything is stored.

    >>> from braid import add_documents
    >>> tanks = [{"source": "tank/1", "text": "Tank 1 holds 40 litres.", "metadata": {"litres": 40}}]
    >>> add_documents(braid, tanks, dataset=1, metadata={"site": "north"}).added
    1
    >>> indexed = braid.indexer.wait(10)
    >>> braid.search("tank", user_id=1, filters={"litres": {"$gte": 30}}).hits[0].passage.source
    'tank/1'
    """
    dataset_id = id_of(dataset)
    directory.dataset(dataset_id)
    adding = _Adding(directory, dataset_id, clean_metadata(metadata or {}), options or IngestOptions(), replace_sources)
    given = _as_many(documents)
    total = len(given) if isinstance(given, list | tuple) else None
    done: list[AddedDocument] = []
    counts: Counter[State] = Counter()
    iterator = iter(given)
    while batch := list(islice(iterator, DOCUMENTS_PER_BATCH)):
        done += (outcomes := list(adding.add(batch)))
        counts.update(each.state for each in outcomes)
        directory.wake()
        on_progress(AddProgress(len(done), total, *(counts[state] for state in get_args(State))))
    if adding.left_out:
        reasons = "; ".join(reason for reason, _ in adding.left_out.most_common(3))
        logger.warning("keys of metadata were left out of %d documents: %s", adding.left_out.total(), reasons)
    return AddReport(tuple(done), adding.remove_old_parts(), adding.chunks)


def _as_many(documents: Addable | Iterable[Addable]) -> Iterable[object]:
    given: object = documents
    if isinstance(given, str | Mapping | LangChainDocument):
        return [given]
    if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise InvalidInputError(
            f"documents is of the type {kind}; give texts, objects with a text, or LangChain documents",
            field="documents",
        )
    return given


class _Adding:
    """One call of `add_documents`, which stores batch by batch."""

    def __init__(
        self,
        directory: DataDirectory,
        dataset_id: int,
        metadata: Mapping[str, Any],
        options: IngestOptions,
        replace_sources: bool,
    ) -> None:
        self._directory = directory
        self._dataset_id = dataset_id
        self._metadata = metadata
        self._options = options
        self._replace_sources = replace_sources
        self._parts: Counter[str] = Counter()
        self.chunks = 0
        self.left_out: Counter[str] = Counter()
        """How many documents each sentence is about."""

    def add(self, batch: Sequence[object]) -> Iterator[AddedDocument]:
        """Store some documents in one transaction, and yield the outcomes in their order."""
        read = [self._read(given) for given in batch]
        places = [place for place, each in enumerate(read) if not isinstance(each, str)]
        inputs = [each[1] for each in read if not isinstance(each, str)]
        pieces = [index for index, place in enumerate(places) if self._is_piece(batch[place])]
        stored = iter(self._directory.ledger.put_documents(self._dataset_id, inputs, pieces=pieces))
        for each in read:
            if isinstance(each, str):
                yield AddedDocument("", "refused", reason=each)
                continue
            put, left_out = next(stored), each[0].left_out
            self.chunks += put.added
            self.left_out.update(left_out)
            yield AddedDocument(put.source, _state(put), put.document_id, left_out=left_out)

    def remove_old_parts(self) -> int:
        """Remove the parts that the sources of this call had beyond those that they have now."""
        removed, ledger = 0, self._directory.ledger
        for source, count in self._parts.items():
            beyond = [each for number, each in ledger.parts_of(self._dataset_id, source).items() if number > count]
            if beyond:
                removed += ledger.remove_documents(self._dataset_id, beyond)
                logger.warning(
                    "%d parts of %r that an earlier call stored were removed, since this one has fewer; give each"
                    " document an id to keep what several calls store",
                    *(len(beyond), source),
                )
        return removed

    def _is_piece(self, given: object) -> bool:
        """Return whether this is one of the parts of a source, which are added to those that are there."""
        if self._replace_sources or isinstance(given, str | Mapping) or not isinstance(given, LangChainDocument):
            return False
        source = given.metadata.get("source")
        return not given.id and isinstance(source, str) and bool(source.strip())

    def _read(self, given: object) -> tuple[GivenDocument, DocumentInput] | str:
        """Return the document to store with what was given, or why it is refused."""
        try:
            read = read_given(given, self._metadata)
            source = read.source if self._is_piece(given) else self._source(read)
            document = read.document(source, self._options)
        except InvalidInputError as error:
            return str(error)
        return read, document

    def _source(self, given: GivenDocument) -> str:
        if given.id:
            return given.id
        if not given.source:
            identity = json.dumps([given.text, given.metadata], ensure_ascii=False, sort_keys=True)
            return f"text:{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()[:32]}"
        self._parts[given.source] += 1
        part = self._parts[given.source]
        return given.source if part == 1 else f"{given.source}{PART}{part}"


def _state(put: PutResult) -> State:
    if put.is_new:
        return "added"
    return "changed" if put.refreshed or not put.unchanged else "unchanged"
