"""Runs searches, and makes LangChain retrievers, for a user over any mix of personal and shared datasets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Required, Unpack

from braid.core.data_directory import DataDirectory
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.extras import require
from braid.core.indexes.document_progress import wait_for_documents
from braid.core.indexes.opened import Indexes
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.search.context import SearchContext, SearchModels
from braid.core.search.exact import ExactResult, ExactSearch
from braid.core.search.explain import explain
from braid.core.search.pipeline import LegNames, Search, SearchRequest
from braid.core.search.question.filters import FilterWords, Reading, read_question
from braid.core.search.strategies import StrategyInfo, parameter_values, parameters_of, strategies, strategy_named
from braid.core.stock.named import (
    BasicRetrieverStrategy,
    ContextualCompressionRetrieverStrategy,
    HydeRetrieverStrategy,
    MultiQueryRetrieverStrategy,
)
from braid.core.types import (
    ALL,
    DEFAULTS,
    DatasetIds,
    Explanation,
    Leg,
    OnDegraded,
    QueryOptions,
    RetrieverOptions,
    Scope,
    SearchOptions,
    SearchResult,
)

if TYPE_CHECKING:  # LangChain takes a second to load: it is imported with the first retriever
    from braid.core.langchain import SearchRetriever
    from braid.core.stock.engine import StockEngine

__all__ = [
    "BasicRetrieverStrategy",
    "ContextualCompressionRetrieverStrategy",
    "HydeRetrieverStrategy",
    "MultiQueryRetrieverStrategy",
    "RetrieverManager",
    "SearchArguments",
    "SearchKeywords",
]

logger = logging.getLogger(__name__)

STOCK_PACKAGES = ("chromadb", "langchain_chroma", "langchain_classic", "langchain_community", "rank_bm25")
STOCK_STRATEGIES = ("basic", "multi_query", "compression", "hyde")
"""Strategies for which LangChain has a class."""


class SearchKeywords(QueryOptions, total=False):
    """The keywords of a search beside its user and datasets."""

    strategy: str
    models: SearchModels | None
    filter_words: FilterWords | None


class SearchArguments(SearchKeywords, total=False):
    """All keywords of a search."""

    user_id: Required[int | None]
    dataset_ids: DatasetIds
    within: Collection[int] | None


class RetrieverManager:
    """Runs every search. ``options`` everywhere are the fields of `braid.core.types.SearchOptions`.

    ``models`` are the chat models, prompts and rerankers of one search, instead of those that the data directory was
    opened with. ``of`` stays open as long as there is the manager, or a retriever of it. ``dataset_ids`` are the
    datasets to search, ``"all"`` everything that the user may read, None all personal datasets of the user. ``within``
    are the only datasets that are read, whatever is asked, and then what None means; None is no limit. Every method
    raises InvalidInputError for a wrong id, strategy or option.

    >>> result = braid.manager.search("Who closes XK-4711?", user_id=1, dataset_ids=[1], mode="keyword", k=3)
    >>> [hit.passage.source for hit in result.hits]
    ['valve.md']
    >>> retriever = braid.manager.get_retriever(user_id=1, dataset_ids=[1])
    >>> retriever.invoke("XK-4711", k=1)[0].page_content
    'The valve XK-4711 is closed by hand.'
    """

    def __init__(
        self,
        context: SearchContext | None = None,
        registry: Registry | None = None,
        *,
        of: DataDirectory | None = None,
    ) -> None:
        if context is None or registry is None:
            raise InvalidInputError("a manager belongs to a data directory: take Braid(path).manager", field="context")
        self._context = context
        self._of = of
        self._chosen: Callable[[], ChatModels] = ChatModels
        self._registry = registry

    @cached_property
    def _stock(self) -> StockEngine:
        require("langchain", "engine 'langchain'", *STOCK_PACKAGES)
        from braid.core.stock.engine import StockEngine

        engine = StockEngine(self._context, data_dir=None if self._of is None else self._of.data_dir)
        if self._of is not None:
            self._of.on_close(engine.close)
        return engine

    def use_indexes(self, indexes: Indexes, executors: Mapping[Leg, Executor]) -> None:
        """Search in these indexes from now on, in these threads."""
        self._context = replace(
            self._context,
            indexer=indexes.indexer,
            dense=indexes.dense,
            bm25=indexes.bm25,
            model_of=indexes.dense.answering_model,
            executors=executors,
        )
        if engine := self.__dict__.pop("_stock", None):
            engine.close()

    def model_of(self, collection: str) -> EmbeddingModel:
        """Return the embedding model whose vectors answer for a collection now."""
        self._require_open()
        return self._context.model_of(collection)

    def wait_for(self, dataset_id: int, document_ids: Sequence[int], timeout_s: float) -> bool:
        """Wait until both legs find these documents, whatever else they lack; False after ``timeout_s``."""
        assert self._of is not None, "the data directory has the documents"
        return wait_for_documents(self._of, self._context.indexer, dataset_id, document_ids, timeout_s)

    @property
    def models(self) -> ChatModels:
        """The chat models of searches that bring none."""
        chosen, opened_with = self._chosen(), self._context.models.chat
        return ChatModels(chosen.search or opened_with.search, chosen.summary or opened_with.summary)

    def use_models(self, chosen: Callable[[], ChatModels]) -> None:
        """Have each search that brings no models ask those that ``chosen`` returns then; where that has none, the one
        that the data directory was opened with.
        """
        self._chosen = chosen

    @property
    def prompts(self) -> Prompts:
        """The prompts of searches that bring none."""
        return self._context.models.prompts

    @property
    def rerankers(self) -> Rerankers:
        """The rerankers of searches that bring none."""
        return self._context.models.rerankers

    def search(
        self,
        text: str,
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        within: Collection[int] | None = None,
        strategy: str = "basic",
        models: SearchModels | None = None,
        filter_words: FilterWords | None = None,
        **options: Unpack[QueryOptions],
    ) -> SearchResult:
        """Search, and return the hits with everything that explains them.

        ``filter_words`` says of words of the text, by `ReadFilter.said`, whether they are a filter, where the option
        ``question_filters`` is ``on``.
        """
        scope = self._scope(user_id, dataset_ids, within)
        return self._run(self._request_in(scope, strategy, DEFAULTS.changed(options), models), text, filter_words)

    def search_in(
        self,
        scope: Scope,
        text: str,
        *,
        strategy: str = "basic",
        models: SearchModels | None = None,
        **options: Unpack[QueryOptions],
    ) -> SearchResult:
        """Search in a scope that `check` has returned, without resolving it again."""
        return self._run(self._request_in(scope, strategy, DEFAULTS.changed(options), models), text)

    def search_near(self, scope: Scope, vector: Sequence[float], **options: Unpack[QueryOptions]) -> SearchResult:
        """Search for what is near to a vector, in a scope that `check` has returned. Raises InvalidInputError for a
        vector that cannot be one of the model's, and for an engine or a reranker, which ask for a text.
        """
        request = self._request_in(scope, "basic", DEFAULTS.changed({**options, "mode": "semantic"}), None)
        for name in ("engine", "reranker"):
            if (given := getattr(request.options, name)) != getattr(DEFAULTS, name):
                raise InvalidInputError(f"{name} {given!r} needs a text, not a vector; leave it out", field=name)
        search = Search(self._context, request, "a vector")
        with self._context.priority.search(), search.place():
            hits = search.best_hits(search.find([search.variant_near(vector)]))
        return search.result(hits, generator="none", queries=())

    async def asearch(self, text: str, **arguments: Unpack[SearchArguments]) -> SearchResult:
        """Search in a thread; takes the arguments of `search`."""
        return await asyncio.to_thread(partial(self.search, text, **arguments))

    def check(
        self,
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        within: Collection[int] | None = None,
        strategy: str = "basic",
        options: Mapping[str, Any] | None = None,
    ) -> Scope:
        """Return the scope of a search with these arguments, or raise what it would raise. Nothing is searched."""
        scope = self._scope(user_id, dataset_ids, within)
        return self._request_in(scope, strategy, DEFAULTS.changed(options or {}), None).scope

    def explain(
        self,
        text: str,
        *,
        chunk_id: str,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        within: Collection[int] | None = None,
        strategy: str = "basic",
        models: SearchModels | None = None,
        filter_words: FilterWords | None = None,
        **options: Unpack[QueryOptions],
    ) -> Explanation:
        """Return why a chunk is, or is not, in the result of this search."""
        scope = self._scope(user_id, dataset_ids, within)
        request = self._request_in(scope, strategy, DEFAULTS.changed(options), models)
        narrowed = self._read(request, text, filter_words)
        search = Search(self._context, narrowed, text, replay=True)
        with search.place():
            return explain(search, chunk_id, request.scope)

    def read_question(
        self, scope: Scope, text: str, options: SearchOptions, *, words: FilterWords | None = None
    ) -> Reading:
        """Return where to look, in a scope that `check` has returned, by the filters that the text itself asks for."""
        names = {entry.id: entry.name for entry in self._registry.entries()}
        return read_question(text, scope, options, ledger=self._context.ledger, shared_names=names, words=words)

    def find_exact(
        self,
        text: str,
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        within: Collection[int] | None = None,
        document_id: int | None = None,
        k: int = 20,
        ignore_case: bool = False,
    ) -> ExactResult:
        """Return up to ``k`` passages that contain a text character for character, white space aside.

        Over several documents whole words are found; with ``document_id`` also parts of words.

        >>> found = braid.manager.find_exact("closed by hand", user_id=1, dataset_ids=[1])
        >>> [match.passage.source for match in found.matches]
        ['valve.md']
        """
        scope = self._scope(user_id, dataset_ids, within)
        return self.find_exact_in(scope, text, document_id=document_id, k=k, ignore_case=ignore_case)

    def find_exact_in(
        self, scope: Scope, text: str, *, document_id: int | None = None, k: int = 20, ignore_case: bool = False
    ) -> ExactResult:
        """Look for an exact text in a scope that `check` has returned, as `find_exact` does."""
        self._require_open()
        search = ExactSearch(self._context, scope, text, k=k, ignore_case=ignore_case)
        with self._context.priority.search(), self._context.places.hold(scope.user_id, self._context.leg_timeout_s):
            return search.run() if document_id is None else search.run_in(document_id)

    def get_retriever(
        self,
        strategy: str = "basic",
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        **options: Unpack[RetrieverOptions],
    ) -> SearchRetriever:
        """Return a LangChain retriever: an ensemble for several legs or collections, a leg's own retriever for one.

        Every call resolves again what the user may read, and may change ``options``. Raises NotFoundError when there is
        no such user, and for a dataset that does not exist or that the user may not read.
        """
        from braid.core.langchain import fields_of, make_retriever, split_options

        answering, searched = split_options(dict(options))
        given = DEFAULTS.changed(searched)
        first = self._request_in(self._scope(user_id, dataset_ids), strategy, given, None)
        ids: DatasetIds = ALL if dataset_ids == ALL else tuple(dataset_ids or ())
        self._require_all(first.scope, ids, answering.get("on_degraded", "warn"))

        def search_again(legs: LegNames | None, text: str, /, **changed: Any) -> SearchResult:
            again = self._request_in(self._scope(user_id, ids), strategy, given.changed(changed), None)
            self._require_any(again.scope, ids)
            return self._run(again if again.options.mode != given.mode else replace(again, only=legs), text)

        return make_retriever(first.scope, search_again, fields_of(given, answering), engine=given.engine)

    def strategies(self) -> list[StrategyInfo]:
        """Return every strategy with its description, costs and parameters; ours first."""
        return [self.get_retriever_config(name) for name in strategies()]

    def get_retriever_config(self, strategy: str) -> StrategyInfo:
        """Return one strategy with its description, costs, and the value in force of each of its parameters.

        >>> braid.manager.get_retriever_config("hyde").parameters["feedback_passages"]
        3
        """
        found = strategy_named(strategy)
        values = parameter_values(strategy, self._context.configured)
        return StrategyInfo(strategy, found.description, dict(found.costs), values, dict(parameters_of(strategy)))

    def _scope(self, user_id: int | None, dataset_ids: DatasetIds, within: Collection[int] | None = None) -> Scope:
        self._require_open()
        ledger, registry = self._context.ledger, self._registry
        return resolve_scope(ledger, registry, user_id=user_id, dataset_ids=dataset_ids, within=within)

    def _request_in(
        self, scope: Scope, strategy: str, options: SearchOptions, models: SearchModels | None
    ) -> SearchRequest:
        self._require_open()
        parameters = self._parameters(strategy, options)
        checked = replace(options, parameters=parameters) if parameters != options.parameters else options
        models = models or self._models_for(strategy, options)
        if options.engine == "langchain":
            _require_stock(strategy, options, models)
        return SearchRequest(scope, strategy, checked, models)

    def _models_for(self, strategy: str, options: SearchOptions) -> SearchModels:
        """Return the models of a search that brings none; only for one that may ask a chat model is the choice read."""
        models = self._context.models
        asks = strategy_named(strategy).costs and options.generator != "feedback"
        return replace(models, chat=self.models) if asks else models

    def _parameters(self, strategy: str, options: SearchOptions) -> Mapping[str, float]:
        return parameter_values(strategy, self._context.configured, options.parameters)

    def _read(self, request: SearchRequest, text: str, words: FilterWords | None) -> SearchRequest:
        """Return the request with the filters that its text asks for, where it wants them."""
        if request.options.question_filters == "off":
            if words:
                message = "filter_words is given, but question_filters is 'off'; leave it out, or set that to 'on'"
                raise InvalidInputError(message, field="filter_words")
            return request
        found = self.read_question(request.scope, text, request.options, words=words)
        return replace(request, scope=found.scope, options=found.options, read=found.read)

    def _run(self, request: SearchRequest, text: str, words: FilterWords | None = None) -> SearchResult:
        search = Search(self._context, self._read(request, text, words), text)
        try:
            with self._context.priority.search(), search.place():
                return self._stock.run(search) if request.options.engine == "langchain" else search.run()
        except RuntimeError:  # of the threads, when it was closed meanwhile
            self._require_open()
            raise

    def _require_open(self) -> None:
        if self._of is not None:
            self._of.require_open()

    # ------------------------------------------------------------ what a retriever may read

    def _require_any(self, scope: Scope, dataset_ids: DatasetIds) -> None:
        """Raise NotFoundError when there is no such user, and when none of the named datasets may be read."""
        if scope.user_id is not None and self._context.ledger.user(scope.user_id) is None:
            raise NotFoundError(f"there is no user {scope.user_id}; braid.ledger.user_named('ann') finds one by name")
        if dataset_ids and dataset_ids != ALL and not scope.collections:
            raise NotFoundError(_cannot_read(scope))

    def _require_all(self, scope: Scope, dataset_ids: DatasetIds, on_degraded: OnDegraded) -> None:
        """Raise NotFoundError as `_require_any`; for a named dataset that may not be read, warn, or with ``raise``
        raise, too.
        """
        self._require_any(scope, dataset_ids)
        if scope.unresolved_dataset_ids:
            problem = self._registry.problem() or f"the shared datasets are in {self._registry.name}"
            told = f"{_cannot_read(scope)}; {problem}" if min(scope.unresolved_dataset_ids) < 0 else _cannot_read(scope)
            if on_degraded == "raise":
                raise NotFoundError(told)
            if on_degraded == "warn":
                logger.warning("a retriever searches the rest: %s", told)
        if scope.user_id is None and not dataset_ids:
            raise InvalidInputError(
                "user_id is None and no dataset is named: nothing could ever be found; name a user, or shared datasets",
                field="user_id",
            )


def _require_stock(strategy: str, options: SearchOptions, models: SearchModels) -> None:
    """Raise InvalidInputError for what LangChain's own classes cannot do."""
    if strategy not in STOCK_STRATEGIES:
        known = ", ".join(STOCK_STRATEGIES)
        raise InvalidInputError(f"engine 'langchain' knows the strategies {known}, not {strategy!r}", field="strategy")
    if options.parameters:
        raise InvalidInputError(
            f"LangChain's own {strategy} takes no parameters, so {', '.join(options.parameters)} would do nothing; "
            "leave them out, or use engine 'braid'",
            field="parameters",
        )
    if strategy != "basic" and options.generator == "feedback":
        raise InvalidInputError(
            f"LangChain's own {strategy} always asks a model; use engine 'braid' for generator 'feedback'",
            field="generator",
        )
    if strategy != "basic" and models.chat.search is None:
        raise InvalidInputError(
            f"LangChain's own {strategy} asks a search model, and there is none (setting search_model); configure one,"
            " or use engine 'braid'",
            field="strategy",
        )


def _cannot_read(scope: Scope) -> str:
    """Say which datasets cannot be read, but not whether they exist."""
    ids = ", ".join(map(str, scope.unresolved_dataset_ids))
    who = "nobody in particular" if scope.user_id is None else f"user {scope.user_id}"
    return f"dataset {ids}: there is none, or {who} may not read it; braid.ledger.datasets(user_id) lists a user's own"
