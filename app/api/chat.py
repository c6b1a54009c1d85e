"""``POST /chat``: answers a question, given the earlier turns, at once or as a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from flask import Response
from pydantic import BaseModel, Field

from braid.app.api.check import SupportShown
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import KEY_HEADERS, SAYS_SOMETHING, Given
from braid.app.api.framework.streams import OWN, wants_stream
from braid.app.api.request_models import conversation, require_no_options, with_model_of
from braid.app.api.schemas import DegradedShown, Shown
from braid.app.api.search import DEPRECATED_AT, CitationShown, SearchAnswer, show_search
from braid.app.api.search_options import FILTER_WORDS, FilterWordsGiven, SearchOptionsGiven
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.assistants import UsableAssistant, assistant_of, noting
from braid.app.user.datasets import readable_datasets
from braid.app.web.live_turns import result_of, run_turn, stream_of
from braid.core.chat.turns.rows import StoredTurn
from braid.core.chat.types import ChatRequest, ChatResult, Turn, result_json
from braid.core.options import ABOUT, Datasets, QuestionFilters
from braid.core.types import ALL, MAX_ID, MAX_QUERY_CHARS, Dataset

MAX_TURNS = 200
MAX_TURN_CHARS = 100_000

resource = Resource("chat", "Answers from the passages of your datasets, with citations.", "user")

Begin = Callable[[ChatRequest], StoredTurn]


class TurnGiven(Given):
    """One message of the conversation so far."""

    role: Literal["user", "assistant"]
    text: str = Field(max_length=MAX_TURN_CHARS)


class Question(SearchOptionsGiven):
    """A question, and how to search for its answer."""

    message: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARS, pattern=SAYS_SOMETHING, examples=["How are the rankings fused?"]
    )
    question_filters: QuestionFilters = Field(
        "on", description=ABOUT["question_filters"].help.replace("`k`", "`top_k`")
    )
    filter_words: FilterWordsGiven = FILTER_WORDS
    language: Literal["en", "ja", "ko"] | None = Field(
        None, description="Language of Braid's own texts; by default the question's"
    )
    evaluation_mode: bool = Field(False, description="Stop after the search")
    assistant: int | None = Field(
        None,
        ge=1,
        le=MAX_ID,
        description="An assistant of `GET /assistants`, which chooses datasets and options itself",
    )

    def asked_assistant(self) -> UsableAssistant | None:
        """Return the assistant that is asked, if any. Raises InvalidInputError for options beside it, and NotFoundError
        for one that the caller may not use.
        """
        if self.assistant is None:
            return None
        require_no_options(self, {"assistant", "message", "language", "evaluation_mode", "history"})
        return assistant_of(self.assistant).require_open()

    def request(self, options: dict[str, Any], history: tuple[Turn, ...]) -> ChatRequest:
        """Return the question as a ChatRequest."""
        return ChatRequest(
            user_id=identity().account.id,
            text=self.message,
            history=history,
            dataset_ids=self.dataset_ids,
            within=identity().dataset_ids,
            strategy=self.strategy,
            options=options,
            filter_words=self.filter_words,
            evaluation_mode=self.evaluation_mode,
            language=self.language,
        )


class ChatBody(Question):
    """A question with the turns before it."""

    history: list[TurnGiven] = Field([], max_length=MAX_TURNS, description="Earlier turns, the oldest first")


class UsedRowsShown(Shown):
    """The rows that a value was calculated from."""

    count: int
    columns: list[str]
    rows: list[list[str]] = Field(description="The first of them, as they are written")


class CalculationShown(Shown):
    """A value calculated from a table, with what it takes to check it."""

    table: str = Field(description="Name of the table in the SQL")
    document_id: int
    sql: str = Field(description="The SELECT that was run")
    columns: list[str]
    rows: list[list[str]] = Field(description="The result, its numbers written as the table writes them")
    used: UsedRowsShown
    left_out: list[str] = Field(description="Rows that add up others, which are not counted")
    period: list[str] = Field(
        description="First and last day, month or year that the question was understood to ask for, as ISO texts; the "
        "end of an open period is empty, and both are where it names none"
    )


class EditionShown(Shown):
    """The version of a document that is cited."""

    citation: int = Field(description="Number of the citation")
    year: str
    in_force: bool = Field(description="Whether it says since when it is in force, and none that was found is newer")
    others: list[str] = Field(description="Years of the other versions that were found, the newest first")


class FeaturedShown(Shown):
    """Whole sentences of a cited passage, or the whole of a list; what answers is emphasised."""

    text: str = Field(description="Plain text; items of a list are lines")
    start: int = Field(description="Where in the text the emphasised part begins, in characters")
    end: int
    citation: int = Field(description="Number of the citation that it is from")


class LookupShown(Shown):
    """What was looked for after the first search, and what came of it."""

    tool: Literal["search", "read", "find_exact", "list_datasets", "table"]
    asked: str = Field(description="The query, or what was read")
    why: Literal["name", "thing", "words", "model", "document", "part", "language"] = Field(
        description="A name in a passage that answers a part of the question; one of two things that the question "
        "names; words that no passage had; a model asked for it; the question is about the whole document; the "
        "model has read a part of it; or documents are in another language than the question"
    )
    found: int = Field(description="Passages that it gave")
    new: int = Field(description="Those of them that were added to the search's")
    ms: float
    problem: str = Field(description="Why it gave nothing, where it failed or was not done")
    about: str = Field(description="What it looked for, for people, where the query is a heap of words; else empty")


class BillShown(Shown):
    """What looking up more has cost, beside the first search."""

    searches: int = Field(description="All searches of the turn, the first one included")
    model_calls: int
    tokens: int = Field(description="Of prompts and replies, as the model's server counts them, else estimated")
    ms: float


class ChatAnswer(BaseModel):
    """An answer with everything needed to explain it."""

    question: str = Field(description="The question, rewritten so that it can be understood alone")
    query: str = Field(description="The query that was searched")
    query_generator: str
    text: str = Field(description="Markdown; citations are numbers in brackets. Empty in evaluation mode")
    generator: str = Field(description="What wrote the answer: `extractive`, the name of a model, or `none`")
    found: bool = Field(description="Whether the passages contain an answer")
    asks_back: bool = Field(description="Whether the text asks what is meant, as the question refers to nothing")
    citations: list[CitationShown]
    support: list[SupportShown] = Field(
        description="The sentences of the text, and how each agrees with what it cites; none of a calculated answer"
    )
    lookups: list[LookupShown] = Field(
        description="What was looked for after the first search; its passages follow those of the first search"
    )
    bill: BillShown = Field(description="What looking up more has cost")
    removed_citations: int = Field(description="Number of citations removed because their passage does not exist")
    cut: bool = Field(
        description="Whether the model ended before its answer was complete, or was ended at a limit; a note says which"
    )
    featured: FeaturedShown | None = Field(description="Without a model, the passage that answers")
    also: list[FeaturedShown] = Field(
        description="Without a model, what is shown below it; where nothing was found, what is related"
    )
    editions: list[EditionShown] = Field(
        description="The versions of the documents cited, where several were found, or one says since when it is valid"
    )
    calculation: CalculationShown | None = Field(description="Set when the answer was calculated from a table")
    prompt_tokens: int
    degraded: list[DegradedShown]
    notes: list[str]
    search: SearchAnswer


@resource.post(
    "/chat",
    ChatAnswer,
    repeatable=False,
    media_types=("text/event-stream",),
    headers=tuple(KEY_HEADERS.values()),
)
@rule("user", "read", limited=True)
def chat(body: ChatBody) -> Answered | Response:
    """Answer a question from the passages of datasets.

    With `Accept: text/event-stream` the answer is streamed as events: `stage`, `query`, `search`, `lookup` (what
    else was looked for; `search` then comes again with all passages), `begun`, `token` (the next piece of the text),
    `support` (a sentence of the pieces so far, and how it agrees with what it cites), `withdrawn` (discard the pieces
    and checked sentences so far), and at the end `answer` (the whole answer) or `error` (a problem). Closing the
    connection stops the model.
    """
    history = tuple(Turn(turn.role, turn.text) for turn in body.history)
    return answer_question(body, history)


def answer_question(
    body: Question, history: tuple[Turn, ...], begin: Begin | None = None, *, files: Dataset | None = None
) -> Answered | Response:
    """Answer as JSON or as a stream, whichever the caller wants.

    ``begin`` stores the request, in a conversation; ``files`` are those of it, which are always searched, too.
    """
    assistant = body.asked_assistant()
    body.require_embedding_model(identity().account.id)
    options = assistant.options(site().options) if assistant else body.options("hybrid")
    asked = body.request(options, history)
    if assistant:
        asked = assistant.request(asked, *([files.id] if files else []))
    elif files is not None:
        chosen = Datasets.everything() if asked.dataset_ids == ALL else Datasets.of(asked.dataset_ids or ())
        ids = readable_datasets(identity().account).ids_of(chosen)
        asked = replace(asked, dataset_ids=(*ids, files.id), everything=chosen.is_everything)
    talk = conversation(with_model_of(body, assistant), options)
    headers = {"Deprecation": DEPRECATED_AT} if body.llm_model is not None else {}
    events = noting(talk.stream(asked), assistant.notes if assistant else body.notes("hybrid"))
    turn = run_turn(asked, events, partial(begin, asked) if begin else None)
    if wants_stream():
        response = stream_of(turn, OWN)
        response.headers.extend(headers)
        return response
    return Answered(show_answer(result_of(turn)), headers)


def show_answer(result: ChatResult) -> ChatAnswer:
    """Return the answer in the form that callers see."""
    form = result_json(result)
    return ChatAnswer.model_validate({**form, "search": show_search(form["search"])})
