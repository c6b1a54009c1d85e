"""``POST /chat/completions``: a turn as an answer of a model, at once or as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flask import Response

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import KEY_HEADERS
from braid.app.api.framework.streams import EVENT_STREAM
from braid.app.api.request_models import conversation, require_no_options, with_model_of
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.openai_api.chat_request import CompletionGiven, read_messages
from braid.app.openai_api.completions import Chunks, Completion, Head, completion
from braid.app.openai_api.models import asked_assistant, choice_of
from braid.app.openai_api.turns import limited, required, task_events
from braid.app.site import site
from braid.app.web.live_turns import StreamForm, result_of, run_turn, stream_of
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.errors import InvalidInputError
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import MAX_QUERY_CHARS

resource = Resource("chat", "Answers from the passages of datasets, with citations as footnotes.", "user")


@resource.post(
    "/chat/completions",
    Completion,
    repeatable=False,
    media_types=(EVENT_STREAM,),
    headers=tuple(KEY_HEADERS.values()),
)
@rule("user", "read", limited=True)
def complete_chat(body: CompletionGiven) -> Completion | Response:
    """Answer the last message from the passages of the model's datasets.

    Earlier messages say what the question refers to; system messages instruct the chat model, if one is connected.
    Without one the answer is quoted from the passages, and says so. What chat apps ask for a conversation's title or
    tags is written by the chat model without a search.
    `citations` has the cited passages, `annotations` where they are cited, and `braid` how the answer was made, in a
    stream in its last chunk. Closing the connection ends the turn. A chat model that fails is an error: 429 with
    `Retry-After` if its server is busy, else 503; in a stream that has text already, an event.
    """
    asked = answered(body, Chunks)
    return completion(asked.head, asked.result) if isinstance(asked, EndedTurn) else asked


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has ended, to be written as a whole."""

    head: Head
    result: ChatResult


def answered(body: CompletionGiven, form: type[Chunks]) -> EndedTurn | Response:
    """Run the turn; return its result, or the stream of its events in this form if the body asks for one."""
    with _named_by_caller(body):
        body.require_supported()
        limits = body.limits
        prompt_tokens = site().settings.answer_prompt_tokens
        assistant = asked_assistant(body.model)
        of_assistant = estimate_tokens(assistant.assistant.instruction) if assistant else 0
        asked = read_messages(body.messages, max(0, prompt_tokens // 4 - of_assistant))
        task = asked.task
        if assistant:
            require_no_options(body.braid)
        choice = None if assistant else choice_of(body.model).given
        wanted = with_model_of(body.braid.model_copy(update={"dataset_ids": choice}), assistant)
        wanted.require_embedding_model(identity().account.id)
        options = assistant.options(site().options) if assistant else wanted.options("hybrid")
        request = ChatRequest(
            user_id=identity().account.id,
            text=asked.question[:MAX_QUERY_CHARS] if task else asked.question,
            history=asked.history,
            dataset_ids=choice,
            within=identity().dataset_ids,
            strategy=wanted.strategy,
            options=options,
            instruction=asked.instructions,
            context=asked.context,
        )
        request = assistant.request(request) if assistant else request
    talk = conversation(wanted, options)
    head = Head(
        body.model, request.answer_language, (*body.notes, *asked.notes, *(assistant.notes if assistant else ()))
    )
    events = task_events(task, talk.writer, prompt_tokens) if task else required(talk.stream(request))
    turn = run_turn(request, limited(request, events, limits), counted="" if task else "chat")
    if body.stream:
        chunks = form(head, with_usage=bool(body.stream_options and body.stream_options.include_usage))
        return stream_of(turn, StreamForm(chunks.event, chunks.error, beginning=chunks))
    return EndedTurn(head, result_of(turn))


@contextmanager
def _named_by_caller(body: CompletionGiven) -> Iterator[None]:
    """Raise what is wrong under the name that the caller gave it, in the message, too."""
    try:
        yield
    except InvalidInputError as error:
        name, text = body.named(error.field), str(error)
        if error.field and text.startswith(error.field):
            text = name + text.removeprefix(error.field)
        raise InvalidInputError(text, field=name) from None
