"""The values that travel through Braid. All are frozen; results are new objects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self, TypedDict, get_args

from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json
from braid.core.metadata import Metadata, parse_where

Leg = Literal["dense", "bm25"]
Mode = Literal["semantic", "keyword", "hybrid"]
Fusion = Literal["auto", "rrf", "weighted"]
Pooling = Literal["pooled", "none"]
Engine = Literal["braid", "langchain"]
"""``langchain`` is LangChain's stock classes over the same passages; its older name, ``reference``, is taken, too."""
Generator = Literal["auto", "llm", "feedback"]
ChunkKind = Literal["function", "class", "method", "module"]
GroupBy = Literal["passage", "document"]
OnDegraded = Literal["warn", "raise", "ignore"]
All = Literal["all"]
DatasetIds = Sequence[int] | All | None
"""Datasets to search: these; ``all`` that the user may read when it is searched, personal and shared; or None, all
personal ones."""
Part = Literal["dense", "bm25", "model", "rerank"]
"""A part that can be missing from an answer: a leg, the chat model, the reranker."""

LEGS_OF_MODE: Mapping[Mode, tuple[Leg, ...]] = {
    "semantic": ("dense",),
    "keyword": ("bm25",),
    "hybrid": ("dense", "bm25"),
}
AUTO_DENSE_WEIGHT = 0.45
"""Weight of the dense leg in ``auto`` fusion. nDCG@10 over seven sets differs by less than 0.002 from 0.40 to 0.48."""
ALL: All = "all"
MAX_QUERY_CHARS = 10_000
MAX_K = 1_000
MAX_NAME_CHARS = 200
"""Longest name of a user, group, dataset or model."""
MIN_ID, MAX_ID = -(2**31), 2**31 - 1
"""Bounds of an id, whose column is a 32-bit integer."""
MAX_EMBEDDING_BATCH = 2048
"""Most texts in one call to an embedding model."""
RERANKERS = ("cohere", "jina", "voyage", "tei", "onnx", "local")
RERANKER_FORMS = ", ".join(f"{provider}:{'FOLDER' if provider == 'onnx' else 'MODEL'}" for provider in RERANKERS)
HOSTED_RERANKERS = ("cohere", "jina", "voyage")
"""Those whose makers have a server of their own, so that a user's own key has an address to go to."""
MIN_RERANKED, MAX_RERANKED = 20, 1_000
MIN_FETCHED = 50
MAX_DEPTH = 1_000
"""Greatest depth of a leg, and of the reranker, that may be chosen."""


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
    chunk_kind: ChunkKind | Literal[""] = ""
    """The part of a program that a passage of source code is; empty for other texts."""
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
    chunk_kind: ChunkKind | Literal[""] = ""
    """The part of a program that a passage of source code is; empty for other texts, and for code that was stored
    before Braid knew it.
    """
    confidence: float | None = None
    """How sure the machine is that read the passage on a scanned page, 0–1; None for text that the file has itself."""


