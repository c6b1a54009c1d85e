"""What a chat completion is asked with, and the question, the earlier turns and the instructions in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from braid.app.api.framework.requests import Lenient
from braid.app.api.search_options import MAX_PROMPT_CHARS, PromptGiven, SearchOptions
from braid.app.openai_api.footnotes import without_footnotes
from braid.app.site import site
from braid.core.chat.types import Turn
from braid.core.errors import InvalidInputError

MAX_MESSAGES = 2_000
MAX_TURNS = 200
"""The last turns that are read; the answer is given fewer, see `braid.core.chat.query_writing`."""
MAX_MODEL_CHARS = 4_000
INSTRUCTIONS = ("system", "developer")


class MessageGiven(Lenient):
    """A message: a text, or parts of type `text`."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(Lenient):
    """Options of a stream."""

    include_usage: bool | None = None


class CompletionGiven(Lenient):
    """A conversation whose last message is the question."""

    model: str = Field(max_length=MAX_MODEL_CHARS, examples=["braid:all"], description="One of GET /models")
    messages: list[MessageGiven] = Field(
        min_length=1, max_length=MAX_MESSAGES, examples=[[{"role": "user", "content": "How long is the warranty?"}]]
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, description="1; Braid writes one answer")
    tools: list[Any] | None = Field(None, description="None; Braid calls no tools")
    functions: list[Any] | None = None
    tool_choice: Any = Field(None, description="With `none` the tools are ignored")
    response_format: dict[str, Any] | None = Field(None, description="Of the type `text`")
    modalities: list[str] | None = None
    braid: SearchOptions = Field(
        SearchOptions.model_validate({}),
        description="Braid's own options, as in `POST /api/v1/search`, without `dataset_ids`",
    )

    def require_supported(self) -> None:
        """Raise InvalidInputError for a parameter that would change what the answer is."""
        if self.n not in (None, 1):
            raise InvalidInputError(f"n is {self.n}; Braid writes one answer, so leave n out", field="n")
        for name in ("tools", "functions"):
            if getattr(self, name) and self.tool_choice != "none":
                raise InvalidInputError(
                    f"{name} are given, and Braid calls none: it answers from its datasets; leave {name} out, "
                    "or turn tool calling off for this model",
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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the turns before it, the oldest first, and what the app instructs the model to do."""

    question: str
    history: tuple[Turn, ...]
    instructions: str


def read_messages(messages: list[MessageGiven]) -> Asked:
    """Return what the messages ask. Raises InvalidInputError for messages that are no conversation of texts."""
    texts = [_text(message, place) for place, message in enumerate(messages)]
    if messages[-1].role != "user" or not texts[-1].strip():
        raise InvalidInputError(
            "the last message is not a question; let messages end with a text of the role user", field="messages"
        )
    turns = [
        Turn("user", text) if message.role == "user" else Turn("assistant", without_footnotes(text))
        for message, text in zip(messages[:-1], texts, strict=False)
        if message.role in ("user", "assistant") and text.strip()
    ]
    instructions = [text for message, text in zip(messages, texts, strict=True) if message.role in INSTRUCTIONS]
    return Asked(texts[-1], tuple(turns[-MAX_TURNS:]), "\n\n".join(filter(str.strip, instructions)))


def with_instructions(options: SearchOptions, instructions: str) -> SearchOptions:
    """Return the options with the instructions added to the prompt of the answer. Raises InvalidInputError."""
    if not instructions:
        return options
    if len(instructions) > MAX_PROMPT_CHARS:
        raise InvalidInputError(
            f"the system messages have {len(instructions):,} characters; at most {MAX_PROMPT_CHARS:,} are allowed",
            field="messages",
        )
    given = options.custom_prompts.get("answer")
    given = PromptGiven(system="", user=given) if isinstance(given, str) else given
    sites = site().braid.manager.prompts.answer
    base, user = (given.system if given else "") or sites.system, (given.user if given else "") or sites.user
    literal = instructions.replace("{", "{{").replace("}", "}}")
    system = f"{base}\n\nThe app that asks has instructed:\n{literal}"
    prompt = PromptGiven.model_construct({"system", "user"}, system=system, user=user)
    return options.model_copy(update={"custom_prompts": {**options.custom_prompts, "answer": prompt}})


def _text(message: MessageGiven, place: int) -> str:
    field = f"messages.{place}"
    if message.role in ("tool", "function"):
        raise InvalidInputError(
            f"{field} has the role {message.role!r}; Braid calls no tools, so leave it out", field=f"{field}.role"
        )
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "\n".join(_text_of_part(part, f"{field}.content.{number}") for number, part in enumerate(message.content))


def _text_of_part(part: dict[str, Any], field: str) -> str:
    kind, text = part.get("type"), part.get("text")
    if kind != "text" or not isinstance(text, str):
        raise InvalidInputError(
            f"{field} is of the type {str(kind)[:60]!r}; Braid reads texts, so send parts of the type text, and put "
            "pictures and files into a dataset",
            field=field,
        )
    return text
