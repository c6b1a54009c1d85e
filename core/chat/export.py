"""Writes a stored conversation as Markdown, for people, and as JSON, for programs; a message at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from braid.core.chat.links import check_links
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json

FATES = {"changed": " (changed since)", "deleted": " (deleted since)"}
WITHHELD = "you may no longer read this"


def as_json(
    conversation: StoredConversation,
    messages: Iterable[StoredMessage],
    others: Iterable[StoredMessage] = (),
    *,
    line_end: str = "\n",
) -> Iterator[str]:
    """Yield the parts of one JSON object: the conversation's fields, ``messages`` with their settings and citations,
    and ``other_variants``, which are not among the chosen ones. Each message is a line, unless ``line_end`` is empty.
    """
    yield _dump(conversation)[:-1]
    for name, several in (("messages", messages), ("other_variants", others)):
        yield f', "{name}": ['
        between = line_end
        for message in several:
            yield between + _dump(message)
            between = f",{line_end}"
        yield "]"
    yield "}" + line_end


def as_markdown(conversation: StoredConversation, messages: Iterable[StoredMessage]) -> Iterator[str]:
    """Yield each message under a heading with its time, and the passages of an answer, quoted as they were cited.

    Pictures and links are text, except for the links of an answer to addresses in the passages that it cites.
    """
    yield check_links(f"# {_line(conversation.title)}") + "\n"
    for message in messages:
        who = "Question" if message.role == "user" else "Answer"
        when = datetime.fromtimestamp(message.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        state = "" if message.state == "complete" else f", {message.state}"
        if len(message.variants) > 1:
            state += f", variant {message.variants.index(message.id) + 1} of {len(message.variants)}"
        thumb = f", thumbs {message.thumb}" if message.thumb else ""
        text = check_links(message.text, [citation.text for citation in message.citations])
        yield f"\n## {who} ({when}{state}{thumb})\n\n{text}\n"
        yield from (f"\n{_citation(citation)}\n" for citation in message.citations)


def within(most_chars: int, messages: Iterable[StoredMessage]) -> Iterator[StoredMessage]:
    """Yield the messages, for a form that is made as a whole. Raises InvalidInputError when they have more characters,
    those of the passages that they cite included.
    """
    chars = 0
    for message in messages:
        chars += len(message.text) + sum(len(citation.text) for citation in message.citations)
        if chars > most_chars:
            raise InvalidInputError(
                f"the conversation has more than {most_chars:,} characters; export it as Markdown or JSON instead",
                field="format",
            )
        yield message


def _dump(value: object) -> str:
    return json.dumps(to_json(value), ensure_ascii=False)


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
