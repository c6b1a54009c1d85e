"""Writes a stored conversation as Markdown, for people, and as JSON, for programs; a message at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from braid.core.chat.links import check_links
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.chat.texts import Language, say
from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json


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


def as_markdown(
    conversation: StoredConversation, messages: Iterable[StoredMessage], *, language: Language = "en"
) -> Iterator[str]:
    """Yield each message under a heading with its time, and the passages of an answer, quoted as they were cited, with
    labels in a language.

    Pictures and links are text, except for the links of an answer to addresses in the passages that it cites.
    """
    yield check_links(f"# {_line(conversation.title)}") + "\n"
    for message in messages:
        who = say("question" if message.role == "user" else "answer", language)
        when = datetime.fromtimestamp(message.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        told = [when] if message.state == "complete" else [when, say(f"state_{message.state}", language)]
        if len(message.variants) > 1:
            number = message.variants.index(message.id) + 1
            told.append(say("variant", language, number=number, total=len(message.variants)))
        if message.thumb:
            told.append(say(f"thumb_{message.thumb}", language))
        text = check_links(message.text, [citation.text for citation in message.citations])
        yield f"\n## {who} ({', '.join(told)})\n\n{text}\n"
        yield from (f"\n{_citation(citation, language)}\n" for citation in message.citations)


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


def _citation(citation: StoredCitation, language: Language) -> str:
    if citation.fate == "withheld":
        return f"**[{citation.number}]** {say('fate_withheld', language)}"
    place = [citation.title, citation.heading_path, citation.source]
    place += [say("page", language, number=citation.page)] if citation.page is not None else []
    place += [say("line", language, number=citation.line)] if citation.line is not None else []
    named = _line(" · ".join(dict.fromkeys(filter(None, place))))
    lines = check_links("\n".join(line.rstrip() for line in citation.text.splitlines())).split("\n")
    quoted = "\n".join(f"> {line}".rstrip() for line in lines)
    fate = f" ({say(f'fate_{citation.fate}', language)})" if citation.fate != "current" else ""
    return f"{check_links(f'**[{citation.number}]** {named}')}{fate}\n\n{quoted}"


def _line(text: str) -> str:
    return " ".join(text.split())
