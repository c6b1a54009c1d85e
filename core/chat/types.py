"""The values of a chat: requests, progress events, results. All are frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from braid.core.chat.citations import Citation, Featured, citation_json
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.lookups.lookup import NO_BILL, Bill, Lookup
from braid.core.chat.marks import shown
from braid.core.chat.support.findings import Support
from braid.core.chat.tables.calculate import Calculated, Calculation
from braid.core.chat.texts import Language
from braid.core.errors import InvalidInputError, ModelError, Reason
from braid.core.json_form import pick, to_json
from braid.core.metadata.versions import Edition
from braid.core.text.scripts import question_language
from braid.core.types import MAX_QUERY_CHARS, DatasetIds, Degraded, Passage, SearchResult, require_choice

Stage = Literal["normalize", "generate_query", "search", "answer", "compare"]
LANGUAGES: tuple[Language, ...] = ("en", "ja", "ko")
HIT_PLACE = ("chunk_id", "dataset_id", "source", "title")
"""The fields of a hit's passage that an event and a stored search contain."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation.

    >>> Turn("user", "Which pump is in hall three?").role
    'user'
    """

    role: Literal["user", "assistant"]
    text: str
    marks: tuple[int, ...] | None = field(default=None, compare=False)
    """Where in an answer its citations begin, as in `ChatResult`; None if unknown: what looks like one is one."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An earlier answer to the question, to be continued, or to be replaced by another one."""

    text: str
    chunk_ids: tuple[str, ...] = ()
    """The passages that it was written from, in the order of the numbers by which it cites them."""
    is_complete: bool = False
    """Whether another answer is asked for. One that is not complete is continued, if the same passages are found."""
    marks: tuple[int, ...] | None = None
    """Where in the text its citations begin, as in `ChatResult`; None takes every ``[1]`` for one."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question with the turns before it (the oldest first), or a three-field search.

    ``options`` are the fields of `braid.core.types.SearchOptions`; ``question_filters`` is ``on`` unless they say
    otherwise. Raises InvalidInputError unless
    exactly one of ``text`` and ``fields`` is given; `braid.core.chat.conversation.Conversation` checks the rest before
    it does anything.

    >>> history = (Turn("user", "Which pump is in hall three?"), Turn("assistant", "A rotary pump [1]."))
    >>> request = ChatRequest(1, "How long is its warranty?", history=history, options={"k": 3})
    >>> request.answer_language
    'en'
    """

    user_id: int | None
    text: str = ""
    fields: ThreeFields | None = None
    history: tuple[Turn, ...] = ()
    dataset_ids: DatasetIds = None
    within: Collection[int] | None = None
    """The only datasets that are read, whatever is asked; None is no limit."""
    everything: bool = False
    """Whether ``dataset_ids`` are all that the user may read: stored, so that the next turn has new ones, too."""
    aside: Sequence[int] = ()
    """Datasets whose passages count only where they are much better than those of the other datasets."""
    strategy: str = "basic"
    options: Mapping[str, Any] = field(default_factory=dict)
    filter_words: Mapping[str, bool] = field(default_factory=dict)
    """Which words of the question are a filter, and which are not, by `ReadFilter.said`; it decides on the others."""
    evaluation_mode: bool = False
    """Stop after the search."""
    language: Language | None = None
    """The language of Braid's own sentences; None means that of the question."""
    draft: Draft | None = None
    instruction: str = ""
    """What whoever set up the chat asks of the model that writes the answer. It is not stored with the question."""
    assistant_id: int | None = None
    """The assistant that is asked: stored, so that the conversation goes on with it."""
    context: str = ""
    """What a chat app puts beside the question: data for the model of the answer, not searched and not stored."""

    def __post_init__(self) -> None:
        if bool(self.text.strip()) == (self.fields is not None):
            raise InvalidInputError("give a text or three fields, and not both", field="text")
        if len(self.text) > MAX_QUERY_CHARS:
            raise InvalidInputError(
                Reason(
                    "the question has %(count)s characters; at most %(most)s are allowed",
                    count=len(self.text),
                    most=MAX_QUERY_CHARS,
                ),
                field="text",
            )
        if self.language is not None:
            require_choice("language", self.language, LANGUAGES)

    @property
    def answer_language(self) -> Language:
        """The language with its default."""
        return self.language or question_language(self.typed_text)

    @property
    def typed_text(self) -> str:
        """The text, or the fields, as one text, with their names in the language that they are written in."""
        if self.fields is None:
            return self.text
        return self.fields.describe(self.language or question_language(self.fields.describe("en")))


