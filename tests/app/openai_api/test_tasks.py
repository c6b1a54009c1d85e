"""What chat apps ask about a conversation itself, such as its title."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from braid.app.openai_api.turns import is_task
from tests.app.openai_api.town import Town, ask

TASK = (
    "### Task:\nGenerate a concise title.\n### Output:\nJSON format: {{ {form} }}\n### Chat History:\n"
    "<chat_history>\nUSER: Where is the tray?\nASSISTANT: In hall 4 [^1].\n</chat_history>"
)


@pytest.mark.parametrize("stream", [False, True])
def test_a_title_is_written_without_a_search(town: Town, eve: openai.OpenAI, stream: bool) -> None:
    asked = ask(TASK.format(form='"title": "your title"'))
    found = eve.chat.completions.create(model="braid:2", messages=asked, stream=stream)
    text = (
        "".join(chunk.choices[0].delta.content or "" for chunk in found) if stream else found.choices[0].message.content  # type: ignore[union-attr]
    )
    (call,) = town.model.calls
    assert "<passage-" not in dict(call.messages)["user"]
    assert text.startswith("The tray is empty [1]"), "what the model says, to the letter"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"title": "x"', {"title": "Where is the tray?"}),
        ('"tags": []', {"tags": []}),
        ('"follow_ups": []', {"follow_ups": []}),
        ('"text": "what follows" }\n<text>Where is', {"text": ""}),
    ],
)
def test_without_a_model_a_task_gets_what_can_be_said(ann: openai.OpenAI, form: str, expected: dict[str, Any]) -> None:
    found = ann.chat.completions.create(model="braid:1", messages=ask(TASK.format(form=form)))
    assert json.loads(found.choices[0].message.content or "") == expected
    assert found.citations == []  # type: ignore[attr-defined]


LONG = "It is said at length. " * 800


def test_a_task_may_be_longer_than_a_question(town: Town, eve: openai.OpenAI, ann: openai.OpenAI) -> None:
    task = TASK.format(form='"title": "your title"').replace("In hall 4", LONG)
    eve.chat.completions.create(model="braid:2", messages=ask(task))
    (call,) = town.model.calls
    prompt = dict(call.messages)["user"]
    assert prompt.startswith("### Task:")
    assert prompt.rstrip().endswith("</chat_history>")
    title = ann.chat.completions.create(model="braid:1", messages=ask(task)).choices[0].message.content
    assert json.loads(title or "") == {"title": "Where is the tray?"}


TITLES = (
    "Please generate a four to five word title summarizing our conversation without any lead-in or punctuation.",
    "Based on the chat history, give this conversation a name.\nKeep it short.",
    "Provide a concise, 5-word-or-less title for the conversation. Only return the title itself.",
    "Generate a short title for this chat.",
    "4～5文字でこの会話の簡潔な主題を返してください。説明、句読点は無しで。",
    "以下の会話に短いタイトルを付けてください。",
    "이 대화의 제목을 다섯 단어 이내로 생성해 주세요. 제목만 쓰세요.",
    "지금까지의 채팅을 요약하는 짧은 제목을 만들어 주세요.",
)


@pytest.mark.parametrize("asked", TITLES)
def test_a_title_of_the_messages_before_is_no_question(
    town: Town, eve: openai.OpenAI, ann: openai.OpenAI, asked: str
) -> None:
    before: Any = [*ask("Where is the tray?"), {"role": "assistant", "content": "In hall 4 [^1].\n\n[^1]: Manual"}]
    eve.chat.completions.create(model="braid:2", messages=[*before, *ask(asked)])
    (call,) = town.model.calls
    prompt = dict(call.messages)["user"]
    assert "User: Where is the tray?\nAssistant: In hall 4" in prompt
    assert prompt.endswith(asked)
    assert "<passage-" not in prompt
    found = ann.chat.completions.create(model="braid:1", messages=[*before, *ask(asked)])
    assert found.choices[0].message.content == "Where is the tray?"


def test_the_conversation_may_be_within_the_message(ann: openai.OpenAI) -> None:
    asked = f"{TITLES[2]}\n\nConversation:\nUser: Where is the tray?\nAI: In hall 4."
    found = ann.chat.completions.create(model="braid:1", messages=ask(asked))
    assert found.choices[0].message.content == "Where is the tray?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the title of the report?",
        "Which name did we give this conversation tool?",
        "Give me the name of the printer.",
        "Summarize the discussion in the minutes of May.",
        "How do I create a title page?",
        "会話のタイトルは何ですか",
        "チャットのタイトルを作成する方法を教えてください",
        "会議のタイトルを考えてください",
        "대화 제목은 어디에서 바꾸나요?",
        "대화 제목을 만드는 방법을 알려 주세요",
    ],
)
def test_a_question_about_titles_is_a_question(question: str) -> None:
    assert not is_task(question)
