"""Records the events of a turn, so that a turn that was stopped, or failed, can be stored as far as it came."""

from __future__ import annotations

from dataclasses import replace

from braid.core.chat.citations import Citation, gaps_of_cited
from braid.core.chat.lookups.lookup import Bill, Lookup
from braid.core.chat.marks import cited_in, marked, shown
from braid.core.chat.support.findings import Support
from braid.core.chat.types import (
    AnswerBegun,
    AnswerText,
    AnswerWithdrawn,
    ChatRequest,
    ChatResult,
    QueryWritten,
    Searched,
    SentenceChecked,
    StageStarted,
)
from braid.core.types import MAX_QUERY_CHARS, Query, SearchResult


class TurnRecorder:
    """Takes the events of one turn, in order, and returns its result at any time.

    >>> from braid.core.chat.conversation import Conversation
    >>> request = ChatRequest(1, "How long is the warranty of the pump?", dataset_ids=[1])
    >>> recorder = TurnRecorder(request)
    >>> for event in Conversation(braid).stream(request):
    ...     recorder.feed(event)
    >>> recorder.result().stopped
    False
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._query = QueryWritten(request.typed_text, request.typed_text, "none")
        self._search: SearchResult | None = None
        self._lookups: list[Lookup] = []
        self._begun = AnswerBegun("none")
        self._text: list[str] = []
        self._cited: tuple[int, ...] = ()
        self._support: list[Support] = []
        self._result: ChatResult | None = None

    def feed(self, event: object) -> None:
        """Record the next event. Anything else is left out."""
        match event:
            case StageStarted(generator=generator):
                self._begun = replace(self._begun, generator=generator or self._begun.generator)
            case QueryWritten():
                self._query = event
            case Searched():
                self._search = event.result
                self._begun = replace(self._begun, degraded=event.result.degraded, notes=event.result.notes)
            case Lookup():
                self._lookups.append(event)
            case AnswerBegun():
                self._begun = event
            case AnswerText():
                self._text.append(marked(event.text, event.marks))
                self._cited = event.cited
            case SentenceChecked():
                self._support.append(event.support)
            case AnswerWithdrawn():
                self._begun = replace(self._begun, generator=event.generator)
                self._text.clear()
                self._support.clear()
                self._cited = ()
            case ChatResult():
                self._result = event

    @property
    def found(self) -> frozenset[int]:
        """The datasets whose passages the search returned."""
        return frozenset(hit.passage.dataset_id for hit in self._search.hits) if self._search else frozenset()

    @property
    def written(self) -> str:
        """The text so far, as a marked text."""
        return "".join(self._text)

    @property
    def support(self) -> tuple[Support, ...]:
        """The sentences of the text so far that have been checked."""
        return tuple(self._support)

    def result(self) -> ChatResult:
        """Return the turn's own result, or, before it has come, one that is ``stopped``.

        A stopped result has the text so far with its citations, which have the whole text of their passages.
        """
        if self._result is not None:
            return self._result
        search = self._search or SearchResult(
            Query(self._query.query[:MAX_QUERY_CHARS]), self._request.strategy, "none", (), (), ()
        )
        written = self.written.strip()
        text, marks = shown(written)
        citations = self._citations(written, search)
        return ChatResult(
            question=self._query.question,
            query=self._query.query,
            query_generator=self._query.generator,
            search=search,
            lookups=tuple(self._lookups),
            bill=Bill(1 + sum(each.tool == "search" for each in self._lookups)),
            text=text,
            marks=marks,
            generator=self._begun.generator if text else "none",
            found=bool(citations),
            citations=citations,
            support=tuple(each for each in self.support if each.end <= len(text)),
            prompt_tokens=self._begun.prompt_tokens,
            degraded=self._begun.degraded,
            notes=(*self._begun.notes, *gaps_of_cited(citations)),
            stopped=True,
        )

    def _citations(self, text: str, search: SearchResult) -> tuple[Citation, ...]:
        """Return the citations of a marked text, which numbers the places that it cites from 1, except of fields."""
        known = self._begun.citations
        if known is None:
            passages = {place: hit.passage for place, hit in enumerate(search.hits, start=1)}
            passages.update(self._begun.passages)
            places = self._cited if self._request.fields is None else range(1, len(search.hits) + 1)
            chosen = (passages[place] for place in places)
            known = tuple(Citation(number, each, each.text) for number, each in enumerate(chosen, start=1))
        by_number = {citation.number: citation for citation in known}
        return tuple(by_number[number] for number in cited_in(text))