# ---------------------------------------------------------------- events, in the order in which they come


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A node of the graph begins."""

    type: ClassVar[str] = "stage"
    stage: Stage
    generator: str = ""
    """Writer of the answer or comparison: the name of a model, or ``extractive``. Empty in the other stages."""


@dataclass(frozen=True, slots=True)
class QueryWritten:
    """The query to search for. ``generator`` is ``none``, ``feedback`` or the name of a model."""

    type: ClassVar[str] = "query"
    question: str
    """The question as one that can be understood alone."""
    query: str
    generator: str


@dataclass(frozen=True, slots=True)
class Searched:
    """The search's result, from which the answer is written. It comes again with all passages after lookups."""

    type: ClassVar[str] = "search"
    result: SearchResult


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """What is known of the answer before its first piece: also what one that is ended early is stored with."""

    type: ClassVar[str] = "begun"
    generator: str
    prompt_tokens: int = 0
    degraded: tuple[Degraded, ...] = ()
    notes: tuple[str, ...] = ()
    citations: tuple[Citation, ...] | None = None
    """What the text cites by its numbers, where those are no places in the search; not part of the event's JSON."""
    passages: Mapping[int, Passage] = field(default_factory=dict)
    """What the model was given, by the places that `AnswerText.cited` has: hits, and neighbours of them; not part of
    the event's JSON.
    """


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of the answer."""

    type: ClassVar[str] = "token"
    text: str
    cited: tuple[int, ...] = ()
    """Places, from 1, of the passages that the text so far cites, in the order in which it cites them."""
    marks: tuple[int, ...] | None = None
    """Where in this piece citations begin, in characters; None takes every ``[1]`` for one."""


@dataclass(frozen=True, slots=True)
class SentenceChecked:
    """A sentence of the text so far, compared with what it cites. The result has those of the whole text."""

    type: ClassVar[str] = "support"
    support: Support
    """The sentence's place, in characters of the pieces so far, and what was found."""


@dataclass(frozen=True, slots=True)
class AnswerWithdrawn:
    """Forget the pieces and checked sentences so far: the model broke off, or they were its reasoning. Another answer
    follows.
    """

    type: ClassVar[str] = "withdrawn"
    reason: str
    generator: str = "extractive"
    """Writer of the other answer."""
    error: ModelError | None = field(default=None, repr=False)
    """The model's failure, if that is why; not part of the event's JSON."""


