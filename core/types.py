"""The values that travel through Braid. All are frozen; results are new objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from braid.core.metadata import Metadata
from braid.core.metadata.printed_pages import printed_page
from braid.core.options import ALL as ALL
from braid.core.options import AUTO_DENSE_WEIGHT as AUTO_DENSE_WEIGHT
from braid.core.options import DEFAULTS as DEFAULTS
from braid.core.options import HOSTED_RERANKERS as HOSTED_RERANKERS
from braid.core.options import LEGS_OF_MODE as LEGS_OF_MODE
from braid.core.options import MAX_DEPTH as MAX_DEPTH
from braid.core.options import MAX_K as MAX_K
from braid.core.options import MAX_QUERY_CHARS as MAX_QUERY_CHARS
from braid.core.options import MAX_RERANKED as MAX_RERANKED
from braid.core.options import MIN_FETCHED as MIN_FETCHED
from braid.core.options import MIN_RERANKED as MIN_RERANKED
from braid.core.options import NOTED as NOTED
from braid.core.options import RERANKER_FORMS as RERANKER_FORMS
from braid.core.options import RERANKERS as RERANKERS
from braid.core.options import All as All
from braid.core.options import ChunkKind as ChunkKind
from braid.core.options import DatasetIds as DatasetIds
from braid.core.options import Engine as Engine
from braid.core.options import Filters as Filters
from braid.core.options import Fusion as Fusion
from braid.core.options import Generator as Generator
from braid.core.options import GroupBy as GroupBy
from braid.core.options import Leg as Leg
from braid.core.options import Mode as Mode
from braid.core.options import OnDegraded as OnDegraded
from braid.core.options import Pooling as Pooling
from braid.core.options import Query as Query
from braid.core.options import QueryOptions as QueryOptions
from braid.core.options import QuestionFilters as QuestionFilters
from braid.core.options import RetrieverOptions as RetrieverOptions
from braid.core.options import SearchOptions as SearchOptions
from braid.core.options import plain_number as plain_number
from braid.core.options import require_choice as require_choice
from braid.core.options import used_options as used_options

PassageKind = ChunkKind | Literal["contents", ""]
"""``contents`` is a table of contents: it comes behind all other passages, and no answer quotes it."""
Part = Literal["dense", "bm25", "model", "rerank"]
"""A part that can be missing from an answer: a leg, the chat model, the reranker."""
MAX_NAME_CHARS = 200
"""Longest name of a user, group, dataset or model."""
MIN_ID, MAX_ID = -(2**31), 2**31 - 1
"""Bounds of an id, whose column is a 32-bit integer."""
MAX_EMBEDDING_BATCH = 2048
"""Most texts in one call to an embedding model."""


# ---------------------------------------------------------------- what is stored


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named set of documents that users select. ``id`` > 0 is personal (``user_id`` set), ``id`` < 0 is shared.

    >>> Dataset(-1, "Handbook", "shared_handbook").shared
    True
    >>> braid.dataset(1).shared
    False
    """

    id: int
    name: str
    collection: str
    user_id: int | None = None
    description: str = ""
    documents: int = 0
    chunks: int = 0
    conversation_id: int | None = None
    """The conversation whose files these are. Such a dataset is in no list, and is deleted with the conversation."""
    owner: str = ""
    """The owner's name, of a personal dataset that was read for another user with whom it is shared; else empty."""

    @property
    def shared(self) -> bool:
        """Whether this is an entry of shared_dbs.json."""
        return self.id < 0

    @property
    def of_others(self) -> bool:
        """Whether this is shared with the user for whom it was read, by administrators or by its owner."""
        return self.shared or bool(self.owner)


@dataclass(frozen=True, slots=True)
class ChunkInput:
    """A passage to be stored. Lines and pages are 1-based and inclusive; None where the format has none.

    >>> chunk = ChunkInput("The pump runs at 12 bar.", heading_path="Manual > Pump", page=3, page_end=3)
    >>> chunk.line is None
    True
    """

    text: str
    heading_path: str = ""
    """Headings from the outermost to the nearest, joined by `` > ``."""
    page: int | None = None
    page_end: int | None = None
    line: int | None = None
    line_end: int | None = None
    chunk_kind: PassageKind = ""
    """The part of a program that a passage of source code is, or ``contents``; empty for other texts."""
    confidence: float | None = None
    """How sure the machine is that read the passage on a scanned page, 0–1; None for text that the file has itself."""


