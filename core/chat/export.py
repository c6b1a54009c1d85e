"""Writes a stored conversation as Markdown, for people, and as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from braid.core.chat.links import check_links
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.json_form import to_json

FATES = {"changed": " (changed since)", "deleted": " (deleted since)"}
WITHHELD = "you may no longer read this"


def conversation_json(
    conversation: StoredConversation, messages: Sequence[StoredMessage], others: Sequence[StoredMessage] = ()
) -> dict[str, Any]:
    """Return one object: the conversation's fields, and ``messages`` with their settings and citations.

    ``others`` are the messages that are not among the chosen variants: ``other_variants`` of the object.
    """
    return {**to_json(conversation), "messages": to_json(messages), "other_variants": to_json(others)}


def as_json(
    conversation: StoredConversation, messages: Sequence[StoredMessage], others: Sequence[StoredMessage] = ()
) -> str:
    """Return `conversation_json` as text."""
    return json.dumps(conversation_json(conversation, messages, others), ensure_ascii=False, indent=2)


def as_markdown(conversation: StoredConversation, messages: Sequence[StoredMessage]) -> str:
    """Return each message under a heading with its time, and the passages of an answer, quoted as they were cited.

    Pictures and links are text, except for the links of an answer to addresses in the passages that it cites.
    """
    parts = [check_links(f"# {_line(conversation.title)}")]
    for message in messages:
        who = "Question" if message.role == "user" else "Answer"
        when = datetime.fromtimestamp(message.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        state = "" if message.state == "complete" else f", {message.state}"
        if len(message.variants) > 1:
            state += f", variant {message.variants.index(message.id) + 1} of {len(message.variants)}"
        thumb = f", thumbs {message.thumb}" if message.thumb else ""
        text = check_links(message.text, [citation.text for citation in message.citations])
        parts.append(f"## {who} ({when}{state}{thumb})\n\n{text}")
        parts += [_citation(citation) for citation in message.citations]
    return "\n\n".join(parts) + "\n"


def _citation(citation: StoredCitation) -> str:
    if citation.fate == "withheld":
        return f"**[{citation.number}]** {WITHHELD}"
    place = [citation.title, citation.heading_path, citation.source]
    place += [f"page {citation.page}"] if citation.page is not None else []
    place += [f"line {citation.line}"] if citation.line is not None else []
    named = _line(" · ".join(dict.fromkeys(filter(None, place))))
    lines = check_links("\n".join(line.rstrip() for line in citation.text.splitlines())).split("\n")
    quoted = "\n".join(f"> {line}".rstrip() for line in lines)
    return f"{check_links(f'**[{citation.number}]** {named}')}{FATES.get(citation.fate, '')}\n\n{quoted}"


def _line(text: str) -> str:
    return " ".join(text.split())
