"""Calls of tools by a chat model: what it asks for, in one form for all providers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from braid.core.errors import ModelError
from braid.core.models.reasoning import without_reasoning

MOST_CALLS = 8
"""Calls of one reply that are read; a model that asks for more asks again."""
MAX_ARGUMENT_CHARS = 2_000
Tool = Mapping[str, Any]
"""A tool as OpenAI describes it: ``{"type": "function", "function": {"name": …, "parameters": …}}``."""


class NoToolsError(ModelError):
    """The model, or its server, does not take tools."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: the tool's name and its arguments, which nobody has checked."""

    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The call as a text that equal calls share."""
        given = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False, default=str)
        return f"{self.name} {' '.join(given.casefold().split())}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model: text, calls of tools, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    """Tokens of prompt and reply as the server counts them; 0 where it does not."""
    message: Any = field(default=None, repr=False)
    """The reply as LangChain has it, which goes before the tools' answers in the next prompt."""


def reply_of(message: Any) -> Reply:
    """Return a reply of LangChain's as one of ours."""
    given: Sequence[Mapping[str, Any]] = getattr(message, "tool_calls", None) or ()
    calls = tuple(
        ToolCall(str(call.get("id") or number), str(call.get("name")), _arguments(call.get("args")))
        for number, call in enumerate(given[:MOST_CALLS])
    )
    usage = getattr(message, "usage_metadata", None) or {}
    return Reply(without_reasoning(str(message.text)), calls, int(usage.get("total_tokens") or 0), message)


def tool_answer(call: ToolCall, text: str) -> Any:
    """Return what a tool gave as the message that follows its call."""
    from langchain_core.messages import ToolMessage

    return ToolMessage(text, tool_call_id=call.id)


def refuses_tools(error: Exception) -> bool:
    """Return whether an error says that the model or its server does not take tools."""
    if isinstance(error, NotImplementedError | AttributeError):
        return True
    status = getattr(error, "status_code", None)
    return status in (400, 404, 422, 500, 501) and "tool" in str(error).lower()


def _arguments(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        return {}
    return {str(name): value[:MAX_ARGUMENT_CHARS] if isinstance(value, str) else value for name, value in given.items()}
