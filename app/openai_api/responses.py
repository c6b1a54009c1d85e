"""``POST /responses``: OpenAI's newer interface, for text in and text out; a turn is that of a chat completion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from pydantic import BaseModel, Field, PrivateAttr

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import KEY_HEADERS, WHOLE, Lenient
from braid.app.api.framework.streams import EVENT_STREAM
from braid.app.api.search_options import SearchOptionsGiven
from braid.app.auth.access import rule
from braid.app.openai_api.chat import EndedTurn, answered
from braid.app.openai_api.chat_request import MAX_MODEL_CHARS, BraidOptions, CompletionGiven, MessageGiven
from braid.app.openai_api.completions import Annotation, BraidShown, Chunks, Completion, LinkedCitation, completion
from braid.app.openai_api.errors import failure_in_stream
from braid.app.web.event_stream import json_line
from braid.core.chat.types import ChatResult
from braid.core.errors import InvalidInputError

NAMES = {"messages": "input", "max_tokens": "max_output_tokens", "response_format": "text.format"}
"""What a chat completion's parameters are called here."""
_MESSAGE = re.compile(r"messages\.(\d+)")

resource = Resource(
    "responses", "Answers as OpenAI's newer interface has them: text in, text out, nothing kept.", "user"
)


class TextGiven(Lenient):
    """The form of the answer."""

    format: dict[str, Any] | None = Field(None, description="Of the type `text`")


class ResponseGiven(Lenient):
    """A question, or a conversation whose last message is one."""

    model: str = Field(max_length=MAX_MODEL_CHARS, examples=["braid:all"], description="One of GET /models")
    input: str | list[dict[str, Any]] = Field(examples=["How long is the warranty?"])
    instructions: str | None = None
    stream: bool | None = None
    max_output_tokens: Annotated[int | None, WHOLE] = None
    tools: list[Any] | None = Field(None, description="Ignored, and named in `braid.notes`: Braid calls no tools")
    tool_choice: Any = None
    text: TextGiven | None = None
    previous_response_id: str | None = Field(None, description="Refused: send the earlier messages in `input`")
    conversation: Any = None
    background: bool | None = None
    braid: BraidOptions = Field(
        SearchOptionsGiven.model_validate({}),
        description="Braid's own options, as in `POST /api/v1/search`, without `dataset_ids`",
    )

    def as_completion(self) -> CompletionGiven:
        """Return the same as a chat completion. Raises InvalidInputError for what Braid does not do."""
        for name in ("previous_response_id", "conversation", "background"):
            if getattr(self, name):
                raise InvalidInputError(
                    f"{name} is given; Braid keeps no responses, so send the earlier messages in input", field=name
                )
        items = [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input
        places = [place for place, item in enumerate(items) if _is_message(item)]
        messages = [_message(items[place], place) for place in places]
        if not messages:
            raise InvalidInputError("input has no message; let it end with one of the role user", field="input")
        before = [MessageGiven(role="system", content=self.instructions)] if self.instructions else []
        asked = _FromResponse(
            model=self.model,
            messages=[*before, *messages],
            stream=self.stream,
            max_tokens=self.max_output_tokens,
            max_completion_tokens=None,
            stop=None,
            n=None,
            tools=self.tools,
            tool_choice=self.tool_choice,
            response_format=self.text.format if self.text else None,
            braid=self.braid,
        )
        asked._places = [*("instructions" for _ in before), *(f"input.{place}" for place in places)]
        return asked


class _FromResponse(CompletionGiven):
    """A chat completion that was asked for as a response."""

    _places: list[str] = PrivateAttr(default_factory=list)
    """The name of each message."""

    def named(self, field: str) -> str:
        name = super().named(field)
        if found := _MESSAGE.match(name):
            return self._places[int(found[1])] + name[found.end() :]
        return NAMES.get(name, name)


class ResponseShown(BaseModel):
    """An answer, with what it cites."""

    id: str
    object: str = "response"
    created_at: int
    model: str
    status: str
    error: None = None
    incomplete_details: dict[str, str] | None
    instructions: None = None
    metadata: dict[str, str] = {}
    output: list[dict[str, Any]]
    parallel_tool_calls: bool = False
    tool_choice: str = "auto"
    tools: list[Any] = []
    usage: dict[str, Any] | None
    citations: list[LinkedCitation]
    braid: BraidShown | None


@resource.post(
    "/responses", ResponseShown, repeatable=False, media_types=(EVENT_STREAM,), headers=tuple(KEY_HEADERS.values())
)
@rule("user", "read", limited=True)
def create_response(body: ResponseGiven) -> ResponseShown | Response:
    """Answer the last message of `input`, as `POST /chat/completions` does; items that are no messages are left out.

    Responses are not kept: `previous_response_id`, `conversation` and `background` are refused.
    """
    asked = answered(body.as_completion(), ResponseEvents)
    if isinstance(asked, EndedTurn):
        return _shown(completion(asked.head, asked.result))
    return asked


@dataclass(slots=True)
class ResponseEvents(Chunks):
    """Writes the events of a turn as those of a response."""

    _number: int = 0

    def error(self, error: Exception) -> str:
        """Return an error behind the status, which ends the stream; raise it before the stream has begun."""
        if not self.is_sent:
            raise error
        return self._event("error", **failure_in_stream(error))

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        if "role" in delta:
            item = {"type": "message", "id": self._item_id, "role": "assistant", "status": "in_progress", "content": []}
            return (
                self._event("response.created", response=self._begun())
                + self._event("response.in_progress", response=self._begun())
                + self._event("response.output_item.added", output_index=0, item=item)
                + self._event("response.content_part.added", **self._place, part=_part("", []))
            )
        return self._event("response.output_text.delta", **self._place, delta=delta["content"], logprobs=[])

    def _end(self, result: ChatResult) -> str:
        whole, lines = self.whole(result)
        shown = _shown(whole).model_dump(mode="json")
        item = shown["output"][0]
        part = item["content"][0]
        place = self._place
        lines += self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        lines += self._event("response.content_part.done", **place, part=part)
        lines += self._event("response.output_item.done", output_index=0, item=item)
        return lines + self._event(f"response.{shown['status']}", response=shown)

    @property
    def _item_id(self) -> str:
        return _item_id(self.head.id)

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item_id, "output_index": 0, "content_index": 0}

    def _begun(self) -> dict[str, Any]:
        head = self.head
        return ResponseShown(
            id=_id(head.id), created_at=head.created, model=head.model, status="in_progress", incomplete_details=None,
            output=[], usage=None, citations=[], braid=None,
        ).model_dump(mode="json")  # fmt: skip

    def _event(self, kind: str, **values: Any) -> str:
        line = json_line({"type": kind, "sequence_number": self._number, **values})
        self._number += 1
        return f"event: {kind}\ndata: {line}\n\n"


