"""The search of a chat turn: the first one, a document as a whole, and what is looked up more.

Passages of datasets that stand aside come into an answer only where they are much better than the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from braid.core.chat.asking.other_languages import may_be_in
from braid.core.chat.citations import Citation
from braid.core.chat.lookups.elsewhere import MOST_NEAR, Elsewhere, only_in, search_elsewhere
from braid.core.chat.lookups.further import Further, FurtherResult
from braid.core.chat.lookups.lookup import NO_BILL, LookupLimits
from braid.core.chat.lookups.loop import Loop
from braid.core.chat.lookups.tools import Toolbox
from braid.core.chat.marks import without_marks
from braid.core.chat.query_writing import write_wordings
from braid.core.chat.quoting.extractive import best_coverage
from braid.core.chat.quoting.match import ABSENT_COVERAGE, WEAK_COVERAGE, cosines_of
from braid.core.chat.quoting.nearness import scale_of
from braid.core.chat.quoting.onward import quoted_last
from braid.core.chat.quoting.wanted import without_asking
from braid.core.chat.tables.calculate import Calculated, Calculator
from braid.core.chat.turn_state import ChatTurn
from braid.core.chat.types import Searched
from braid.core.chat.whole.about import Whole, WholeFinder, lookups_of
from braid.core.chat.whole.changes import Compared, pairs_for_model
from braid.core.chat.whole.find import WholeDocument
from braid.core.chat.whole.parts import Notes, PartReader, parts_within
from braid.core.ledger.ledger import Ledger
from braid.core.models.chat import ChatModel
from braid.core.search.context import SearchModels
from braid.core.search.term_weights import TermWeights
from braid.core.text.analyzer import Analyzer
from braid.core.text.letters import MOST_GARBLED, odd_share
from braid.core.text.scripts import LATIN, SEEN_CHARS, question_script
from braid.core.types import MAX_QUERY_CHARS, Hit, Leg, Passage, Scope, SearchResult

if TYPE_CHECKING:
    from langgraph.types import StreamWriter

    from braid.core.braid import Braid

MOST_TITLES = 10
"""Documents among which the one that a question names is looked for, beside those of the first passages."""
WHOLE_SHARE = 0.7
"""Share of the prompt for the passages of a whole document."""


class TurnSearch:
    """Finds the passages that a turn is answered from, with models that `Conversation` describes."""

    def __init__(self, braid: Braid, models: SearchModels, lookups: LookupLimits, prompt_tokens: int) -> None:
        self._braid = braid
        self._manager = braid.manager
        self._models = models
        self._lookups = lookups
        self._prompt_tokens = prompt_tokens

    def search(self, turn: ChatTurn, writer: StreamWriter) -> None:
        """Set what the turn has found: first, of a whole document, and in all. Emits each search as it is done."""
        turn.first = replace(self._find(turn, turn.query.query), read_filters=turn.read_filters)
        turn.note_read(turn.first)
        writer(Searched(turn.first))
        if turn.question.after:
            turn.found = FurtherResult(self._find_onward(turn))
            return turn.note_read(turn.found.search)
        turn.whole = whole = self._find_whole(turn)
        turn.found = self._find_further(turn, writer) if whole is None else self._read_whole(turn, whole, writer)
        turn.note_read(turn.found.search)
        if turn.found.lookups:
            writer(Searched(turn.found.search))

    def _find_onward(self, turn: ChatTurn) -> SearchResult:
        """Return the first search with the passage that the last answer quoted, and the next two of its document, ahead
        of all others: the quote may go on in the next one.
        """
        answered, found = turn.question.after, turn.first
        last = quoted_last([hit.passage for hit in found.hits], answered)
        if last is None:
            found = self._find(turn, without_marks(answered)[:MAX_QUERY_CHARS])
            last = quoted_last([hit.passage for hit in found.hits], answered)
        if last is None:
            return turn.first
        onward = [each for each in self.passages(turn).neighbours(last) if each.position >= last.position]
        turn.onward = tuple(each.chunk_id for each in onward)
        known = {hit.passage.chunk_id: hit for hit in found.hits}
        hits = [known.pop(each.chunk_id, Hit(each, 0.0, ())) for each in onward]
        return replace(turn.first, hits=(*hits, *known.values()))

    def _find_whole(self, turn: ChatTurn) -> Whole | None:
        """Find the document, or the two, that the question is about as a whole; None for any other question."""
        if turn.request.fields is not None or not turn.first.hits:
            return None
        options = {**turn.request.options, "generator": "feedback", "group_by": "document", "k": MOST_TITLES}

        def by_title(text: str) -> Sequence[Hit]:
            return self._manager.search_in(turn.scope, text, models=self._models, **options).hits

        filters, weights = turn.first.query.filters, self.term_weights(turn)
        finder = WholeFinder(self._braid.ledger, turn.scope, filters, weights, by_title)
        return finder.find(turn.question.text, turn.question.query, turn.first.hits)

    def _read_whole(self, turn: ChatTurn, whole: Whole, writer: StreamWriter) -> FurtherResult:
        """Return the passages of a document in place of those that were found; with a model, as far as they fit into
        its prompt, or as notes of each part.
        """
        model, tokens, notes, is_cut = self._models.chat.summary, int(self._prompt_tokens * WHOLE_SHARE), Notes(), False
        if model is not None and isinstance(whole, Compared) and whole.changes:
            whole, turn.notes = pairs_for_model(whole, tokens)
        elif model is not None and isinstance(whole, WholeDocument) and not turn.request.evaluation_mode:
            parts = parts_within(whole.hits, tokens)[: max(1, self._lookups.parts)]
            if len(parts) > 1:
                reader = PartReader(model, self._models.prompts, tokens, turn.stopped.is_set, writer)
                notes = reader.read(turn.question.text, whole.title, parts)
            is_cut = not notes.text and len(parts[0]) < len(whole.hits)
            whole = whole.within(whole.hits[: notes.read] if notes.text else parts[0])
            turn.notes = notes.text
        turn.whole = whole
        known = {hit.passage.chunk_id: hit for hit in turn.first.hits}
        hits = tuple(known.get(hit.passage.chunk_id, hit) for hit in whole.hits)
        lookups = lookups_of(whole, is_cut=is_cut)
        for each in lookups:
            writer(each)
        search = replace(turn.first, hits=hits, did_you_mean="", degraded=(*turn.first.degraded, *notes.degraded))
        return FurtherResult(search, (*notes.lookups, *lookups), bill=notes.bill)

    def _find_further(self, turn: ChatTurn, writer: StreamWriter) -> FurtherResult:
        """Look up what the first passages name or lack, by a model or without one; not in a three-field search."""
        before, find = self._find_elsewhere(turn, writer), partial(self._find, turn)
        found = replace(before, lookups=(), bill=NO_BILL)
        if turn.request.fields is not None or not found.search.hits:
            return before
        further = Further(turn.question.text, turn.question.query, self.term_weights(turn))
        model, calls = self._lookup_model(turn), self._lookups.calls_of(turn.request.strategy)
        if model is not None and (calls > 1 or (calls and further.wishes(found.search.hits))):
            found = self._loop(turn, found.search, model, calls, writer).run(turn.question.text)
        if not found.lookups:
            more = further.search(found.search, find, stopped=turn.stopped.is_set, tell=writer)
            turn.in_others = frozenset() if more.lookups else turn.in_others  # a code is found in any language
            found = replace(more, bill=found.bill + more.bill)
        return replace(found, lookups=(*before.lookups, *found.lookups), bill=before.bill + found.bill)

    def _find_elsewhere(self, turn: ChatTurn, writer: StreamWriter) -> FurtherResult:
        """Search in the other languages of the documents, too: by the wordings of the model that wrote the query. Where
        it has written none, and the first passages lack words of the question, by those of the model of the answers,
        else by meaning.
        """
        covered, missing_names = 1.0, frozenset[str]()
        if turn.languages and not turn.wordings:
            citations = [Citation(0, hit.passage, hit.passage.text) for hit in turn.first.hits]
            weights = self.term_weights(turn).of_text(without_asking(turn.question.query))
            covered = best_coverage(weights, citations, self._braid.analyzer)
            missing_names = _names_in_none(weights, turn, self._braid.analyzer)
        is_lacking = covered < WEAK_COVERAGE or bool(missing_names)
        if is_lacking and not turn.degraded and turn.question.generator == "none":
            of_answers = self.writer_of_queries(turn) if self.query_model(turn) is None else None
            turn.wordings, missing = write_wordings(
                turn.question, of_answers, self._models.prompts, tuple(turn.languages)
            )
            turn.degraded += missing
        searches: list[Elsewhere] = [(text, partial(self._find, turn, text)) for text in turn.wordings]
        near = not searches and is_lacking and turn.first.query.mode != "keyword"
        if near:
            searches = [(turn.question.query, partial(self._find_near, turn, code)) for code in turn.languages]
        found = search_elsewhere(turn.first, searches, stopped=turn.stopped.is_set, tell=writer)
        if near:
            is_absent = covered < ABSENT_COVERAGE and not _has_codes(turn, self._braid.analyzer)
            turn.in_others = self._in_others(turn, found.search.hits, missing_names, is_absent=is_absent)
        return found

    def _in_others(
        self, turn: ChatTurn, hits: Sequence[Hit], names: frozenset[str], *, is_absent: bool
    ) -> frozenset[str]:
        """Return the passages in another language than the question, if the best of them answers rather than those in
        its own: it is near enough, and those lack the question's words, or are much less near on the model's scale.
        Where ``names`` of the question are in none of its own language, it has one; or none has, and words do not tell
        which are better.
        """
        known = scale_of(turn.first, self._braid.answering_model)
        least = known[1].foreign if known else 0.0
        others = [hit for hit in hits if _is_in_others(turn, hit) and odd_share(hit.passage.text) < MOST_GARBLED]
        others = [hit for hit in others if max(cosines_of([hit]), default=0.0) >= least]
        if names:
            analyzer = self._braid.analyzer
            named = [hit for hit in others if not names.isdisjoint(analyzer.tokens(_told(hit.passage)))]
            others, is_absent = named or others, is_absent and bool(named)
        nearest = max(cosines_of(others), default=0.0)
        own = max(cosines_of([hit for hit in hits if not _is_in_others(turn, hit)]), default=0.0)
        is_better = is_absent or (known is not None and nearest >= own + MUCH_NEARER)
        return frozenset(hit.passage.chunk_id for hit in others) if is_better else frozenset()

    def _find(self, turn: ChatTurn, text: str) -> SearchResult:
        """Search as the request says, in the turn's scope, without the search model: it has written the query."""
        options = {**turn.request.options, "generator": "feedback"}
        strategy, models = turn.request.strategy, self._models
        found = self._manager.search_in(turn.scope, text, strategy=strategy, models=models, **options)
        return without_aside(found, turn.request.aside)

    def _find_near(self, turn: ChatTurn, code: str) -> SearchResult:
        """Search by meaning for the question among passages in another language, in the datasets that have it."""
        query = turn.first.query
        found = self._manager.search_in(
            turn.scope.within(turn.languages[code]),
            turn.question.query,
            models=self._models,
            mode="semantic",
            k=MOST_NEAR,
            filters=query.filters,
            question_filters="off",
        )
        return only_in(code, without_aside(found, turn.request.aside), query.k)

    def _lookup_model(self, turn: ChatTurn) -> ChatModel | None:
        """Return the model that looks up more: the one that writes queries, else the one that answers."""
        if turn.request.options.get("generator") == "feedback" or any(part.leg == "model" for part in turn.degraded):
            return None
        model = self._models.chat.search or (None if turn.request.evaluation_mode else self._models.chat.summary)
        return model if hasattr(model, "call") else None

    def _loop(self, turn: ChatTurn, first: SearchResult, model: ChatModel, calls: int, writer: StreamWriter) -> Loop:
        def calculate(question: str) -> str:
            calculated = self.calculator(turn).answer(question, turn.first, turn.request.answer_language)
            return without_marks(calculated.text) if isinstance(calculated, Calculated) else ""

        toolbox = Toolbox(
            self._braid.ledger,
            turn.scope,
            turn.first.query.filters,
            partial(self._find, turn),
            partial(self._manager.find_exact_in, turn.scope),
            calculate,
        )
        limits, stopped = self._lookups, turn.stopped.is_set
        return Loop(model, self._models.prompts, toolbox, limits, stopped, writer, first, calls)

    # ------------------------------------------------------------ what an answer needs, too

    def query_model(self, turn: ChatTurn) -> ChatModel | None:
        """Return the model that may write the turn's queries."""
        return None if turn.request.options.get("generator") == "feedback" else self._models.chat.search

    def writer_of_queries(self, turn: ChatTurn) -> ChatModel | None:
        """Return the model of the answers, where it may write queries, too."""
        return None if turn.request.options.get("generator") == "feedback" else self._models.chat.summary

    def term_weights(self, turn: ChatTurn) -> TermWeights:
        """Return what weighs terms by how rare they are in the turn's scope."""
        return TermWeights(self._braid.bm25, self._braid.analyzer, self._braid.ledger, turn.scope)

    def passages(self, turn: ChatTurn) -> ScopedPassages:
        """Return what reads passages of the turn's scope."""
        return ScopedPassages(self._braid.ledger, turn.scope)

    def calculator(self, turn: ChatTurn) -> Calculator:
        """Return what calculates from tables of the turn's scope."""
        model = self._models.chat.search or self._models.chat.summary
        return Calculator(self.passages(turn).of_document, self._models.prompts.table_query, model)


