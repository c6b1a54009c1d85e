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
_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")


def names_of(content: bytes) -> dict[str, str]:
    """Return the names of the users of an export by their ids; none for another list."""
    users = _objects(content)
    return {str(user["id"]): name for user in users if "id" in user and (name := _name(user))}


def messages(content: bytes, channel: str, names: Mapping[str, str]) -> Iterator[Section]:
    """Yield the messages of a day; none for what is no list of messages."""
    for message in _objects(content):
        files = message.get("files")
        attached = [
            str(each.get("name") or "") for each in (files if isinstance(files, list) else []) if isinstance(each, dict)
        ]
        text = "\n".join(filter(None, (_said(str(message.get("text") or ""), names), *attached)))
        moment = _moment(str(message.get("ts") or ""))
        if text and moment and message.get("subtype") not in _LEFT_OUT:
            user = str(message.get("user") or "")
            by = names.get(user) or _name(message.get("user_profile")) or str(message.get("username") or user)
            yield Section(f"{', '.join(filter(None, (by, moment)))}: {text}", f"#{channel}", kind="record")


def _objects(content: bytes) -> list[dict[str, object]]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return []
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
