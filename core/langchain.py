"""Braid's searches as LangChain retrievers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor, set_config_context
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SkipValidation

from braid.core.errors import DegradedError, InvalidInputError
from braid.core.metadata.values import RESERVED_KEY
from braid.core.retriever_tool import DEGRADED_EVENT, search_tool
from braid.core.search.pipeline import LegNames
from braid.core.search.stock_ensemble import (
    EnsembleRetriever,
    LegName,
    aend_legs,
    astart_legs,
    end_legs,
    start_legs,
)
from braid.core.types import (
    LEGS_OF_MODE,
    CollectionScope,
    Engine,
    Filters,
    Hit,
    Leg,
    Mode,
    OnDegraded,
    Passage,
    RetrieverOptions,
    Scope,
    SearchOptions,
    SearchResult,
    require_choice,
)

__all__ = [
    "Bm25Retriever",
    "BraidEnsembleRetriever",
    "DenseRetriever",
    "EnsembleRetriever",
    "LegRetriever",
    "SearchRetriever",
    "make_retriever",
]

SearchFunction = Callable[..., SearchResult]
"""Takes the query, and as keywords the fields of `braid.core.types.SearchOptions` that differ in this call."""
DEGRADED_KEY = "braid_degraded"
"""Key of what could not be searched in the metadata of a run."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answering:
    """How a retriever answers a search, beside its hits."""

    with_scores: bool = False
    on_degraded: OnDegraded = "warn"

    def __post_init__(self) -> None:
        require_choice("on_degraded", self.on_degraded, ("warn", "raise", "ignore"))
        if not isinstance(self.with_scores, bool):
            raise InvalidInputError(
                f"with_scores is {self.with_scores!r}; it must be True or False", field="with_scores"
            )


class SearchRetriever(BaseRetriever):
    """A retriever over all that its user may read of the datasets it was made for, as it is at each call.

    Every call takes the keywords of `braid.core.types.RetrieverOptions`: ``retriever.invoke("…", k=3)``. ``k``,
    ``mode``, ``filters`` and ``search_kwargs`` are fields, so that `configurable_fields` can name them; what a call
    says goes before ``search_kwargs``, and that before the other fields. The user's datasets are not among them.
    Raises InvalidInputError for an empty query, and for a wrong or unknown option; NotFoundError when none of the
    datasets may be read any more; DegradedError when nothing could be searched, or as ``on_degraded`` says.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    search: SearchFunction = Field(exclude=True, repr=False)
    k: int = SearchOptions().k
    mode: Mode = SearchOptions().mode
    filters: SkipValidation[Filters | Mapping[str, Any]] = Filters()
    with_scores: bool = False
    on_degraded: OnDegraded = "warn"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the hits as documents, best first. Bypasses the stock ensemble's method, which drops the options."""
        _require_no_options(config)
        return BaseRetriever.invoke(self, input, config, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the hits as documents, best first; the search runs in a thread."""
        _require_no_options(config)
        return await BaseRetriever.ainvoke(self, input, config, **kwargs)

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Runnable[str, list[Document]]:
        """Return a runnable with this config. Raises InvalidInputError for options of a search, which it would drop."""
        _require_no_options({**(config or {}), **kwargs})
        return super().with_config(config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        answering, searched = self._split(options)
        legs = self._legs(searched)
        runs = start_legs(run_manager, query, legs)
        try:
            result = self._search_within(run_manager.get_child(), query, searched)
        except BaseException as error:
            end_legs(runs, legs, error, _plain)
            raise
        end_legs(runs, legs, result, _plain)
        if missing := require_answer(result, answering.on_degraded):
            run_manager.metadata[DEGRADED_KEY] = missing
            dispatch_custom_event(DEGRADED_EVENT, {"missing": missing}, config={"callbacks": run_manager.get_child()})
        return documents(result, with_scores=answering.with_scores)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        answering, searched = self._split(options)
        legs, within = self._legs(searched), run_manager.get_sync().get_child()
        runs = await astart_legs(run_manager, query, legs)
        try:
            result = await run_in_executor(None, lambda: self._search_within(within, query, searched))
        except BaseException as error:
            await aend_legs(runs, legs, error, _plain)
            raise
        await aend_legs(runs, legs, result, _plain)
        if missing := require_answer(result, answering.on_degraded):
            run_manager.metadata[DEGRADED_KEY] = missing
            child = run_manager.get_child()
            await adispatch_custom_event(DEGRADED_EVENT, {"missing": missing}, config={"callbacks": child})
        return documents(result, with_scores=answering.with_scores)

    def _legs(self, options: Mapping[str, Any]) -> Mapping[int, LegName]:
        """Return the legs of several that a search with these options asks, by number."""
        return {}

    def _search_within(self, callbacks: CallbackManager, query: str, options: Mapping[str, Any]) -> SearchResult:
        """Search within this retriever's run, so that its callbacks hear of the models that are asked."""
        with set_config_context({"callbacks": callbacks}) as context:
            return context.run(partial(self.search, query, **options))

    def _split(self, options: Mapping[str, Any]) -> tuple[Answering, dict[str, Any]]:
        """Return how to answer, and the options of the search: those of this call before those of the retriever."""
        own = {name: getattr(self, name) for name in ("k", "mode", "filters", "with_scores", "on_degraded")}
        answering, searched = split_options({**own, **self.search_kwargs, **_flat(options)})
        return Answering(**answering), searched

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """Return a tool that takes a query and returns the passages as text with their sources, and the documents as
        artifact. A query that cannot be searched for is answered with the reason.

        With a schema or types of arguments it is LangChain's own, whose answer is the list of documents.
        """
        if args_schema is not None or arg_types is not None:
            return super().as_tool(args_schema, name=name, description=description, arg_types=arg_types)
        return search_tool(self, name, description)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it holds the open indexes of this process; make it with"
            " get_retriever where it is used, or search through the app's API from other processes"
        )