# ---------------------------------------------------------------- datasets that stand aside


MUCH_NEARER = 0.02
"""Least difference of the best cosines. With the guide beside the offices of benchmarks/office.py, 61 of their 67
questions have passages of the guide among the best five; none keeps them, and all of 27 questions about Braid do."""
MUCH_MORE_WORDS = 1.5
"""Least ratio of the best BM25 scores where no hit has a cosine."""


def without_aside(search: SearchResult, aside: Collection[int]) -> SearchResult:
    """Return the result without the hits of the datasets ``aside``, if there are others that are about as good."""
    own = [hit for hit in search.hits if hit.passage.dataset_id not in aside]
    others = [hit for hit in search.hits if hit.passage.dataset_id in aside]
    if not own or not others or _much_better(others, own):
        return search
    return replace(search, hits=tuple(own))


def _much_better(others: Sequence[Hit], own: Sequence[Hit]) -> bool:
    theirs, ours = _best(others, "dense"), _best(own, "dense")
    if theirs or ours:
        return theirs >= ours + MUCH_NEARER
    return _best(others, "bm25") >= MUCH_MORE_WORDS * _best(own, "bm25")


def _best(hits: Sequence[Hit], leg: Leg) -> float:
    return max((part.score for hit in hits for part in hit.legs if part.leg == leg), default=0.0)