def indexed_text(title: str, heading_path: str, text: str) -> str:
    """Return what both legs index of a chunk: title, heading path and passage, joined by spaces."""
    return " ".join(part for part in (title, heading_path, text) if part)


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions on documents, and on kinds of passages, applied in both legs. Empty means none.

    >>> only_valves = Filters(file_types=frozenset({"md"}), source_prefix="valve")
    >>> result = braid.search("warranty of the pump", user_id=1, dataset_ids=[1], filters=only_valves)
    >>> [hit.passage.source for hit in result.hits]
    ['valve.md']
    >>> Filters(metadata={"tenant": "x", "year": {"$gte": 2024}, "tags": {"$contains": "a"}}).metadata["tenant"]
    'x'
    """

    file_types: frozenset[str] = frozenset()
    source_prefix: str = ""
    date_from: float | None = None
    """Seconds since the epoch, inclusive."""
    date_to: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A filter on the documents' metadata, as docs/own-data.md describes it; dates in their JSON form."""
    chunk_kinds: frozenset[ChunkKind] = frozenset()
    """Only passages of source code that are these parts of a program: ``function``, ``class``, ``method`` or
    ``module``, the rest of a file. Looked for among the best 4,000 passages of each leg.
    """

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return filters written as a plain object: keys that are fields of this class mean those, all others are keys
        of metadata. Raises InvalidInputError.
        """
        names = {option.name for option in fields(cls)}
        own = {name: value for name, value in given.items() if name in names}
        others = {key: value for key, value in given.items() if key not in names}
        if others:
            own["metadata"] = {"$and": [own["metadata"], others]} if own.get("metadata") else others
        return cls(**own)

    def __post_init__(self) -> None:
        for name, example in (("file_types", "{'pdf', 'md'}"), ("chunk_kinds", "{'function', 'method'}")):
            if isinstance(given := getattr(self, name), str):
                raise InvalidInputError(f"{name} is {given!r}; give a set of names, such as {example}", field=name)
        if not isinstance(self.source_prefix, str):
            raise InvalidInputError(f"source_prefix is {self.source_prefix!r}; give a text", field="source_prefix")
        for name in ("date_from", "date_to"):
            if (moment := getattr(self, name)) is not None and not _is_number(moment):
                raise InvalidInputError(f"{name} is {moment!r}; give seconds since the epoch", field=name)
        object.__setattr__(self, "file_types", frozenset(self.file_types))
        object.__setattr__(self, "chunk_kinds", frozenset(self.chunk_kinds))
        for kind in sorted(self.chunk_kinds, key=str):
            require_choice("chunk_kinds", kind, get_args(ChunkKind))
        parse_where(self.metadata)
        object.__setattr__(self, "metadata", to_json(self.metadata))
        if self.date_from is not None and self.date_to is not None and self.date_from > self.date_to:
            raise InvalidInputError(
                f"date_from {self.date_from} is after date_to {self.date_to}; swap them", field="date_from"
            )

    def __bool__(self) -> bool:
        return bool(
            self.file_types
            or self.source_prefix
            or self.date_from is not None
            or self.date_to is not None
            or self.metadata
            or self.chunk_kinds
        )

    def parts(self) -> tuple[Filters, ...]:
        """Return filters that select together what these select: one for each field, and for each key of metadata."""
        parts = (
            Filters(file_types=self.file_types),
            Filters(source_prefix=self.source_prefix),
            Filters(date_from=self.date_from, date_to=self.date_to),
            *(Filters(metadata={key: value}) for key, value in self.metadata.items()),
            Filters(chunk_kinds=self.chunk_kinds),
        )
        return tuple(part for part in parts if part)


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


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "fusion": get_args(Fusion),
    "pooling": get_args(Pooling),
    "engine": get_args(Engine),
    "generator": get_args(Generator),
    "group_by": get_args(GroupBy),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search, without its text. Raises InvalidInputError with the field's name."""

    mode: Mode = "hybrid"
    k: int = 5
    fusion: Fusion = "rrf"
    """How hybrid mode joins the legs: by how far their hits stand out (``auto``), by rank (``rrf``), or by scores
    stretched to 0–1 (``weighted``). Engine ``langchain`` fuses by rank in ``auto``, too.
    """
    alpha: float | None = None
    """Weight of the dense leg in ``weighted`` fusion, 0.0–1.0; None means 0.7."""
    dense_weight: float = 0.5
    """Weight of the dense leg in ``rrf`` fusion, 0.0–1.0; the keyword leg has the rest."""
    pooling: Pooling = "pooled"
    engine: Engine = "braid"
    min_score: float | None = None
    """Lowest score a hit may have: the reranker's where there is one, else cosine (semantic), BM25 (keyword) or the
    fused score (hybrid)."""
    filters: Filters = Filters()
    generator: Generator = "auto"
    """Source of the strategy's queries: the search model (``llm``), pseudo-relevance feedback from the first pass
    (``feedback``), or whichever there is.
    """
    reranker: str = ""
    """``provider:MODEL``, one of `RERANKERS`; empty means none."""
    group_by: GroupBy = "passage"
    """What a hit is: a passage, or a ``document`` with its best passage. ``k`` counts hits; up to 2,000 passages of
    each leg are read to find ``k`` documents.
    """
    leg_depth: int = 0
    """Hits that each leg fetches, at least ``k``; 0 means twice ``k``, at least 50."""
    reranker_depth: int = 0
    """Fused hits that the reranker reads, at least ``k``; 0 means four times ``k``, at least 20."""
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Parameters of the strategy by name; `RetrieverManager.get_retriever_config` has the values of those that are left
    out. A result's query has them all."""

    def __post_init__(self) -> None:
        for name, nothing in (("filters", Filters()), ("reranker", ""), ("parameters", {})):
            if getattr(self, name) is None:
                object.__setattr__(self, name, nothing)
        given: str = self.engine
        if given == "reference":
            object.__setattr__(self, "engine", "langchain")
        for name, choices in _CHOICES.items():
            require_choice(name, getattr(self, name), choices)
        self._require_numbers()
        filters: object = self.filters
        if isinstance(filters, Mapping):
            filters = Filters.of(filters)
            object.__setattr__(self, "filters", filters)
        if not isinstance(filters, Filters):
            message = f"filters is {filters!r}; give a Filters, or an object such as {{'year': {{'$gte': 2024}}}}"
            raise InvalidInputError(message, field="filters")
        if self.engine == "langchain":
            _require_possible_with_langchain(self)
        _require_reranker(self.reranker)
        _require_parameters(self.parameters)
        plain = {name: plain_number(value) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", plain)

    def _require_numbers(self) -> None:
        for name in ("k", "leg_depth", "reranker_depth", "alpha", "dense_weight", "min_score"):
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise InvalidInputError(f"k is {self.k!r}; it must be a whole number from 1 to {MAX_K}", field="k")
        if self.alpha is not None:
            _require_weight("alpha", self.alpha)
        _require_weight("dense_weight", self.dense_weight)
        if self.min_score is not None and not _is_number(self.min_score):
            raise InvalidInputError(f"min_score is {self.min_score!r}; it must be a number", field="min_score")
        _require_depth("leg_depth", self.leg_depth)
        _require_depth("reranker_depth", self.reranker_depth)

    def changed(self, options: Mapping[str, object]) -> SearchOptions:
        """Return a copy with these options changed.

        Raises InvalidInputError for an unknown name, a wrong value, and an option that does nothing, but for `NOTED`.
        """
        known = [option.name for option in fields(SearchOptions)]
        for name in options:
            if name not in known:
                raise InvalidInputError(f"there is no option {name!r}; the options are {', '.join(known)}", field=name)
        if not options:
            return self
        changed = replace(self, **options)  # type: ignore[arg-type]  # checked in __post_init__
        for name, reason in changed.unused().items():
            if name in options and name not in NOTED:
                raise InvalidInputError(f"{name} is {getattr(changed, name)!r}, but {reason}", field=name)
        return changed

    def unused(self) -> Mapping[str, str]:
        """Return the options that have another value than their default and do nothing beside the others, each with the
        reason and the remedy.
        """
        weights = {"alpha": "weighted", "dense_weight": "rrf"}
        unused = {}
        for name, fusion in weights.items():
            if getattr(self, name) == getattr(DEFAULTS, name):
                continue
            if self.mode != "hybrid":
                unused[name] = f"mode {self.mode!r} has nothing to weigh; leave it out, or use mode 'hybrid'"
            elif self.fusion != fusion and not (self.engine == "langchain" and name == "dense_weight"):
                unused[name] = f"fusion {self.fusion!r} does not use it; leave it out, or use fusion {fusion!r}"
        if self.reranker_depth and not self.reranker:
            unused["reranker_depth"] = "there is no reranker to read so many; leave it out, or name a reranker"
        return unused

    def for_text(self, text: str) -> Query:
        """Return a query with these options. Raises InvalidInputError for an empty or too long text."""
        return Query(text, **{option.name: getattr(self, option.name) for option in fields(SearchOptions)})

    def weight_of(self, leg: Leg) -> float:
        """Return the leg's weight in the fusion; 1.0 for the only leg of its mode."""
        if self.mode != "hybrid":
            return 1.0
        dense_weight = self.dense_weight
        if self.fusion == "auto":
            dense_weight = AUTO_DENSE_WEIGHT
        elif self.fusion == "weighted":
            dense_weight = 0.7 if self.alpha is None else self.alpha
        return dense_weight if leg == "dense" else 1.0 - dense_weight

    @property
    def fetch_k(self) -> int:
        """Number of hits that each leg fetches: ``leg_depth``, or enough for the fusion to have a choice."""
        return max(self.candidates, self.leg_depth or max(2 * self.k, MIN_FETCHED))

    @property
    def candidates(self) -> int:
        """Number of fused hits that are read: ``k``; with a reranker ``reranker_depth``, or enough for it to have a
        choice.
        """
        if not self.reranker:
            return self.k
        return max(self.k, self.reranker_depth or min(max(4 * self.k, MIN_RERANKED), MAX_RERANKED))


def used_options(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a search: those given, and those of ``defaults`` that do something beside them.

    Raises InvalidInputError for a wrong value.
    """
    merged = {**defaults, **given}
    unused = SearchOptions(**merged).unused()
    return {name: value for name, value in merged.items() if name in given or name not in unused}


class QueryOptions(TypedDict, total=False):
    """The fields of `SearchOptions` as the keywords of a call, so that type checkers and editors know them."""

    mode: Mode
    k: int
    fusion: Fusion
    alpha: float | None
    dense_weight: float
    pooling: Pooling
    engine: Engine
    min_score: float | None
    filters: Filters | Mapping[str, Any] | None
    generator: Generator
    reranker: str | None
    group_by: GroupBy
    leg_depth: int
    reranker_depth: int
    parameters: Mapping[str, float] | None


class RetrieverOptions(QueryOptions, total=False):
    """The keywords of a LangChain retriever: those of a search, and how it answers."""

    with_scores: bool
    """Whether the documents' metadata has ``score``, ``rerank_score`` and ``legs``, which differ between queries."""
    on_degraded: OnDegraded
    """What to do when something could not be searched: ``warn`` logs it and tells the callbacks and the run's metadata,
    ``raise`` raises DegradedError, ``ignore`` does nothing. Where nothing could be searched, all three raise.
    """
    search_kwargs: Mapping[str, Any]
    """Further options in one mapping, as LangChain's vector stores take them."""


@dataclass(frozen=True, slots=True)
class Query(SearchOptions):
    """A text to search for, with the options. Raises InvalidInputError with the field's name."""

    text: str

    def __post_init__(self) -> None:
        _require_text(self.text)
        SearchOptions.__post_init__(self)


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


def _require_possible_with_langchain(options: SearchOptions) -> None:
    if options.fusion == "weighted":
        message = f"engine 'langchain' knows fusion 'rrf' only, not {options.fusion!r}"
        raise InvalidInputError(message, field="fusion")
    if options.group_by != "passage":
        message = f"engine 'langchain' gives passages only, not group_by {options.group_by!r}"
        raise InvalidInputError(message, field="group_by")
    if options.filters.chunk_kinds:
        raise InvalidInputError("engine 'langchain' does not filter by chunk_kinds", field="filters")


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        kind = "None" if text is None else f"of the type {type(text).__name__}"
        raise InvalidInputError(f"the query is {kind}; give a text", field="query")
    if not text.strip():
        raise InvalidInputError("the query is empty; type at least one word", field="query")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInputError(
            f"the query has {len(text)} characters; at most {MAX_QUERY_CHARS} are allowed", field="query"
        )


def _require_reranker(name: str) -> None:
    provider, _, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if name != "" and (provider not in RERANKERS or not model.strip()):
        message = f"reranker is {name!r}; write one of {RERANKER_FORMS}, or nothing for none"
        raise InvalidInputError(message, field="reranker")


def _require_weight(name: str, weight: float) -> None:
    if not (_is_number(weight) and 0.0 <= weight <= 1.0):
        raise InvalidInputError(f"{name} is {weight!r}; it must be from 0.0 to 1.0", field=name)


def _require_depth(name: str, depth: int) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= MAX_DEPTH:
        message = f"{name} is {depth!r}; it must be a whole number up to {MAX_DEPTH}, or 0 to follow k"
        raise InvalidInputError(message, field=name)


def _require_parameters(parameters: object) -> None:
    """Raise InvalidInputError unless these are numbers by name; the strategy's own bounds are checked by its name."""
    if not isinstance(parameters, Mapping):
        message = f"parameters is {parameters!r}; give numbers by name, such as {{'feedback_passages': 5}}"
        raise InvalidInputError(message, field="parameters")
    for name, value in parameters.items():
        if not isinstance(name, str) or not _is_number(plain_number(value)):
            raise InvalidInputError(f"parameters.{name} is {value!r}; give a number", field=f"parameters.{name}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def plain_number(value: Any) -> Any:
    """Return a number of another library, such as NumPy's, as one of Python's, and anything else as it is."""
    if isinstance(value, bool | int | float) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise InvalidInputError unless the option ``name`` has one of these values."""
    if value not in choices:
        raise InvalidInputError(f"{name} is {value!r}; choose one of {', '.join(choices)}", field=name)


NOTED = frozenset({"reranker_depth"})
"""Options that programs pass along with a reranker or without one: where they do nothing, the result's notes say so."""
DEFAULTS = SearchOptions()
