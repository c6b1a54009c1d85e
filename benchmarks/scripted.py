"""A chat model that replies by a rule, for benchmarks of what models are given and of what they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from braid.core.models.chat import ChatModel, ModelSettings

Calls = list[tuple[str, dict[str, Any]]]
"""Calls of tools: each a name and its arguments."""
Rule = Callable[[Sequence[BaseMessage], bool], str | Calls]
"""From the messages, and whether tools are offered, to what the model says or calls."""


class Scripted(BaseChatModel):
    """Replies by its rule."""

    rule: Rule

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        """Return the model with these tools."""
        return self.bind(tools=list(tools), **options)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        said = self.rule(messages, bool(kwargs.get("tools")))
        calls = [] if isinstance(said, str) else said
        message = AIMessage(
            said if isinstance(said, str) else "",
            tool_calls=[{"name": name, "args": given, "id": f"call{at}"} for at, (name, given) in enumerate(calls)],
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def scripted(rule: Rule) -> ChatModel:
    """Return a model of Braid's that replies by a rule."""
    return ChatModel(ModelSettings("scripted:rule", retries=0), given=Scripted(rule=rule))