# ---------------------------------------------------------------- passages by their place in a document


class ScopedPassages:
    """The passages within a scope, as the ledger has them."""

    def __init__(self, ledger: Ledger, scope: Scope) -> None:
        self._ledger = ledger
        self._scope = scope

    def of_document(self, document_id: int, limit: int, first: int = 0) -> list[Passage]:
        """Return up to ``limit`` passages of a document from position ``first`` on."""
        return self._ledger.document_passages(document_id, self._scope.dataset_ids, limit=limit, offset=first)

    def count(self) -> int:
        """Return the number of passages that may be searched."""
        return sum(dataset.chunks for dataset in self._ledger.datasets_of(self._scope))

    def neighbours(self, passage: Passage, distance: int = 2) -> list[Passage]:
        """Return a passage with those up to ``distance`` before and after it in its document."""
        first = max(0, passage.position - distance)
        return self.of_document(passage.document_id, passage.position + distance + 1 - first, first)

    def around(self, passage: Passage) -> tuple[str, str]:
        """Return the texts of the passages before and after one, of the same heading; empty where there are none."""
        near = self.neighbours(passage, 1)
        texts = {one.position: one.text for one in near if one.heading_path == passage.heading_path}
        return texts.get(passage.position - 1, ""), texts.get(passage.position + 1, "")