@dataclass(frozen=True, slots=True)
class ChatResult:
    """The answer, and how it was made. Also the last event."""

    type: ClassVar[str] = "answer"
    question: str
    query: str
    query_generator: str
    search: SearchResult
    text: str = ""
    """Markdown; empty in evaluation mode."""
    generator: str = "none"
    """Writer of the answer: ``extractive``, the name of a model, or ``none`` in evaluation mode."""
    found: bool = False
    """Whether the passages held an answer."""
    citations: tuple[Citation, ...] = ()
    """The passages that the text cites, in its order."""
    removed_citations: int = 0
    """Number of citations of passages that do not exist, which were removed from the text."""
    prompt_tokens: int = 0
    """Estimated tokens of the prompt; 0 without a model."""
    degraded: tuple[Degraded, ...] = ()
    """The parts that failed, those of the search included."""
    notes: tuple[str, ...] = ()
    """What a limit left out although nothing failed; includes the notes of the search."""
    stopped: bool = False
    """The turn ended before its answer was complete; see `braid.core.chat.turn_recorder`."""
    cut: bool = False
    """The model ended without the mark that its answer is complete, or reached its own limit or Braid's."""
    featured: Featured | None = None
    """Without a model, the passage that answers."""
    also: tuple[Featured, ...] = ()
    """Without a model, further passages below ``featured``; related ones where nothing was ``found``."""
    calculation: Calculation | None = None
    """The value and its SQL, where the answer was calculated from a table."""
    editions: tuple[Edition, ...] = ()
    """The versions of the documents cited, where several were found, or one says since when it is valid."""
    lookups: tuple[Lookup, ...] = ()
    """What was looked for after the first search; its passages follow those of the first search."""
    bill: Bill = NO_BILL
    """What looking up more has cost."""
    support: tuple[Support, ...] = ()
    """The sentences of the text, and how each agrees with what it cites; of an answer that was stopped the first ones,
    of one that was calculated none."""
    marks: tuple[int, ...] | None = None
    """Where in the text citations begin, in characters: a ``[1]`` elsewhere is part of what is said. None takes every
    ``[1]`` for a citation."""
    asks_back: bool = False
    """Whether the text asks what is meant: the question refers to something that was not said."""


Event = (
    StageStarted
    | QueryWritten
    | Searched
    | Lookup
    | AnswerBegun
    | AnswerText
    | SentenceChecked
    | AnswerWithdrawn
    | ChatResult
)


def answer_begun(result: ChatResult, generator: str) -> AnswerBegun:
    """Return the event of an answer by this writer, of which the result has what is known so far."""
    return AnswerBegun(generator, result.prompt_tokens, result.degraded, result.notes)


def answer_text(marked_text: str, cited: Sequence[int]) -> AnswerText:
    """Return the event of a piece of the answer."""
    text, marks = shown(marked_text)
    return AnswerText(text, tuple(cited), marks)


def with_text(result: ChatResult, marked_text: str) -> ChatResult:
    """Return the result with this text as its answer."""
    text, marks = shown(marked_text)
    return replace(result, text=text, marks=marks)


def with_calculation(result: ChatResult, calculated: Calculated) -> ChatResult:
    """Return the result with an answer that was calculated from a table."""
    return replace(
        with_text(result, calculated.text),
        generator=calculated.generator,
        found=True,
        citations=calculated.citations,
        calculation=calculated.calculation,
    )


def result_json(result: ChatResult) -> dict[str, Any]:
    """Return a result as JSON, its search included. What is streamed, stored and answered is picked from this."""
    return {**to_json(result), "citations": [citation_json(citation) for citation in result.citations]}


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as JSON, with its ``type``: what a page or an API streams."""
    match event:
        case Searched():
            form = _search_json(event.result)
        case ChatResult():
            form = result_json(event)
            del form["search"]  # it has had an event of its own
        case AnswerBegun():
            form = pick(to_json(event), "generator", "prompt_tokens", "degraded", "notes")
        case SentenceChecked():
            form = to_json(event.support)
        case AnswerWithdrawn():
            form = {"reason": event.reason, "generator": event.generator}
        case _:
            form = to_json(event)
    return {"type": event.type, **form}


def _search_json(result: SearchResult) -> dict[str, Any]:
    form = to_json(result)
    shown = ("strategy", "generator", "queries", "collections", "hits_by_dataset", "unresolved_dataset_ids", "notes")
    passages = [{**pick(hit["passage"], *HIT_PLACE), "score": hit["score"]} for hit in form["hits"]]
    read = ("did_you_mean", "read_filters", "added_forms", "degraded", "timings_ms")
    return {**pick(form, *shown, *read), "passages": passages}
