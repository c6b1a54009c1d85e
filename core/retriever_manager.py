"""Makes retrievers and runs searches for a user over any mix of personal and shared datasets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.ensemble import BraidEnsembleRetriever
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ChatModels
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.search.explain import explain
from braid.core.search.gather import SearchContext
from braid.core.search.legs import Bm25Retriever, DenseRetriever, LegRetriever
from braid.core.search.pipeline import SearchRequest
from braid.core.search.reference import ReferenceEngine
from braid.core.search.strategies import StrategyInfo, strategies, strategy_named
from braid.core.search_retriever import NothingRetriever, SearchRetriever
from braid.core.types import LEGS_OF_MODE, Explanation, Scope, SearchResult


class RetrieverManager:
    """The way in to every search. ``options`` everywhere are the fields of `braid.core.types.Query` but ``text``.

    Every method raises InvalidInputError for a wrong id, strategy or option.
    """

    def __init__(self, context: SearchContext, registry: Registry) -> None:
        self._context = context
        self._registry = registry
        self._reference = ReferenceEngine(context)

    def with_models(
        self, models: ChatModels, *, prompts: Prompts | None = None, rerankers: Rerankers | None = None
    ) -> RetrieverManager:
        """The same searches, whose strategies ask these models; prompts and rerankers stay unless others are given."""
        context = replace(
            self._context,
            models=models,
            prompts=prompts or self._context.prompts,
            rerankers=rerankers or self._context.rerankers,
        )
        return RetrieverManager(context, self._registry)

    @property
    def models(self) -> ChatModels:
        """The chat models in force."""
        return self._context.models

    @property
    def prompts(self) -> Prompts:
        """The prompts in force."""
        return self._context.prompts

    def get_retriever(
        self,
        strategy: str = "basic",
        *,
        user_id: int | None,
        dataset_ids: Sequence[int] | None = None,
        **options: Any,
    ) -> SearchRetriever:
        """A LangChain retriever: an ensemble for several legs or collections, the one itself for one, and one
        that finds nothing for none. What the user may read is asked again at every call, which may change ``options``.
        """
        retrievers = self._retrievers(self._request(strategy, user_id, dataset_ids, options))
        ask_again = partial(self._search_with, strategy, user_id, dataset_ids, options)
        for retriever in retrievers:
            retriever.search = partial(ask_again, (retriever,))
        if not retrievers:
            return NothingRetriever()
        if len(retrievers) == 1:
            return retrievers[0]
        return BraidEnsembleRetriever(retrievers=list(retrievers), weights=[], search=partial(ask_again, retrievers))

    def search(
        self,
        text: str,
        *,
        user_id: int | None,
        dataset_ids: Sequence[int] | None = None,
        strategy: str = "basic",
        **options: Any,
    ) -> SearchResult:
        """Search, with everything needed to say how the hits were found."""
        request = self._request(strategy, user_id, dataset_ids, options)
        return self._run(request, text, retrievers=self._retrievers(request))

    def check(
        self,
        *,
        user_id: int | None,
        dataset_ids: Sequence[int] | None = None,
        strategy: str = "basic",
        options: Mapping[str, Any] | None = None,
    ) -> Scope:
        """Return what a search with these would read, and raise what it would raise. Nothing is searched."""
        return self._request(strategy, user_id, dataset_ids, dict(options or {})).scope

    def search_in(self, scope: Scope, text: str, *, strategy: str = "basic", **options: Any) -> SearchResult:
        """Search in a scope that `check` has returned, without resolving it again."""
        request = self._request_in(scope, strategy, options)
        return self._run(request, text, retrievers=self._retrievers(request))

    async def asearch(self, text: str, **arguments: Any) -> SearchResult:
        """`search` in a thread."""
        return await asyncio.to_thread(partial(self.search, text, **arguments))

    def explain(
        self,
        text: str,
        *,
        chunk_id: str,
        user_id: int | None,
        dataset_ids: Sequence[int] | None = None,
        strategy: str = "basic",
        **options: Any,
    ) -> Explanation:
        """Why a chunk is, or is not, in the result of this search."""
        request = self._request(strategy, user_id, dataset_ids, options)
        return explain(request, text, chunk_id, self._retrievers(request))

    def strategies(self) -> list[StrategyInfo]:
        """Every strategy with its description and costs; ours first."""
        return [StrategyInfo(name, found.description, dict(found.costs)) for name, found in strategies().items()]

    def _request(
        self, strategy: str, user_id: int | None, dataset_ids: Sequence[int] | None, options: dict[str, Any]
    ) -> SearchRequest:
        scope = resolve_scope(self._context.ledger, self._registry, user_id=user_id, dataset_ids=dataset_ids)
        return self._request_in(scope, strategy, options)

    def _request_in(self, scope: Scope, strategy: str, options: dict[str, Any]) -> SearchRequest:
        request = SearchRequest(self._context, scope, strategy, strategy_named(strategy), options)
        checked = request.query("options are checked before there is a text")
        if checked.engine == "reference" and strategy != "basic":
            message = f"engine 'reference' knows strategy 'basic' only, not {strategy!r}"
            raise InvalidInputError(message, field="strategy")
        return request

    def _retrievers(self, request: SearchRequest) -> tuple[LegRetriever, ...]:
        context, made = self._context, list[LegRetriever]()
        for scope in request.scope.collections:
            for leg in LEGS_OF_MODE[request.query("?").mode]:
                retriever: LegRetriever
                if leg == "dense":
                    retriever = DenseRetriever(scope=scope, ledger=context.ledger, index=context.dense)
                else:
                    retriever = Bm25Retriever(scope=scope, ledger=context.ledger, index=context.bm25)
                made.append(retriever)
        return tuple(made)

    def _search_with(
        self,
        strategy: str,
        user_id: int | None,
        dataset_ids: Sequence[int] | None,
        options: dict[str, Any],
        retrievers: tuple[LegRetriever, ...],
        text: str,
        /,
        **changed: Any,
    ) -> SearchResult:
        request = self._request(strategy, user_id, dataset_ids, options | changed)
        if "mode" in changed:
            retrievers = self._retrievers(request)
        return self._run(request, text, retrievers=retrievers)

    def _run(self, request: SearchRequest, text: str, *, retrievers: tuple[LegRetriever, ...]) -> SearchResult:
        with self._context.priority.search():
            if request.query(text).engine == "reference":
                return self._reference.run(request, text, retrievers)
            return request.run(text, retrievers)
