"""The side bar: the user's conversations by day, pinned ones first, or those in which some words were said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

from flask import render_template, request
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.chat.store import FoundConversation, StoredConversation

SHOWN_CONVERSATIONS = 100
"""Conversations in the side bar; older ones can be found by their words."""
TIME_ZONE = "braid_minutes"
"""The cookie in which the page's script says how many minutes the browser's clock is ahead of UTC."""
MAX_MINUTES = 14 * 60


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations of the same age, under its name, which is empty for what was searched for."""

    name: str
    conversations: tuple[FoundConversation, ...]


def list_groups() -> list[Group]:
    """Return the user's conversations by day; with a search text, those with all of its words."""
    user_id, wanted = identity().account.id, request.args.get("find", "")
    if wanted.strip():
        found = site().conversations.find(user_id, wanted, limit=SHOWN_CONVERSATIONS)
        return [Group("", tuple(found))] if found else []
    newest = site().conversations.conversations(user_id, limit=SHOWN_CONVERSATIONS)
    return list(_by_day(newest, datetime.now(_time_zone())))


def render_sidebar(shown: StoredConversation | None) -> str:
    """Render the list; ``shown`` is the conversation that is open."""
    return render_template("braid/_chat_list.html", groups=list_groups(), conversation=shown)


def _by_day(conversations: Sequence[StoredConversation], now: datetime) -> Iterator[Group]:
    ages = {
        "pinned": _("Pinned"),
        "today": _("Today"),
        "yesterday": _("Yesterday"),
        "week": _("Previous 7 days"),
        "month": _("Previous 30 days"),
        "older": _("Older"),
    }
    for age, those in groupby(conversations, lambda one: _age(one, now)):
        yield Group(str(ages[age]), tuple(FoundConversation(one, "") for one in those))


def _age(conversation: StoredConversation, now: datetime) -> str:
    if conversation.pinned:
        return "pinned"
    days = (now.date() - datetime.fromtimestamp(conversation.updated_at, now.tzinfo).date()).days
    if days <= 0:
        return "today"
    if days == 1:
        return "yesterday"
    return "week" if days <= 7 else "month" if days <= 30 else "older"


def _time_zone() -> timezone:
    minutes = request.cookies.get(TIME_ZONE, 0, type=int)
    return timezone(timedelta(minutes=minutes)) if abs(minutes) <= MAX_MINUTES else UTC
