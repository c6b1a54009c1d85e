"""The mark by which a model's stream says that its answer is complete, as each provider writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARKS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""Names under which providers give the reason for the end: OpenAI's and most, Anthropic's, Ollama's, Bedrock's, and
that of OpenAI's interface of responses."""
TOO_LONG = frozenset({"length", "max_tokens", "MAX_TOKENS", "incomplete"})
"""Reasons that mean the model reached its limit."""
MARKING_PACKAGES = frozenset(
    {
        "langchain_anthropic",
        "langchain_deepseek",
        "langchain_google_genai",
        "langchain_groq",
        "langchain_mistralai",
        "langchain_ollama",
        "langchain_openai",
    }
)
"""Packages whose streams end with a mark. The streams of other packages may end without one."""


class FinishMark:
    """Watches a stream for its mark. ``model`` is the object whose package says whether to expect one."""

    def __init__(self, model: object) -> None:
        self._is_expected = type(model).__module__.partition(".")[0] in MARKING_PACKAGES
        self._reason = ""

    def watch(self, metadata: Mapping[str, Any]) -> None:
        """Take the metadata of the next piece."""
        self._reason = next((str(metadata[name]) for name in MARKS if metadata.get(name)), self._reason)

    def problem(self, name: str) -> str:
        """Return why the answer of the model ``name`` is not complete; empty if it is, as far as one can tell."""
        if self._reason in TOO_LONG:
            return f"the model {name} reached its limit of words"
        if self._is_expected and not self._reason:
            return f"the model {name} ended without the mark that its answer is complete"
        return ""
