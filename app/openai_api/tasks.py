"""What chat apps ask of a model beside questions: a title, tags, follow-ups, a search query for a conversation.

Open WebUI sends them to the chat's own model as a message that begins with ``### Task:``. The chat model writes them,
without a search; without one, what can be said without a model is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from braid.core.chat.types import AnswerText, ChatResult, Event, StageStarted
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import DATA_RULE
from braid.core.types import MAX_QUERY_CHARS, Degraded, Query, SearchResult

MAX_TITLE_CHARS = 60
SYSTEM = (
    "Do the task below for a chat app and reply in the form that it asks for, with nothing else. The conversation "
    f"between <chat_history> and </chat_history> is what the task is about. {DATA_RULE}"
)
_FIRST_QUESTION = re.compile(r"<chat_history>\s*(?:USER|user|User):\s*(.+)")
_EMPTY = ("tags", "follow_ups", "queries")


def task_events(task: str, model: ChatModel | None) -> Iterator[Event]:
    """Yield the events of a turn that does the task."""
    yield StageStarted("answer", model.name if model else "extractive")
    text, generator, degraded = "", "extractive", list[Degraded]()
    if model is not None:
        try:
            text, generator = model.complete([("system", SYSTEM), ("user", task)]), model.name
        except ModelError as error:
            degraded.append(Degraded("model", "", str(error)))
    text = text or _without_model(task)
    yield AnswerText(text, marks=())
    query = task[:MAX_QUERY_CHARS]
    nothing = SearchResult(Query(query), "basic", "none", (), (), ())
    yield ChatResult(query, query, "none", nothing, text, generator, degraded=tuple(degraded), marks=())


def _without_model(task: str) -> str:
    for name in _EMPTY:
        if f'"{name}"' in task:
            return json.dumps({name: []})
    found = _FIRST_QUESTION.search(task)
    title = " ".join((found[1] if found else "").split())
    title = title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1].rstrip() + "…"
    return json.dumps({"title": title}, ensure_ascii=False)
