"""The options of a search: their values, defaults and bounds, and what each interface says of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, Self, TypedDict, get_args, get_origin, get_type_hints

from braid.core import extras
from braid.core.errors import InvalidInputError, Reason
from braid.core.json_form import to_json
from braid.core.metadata import parse_where
from braid.core.metadata.values import plain
from braid.core.metadata.where import PASSAGE_FACTS, conditions_of

GONE = {
    "dense_search": "vectors are always searched exactly",
    "dense_memory_mb": "vectors are in files, of which the system keeps in memory what it has room for",
}
"""Options and settings that are no more, with what is true instead."""

Leg = Literal["dense", "bm25"]
Mode = Literal["semantic", "keyword", "hybrid"]
Fusion = Literal["auto", "rrf", "weighted"]
Pooling = Literal["pooled", "none"]
Engine = Literal["braid", "langchain"]
"""``langchain`` is LangChain's stock classes over the same passages; its older name, ``reference``, is taken, too."""
Generator = Literal["auto", "llm", "feedback"]
ChunkKind = Literal["function", "class", "method", "module"]
GroupBy = Literal["passage", "document"]
QuestionFilters = Literal["off", "on"]
OnDegraded = Literal["warn", "raise", "ignore"]
All = Literal["all"]
DatasetIds = Sequence[int] | All | None
"""Datasets to search: these; ``all`` that the user may read when it is searched, personal and shared; or None, all
personal ones. `Datasets` is the same as one value."""


@dataclass(frozen=True, slots=True)
class Datasets:
    """Which datasets are meant: those with these ids, everything that the user may read, or all personal ones.

    >>> Datasets.of([7, -1]).given, Datasets.everything().given, Datasets.of([]) == Datasets.personal()
    ((7, -1), 'all', True)
    """

    ids: tuple[int, ...] = ()
    """Without any, and without ``is_everything``, all personal datasets are meant."""
    is_everything: bool = False

    @classmethod
    def personal(cls) -> Datasets:
        """Return all personal datasets of the user."""
        return cls()

    @classmethod
    def everything(cls) -> Datasets:
        """Return everything that the user may read when it is searched."""
        return cls(is_everything=True)

    @classmethod
    def of(cls, ids: Iterable[int]) -> Datasets:
        """Return the datasets with these ids; without one, the personal datasets."""
        return cls(tuple(ids))

    @property
    def given(self) -> DatasetIds:
        """The same as a search is given it."""
        return ALL if self.is_everything else self.ids

    def has(self, dataset_id: int) -> bool:
        """Return whether this dataset was chosen, by its id or with all."""
        return self.is_everything or dataset_id in self.ids


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
RERANKERS = ("cohere", "jina", "voyage", "tei", "onnx", "local")
RERANKER_FORMS = ", ".join(f"{provider}:{'FOLDER' if provider == 'onnx' else 'MODEL'}" for provider in RERANKERS)
HOSTED_RERANKERS = ("cohere", "jina", "voyage")
"""Providers with a server of their own, which a user's own key can be sent to."""
MIN_RERANKED, MAX_RERANKED = 20, 1_000
MIN_FETCHED = 50
MAX_DEPTH = 1_000
"""Greatest depth of a leg, and of the reranker, that may be chosen."""


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
        object.__setattr__(self, "metadata", to_json(plain(self.metadata)))
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

    @property
    def of_passages(self) -> bool:
        """Whether they select among a document's passages, such as by ``page``, and not whole documents. Such passages
        are looked for among the best 4,000 of each leg.
        """
        asked = conditions_of(parse_where(self.metadata))
        return bool(self.chunk_kinds) or any(each.key in PASSAGE_FACTS for each in asked)

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


OF_SITE = (
    "mode",
    "k",
    "fusion",
    "alpha",
    "dense_weight",
    "generator",
    "reranker",
    "leg_depth",
    "reranker_depth",
)
"""Options for which a site has settings of the same names; they replace what a search leaves out."""


@dataclass(frozen=True, slots=True)
class About:
    """What the interfaces say of an option that is one choice or one number.

    The HTTP API, the remote client and the command line take every option that has this; MCP's search takes it with
    ``in_tools``, the pages' search form, as a number from 0 to 1, where it has a ``label``.
    """

    help: str
    """One sentence without its full stop, in English."""
    kind: Literal["choice", "weight", "depth", "number"]
    """``weight`` is from 0.0 to 1.0; ``depth`` a number of hits up to `MAX_DEPTH`, where 0 follows ``k``."""
    in_api: bool = True
    in_tools: bool = False
    label: str = ""
    """What a page calls it, in English; pages translate it."""


def _l(text: str) -> str:
    """Return the text, which is extracted for translation."""
    return text