PART = "#part="
"""Between a source and the number of one of its parts, in the source of that part: ``manual.pdf#part=2``."""


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """One source to be stored. ``source`` is its path or URL, unique in the dataset.

    >>> document = DocumentInput("tank.md", "Tank", "md", (ChunkInput("The tank holds 40 litres."),))
    >>> dataset = braid.ledger.add_dataset(1, "tanks")
    >>> stored = braid.ledger.put_document(dataset.id, document)
    >>> braid.ledger.document(dataset.id, "tank.md").chunks
    1
    """

    source: str
    title: str
    file_type: str
    """Lower-case name of the format: ``pdf``, ``md``, ``py`` …"""
    chunks: Sequence[ChunkInput]
    content_hash: str = ""
    """SHA-256 of the file's bytes; with an equal hash the chunks stay as they are."""
    size_bytes: int = 0
    date: float | None = None
    """Seconds since the epoch (file modification time), for the date filter."""
    metadata: Metadata = field(default_factory=dict)
    """The host's facts, by which searches are filtered: texts, numbers, true and false, dates, lists of texts."""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document. ``state`` is ``ready`` or ``failed``; ``error`` says why it failed."""

    id: int
    dataset_id: int
    source: str
    title: str
    file_type: str
    state: Literal["ready", "failed"]
    error: str
    chunks: int
    size_bytes: int
    content_hash: str
    date: float | None
    updated_at: float
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its document, as read from the ledger under the caller's scope.

    >>> passage = braid.search("warranty of the pump", user_id=1, dataset_ids=[1]).hits[0].passage
    >>> passage.source, passage.text
    ('pump.md', 'The warranty of the pump lasts three years.')
    """

    chunk_id: str
    document_id: int
    dataset_id: int
    collection: str
    source: str
    title: str
    file_type: str
    heading_path: str
    text: str
    position: int
    page: int | None
    page_end: int | None
    line: int | None
    line_end: int | None
    date: float | None
    metadata: Metadata
    """What the document was stored with."""
    chunk_kind: PassageKind = ""
    """The part of a program that a passage of source code is, or ``contents``, a table of contents; empty for other
    texts, and for what was stored before Braid knew it.
    """
    confidence: float | None = None
    """How sure the machine is that read the passage on a scanned page, 0–1; None for text that the file has itself."""

    @property
    def printed_page(self) -> str:
        """The number that is printed on the passage's page; empty where there is none, or it is `page` itself."""
        return printed_page(self.metadata, self.page)


def indexed_text(title: str, heading_path: str, text: str) -> str:
    """Return what both legs index of a chunk: title, heading path and passage, joined by spaces."""
    return " ".join(part for part in (title, heading_path, text) if part)


# ---------------------------------------------------------------- where is searched


@dataclass(frozen=True, slots=True)
class CollectionScope:
    """The dataset ids of one collection that the caller may read. Made by ``braid.core.datasets.scope`` alone."""

    collection: str
    dataset_ids: frozenset[int]
    user_id: int | None = None
    """The owner, for a personal collection; None for a shared one."""
    readable_ids: frozenset[int] | None = None
    """The datasets of the collection that the caller may select; None for the caller's own collection. Words of other
    datasets must not count in scores."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The datasets that the caller may read in this request; default-deny."""

    collections: tuple[CollectionScope, ...]
    unresolved_dataset_ids: tuple[int, ...] = ()
    """Ids that do not exist, are disabled, or are not the caller's; the three are not distinguished."""
    user_id: int | None = None
    """The caller; None where there is no user."""

    @property
    def dataset_ids(self) -> frozenset[int]:
        """All allowed dataset ids."""
        return frozenset().union(*(c.dataset_ids for c in self.collections))

    def within(self, dataset_ids: frozenset[int]) -> Scope:
        """Return the scope with those of its datasets that are among these."""
        kept = (replace(each, dataset_ids=each.dataset_ids & dataset_ids) for each in self.collections)
        return replace(self, collections=tuple(each for each in kept if each.dataset_ids))


# ---------------------------------------------------------------- what is answered