class LegRetriever(SearchRetriever):
    """Searches one leg in one collection, ``scope``; made alone, for a user who may read no other, it searches in every
    collection that this user may read later.
    """

    leg: ClassVar[Leg]
    scope: CollectionScope


class DenseRetriever(LegRetriever):
    """Searches one collection by meaning."""

    leg: ClassVar[Leg] = "dense"


class Bm25Retriever(LegRetriever):
    """Searches one collection by keyword."""

    leg: ClassVar[Leg] = "bm25"


def _unsearchable(text: str, **options: Any) -> SearchResult:
    raise InvalidInputError(
        "there is nothing to search with: this ensemble was built by hand, and asks its retrievers", field="search"
    )


class BraidEnsembleRetriever(SearchRetriever, EnsembleRetriever):
    """Holds one retriever per leg and collection; searches them in parallel and pools each leg before it fuses.

    The stock class asks its retrievers one after another and fuses one list per collection, so that the first hits of
    all collections are tied, relevant or not. Who changes ``weights``, ``c``, ``id_key`` or the retrievers, or builds
    one by hand, has the stock class's fusion, of which the first ``k`` documents are returned.
    """

    search: SearchFunction = Field(default=_unsearchable, exclude=True, repr=False)
    id_key: str | None = "id"
    made_with: Any = Field(default=None, exclude=True, repr=False)
    """The value of `fused` when `make_retriever` made this: as long as it is the same, Braid fuses the legs itself."""
    _engine: Engine = PrivateAttr("braid")
    """The engine of its searches."""

    def rank_fusion(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, *, config: RunnableConfig | None = None
    ) -> list[Document]:
        """Return the fused hits as documents."""
        return self._get_relevant_documents(query, run_manager=run_manager)

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Return the fused hits as documents; the search runs in a thread."""
        return await self._aget_relevant_documents(query, run_manager=run_manager)

    def _legs(self, options: Mapping[str, Any]) -> Mapping[int, LegName]:
        if options.get("engine", self._engine) == "langchain":  # which runs its retrievers itself
            return {}
        asked = next((legs for mode, legs in LEGS_OF_MODE.items() if mode == options["mode"]), ())
        named = ((number, each) for number, each in enumerate(self.retrievers, 1) if isinstance(each, LegRetriever))
        return {number: (each.leg, each.scope) for number, each in named if each.leg in asked}

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        retrievers = [deepcopy(each, memo) for each in self.retrievers]
        return self.model_copy(update={"retrievers": retrievers, "weights": [*self.weights]})

    def fused(self) -> Any:
        """Return what a fusion depends on, to compare."""
        return [*self.weights], self.c, self.id_key, [(each, {**each.__dict__}) for each in self.retrievers]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if self.made_with == self.fused():
            return super()._get_relevant_documents(query, run_manager=run_manager, **options)
        k, own = self._of_each(options)
        found = [
            each.invoke(query, {"callbacks": run_manager.get_child(tag=f"retriever_{number}")}, **own(each))
            for number, each in enumerate(self.retrievers, start=1)
        ]
        return self.weighted_reciprocal_rank(found)[:k]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if self.made_with == self.fused():
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **options)
        k, own = self._of_each(options)
        found = [
            each.ainvoke(query, {"callbacks": run_manager.get_child(tag=f"retriever_{number}")}, **own(each))
            for number, each in enumerate(self.retrievers, start=1)
        ]
        return self.weighted_reciprocal_rank([*await asyncio.gather(*found)])[:k]

    def _of_each(self, options: Mapping[str, Any]) -> tuple[int, Callable[[object], dict[str, Any]]]:
        """Return how many documents are wanted, and a function that returns the options of this call for a retriever:
        Braid's own take them. Raises InvalidInputError for weights that do not fit.
        """
        if len(self.weights) != len(self.retrievers):
            raise InvalidInputError(
                f"weights has {len(self.weights)} numbers for {len(self.retrievers)} retrievers; give one for each",
                field="weights",
            )
        given = {**self.search_kwargs, **_flat(options)}
        if strangers := [each for each in self.retrievers if given and not isinstance(each, SearchRetriever)]:
            raise InvalidInputError(
                f"{type(strangers[0]).__name__} among the retrievers takes no options, so {', '.join(given)} cannot be"
                " given to this ensemble",
                field=next(iter(given)),
            )
        return int(given.get("k", self.k)), lambda each: given if isinstance(each, SearchRetriever) else {}

    def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
        """Return the documents by the sum of weight / (c + rank), without those that have weight 0 alone."""
        lists = [found if weight else [] for found, weight in zip(doc_lists, self.weights, strict=True)]
        return list(super().weighted_reciprocal_rank(lists))


def make_retriever(
    scope: Scope, search: SearchFunction, given: Mapping[str, Any], *, engine: Engine = "braid"
) -> SearchRetriever:
    """Return an ensemble for several legs or collections, a leg's own retriever for one, or a `SearchRetriever` where
    nothing can be read yet.

    ``search`` takes the legs to ask, None for all, the query, and as keywords the options of this call. ``given`` are
    values of the retriever's fields, ``engine`` that of its searches.
    """
    legs = [(leg, collection) for collection in scope.collections for leg in LEGS_OF_MODE[given["mode"]]]
    everywhere = partial(search, None)
    if not legs:
        return SearchRetriever(search=everywhere, **given)
    if len(legs) == 1:
        return _leg_retriever(*legs[0], everywhere, given)
    retrievers = [_leg_retriever(leg, part, partial(search, _name(leg, part)), given) for leg, part in legs]
    ensemble = BraidEnsembleRetriever(retrievers=list(retrievers), weights=[], search=everywhere, **given)
    ensemble.made_with = ensemble.fused()
    ensemble._engine = engine
    return ensemble


def _leg_retriever(leg: Leg, scope: CollectionScope, search: SearchFunction, given: Mapping[str, Any]) -> LegRetriever:
    return (DenseRetriever if leg == "dense" else Bm25Retriever)(scope=scope, search=search, **given)


def _name(leg: Leg, scope: CollectionScope) -> LegNames:
    return frozenset([(leg, scope.collection)])


# ---------------------------------------------------------------- options


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of `Answering` among a retriever's options, and the options of its searches.

    Raises InvalidInputError for an option that is given twice.
    """
    flat = _flat(options)
    answering: dict[str, Any] = {name: flat.pop(name) for name in ("with_scores", "on_degraded") if name in flat}
    return answering, flat


