"""What chat apps send beside questions, known by the shape of their templates: a title of the conversation, tags, and
questions within a context of the app's own.

A sentence that a person may write is a question: only whole sentences of templates are looked for, where they stand.
"""

from __future__ import annotations

import re
from collections import deque

from braid.core.models.untrusted_text import as_data

_VERB = r"(?:please )?(?:generate|create|provide|write|give|suggest|come up with|summarize)"
_FIXED = re.compile(
    r"\s*+(?:"
    r"Provide a concise, 5-word-or-less title for the conversation\b"  # LibreChat, completion
    r"|Analyze this conversation and provide:\s+1\. The detected language of the conversation\s"  # structured
    r"|Please generate a concise title \(max 40 characters\) for a conversation that starts with\b"  # assistants
    r"|Please generate a four to five word title summarizing our conversation without any lead-in\b"  # NextChat
    r"|4～5文字でこの会話の簡潔な主題を返してください"
    r"|Based on the chat history, give this conversation a (?:name|title)\."  # Chatbox
    r"|You are a professional conversation summarizer\. Generate a concise title\b"  # LobeChat
    r"|(?:You are an? [^.\n]{0,60}?(?:\.| and) )?You need to summarize the user's conversation into a title\b"  # Cherry
    r"|你是一名擅长会话的助理，你需要将用户的会话总结为"  # Cherry Studio, earlier LobeChat
    r"|Summarize in a \d{1,2}-word Title\. Give the title only\."  # Jan
    r"|You are a summarization AI\. You'll never answer a user's question directly\b"  # HuggingChat
    r"|Given the following\b[^\n]{0,40}? please reply with a title for the chat that is\b"  # Continue
    r"|Generate a concise 3-7 word title for this conversation, omitting punctuation\."  # Zed
    r")",
    re.IGNORECASE,
)
# Prompts that administrators wrote themselves: an order for a title *of this conversation*, before which there is one.
_OWN = re.compile(
    rf"\s*+(?:{_VERB} (?:an?|the) (?:[\w-]+,? ){{0,6}}?(?:title|name) (?:for|of|summarizing) (?:this|our) "
    r"(?:chat|conversation)(?:[.,:\n]|\s*\Z)"
    r"|(?:この|以下の|上の|上記の|ここまでの|これまでの)(?:会話|対話|チャット|やり取り)(?:の|に|を)[^。？?\n]{0,20}"
    r"(?:タイトル|題名|主題|件名)を[^。？?\n]{0,8}(?:付け|つけ|作成し|生成し|考え|返し)て(?:ください|下さい)"
    r"|(?:이|위|아래|다음|우리|지금까지의)\s?(?:대화|채팅)(?:의|에|을|를)?\s[^.?\n]{0,20}(?:제목|주제)(?:을|를)\s[^.?\n]{0,20}"
    r"(?:생성해|작성해|만들어|지어|붙여)\s?(?:주세요|줘|주십시오))",
    re.IGNORECASE,
)
_TRANSCRIPT = re.compile(r"^(?:user|human|사용자|ユーザー) ?[:：]", re.IGNORECASE | re.MULTILINE)
_ATTACHED = re.compile(r"\s*+<attached_files>(.*?)</attached_files>\s*", re.DOTALL)
_QUERY = re.compile(r"^[^\S\n]*+<user_query>", re.MULTILINE)
# Where a context ends, as the templates write it: a question or a context may name the tag.
_ENDS = (
    re.compile(r"^[^\S\n]*+</context>[^\S\n]*+$", re.MULTILINE),
    re.compile(r"</context>[^\S\n]*+$", re.MULTILINE),
    re.compile(r"</context>"),
)


def is_task(text: str, *, after_turns: bool = False) -> bool:
    """Return whether a message asks for something about the conversation itself, not for an answer.

    >>> is_task("Please generate a four to five word title summarizing our conversation without any lead-in.")
    True
    >>> is_task("Suggest a title for the discussion section of this chat."), is_task("What is its title?")
    (False, False)
    """
    of_open_webui = text.lstrip().startswith("### Task:") and "<chat_history>" in text
    if of_open_webui or _FIXED.match(text):
        return True
    return _OWN.match(text) is not None and (after_turns or _TRANSCRIPT.search(text) is not None)


def task_of(question: str, turns: str, instructions: str) -> str:
    """Return what an app wants to have written about a conversation, with that conversation; empty for a question.

    ``turns`` are the messages before the last one, as a text. Some apps ask in the ``instructions``; the question is
    then the conversation, or its first message.
    """
    if is_task(question, after_turns=bool(turns)):
        return f"<chat_history>\n{turns}\n</chat_history>\n\n{question}" if turns else _escaped(question)
    if not _FIXED.match(instructions):
        return ""
    asked = as_data(question) if _TRANSCRIPT.search(question) else f"User: {as_data(question)}"
    return "<chat_history>\n" + "\n".join(filter(None, (turns, asked))) + f"\n</chat_history>\n\n{instructions}"


def _escaped(task: str) -> str:
    """Escape the conversation in a task, which may have quoted what closes its tag."""
    before, opened, rest = task.partition("<chat_history>")
    turns, closed, after = rest.rpartition("</chat_history>")
    return f"{before}{opened}{as_data(turns)}{closed}{after}" if closed else task


def unwrapped(text: str) -> tuple[str, str]:
    """Return the question in a message, and the context of the app's own that is around it; empty for none.

    The context is as it came: it is data of others, such as of web pages, and may hold anything. A message with nothing
    but attached files has an empty question.

    >>> unwrapped("### Task:\\nRespond. <context>Trains leave at nine.</context>\\n\\nWhen?")
    ('When?', 'Trains leave at nine.')
    """
    attached = _ATTACHED.match(text)
    text = text[attached.end() :] if attached else text
    question, context = _parted(text)
    files = attached[1].strip() if attached else ""
    return question, "\n\n".join(filter(None, (files, context)))


def _parted(text: str) -> tuple[str, str]:
    if text.rstrip().endswith("</user_query>") and "<user_query>" in text:  # Cursor, and Open WebUI's earlier template
        whole = text.rstrip().removesuffix("</user_query>")
        before, question = _last(whole, _QUERY, re.compile("<user_query>"))
        context = _last(before.partition("<context>")[2], *_ENDS)[0] or before
    elif text.lstrip().startswith("### Task:") and "<context>" in text and "<chat_history>" not in text:
        before, question = _last(text, *_ENDS)
        context = before.partition("<context>")[2]
    else:
        return text, ""
    return (question.strip(), context.strip()) if question.strip() else (text, "")


def _last(text: str, *patterns: re.Pattern[str]) -> tuple[str, str]:
    """Return what is before and behind the last match of the first pattern that matches; nothing and all for none."""
    for pattern in patterns:
        if found := deque(pattern.finditer(text), maxlen=1):
            return text[: found[0].start()], text[found[0].end() :]
    return "", text