def _is_in_others(turn: ChatTurn, hit: Hit) -> bool:
    return any(may_be_in(code, hit.passage.text[:SEEN_CHARS]) for code in turn.languages)


def _names_in_none(weights: Mapping[str, float], turn: ChatTurn, analyzer: Analyzer) -> frozenset[str]:
    """Return the words in Latin letters of a question in another script, if no first passage in that script has one."""
    if question_script(turn.question.query) == LATIN:
        return frozenset()
    names = frozenset(term for term in weights if term.isascii() and term.isalpha() and len(term) > 1)
    if not names:
        return names
    own = [hit.passage for hit in turn.first.hits if not _is_in_others(turn, hit)]
    return names if all(names.isdisjoint(analyzer.tokens(_told(each))) for each in own) else frozenset()


def _has_codes(turn: ChatTurn, analyzer: Analyzer) -> bool:
    """Return whether a first passage in the question's language has all of its codes, such as R91, and it has some."""
    tokens = analyzer.tokens(turn.question.query)
    codes = frozenset(token for token in tokens if token.isascii() and not token.isalpha())
    own = [hit.passage for hit in turn.first.hits if not _is_in_others(turn, hit)]
    return bool(codes) and any(codes.issubset(analyzer.tokens(_told(each))) for each in own)


def _told(passage: Passage) -> str:
    return f"{passage.title} {passage.heading_path} {passage.text}"