def fields_of(given: SearchOptions, answering: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a retriever's fields. Raises InvalidInputError."""
    return {"k": given.k, "mode": given.mode, "filters": given.filters, **asdict(Answering(**answering))}


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of ``search_kwargs`` among them."""
    flat = dict(options)
    more = flat.pop("search_kwargs", None) or {}
    if not isinstance(more, Mapping):
        raise InvalidInputError(
            f'search_kwargs is {more!r}; it must be a mapping such as {{"k": 3}}', field="search_kwargs"
        )
    if twice := sorted(flat.keys() & more.keys()):
        raise InvalidInputError(f"{', '.join(twice)} is given twice, once in search_kwargs", field=twice[0])
    return flat | dict(more)


def _require_no_options(config: Mapping[str, Any] | None) -> None:
    """Raise InvalidInputError for options of a search in the config, where LangChain takes them for something else."""
    options = [name for name in config or () if name in RetrieverOptions.__annotations__]
    if options:
        raise InvalidInputError(
            f"{options[0]!r} is in the config, where it does nothing; give it as an argument: invoke(query,"
            f" {options[0]}=…), or name it by configurable_fields",
            field=options[0],
        )


def _plain(hits: Sequence[Hit]) -> list[Document]:
    return [_document(hit, with_scores=False) for hit in hits]


# ---------------------------------------------------------------- answers


def require_answer(result: SearchResult, on_degraded: OnDegraded) -> list[str]:
    """Return what could not be searched, each with its reason, for the callbacks; nothing for ``ignore``.

    Raises DegradedError when nothing could be searched, and with ``raise`` when anything could not.
    """
    if result.notes and not result.hits and on_degraded != "ignore":
        logger.warning("a retriever has found nothing: %s", "; ".join(result.notes))
    missing = [f"{part.leg} {part.collection}".strip() + f": {part.reason}" for part in result.degraded]
    missing += [f"dataset {number}: there is none, or it may not be read" for number in result.unresolved_dataset_ids]
    if not missing:
        return []
    lacking = {(part.leg, part.collection) for part in result.degraded if part.leg in ("dense", "bm25")}
    searched = [(leg, collection) for leg in result.answered for collection in result.collections]
    lacks_all = all(lacking.intersection({(leg, ""), (leg, collection)}) for leg, collection in searched)
    dead = not result.hits and bool(lacking) and lacks_all
    reasons = "; ".join(missing)
    if dead:
        raise DegradedError(f"nothing could be searched: {reasons}", missing=tuple(missing))
    if on_degraded == "raise":
        raise DegradedError(f"not everything could be searched: {reasons}", missing=tuple(missing))
    if on_degraded == "ignore":
        return []
    logger.warning("a retriever could not search everything: %s", reasons)
    return missing


def documents(result: SearchResult, *, with_scores: bool = False) -> list[Document]:
    """Return the hits as LangChain documents, best first.

    What Braid knows of a passage is under ``braid``, and beside it under the names that have no value of the host's
    own: the metadata that a document was stored with is never replaced. It is the same whatever the query, so that
    equal documents are found to be equal, but for ``also_in``, where other passages that were found have the same text;
    what the query has to do with it comes ``with_scores`` only.
    """
    return [_document(hit, with_scores=with_scores) for hit in result.hits]


def _document(hit: Hit, *, with_scores: bool) -> Document:
    copies = {"also_in": [asdict(place) for place in hit.also_in]} if hit.also_in else {}
    ours = {**_known(hit.passage), **copies, **(_scores(hit) if with_scores else {})}
    metadata = {**ours, **hit.passage.metadata, RESERVED_KEY: ours}
    return Document(id=hit.passage.chunk_id, page_content=hit.passage.text, metadata=metadata)


def _known(passage: Passage) -> dict[str, Any]:
    named = ("source", "title", "heading_path", "page", "dataset_id", "collection")
    return {"id": passage.chunk_id, **{name: getattr(passage, name) for name in named}}


def _scores(hit: Hit) -> dict[str, Any]:
    return {
        "score": hit.score,
        **({} if hit.rerank_score is None else {"rerank_score": hit.rerank_score}),
        "legs": {leg.leg: {"rank": leg.rank, "score": leg.score, "share": leg.share} for leg in hit.legs},
    }
