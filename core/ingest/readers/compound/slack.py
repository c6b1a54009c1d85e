"""Exports of Slack: a record per message, with who has written it, when, and in which channel."""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Iterator, Mapping

from braid.core.ingest.readers.document import Section

USERS = "users.json"
DAY = re.compile(r"\A(?P<channel>[^/]++)/\d{4}-\d\d-\d\d\.json")
"""Path of the messages of a day."""
_LEFT_OUT = ("channel_join", "channel_leave", "group_join", "group_leave")
_CONTROLS = ("actions", "button", "input")
"""Parts of a message that one can press or fill in."""
_LINES = ("rich_text_section", "rich_text_preformatted", "rich_text_quote")
_PARTS = ("pretext", "author_name", "title", "text", "description", "value", "elements", "alt_text")
"""Of a block or an attachment, in the order in which they are shown."""
_MAX_DEPTH = 20
_MAX_TEXT = 40_000
"""Characters of a message, as Slack has them."""
_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")


def names_of(content: bytes) -> dict[str, str]:
    """Return the names of the users of an export by their ids; none for another list."""
    users = _objects(content)
    return {str(user["id"]): name for user in users if "id" in user and (name := _name(user))}


def messages(content: bytes, channel: str, names: Mapping[str, str]) -> Iterator[Section]:
    """Yield the messages of a day; none for what is no list of messages."""
    for message in _objects(content):
        said = _said(str(message.get("text") or ""), names)
        attached = [str(each.get("name") or "") for each in _dicts(message.get("files"))]
        text = "\n".join(filter(None, (said, *_shown_below(message, said, names), *attached)))
        moment = _moment(str(message.get("ts") or ""))
        if text and moment and message.get("subtype") not in _LEFT_OUT:
            user = str(message.get("user") or "")
            by = names.get(user) or _name(message.get("user_profile")) or str(message.get("username") or "")
            by = by or _name(message.get("bot_profile")) or user
            yield Section(f"{', '.join(filter(None, (by, moment)))}: {text}", f"#{channel}", kind="record")


def _objects(content: bytes) -> list[dict[str, object]]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return []
    return _dicts(found)


def _dicts(found: object) -> list[dict[str, object]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _name(user: object) -> str:
    if not isinstance(user, dict):
        return ""
    profile = user.get("profile")
    places = [profile if isinstance(profile, dict) else {}, user]
    return next(
        (str(each[key]) for each in places for key in ("real_name", "display_name", "name") if each.get(key)), ""
    )


def _moment(stamp: str) -> str:
    """Return when a message was written, in universal time."""
    if not re.fullmatch(r"\d{9,10}(?:\.\d{1,9})?", stamp):
        return ""
    return f"{datetime.datetime.fromtimestamp(int(stamp.partition('.')[0]), datetime.UTC):%Y-%m-%d %H:%M}"


def _said(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names and links as they are shown."""

    def shown(link: re.Match[str]) -> str:
        sign, target, label = link.groups()
        if sign == "@":
            return f"@{names.get(target) or label or target}"
        if sign:
            return f"#{label or target}" if sign == "#" else label or f"@{target.partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(shown, text)).strip()


def _shown_below(message: dict[str, object], said: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of blocks and attachments, in which bots say most, and in which shared messages are; none of
    those that the message itself says.
    """
    text = f" {' '.join(said[:_MAX_TEXT].split())} "
    blocks = _dicts(message.get("blocks"))
    if said:  # what a person writes is in the blocks once more, with its looks
        blocks = [block for block in blocks if block.get("type") != "rich_text"]
    parts = [[*_lines(block, names)] for block in blocks]
    for attachment in _dicts(message.get("attachments")):
        lines = list(filter(None, _lines(attachment, names))) or [*_lines(attachment.get("blocks"), names)]
        parts.append(lines or [_said(str(attachment.get("fallback") or ""), names)])
    for lines in parts:
        if not all(f" {' '.join(line.split())} " in text for line in lines if line):
            yield from lines


def _lines(part: object, names: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a part of a block or an attachment."""
    if isinstance(part, str):
        yield _said(part, names)
    elif isinstance(part, list) and depth < _MAX_DEPTH:
        for each in part:
            yield from _lines(each, names, depth + 1)
    elif isinstance(part, dict) and depth < _MAX_DEPTH and part.get("type") not in _CONTROLS:
        if part.get("type") in _LINES:
            yield "".join(_spoken(each, names) for each in _dicts(part.get("elements"))).strip()
            return
        for name in _PARTS:
            yield from _lines(part.get(name), names, depth + 1)
        for field in _dicts(part.get("fields")):  # of an attachment a name and its value, of a block a text
            yield ": ".join(filter(None, _lines(field, names, depth + 1)))
        rows = part.get("rows")
        for row in rows if isinstance(rows, list) else []:
            yield " | ".join(
                " ".join(_lines(cell, names, depth + 1)) for cell in (row if isinstance(row, list) else [])
            )


def _spoken(element: dict[str, object], names: Mapping[str, str]) -> str:
    """Return a part of a line as it is shown."""
    of = {key: str(each) for key, each in element.items() if isinstance(each, str)}
    match of.get("type"):
        case "link":
            target, label = of.get("url", ""), of.get("text", "")
            return f"{label} ({target})" if label and label != target else target
        case "user":
            return f"@{names.get(of.get('user_id', '')) or of.get('user_id', '')}"
        case "channel":
            return f"#{of.get('channel_id', '')}"
        case "broadcast":
            return f"@{of.get('range', '')}"
        case "emoji":
            return f":{of.get('name', '')}:"
        case "date":
            return of.get("fallback", "")
    return of.get("text", "")
