"""The side bar: pinned conversations, those with a label, the others by day; or those in which some words were said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

from babel.dates import format_skeleton, format_time
from flask import render_template, request
from flask_babel import get_locale
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.web.transfers import titled
from braid.core.chat.store import FoundConversation, StoredConversation

SHOWN_CONVERSATIONS = 100
MOST_CONVERSATIONS = 12_800
"""Conversations in the side bar at first and on request, twice as many each time."""
TIME_ZONE = "braid_minutes"
"""The cookie in which the page's script says how many minutes the browser's clock is ahead of UTC."""
MAX_MINUTES = 14 * 60


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations of the same age, under its name, which is empty for what was searched for."""

    name: str
    conversations: tuple[FoundConversation, ...]
    label: bool = False
    """Whether the name is a label of the user's, not an age."""

    @property
    def times(self) -> Mapping[int, str]:
        """What tells the conversations apart, by their ids: all have one where two have the same title, else none."""
        shown = [each.conversation for each in self.conversations]
        names = [one.title.casefold() for one in shown]
        if len(set(names)) == len(names):
            return {}
        if len({_moment(one).date() for one in shown}) == 1:
            short = [_clock(one) for one in shown]
        else:
            short = [_day(one) or _clock(one) for one in shown]
            if len(set(zip(names, short, strict=True))) < len(names):
                short = list(map(time_of, shown))
        return {one.id: time for one, time in zip(shown, short, strict=True)}


@dataclass(frozen=True, slots=True)
class Listed:
    """The conversations of the side bar. ``more`` is the address of a longer list; empty where these are all."""

    groups: tuple[Group, ...]
    more: str
    any_archived: bool = False
    any_deleted: bool = False
    """Whether there are some that can be restored."""


def list_conversations() -> Listed:
    """Return the user's conversations by day; with a search text, those with all of its words."""
    user_id, wanted = identity().account.id, request.args.get("find", "").strip()
    limit = min(max(request.args.get("list", 0, type=int), SHOWN_CONVERSATIONS), MOST_CONVERSATIONS)
    if wanted:
        found = site().conversations.find(user_id, wanted, limit=limit + 1)
        named = titled([each.conversation for each in found[:limit]])
        those = tuple(replace(each, conversation=one) for each, one in zip(found, named, strict=False))
        groups = [Group("", those)] if found else []
    else:
        listed = site().conversations.conversations(user_id, archived=False, begun=True, limit=limit + 1)
        found = [FoundConversation(one, "") for one in listed]
        named = titled([each.conversation for each in found[:limit]])
        groups = list(_grouped(named, datetime.now(_time_zone())))
    is_more = len(found) > limit and limit < MOST_CONVERSATIONS
    more = url_for("braid.chat.page", list=2 * limit, find=wanted or None) if is_more else ""
    any_archived, any_deleted = (
        bool(site().conversations.conversations(user_id, archived=True, limit=1)),
        bool(site().conversations.deleted(user_id, limit=1)),
    )
    return Listed(tuple(groups), more, any_archived, any_deleted)


def time_of(conversation: StoredConversation) -> str:
    """Return when a conversation was used last, in the browser's time zone; with the day, unless that is today."""
    return " ".join(filter(None, (_day(conversation), _clock(conversation))))


def _moment(conversation: StoredConversation) -> datetime:
    return datetime.fromtimestamp(conversation.updated_at, _time_zone())


def _day(conversation: StoredConversation) -> str:
    """Return the day on which a conversation was used last; empty if it is today."""
    at, now = _moment(conversation), datetime.now(_time_zone())
    if at.date() == now.date():
        return ""
    return format_skeleton("MMMd" if at.year == now.year else "yMMMd", at, tzinfo=at.tzinfo, locale=get_locale())


def _clock(conversation: StoredConversation) -> str:
    at = _moment(conversation)
    return format_time(at, "short", tzinfo=at.tzinfo, locale=get_locale())


def render_sidebar(shown: StoredConversation | None) -> str:
    """Render the list; ``shown`` is the conversation that is open."""
    return render_template("braid/_chat_list.html", listed=list_conversations(), conversation=shown, time_of=time_of)


def _grouped(conversations: Sequence[StoredConversation], now: datetime) -> Iterator[Group]:
    """Yield the pinned ones, then those with a label by their labels, pinned or not, then the others by day."""
    labels = sorted({one.label for one in conversations if one.label}, key=str.casefold)
    yield from _by_day([one for one in conversations if one.pinned], now)
    for label in labels:
        those = (FoundConversation(one, "") for one in conversations if one.label == label)
        yield Group(label, tuple(those), label=True)
    yield from _by_day([one for one in conversations if not one.pinned and not one.label], now)


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