def about(help: str, kind: Literal["choice", "weight", "depth", "number"], **where: Any) -> dict[str, About]:
    """Return the metadata of a field of `SearchOptions`."""
    return {"about": About(help, kind, **where)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search, without its text. Raises InvalidInputError with the field's name."""

    mode: Mode = "hybrid"
    k: int = 5
    fusion: Fusion = field(default="rrf", metadata=about("How hybrid mode joins its two rankings", "choice"))
    """How hybrid mode joins the legs: by how far their hits stand out (``auto``), by rank (``rrf``), or by scores
    stretched to 0–1 (``weighted``). Engine ``langchain`` fuses by rank in ``auto``, too.
    """
    alpha: float | None = None
    """Weight of the dense leg in ``weighted`` fusion, 0.0–1.0; None means 0.7."""
    dense_weight: float = field(
        default=0.5, metadata=about("Weight of the dense leg in rrf fusion", "weight", in_api=False)
    )
    """Weight of the dense leg in ``rrf`` fusion, 0.0–1.0; the keyword leg has the rest."""
    pooling: Pooling = field(default="pooled", metadata=about("How collections are pooled", "choice", in_api=False))
    engine: Engine = "braid"
    min_score: float | None = field(default=None, metadata=about("Leave out hits with a lower score", "number"))
    """Lowest score a hit may have: the reranker's where there is one, else cosine (semantic), BM25 (keyword) or the
    fused score (hybrid)."""
    filters: Filters = Filters()
    generator: Generator = field(default="auto", metadata=about("What writes the strategy's queries", "choice"))
    """Source of the strategy's queries: the search model (``llm``), pseudo-relevance feedback from the first pass
    (``feedback``), or whichever there is.
    """
    reranker: str = ""
    """``provider:MODEL``, one of `RERANKERS` or of an installed package; empty means none."""
    group_by: GroupBy = field(
        default="passage",
        metadata=about(
            "`document`: one hit per document, its best passage, with the number of the others. `k` then counts "
            f"documents; up to {2 * MAX_K} passages of each leg are read for them",
            "choice",
        ),
    )
    """What a hit is: a passage, or a ``document`` with its best passage. ``k`` counts hits; up to 2,000 passages of
    each leg are read to find ``k`` documents.
    """
    leg_depth: int = field(default=0, metadata=about("Hits that each leg fetches; 0: twice `k`, at least 50", "depth"))
    """Hits that each leg fetches, at least ``k``; 0 means twice ``k``, at least 50."""
    reranker_depth: int = field(
        default=0,
        metadata=about("Fused hits that the reranker reads; 0: four times `k`, at least 20", "depth"),
    )
    """Fused hits that the reranker reads, at least ``k``; 0 means four times ``k``, at least 20."""
    diversity: float = field(
        default=0.0,
        metadata=about(
            "How much the results are to differ from each other: 0 ranks by relevance alone, 0.3 moves passages that "
            "repeat others down, 1 takes the most different ones",
            "weight",
            in_tools=True,
            label=_l("Variety, from 0 to 1"),
        ),
    )
    """Weight of unlikeness in the order of the fused, or reranked, hits, 0.0–1.0, by maximal marginal relevance: see
    `braid.core.search.diversity`. As many hits are read as for a reranker.
    """
    question_filters: QuestionFilters = field(
        default="off",
        metadata=about(
            "`on`: filters that the question itself asks for, such as a file type or a period, are applied where they "
            "are unambiguous and leave at least `k` passages; `read_filters` names them",
            "choice",
            in_tools=True,
        ),
    )
    """Whether what the question says of its documents (their dataset, file type, metadata or date) is applied as
    filters: see docs/retriever-manager.md. Chats have it ``on`` unless they are told otherwise.
    """
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Parameters of the strategy by name; `RetrieverManager.get_retriever_config` has the values of those that are left
    out. A result's query has them all."""

    def __post_init__(self) -> None:
        for name, kind in (("filters", Filters), ("reranker", str), ("parameters", dict)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, kind())
        given: str = self.engine
        if given == "reference":
            object.__setattr__(self, "engine", "langchain")
        for name, choices in CHOICES.items():
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
        for name in ("k", "alpha", *NUMBERS):
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise InvalidInputError(f"k is {self.k!r}; it must be a whole number from 1 to {MAX_K}", field="k")
        if self.alpha is not None:
            _require_weight("alpha", self.alpha)
        for name, require in NUMBERS.items():
            require(name, getattr(self, name))

    def changed(self, options: Mapping[str, object]) -> SearchOptions:
        """Return a copy with these options changed.

        Raises InvalidInputError for an unknown name, a wrong value, and an option that does nothing, but for `NOTED`.
        """
        for name in options:
            if name not in TYPES:
                raise InvalidInputError(f"there is no option {name!r}; the options are {', '.join(TYPES)}", field=name)
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
        _require_text(text)
        query = object.__new__(Query)  # the options have been checked
        for name in TYPES:
            object.__setattr__(query, name, getattr(self, name))
        object.__setattr__(query, "text", text)
        return query

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
        """Number of fused hits that are read: ``k``; with a reranker ``reranker_depth``, or enough for it, or for the
        ``diversity``, to have a choice.
        """
        if not self.reranker and not self.diversity:
            return self.k
        depth = self.reranker_depth if self.reranker else 0
        return max(self.k, depth or min(max(4 * self.k, MIN_RERANKED), MAX_RERANKED))


def site_options(settings: object) -> dict[str, Any]:
    """Return the options that a site's settings have values for."""
    return {name: getattr(settings, name) for name in OF_SITE}


def used_options(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a search: those given, and those of ``defaults`` that do something beside them.

    Raises InvalidInputError for a wrong value.
    """
    merged = {**defaults, **given}
    unused = SearchOptions(**merged).unused()
    return {name: value for name, value in merged.items() if name in given or name not in unused}


def stored_options(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a search that were stored as JSON.

    >>> stored_options({"k": 3, "filters": {"file_types": ["md"]}})["filters"].file_types
    frozenset({'md'})
    """
    filters = {"filters": Filters(**stored["filters"])} if stored.get("filters") else {}
    return {**stored, **filters}


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
    diversity: float
    question_filters: QuestionFilters
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


def _require_possible_with_langchain(options: SearchOptions) -> None:
    if options.fusion == "weighted":
        message = f"engine 'langchain' knows fusion 'rrf' only, not {options.fusion!r}"
        raise InvalidInputError(message, field="fusion")
    if options.group_by != "passage":
        message = f"engine 'langchain' gives passages only, not group_by {options.group_by!r}"
        raise InvalidInputError(message, field="group_by")
    if options.diversity:
        raise InvalidInputError("engine 'langchain' does not know diversity; use engine 'braid'", field="diversity")


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        kind = "None" if text is None else f"of the type {type(text).__name__}"
        raise InvalidInputError(f"the query is {kind}; give a text", field="query")
    if not text.strip():
        raise InvalidInputError("the query is empty; type at least one word", field="query")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInputError(
            Reason(
                "the query has %(count)s characters; at most %(most)s are allowed",
                count=len(text),
                most=MAX_QUERY_CHARS,
            ),
            field="query",
        )


def _require_reranker(name: str) -> None:
    provider, _, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if name != "" and not (model.strip() and is_reranker(provider)):
        message = f"reranker is {name!r}; write one of {RERANKER_FORMS}, or nothing for none"
        raise InvalidInputError(message, field="reranker")


def is_reranker(provider: str) -> bool:
    """Return whether the name of a reranker may begin so: one of `RERANKERS`, or of an installed package."""
    return provider in RERANKERS or provider in extras.installed(extras.RERANKERS)


def _require_weight(name: str, weight: float) -> None:
    if not (_is_number(weight) and 0.0 <= weight <= 1.0):
        raise InvalidInputError(f"{name} is {weight!r}; it must be from 0.0 to 1.0", field=name)


def _require_depth(name: str, depth: int) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= MAX_DEPTH:
        message = f"{name} is {depth!r}; it must be a whole number up to {MAX_DEPTH}, or 0 to follow k"
        raise InvalidInputError(message, field=name)


def _require_number(name: str, value: object) -> None:
    if value is not None and not _is_number(value):
        raise InvalidInputError(f"{name} is {value!r}; it must be a number", field=name)


def _require_parameters(parameters: object) -> None:
    """Raise InvalidInputError unless these are numbers by name; the strategy's own bounds are checked by its name."""
    if not isinstance(parameters, Mapping):
        message = f"parameters is {parameters!r}; give numbers by name, such as {{'feedback_passages': 5}}"
        raise InvalidInputError(message, field="parameters")
    for name, value in parameters.items():
        if not isinstance(name, str) or not _is_number(plain_number(value)):
            raise InvalidInputError(f"parameters.{name} is {value!r}; give a number", field=f"parameters.{name}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def plain_number(value: Any) -> Any:
    """Return a number of another library, such as NumPy's, as one of Python's, and anything else as it is."""
    if isinstance(value, (int, float)) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def require_choice(name: str, value: str, choices: Collection[str], *, field: str = "") -> None:
    """Raise InvalidInputError, with the name of the ``field`` if that is another one, unless the value is a choice."""
    if value not in choices:
        given = repr(value[:60] if isinstance(value, str) else value)
        known = ", ".join(choices)
        why = Reason("%(field)s is %(given)s; choose one of %(choices)s", field=name, given=given, choices=known)
        raise InvalidInputError(why, field=field or name)


ABOUT: Mapping[str, About] = {
    option.name: option.metadata["about"] for option in fields(SearchOptions) if "about" in option.metadata
}
"""The options that are one choice or one number, with what the interfaces say of them."""
TYPES: Mapping[str, Any] = get_type_hints(SearchOptions)
"""The types of the options."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    name: get_args(kind) for name, kind in TYPES.items() if get_origin(kind) is Literal
}
_KINDS = {"weight": _require_weight, "depth": _require_depth, "number": _require_number}
NUMBERS: Mapping[str, Callable[[str, Any], None]] = {
    name: _KINDS[told.kind] for name, told in ABOUT.items() if told.kind in _KINDS
}
"""Options that are numbers, with what raises for a wrong one."""
NOTED = frozenset({"reranker_depth"})
"""Options that programs pass along with a reranker or without one: where they do nothing, the result's notes say so."""
DEFAULTS = SearchOptions()
