"""What chat apps ask of a model beside questions: a title, tags, follow-ups, a search query for a conversation.

They send them to the chat's own model: Open WebUI as a message that begins with ``### Task:``, others as one that
begins by asking for a title of the conversation. The chat model writes them, without a search; without one, what can be
said without a model is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from braid.core.chat.types import AnswerText, ChatResult, Event, StageStarted
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import DATA_RULE
from braid.core.text.token_budget import both_ends
from braid.core.types import MAX_QUERY_CHARS, Degraded, Query, SearchResult

MAX_TITLE_CHARS = 60
SYSTEM = (
    "Do the task below for a chat app and reply in the form that it asks for, with nothing else. The conversation "
    f"between <chat_history> and </chat_history> is what the task is about. {DATA_RULE}"
)
_FIRST_QUESTION = re.compile(r"^(?:user|human):[^\S\n]*+(.+)", re.IGNORECASE | re.MULTILINE)
_VERB = r"(?:generate|create|provide|write|give|suggest|reply with|come up with|summarize)\b"
_TITLE, _OF = r"\b(?:title|name)\b", r"\b(?:this|the|our)\s(?:\w+\s)?(?:conversation|chat|discussion)\b"
_ASKS_FOR_TITLE = re.compile(
    rf"\s*+(?:please\s|based on the chat history,\s)?{_VERB}[^\n]{{0,80}}?"
    rf"(?:{_TITLE}[^\n]{{0,60}}?{_OF}|{_OF}[^\n]{{0,60}}?{_TITLE})",
    re.IGNORECASE,
)
_ASKS_IN_JAPANESE_OR_KOREAN = re.compile(
    r"(?=[^\n]{0,60}(?:会話|対話|チャット|やり取り|대화|채팅))(?=[^\n]{0,90}(?:タイトル|題名|主題|件名|제목|주제))"
    r"[^\n]{0,140}?(?:(?:生成|作成|要約|返|付け|つけ|考え)し?て(?:ください|下さい|くれ)"
    r"|(?:생성|작성|요약|반환)(?:해|하)\s?(?:주세요|줘|세요|십시오|주십시오)|(?:만들어|지어|붙여)\s?(?:주세요|줘|주십시오))"
)
_EMPTY = ("tags", "follow_ups", "queries")


def is_task(text: str) -> bool:
    """Return whether a message asks for something about the conversation itself, not for an answer.

    >>> is_task("Please generate a four word title summarizing our conversation."), is_task("What is its title?")
    (True, False)
    """
    of_open_webui = text.lstrip().startswith("### Task:") and "<chat_history>" in text
    asks = _ASKS_FOR_TITLE.match(text) or _ASKS_IN_JAPANESE_OR_KOREAN.match(text)
    return of_open_webui or asks is not None


def task_events(task: str, model: ChatModel | None, tokens: int) -> Iterator[Event]:
    """Yield the events of a turn that does the task; of a long one the model is given the beginning and the end."""
    yield StageStarted("answer", model.name if model else "extractive")
    text, generator, degraded = "", "extractive", list[Degraded]()
    if model is not None:
        try:
            text, generator = model.complete([("system", SYSTEM), ("user", both_ends(task, tokens))]), model.name
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
    if "<text>" in task and '"text"' in task:  # how a question could go on
        return json.dumps({"text": ""})
    found = _FIRST_QUESTION.search(task)
    title = " ".join((found[1] if found else re.split(r"[.:\n]", task, maxsplit=1)[-1]).split())
    title = title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1].rstrip() + "…"
    return json.dumps({"title": title}, ensure_ascii=False) if '"title"' in task else title
