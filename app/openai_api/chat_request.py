"""What a chat completion is asked with, and the question, the earlier turns and the instructions in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from braid.app.api.framework.requests import WHOLE, Lenient
from braid.app.api.search_options import SearchOptionsGiven
from braid.app.openai_api.footnotes import without_footnotes
from braid.app.openai_api.templates import task_of, unwrapped
from braid.app.openai_api.turns import AnswerLimits
from braid.core.chat.query_writing import history_text
from braid.core.chat.types import Turn
from braid.core.errors import InvalidInputError
from braid.core.text.token_budget import both_ends

MAX_TURNS = 200
"""The last turns that are read; the answer is given fewer, see `braid.core.chat.query_writing`."""
MAX_MODEL_CHARS = 4_000
MAX_STOPS = 16
MAX_STOP_CHARS = 1_000
INSTRUCTIONS = ("system", "developer")


class MessageGiven(Lenient):
    """A message: a text, or parts of type `text`."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any] | str] | None = None


class StreamOptions(Lenient):
    """Options of a stream."""

    include_usage: bool | None = None


BraidOptions = Annotated[
    SearchOptionsGiven,
    BeforeValidator(lambda given: {} if given is None else given, json_schema_input_type=SearchOptionsGiven | None),
]
"""Braid's options; null is as if they were not given."""