class ScoredChunk(NamedTuple):
    """One hit of a leg. Higher is better, never a distance."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class LegScore:
    """A leg's reasons for a hit. ``rank`` is 1-based in the pooled ranking of the leg."""

    leg: Leg
    rank: int
    score: float
    """Cosine similarity (dense) or BM25 (bm25); higher is better."""
    share: float
    """The leg's contribution to the hit's fused score."""
    query: str
    """The query variant that found it."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Another passage with the same text."""

    chunk_id: str
    dataset_id: int
    source: str
    title: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A cited passage with its score and the reasons for it.

    >>> hit = braid.search("warranty of the pump", user_id=1, dataset_ids=[1]).hits[0]
    >>> sorted(leg.leg for leg in hit.legs)
    ['bm25', 'dense']
    >>> hit.score == sum(leg.share for leg in hit.legs)
    True
    """

    passage: Passage
    score: float
    legs: tuple[LegScore, ...]
    also_in: tuple[Occurrence, ...] = ()
    rerank_score: float | None = None
    """The reranker's score, on its own scale, higher is better; None where it was not asked, or failed."""
    covers: tuple[str, ...] = ()
    """Chunk ids of the other passages whose text is part of this one's: of a section, those around the passage found.
    """
    more_in_document: int = 0
    """Other passages of the document that were found, with other texts, where hits are grouped by document."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """A part that is missing from the answer, and why. An empty ``collection`` means all."""

    leg: Part
    collection: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddedForm:
    """Another form of a name in a query, which was searched by keyword, too.

    >>> AddedForm("SLA", "Service Level Agreement").added
    'Service Level Agreement'
    """

    said: str
    """The form that the query has."""
    added: str


FilterKind = Literal["dataset", "file_type", "metadata", "date"]
ReadWhy = Literal["asked", "chosen", "taken_off", "unsure", "few"]
"""The question asks for it; the user has put it on, or taken it off; the words may mean something else; it would leave
too few passages.
"""


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """A filter that was read from the words of a question.

    >>> result = braid.search("Look in the PDF files.", user_id=1, dataset_ids=[1], question_filters="on")
    >>> result.read_filters  # there are none
    ()
    """

    kind: FilterKind
    said: str
    """The words of the question."""
    value: str
    """What the filter selects: names of datasets, file types, a value of metadata, or ISO days, ``2025-04/2026-03``."""
    key: str
    """The key of metadata; empty for the other kinds."""
    applied: bool
    why: ReadWhy
    passages: int
    """Passages that are left with it, beside those that are applied before it."""
    reason: str
    """Why it is applied or not, in a sentence."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits, best first, with everything that explains how they were found.

    >>> result = braid.search("warranty of the pump", user_id=1, dataset_ids=[1], k=1)
    >>> len(result.hits), result.strategy, result.collections
    (1, 'basic', ('user_1',))
    >>> result.hits_by_dataset
    {1: 1}
    """

    query: Query
    strategy: str
    generator: str
    """Writer of the query variants: ``none``, ``feedback`` or the name of a model."""
    queries: tuple[str, ...]
    hits: tuple[Hit, ...]
    collections: tuple[str, ...]
    degraded: tuple[Degraded, ...] = ()
    unresolved_dataset_ids: tuple[int, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds per stage: ``scope``, ``model``, ``embed``, ``search``, ``fuse``, ``read``, ``rerank``, ``total``.
    """
    model_calls: int = 0
    embeddings: int = 0
    """Texts that were given to an embedding model."""
    notes: tuple[str, ...] = ()
    """What a limit left out although nothing failed, with what to do about it."""
    answered: tuple[Leg, ...] = ()
    """Legs that were searched in at least one collection, whether or not they found anything."""
    did_you_mean: str = ""
    """The query with near words of passages in place of those that no passage has; empty where there are none."""
    read_filters: tuple[ReadFilter, ...] = ()
    """Filters that were read from the question, with the option ``question_filters``; those not applied, too."""
    added_forms: tuple[AddedForm, ...] = ()
    """Other forms of names in the query, such as what an abbreviation stands for, searched by keyword, too."""
    hits_by_dataset: Mapping[int, int] = field(init=False)
    """Number of hits by the id of their dataset, the dataset with the most first; those without a hit are left out."""

    def __post_init__(self) -> None:
        counts = Counter(hit.passage.dataset_id for hit in self.hits).most_common()
        object.__setattr__(self, "hits_by_dataset", dict(counts))


Reason = Literal[
    "found",
    "not_in_scope",
    "filtered",
    "not_reached",
    "deduplicated",
    "merged",
    "grouped",
    "below_min_score",
    "cut_by_k",
]
"""Why a chunk is, or is not, in a result. ``merged``: it is shown as a part of another hit, a section; ``grouped``: its
document is shown by another passage.
"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation why a chunk is, or is not, in the result of a query."""

    chunk_id: str
    found: bool
    reason: Reason
    detail: str
    """The reason in words for people."""
    rank: int | None = None
    """1-based rank among the hits shown; for a chunk that is not shown, its rank in the fused list."""
    legs: tuple[LegScore, ...] = ()
    reranker: str = ""
    """The reranker that put the first hits in order; empty without one, and where it failed."""