def _shown(whole: Completion) -> ResponseShown:
    choice, usage = whole.choices[0], whole.usage
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(choice.finish_reason)
    status = "incomplete" if reason else "completed"
    content = _part(choice.message.content, choice.message.annotations)
    return ResponseShown(
        id=_id(whole.id),
        created_at=whole.created,
        model=whole.model,
        status=status,
        incomplete_details={"reason": reason} if reason else None,
        output=[
            {
                "type": "message",
                "id": _item_id(whole.id),
                "role": "assistant",
                "status": status,
                "content": [content],
            }
        ],
        usage={
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.total_tokens,
        },
        citations=whole.citations,
        braid=whole.braid,
    )


def _part(text: str, annotations: list[Annotation]) -> dict[str, Any]:
    marks = [{"type": each.type, **each.url_citation.model_dump()} for each in annotations]
    return {"type": "output_text", "text": text, "annotations": marks, "logprobs": []}


def _id(completion_id: str) -> str:
    return completion_id.replace("chatcmpl-", "resp_")


def _item_id(completion_id: str) -> str:
    return completion_id.replace("chatcmpl-", "msg_")


def _is_message(item: dict[str, Any]) -> bool:
    return bool(item.get("type", "message") == "message")


def _message(item: dict[str, Any], place: int) -> MessageGiven:
    role, content = item.get("role"), item.get("content")
    if role not in ("system", "developer", "user", "assistant") or not isinstance(content, str | list):
        raise InvalidInputError(f"input.{place} is no message with a role and a content", field="input")
    if isinstance(content, list) and not all(isinstance(part, dict | str) for part in content):
        raise InvalidInputError(f"input.{place}.content has a part that is neither a text nor an object", field="input")
    return MessageGiven(role=role, content=content)
