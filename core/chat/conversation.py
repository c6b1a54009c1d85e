"""A chat turn as a graph: normalize → generate_query → search → answer, or compare for a three-field search."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from braid.core.chat.answering import Answerer, AnswerTask
from braid.core.chat.comparison import compare
from braid.core.chat.extractive import Extract, extract
from braid.core.chat.query_writing import NormalizedQuestion, normalized, query_for
from braid.core.chat.types import ChatRequest, ChatResult, Event, QueryWritten, Searched, Stage, StageStarted, answered
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ChatModel, ChatModels
from braid.core.models.citations import Citation
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.search.context import SearchModels
from braid.core.search.term_weights import TermWeights
from braid.core.text.token_budget import MIN_PROMPT_TOKENS
from braid.core.types import Degraded, SearchResult

if TYPE_CHECKING:
    from braid.core.braid import Braid


class ChatState(TypedDict, total=False):
    """What the nodes hand on; each adds its part."""

    request: ChatRequest
    weights: TermWeights
    question: NormalizedQuestion
    query: str
    query_generator: str
    search: SearchResult
    degraded: tuple[Degraded, ...]
    result: ChatResult


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the graph."""

    stopped: threading.Event
    """Set when nobody listens any more."""


class Conversation:
    """Answers chat turns over an open data directory. Keeps no state between turns: the history is in the request.

    ``prompt_tokens`` is the most that the model of the answer is given, by `estimate_tokens`; the answer itself
    comes on top. ``models`` and ``prompts`` are those that the Braid was opened with unless others are given; with
    `ChatModels()`, no models, the question is completed by feedback and the answer is extractive. ``rerankers`` serve
    the searches instead of the Braid's own.
    """

    def __init__(
        self,
        braid: Braid,
        *,
        models: ChatModels | None = None,
        prompts: Prompts | None = None,
        prompt_tokens: int = 6_000,
        rerankers: Rerankers | None = None,
    ) -> None:
        if prompt_tokens < MIN_PROMPT_TOKENS:
            raise InvalidInputError(
                f"prompt_tokens is {prompt_tokens}; at least {MIN_PROMPT_TOKENS} are needed", field="prompt_tokens"
            )
        self._braid = braid
        self._manager = braid.manager
        self._models = self._manager.models if models is None else models
        self._prompts = self._manager.prompts if prompts is None else prompts
        self._search_models = SearchModels(
            self._models, self._prompts, rerankers or self._manager.search_models.rerankers
        )
        self._answerer = Answerer(self._models.summary, prompt_tokens)
        self._graph = self._compiled()

    def stream(self, request: ChatRequest) -> Iterator[Event]:
        """The turn's events as they happen; the last one is its ChatResult. Closing the iterator ends the turn.

        Raises InvalidInputError for wrong dataset ids, strategy or options at once, not at the first event.
        """
        self._check(request)
        return self._events(request)

    def _events(self, request: ChatRequest) -> Iterator[Event]:
        stopped = threading.Event()
        events: Iterator[Event] = self._graph.stream({"request": request}, context=Run(stopped), stream_mode="custom")
        try:
            # Not `yield from`: closing would wait for the model before the model is told to stop.
            for event in events:  # noqa: UP028
                yield event
        finally:
            stopped.set()

    def ask(self, request: ChatRequest) -> ChatResult:
        """The turn's result. Raises InvalidInputError for wrong dataset ids, strategy or options."""
        self._check(request)
        state = self._graph.invoke({"request": request}, context=Run(threading.Event()))
        result: ChatResult = state["result"]
        return result

    def _check(self, request: ChatRequest) -> None:
        """Before a model is asked or anything is shown."""
        self._manager.check(
            user_id=request.user_id,
            dataset_ids=request.dataset_ids,
            strategy=request.strategy,
            options=request.options,
        )

    def _compiled(self) -> Any:  # LangGraph's own type has four parameters of no use here
        graph = StateGraph(ChatState, context_schema=Run)
        graph.add_node("normalize", self._normalize)
        graph.add_node("generate_query", self._generate_query)
        graph.add_node("search", self._search)
        graph.add_node("answer", self._answer)
        graph.add_node("compare", self._compare)
        graph.add_edge(START, "normalize")
        graph.add_edge("normalize", "generate_query")
        graph.add_edge("generate_query", "search")
        graph.add_conditional_edges("search", _after_search, ["answer", "compare", END])
        graph.add_edge("answer", END)
        graph.add_edge("compare", END)
        return graph.compile()

    # ------------------------------------------------------------ nodes

    def _normalize(self, state: ChatState) -> ChatState:
        _begin("normalize")
        request = state["request"]
        scope = resolve_scope(
            self._braid.ledger, self._braid.registry, user_id=request.user_id, dataset_ids=request.dataset_ids
        )
        weights = TermWeights(self._braid.lexical, self._braid.analyzer, scope)
        question, missing = normalized(request, self._search_model(request), self._prompts, weights)
        return {"weights": weights, "question": question, "degraded": missing}

    def _generate_query(self, state: ChatState) -> ChatState:
        _begin("generate_query")
        request, question = state["request"], state["question"]
        model = None if state["degraded"] else self._search_model(request)  # not to wait twice for one that failed
        query, generator, missing = query_for(question, model, self._prompts)
        _emit(QueryWritten(question.text, query, generator))
        return {"query": query, "query_generator": generator, "degraded": state["degraded"] + missing}

    def _search(self, state: ChatState) -> ChatState:
        _begin("search")
        request = state["request"]
        options = {**request.options, "generator": "feedback"}  # the model has written the query already
        result = self._manager.search(
            state["query"],
            user_id=request.user_id,
            dataset_ids=request.dataset_ids,
            strategy=request.strategy,
            models=self._search_models,
            **options,
        )
        _emit(Searched(result))
        done = ChatResult(
            question=state["question"].text,
            query=state["query"],
            query_generator=state["query_generator"],
            search=result,
            degraded=state["degraded"] + result.degraded,
            notes=result.notes,
        )
        if request.evaluation_mode:
            _emit(done)
        return {"search": result, "result": done}

    def _answer(self, state: ChatState, runtime: Runtime[Run]) -> ChatState:
        _begin("answer", self._answerer.generator)
        request, question = state["request"], state["question"]
        weights = state["weights"].of_text(question.query)

        def without_model(citations: Sequence[Citation]) -> Extract:
            return extract(weights, citations, self._braid.analyzer, request.spoken)

        task = AnswerTask(self._prompts.answer, question.for_answer(request.history), request.spoken, without_model)
        return {"result": self._answered(state, task, runtime)}

    def _compare(self, state: ChatState, runtime: Runtime[Run]) -> ChatState:
        _begin("compare", self._answerer.generator)
        request, fields = state["request"], state["question"].fields
        assert fields is not None, "the edge to here is taken for three fields alone"
        weigh = state["weights"].of_text

        def without_model(citations: Sequence[Citation]) -> Extract:
            return Extract(compare(fields, citations, weigh, self._braid.analyzer, request.spoken), True)

        task = AnswerTask(self._prompts.compare, fields.described("en"), request.spoken, without_model)
        return {"result": self._answered(state, task, runtime)}

    def _answered(self, state: ChatState, task: AnswerTask, runtime: Runtime[Run]) -> ChatResult:
        stopped = runtime.context.stopped if runtime.context else threading.Event()
        answer = self._answerer.answer(task, [hit.passage for hit in state["search"].hits], _emit, stopped)
        result = answered(state["result"], answer)
        _emit(result)
        return result

    def _search_model(self, request: ChatRequest) -> ChatModel | None:
        return None if request.options.get("generator") == "feedback" else self._models.search


def _after_search(state: ChatState) -> str:
    request = state["request"]
    if request.evaluation_mode:
        return END
    return "answer" if request.fields is None else "compare"


def _begin(stage: Stage, generator: str = "") -> None:
    _emit(StageStarted(stage, generator))


def _emit(event: Event) -> None:
    get_stream_writer()(event)
