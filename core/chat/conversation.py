"""A chat turn as a graph: normalize → generate_query → search → answer, or compare for a three-field search.

In evaluation mode, which is for measuring the search, a turn ends after the search.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from braid.core.admission import LONGEST_S
from braid.core.chat.answering import Answerer, AnswerTask, without_context
from braid.core.chat.asking.follow_up import content_words, only_goes_on, refers_to_nothing
from braid.core.chat.asking.other_languages import other_languages
from braid.core.chat.citations import Citation, gaps_of_cited
from braid.core.chat.comparison import compare
from braid.core.chat.lookups.lookup import DEFAULT_LIMITS, LookupLimits
from braid.core.chat.lookups.quoted import are_columns, quotable_citations, quote_parts
from braid.core.chat.marks import marked
from braid.core.chat.query_writing import normalize_question, write_query
from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.extractive import Extract, best_coverage, extract, passage_coverage, quoted_text
from braid.core.chat.quoting.match import ABSENT_COVERAGE, ONLY_WEAK, match_of, weak_ones
from braid.core.chat.quoting.nearness import nearness_to, no_nearness, scale_of
from braid.core.chat.quoting.onward import next_of
from braid.core.chat.quoting.wanted import without_asking
from braid.core.chat.support.check import check_answer
from braid.core.chat.tables.calculate import Calculated, NotCalculated
from braid.core.chat.texts import Language, say
from braid.core.chat.turn_search import TurnSearch
from braid.core.chat.turn_state import ChatTurn, GraphState
from braid.core.chat.turns.cited_passages import require_readable
from braid.core.chat.types import (
    ChatRequest,
    ChatResult,
    Event,
    StageStarted,
    answer_begun,
    answer_text,
    with_calculation,
)
from braid.core.chat.whole.about import tell, told
from braid.core.chat.whole.changes import Compared
from braid.core.errors import InvalidInputError, Reason
from braid.core.extras import require
from braid.core.metadata.versions import editions_of
from braid.core.models.chat import ChatModel, ChatModels
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.models.untrusted_text import as_data
from braid.core.search.context import SearchModels
from braid.core.text.normalization import normalize
from braid.core.text.token_budget import MIN_PROMPT_TOKENS
from braid.core.types import DEFAULTS

if TYPE_CHECKING:
    from langgraph.types import StreamWriter

    from braid.core.braid import Braid

LOOK_EVERY_S = 0.25
"""Seconds for which an answer goes on after its user has lost what it is written from."""


class Conversation:
    """Answers chat turns over an open data directory. Keeps no state between turns: the history is in the request.

    ``prompt_tokens`` is the most that the model of the answer is given, by `estimate_tokens`; the answer itself
    comes on top. ``models`` and ``prompts`` are those that the Braid was opened with unless others are given; with
    `ChatModels()`, no models, the question is completed by feedback and the answer is extractive. ``rerankers`` serve
    the searches instead of the Braid's own. ``lookups`` is what a model may use to look up more after the first search.

    >>> from braid.core.chat.types import ChatRequest
    >>> result = Conversation(braid).ask(ChatRequest(1, "How long is the warranty of the pump?", dataset_ids=[1]))
    >>> result.generator, result.citations[0].passage.source
    ('extractive', 'pump.md')
    """

    def __init__(
        self,
        braid: Braid,
        *,
        models: ChatModels | None = None,
        prompts: Prompts | None = None,
        prompt_tokens: int = 6_000,
        rerankers: Rerankers | None = None,
        lookups: LookupLimits = DEFAULT_LIMITS,
    ) -> None:
        if prompt_tokens < MIN_PROMPT_TOKENS:
            raise InvalidInputError(
                f"prompt_tokens is {prompt_tokens}; at least {MIN_PROMPT_TOKENS} are needed", field="prompt_tokens"
            )
        self._braid = braid
        self._manager = braid.manager
        self._models = self._manager.models if models is None else models
        self._prompts = self._manager.prompts if prompts is None else prompts
        search_models = SearchModels(self._models, self._prompts, rerankers or self._manager.rerankers)
        self._finder = TurnSearch(braid, search_models, lookups, prompt_tokens)
        self._answerer = Answerer(self._models.summary, prompt_tokens, braid.analyzer)
        self._graph = self._build_graph()

    @property
    def writer(self) -> ChatModel | None:
        """The model that writes answers; None if they are quoted."""
        return self._models.summary

    def stream(self, request: ChatRequest) -> Iterator[Event]:
        """Return the turn's events as they happen; the last one is its ChatResult. Closing the iterator ends the turn.

        Raises InvalidInputError for wrong dataset ids, strategy or options at once, not at the first event; and
        NotFoundError, instead of a further event, when the user may no longer read what the answer is written from.
        """
        return self._events(self._begin(request))

    def ask(self, request: ChatRequest) -> ChatResult:
        """Return the turn's result. Raises InvalidInputError for wrong dataset ids, strategy or options, and
        NotFoundError when the user may no longer read what the answer is written from.
        """
        turn = self._begin(request)
        self._graph.invoke(GraphState(turn))
        self._require_readable(turn)
        return turn.result

    def _begin(self, request: ChatRequest) -> ChatTurn:
        """Check the request before a model is asked or anything is shown."""
        scope = self._manager.check(
            user_id=request.user_id,
            dataset_ids=request.dataset_ids,
            within=request.within,
            strategy=request.strategy,
            options=request.options,
        )
        reads = request.options.get("question_filters", "on" if request.fields is None else "off") == "on"
        if request.fields is not None and reads:
            message = "question_filters is 'on', but three fields are no question; leave it out"
            raise InvalidInputError(message, field="question_filters")
        if request.filter_words and not reads:
            message = "filter_words is given, but the question is not read for filters; leave it out"
            raise InvalidInputError(message, field="filter_words")
        return ChatTurn(request, scope)

    def _events(self, turn: ChatTurn) -> Iterator[Event]:
        events: Generator[Event] = self._graph.stream(GraphState(turn), stream_mode="custom")
        try:
            # Not `yield from`: closing would wait for the model before the model could see that it is to stop.
            for event in events:
                if isinstance(event, ChatResult) or time.monotonic() - turn.looked_at >= LOOK_EVERY_S:
                    self._require_readable(turn)
                yield event
        finally:
            turn.stopped.set()
            # It waits for the model. Left to the garbage collector, some thread would, whatever lock it holds.
            threading.Thread(target=events.close, name="braid-turn-end", daemon=True).start()

    def _require_readable(self, turn: ChatTurn) -> None:
        """Raise NotFoundError if the user has lost, since the turn began, a dataset that the answer is written from."""
        require_readable(self._braid.ledger, self._braid.registry, turn.request.user_id, turn.read_from)
        turn.looked_at = time.monotonic()

    def _build_graph(self) -> Any:  # LangGraph's own type has four parameters of no use here
        require("chat", "a conversation", "langgraph")
        from langgraph.graph import END, START, StateGraph  # here, because it takes half a second to load

        graph = StateGraph(GraphState)
        graph.add_node("normalize", self._normalize)
        graph.add_node("generate_query", self._generate_query)
        graph.add_node("search", self._search)
        graph.add_node("answer", self._answer)
        graph.add_node("compare", self._compare)
        graph.add_edge(START, "normalize")
        graph.add_edge("normalize", "generate_query")
        graph.add_edge("generate_query", "search")
        graph.add_conditional_edges("search", _after_search, {"answer": "answer", "compare": "compare", "end": END})
        graph.add_edge("answer", END)
        graph.add_edge("compare", END)
        return graph.compile()

    # ------------------------------------------------------------ nodes
    # LangGraph gives a node its parameter `writer` by that name: it emits an event of the turn.

    def _normalize(self, state: GraphState, writer: StreamWriter) -> None:
        turn = state.turn
        writer(StageStarted("normalize"))
        with self._its_turn(turn):
            self._read_question(turn)
            turn.languages = self._other_languages(turn)
            model, term_weights = self._finder.query_model(turn), self._finder.term_weights(turn)
            turn.question, turn.degraded = normalize_question(
                turn.request,
                model,
                self._prompts,
                term_weights,
                writer=self._finder.writer_of_queries(turn),
                languages=tuple(turn.languages),
            )

    def _read_question(self, turn: ChatTurn) -> None:
        """Look only where the question says, from here on: in each search, table and document of the turn."""
        request = turn.request
        if request.fields is not None or request.options.get("question_filters") == "off":
            return
        options, words = DEFAULTS.changed(request.options), request.filter_words
        reading = self._manager.read_question(turn.scope, request.text, options, words=words)
        kept = {**request.options, "filters": reading.options.filters, "question_filters": "off"}
        turn.scope, turn.request, turn.read_filters = reading.scope, replace(request, options=kept), reading.read

    def _generate_query(self, state: GraphState, writer: StreamWriter) -> None:
        turn = state.turn
        writer(StageStarted("generate_query"))
        # One that has just failed is not waited for again.
        model = None if turn.degraded else self._finder.query_model(turn)
        with self._its_turn(turn):
            turn.query, turn.wordings, missing = write_query(
                turn.question, model, self._prompts, languages=tuple(turn.languages)
            )
        turn.degraded += missing
        writer(turn.query)

    def _other_languages(self, turn: ChatTurn) -> Mapping[str, frozenset[int]]:
        """Return the languages of the documents that are searched in which the question is not, each with the datasets
        that have it.
        """
        if turn.request.fields is not None:
            return {}
        passages = self._braid.dataset_languages.passages(self._braid.ledger.datasets_of(turn.scope))
        total = sum(sum(of_code.values()) for of_code in passages.values())
        shares = {code: sum(of_code.values()) / total for code, of_code in passages.items()}
        return {code: frozenset(passages[code]) for code in other_languages(turn.request.text, shares)}

    def _search(self, state: GraphState, writer: StreamWriter) -> None:
        turn = state.turn
        writer(StageStarted("search"))
        with self._its_turn(turn):
            self._finder.search(turn, writer)
        found = turn.found.search
        turn.result = ChatResult(
            question=turn.query.question,
            query=turn.query.query,
            query_generator=turn.query.generator,
            search=found,
            degraded=turn.degraded + found.degraded,
            notes=found.notes,
            lookups=turn.found.lookups,
            bill=turn.found.bill,
        )
        if turn.request.evaluation_mode:
            writer(turn.result)

    def _answer(self, state: GraphState, writer: StreamWriter) -> None:
        turn, analyzer = state.turn, self._braid.analyzer
        writer(StageStarted("answer", self._answerer.generator))
        language = turn.request.answer_language
        query = turn.question.query
        weights = self._finder.term_weights(turn).of_text(without_asking(query))
        answers = [each.text for each in turn.request.history if each.role == "assistant"]
        own = turn.question.own.values()
        words = content_words(without_asking(normalize(turn.question.text if own else query)), analyzer)
        words = {word: terms for word, terms in words.items() if not own or terms in own} or words
        asked = Asked(query, weights, language, words=words)
        asked = asked.going_on(turn.question.text, turn.question.own, answers, analyzer)

        asked_back = Extract(say("refers_to_nothing", language), False, asks_back=True)

        def without_model(citations: Sequence[Citation]) -> Extract:
            is_lost = turn.whole is None and refers_to_nothing(turn.question.text, turn.request.history, analyzer)
            if is_lost and only_goes_on(turn.question.text):
                return asked_back
            found = quote_of(citations)
            is_told = found.found and not found.is_weak
            return asked_back if is_lost and not is_told else found

        def quote_of(citations: Sequence[Citation]) -> Extract:
            if turn.question.after:
                ordered = [each for each in citations if each.passage.chunk_id in turn.onward]
                after = next_of(ordered, turn.question.after)
                lead = say("extractive", language)
                text = quoted_text(lead, asked, [after], {}, featured=1) if after else ""
                return Extract(text, after is not None, (after,) if after else ())
            if turn.whole is not None and (of_it := tell(turn.whole, citations, analyzer, language)).text:
                return of_it
            search, around = turn.first, self._finder.passages(turn).around
            weigh = self._finder.term_weights(turn).known
            if quoted := quote_parts(turn.found.parts, asked, citations, analyzer, weigh, around):
                return quoted
            known = scale_of(search, self._braid.answering_model)
            nearness = nearness_to(turn.question.query, *known) if known else no_nearness
            why = calculated.reason if isinstance(calculated, NotCalculated) else ""
            quote = partial(extract, asked, analyzer=analyzer, nearness=nearness, around=around, not_calculated=why)
            in_others = [each for each in citations if each.passage.chunk_id in turn.in_others]
            if in_others and (foreign := quote(citations=in_others, match="strong")).found:
                return foreign
            citations = quotable_citations(citations, len(search.hits), asked, analyzer)
            covered = best_coverage(weights, citations, analyzer)
            if are_columns(turn.found.parts, citations, analyzer):  # a table of both things is there
                covered = max(covered, ABSENT_COVERAGE)
            if asked.own:  # nothing is said to be absent for want of the words of earlier questions
                weighed = weigh(frozenset().union(*turn.question.own.values()))
                covered = max(covered, min(best_coverage(weighed, citations, analyzer), ABSENT_COVERAGE))
            return quote(citations=citations, match=match_of(search, known[1] if known else None, covered))

        calculated = self._calculated(turn, language)
        if isinstance(calculated, Calculated):
            result = without_context(with_calculation(turn.result, calculated), turn.request.context)
            writer(replace(answer_begun(result, result.generator), citations=result.citations))
            writer(answer_text(calculated.text, ()))
            return _end(turn, result, writer)
        earlier = (
            turn.question.earlier(turn.request.history)
            + _told(turn.found.calculated)
            + told(turn.whole, by_notes=bool(turn.notes))
        )
        task = AnswerTask(
            self._prompts.answer,
            turn.question.text,
            language,
            without_model,
            turn.request.draft,
            earlier,
            around=self._finder.passages(turn).neighbours if turn.whole is None else None,
            total=self._finder.passages(turn).count(),
            notes=turn.notes,
            instruction=turn.request.instruction,
            context=turn.request.context,
        )
        if self._answerer.generator != "extractive" and self._is_weak(turn, weights):
            turn.result = replace(turn.result, notes=(*turn.result.notes, Reason(ONLY_WEAK)))
        self._write(turn, task, writer)

    def _is_weak(self, turn: ChatTurn, weights: Mapping[str, float]) -> bool:
        """Return whether the answer can only be from weak matches in the language of the question."""
        others = turn.whole or turn.in_others or turn.question.after or any(each.new for each in turn.found.lookups)
        known = scale_of(turn.first, self._braid.answering_model)
        if others or known is None:
            return False
        covered = partial(passage_coverage, weights, analyzer=self._braid.analyzer)
        weak = weak_ones(turn.first, lambda _: known[1], covered)
        return bool(weak) and len(weak) == len(turn.first.hits)

    def _compare(self, state: GraphState, writer: StreamWriter) -> None:
        turn, analyzer = state.turn, self._braid.analyzer
        writer(StageStarted("compare", self._answerer.generator))
        fields, language = turn.question.fields, turn.request.answer_language
        assert fields is not None, "the graph comes here with three fields only"
        weigh = self._finder.term_weights(turn).of_text

        def without_model(citations: Sequence[Citation]) -> Extract:
            return Extract(compare(fields, citations, weigh, analyzer, language), True)

        task = AnswerTask(
            self._prompts.compare,
            fields.describe("en"),
            language,
            without_model,
            turn.request.draft,
            renumber=False,
            total=self._finder.passages(turn).count(),
        )
        self._write(turn, task, writer)

    # ------------------------------------------------------------ what nodes share

    def _calculated(self, turn: ChatTurn, language: Language) -> Calculated | NotCalculated | None:
        """Calculate the answer from tables that were found, or say why not. None where an earlier one is continued."""
        draft = turn.request.draft
        if draft is not None and draft.text:
            return None
        return self._finder.calculator(turn).answer(turn.question.alone, turn.first, language)

    def _write(self, turn: ChatTurn, task: AnswerTask, emit: StreamWriter) -> None:
        with self._its_turn(turn):
            if turn.stopped.is_set():  # nobody waits for the answer any more
                return
            result = self._answerer.answer(task, turn.result, emit, turn.stopped)
            is_table = isinstance(turn.whole, Compared) and result.generator == "extractive"  # quotes side by side
            if result.found and not is_table:
                support = check_answer(marked(result.text, result.marks), result.citations, self._braid.analyzer)
                result = replace(result, support=support)
            _end(turn, result, emit)

    def _its_turn(self, turn: ChatTurn) -> AbstractContextManager[bool]:
        """Hold a place to compute, in the user's turn; it is let go while a model is waited for."""
        return self._braid.places.hold(turn.request.user_id, LONGEST_S)


def _after_search(state: GraphState) -> str:
    request = state.turn.request
    if request.evaluation_mode:
        return "end"
    return "answer" if request.fields is None else "compare"


def _told(calculated: Sequence[str]) -> str:
    """Return what was calculated from tables, to follow the question in the prompt."""
    lines = as_data("\n".join(calculated))
    return f"\n\n(Calculated from tables of the documents:\n{lines})" if calculated else ""


def _end(turn: ChatTurn, result: ChatResult, emit: StreamWriter) -> None:
    cited = {each.number: each.passage for each in result.citations}
    editions = editions_of(cited, [hit.passage for hit in result.search.hits], date.today().isoformat())
    turn.result = replace(result, notes=(*result.notes, *gaps_of_cited(result.citations)), editions=editions)
    emit(turn.result)