class CompletionGiven(Lenient):
    """A conversation whose last message is the question."""

    model: str = Field(max_length=MAX_MODEL_CHARS, examples=["braid:all"], description="One of GET /models")
    messages: list[MessageGiven] = Field(
        min_length=1, examples=[[{"role": "user", "content": "How long is the warranty?"}]]
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int | None, WHOLE] = Field(None, description="1; Braid writes one answer")
    tools: list[Any] | None = Field(None, description="Ignored, and named in `braid.notes`: Braid calls no tools")
    functions: list[Any] | None = None
    tool_choice: Any = Field(None, description="`auto` or `none`; that a tool must be called is refused")
    function_call: Any = None
    response_format: dict[str, Any] | None = Field(None, description="Of the type `text`")
    modalities: list[str] | None = None
    stop: str | list[str] | None = Field(None, description="Up to 16 texts that end the answer and are not in it")
    max_tokens: Annotated[int | None, WHOLE] = Field(
        None, description="Estimated tokens of the answer, its footnotes not counted"
    )
    max_completion_tokens: Annotated[int | None, WHOLE] = Field(None, description="The newer name of `max_tokens`")
    braid: BraidOptions = Field(
        SearchOptionsGiven.model_validate({}),
        description="Braid's own options, as in `POST /api/v1/search`, without `dataset_ids`",
    )

    def require_supported(self) -> None:
        """Raise InvalidInputError for a parameter that would change what the answer is."""
        if self.n not in (None, 1):
            raise InvalidInputError(f"n is {self.n}; Braid writes one answer, so leave n out", field="n")
        for name in ("tool_choice", "function_call"):
            if (choice := _choice_of_tools(getattr(self, name))) not in (None, "auto", "none"):
                raise InvalidInputError(
                    f"{name} is {str(choice)[:60]!r}, and Braid calls no tools: it answers from its datasets; leave "
                    f"{name} out",
                    field=name,
                )
        kind = (self.response_format or {}).get("type", "text")
        if kind != "text":
            raise InvalidInputError(
                f"response_format is {str(kind)[:60]!r}; answers are Markdown, so leave it out", field="response_format"
            )
        if set(self.modalities or ()) - {"text"}:
            raise InvalidInputError("modalities has more than text; Braid writes texts alone", field="modalities")
        if self.braid.dataset_ids:
            raise InvalidInputError(
                "braid.dataset_ids is given; the model's id chooses the datasets, as in braid:-1,3",
                field="braid.dataset_ids",
            )

    @property
    def limits(self) -> AnswerLimits:
        """The texts and the number of tokens that end the answer. Raises InvalidInputError."""
        stops = [stop for stop in ([self.stop] if isinstance(self.stop, str) else self.stop or []) if stop]
        if len(stops) > MAX_STOPS or any(len(stop) > MAX_STOP_CHARS for stop in stops):
            raise InvalidInputError(
                f"stop has {len(stops)} texts, or one that is long; give up to {MAX_STOPS} of up to "
                f"{MAX_STOP_CHARS} characters",
                field="stop",
            )
        for name in ("max_completion_tokens", "max_tokens"):
            if (tokens := getattr(self, name)) is not None:
                if tokens < 1:
                    raise InvalidInputError(f"{name} is {tokens}; give 1 or more, or leave it out", field=name)
                return AnswerLimits(tuple(stops), tokens)
        return AnswerLimits(tuple(stops))

    def named(self, field: str) -> str:
        """Return the name by which the caller gave the field of an error."""
        return "messages" if field == "text" else field

    @property
    def notes(self) -> tuple[str, ...]:
        """What was given and has no effect on the answer."""
        if not (self.tools or self.functions):
            return ()
        return ("tools are given, and none was called: Braid answers from its datasets",)


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A question, the turns before it, the oldest first, and what the app instructs the model to do."""

    question: str
    history: tuple[Turn, ...]
    instructions: str
    context: str = ""
    """What the app has put around the question, as it came; data of others."""
    notes: tuple[str, ...] = ()
    """What was given and has no effect on the answer."""
    task: str = ""
    """What an app wants to have written about a conversation, with that conversation; empty for a question."""


def read_messages(messages: list[MessageGiven], tokens: int) -> AskedTurn:
    """Return what the messages ask: the last of the role user, which system messages alone may follow, and answers of
    the assistant, which are left out: apps that let a stopped answer go on send it, and get a whole one.

    Pictures and files of earlier messages are named instead, and tools' messages left out, as is what an app has put
    around earlier questions. System messages of more than ``tokens`` lose their middle. Raises InvalidInputError for
    messages that are no conversation of texts.
    """
    last = len(messages) - 1
    while last > 0 and messages[last].role in (*INSTRUCTIONS, "assistant"):
        last -= 1
    texts = [_text(message, place, is_last=place == last) for place, message in enumerate(messages)]
    parted = {place: unwrapped(texts[place]) for place, each in enumerate(messages) if each.role == "user"}
    question, context = parted.get(last, ("", ""))
    if not question.strip():
        raise InvalidInputError(
            "the last message is not a question; let messages end with a text of the role user", field="messages"
        )
    turns = [
        Turn("user", text) if message.role == "user" else Turn("assistant", without_footnotes(text))
        for message, text in (
            (message, parted[place][0] if place in parted else texts[place])
            for place, message in enumerate(messages[:last])
        )
        if message.role in ("user", "assistant") and text.strip()
    ]
    instructions = "\n\n".join(
        text for message, text in zip(messages, texts, strict=True) if message.role in INSTRUCTIONS and text.strip()
    )
    notes = list[str]()
    if any(message.role == "assistant" for message in messages[last:]):
        notes.append("messages end with an answer: the question before it was answered again")
    history = tuple(turns[-MAX_TURNS:])
    if task := task_of(texts[last], history_text(history), instructions):
        notes.append("the app asks for a title or the like of the conversation: nothing was searched for it")
        return AskedTurn(texts[last], history, "", notes=tuple(notes), task=task)
    if any(around for place, (_, around) in parted.items() if place < last):
        notes.append("what the app put around earlier questions was left out; the questions themselves were read")
    given = both_ends(instructions, tokens)
    if given != instructions:
        part = "their beginning and end alone" if given else "none of them"
        notes.append(
            f"the system messages have {len(instructions):,} characters, and of them a chat model is given {part}; "
            "shorten them, or raise answer_prompt_tokens"
        )
    return AskedTurn(question, history, given, context, tuple(notes))


def _choice_of_tools(given: Any) -> Any:
    """Return the choice as a word where an object says one, as in ``{"type": "allowed_tools", "mode": "auto"}``."""
    if not isinstance(given, dict):
        return given
    allowed = given.get("allowed_tools")
    said = (given.get("type"), given.get("mode"), allowed.get("mode") if isinstance(allowed, dict) else None)
    return next((word for word in ("none", "auto") if word in said), given)


def _text(message: MessageGiven, place: int, *, is_last: bool) -> str:
    field = f"messages.{place}"
    if message.role in ("tool", "function") and is_last:
        raise InvalidInputError(
            f"{field} has the role {message.role!r}; Braid calls no tools, so leave it out", field=f"{field}.role"
        )
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    parts = enumerate(message.content)
    return "\n".join(_text_of_part(part, f"{field}.content.{number}", is_last=is_last) for number, part in parts)


def _text_of_part(part: dict[str, Any] | str, field: str, *, is_last: bool) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("type"))[:60]
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind in ("text", "input_text", "output_text", "refusal") and isinstance(text, str):
        return text
    if not is_last:
        return f"[{'picture' if 'image' in kind else 'file'} left out]"
    raise InvalidInputError(
        f"{field} is of the type {kind!r}; Braid reads texts, so send parts of the type text, and put pictures and "
        "files into a dataset",
        field=field,
    )
