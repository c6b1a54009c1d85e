"""The blueprint of the chat pages, and what these pages share: the list of conversations, the data for a view."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, render_template, request

from braid.app.auth.identity import identity
from braid.app.pages.chat.view import Shelf, find_chunk_ids
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.core.chat.store import StoredConversation, StoredMessage

SHOWN_CONVERSATIONS = 100
"""Conversations in the side bar; older ones can be found by title."""

SHOWN_ADMINISTRATORS = 3

chat = Blueprint("chat", __name__, url_prefix="/chat")


@dataclass(frozen=True, slots=True)
class ModelAdvice:
    """How somebody whose answers are quoted gets a model: connect one, choose one, or ask one of ``names``."""

    connect: bool = False
    choose: bool = False
    names: tuple[str, ...] = ()


@chat.context_processor
def _in_templates() -> dict[str, object]:
    return {"model_advice": _model_advice}


def _model_advice() -> ModelAdvice:
    here, me = site(), identity()
    if here.models.menu("summary"):
        return ModelAdvice(choose=True)
    if me.is_admin:
        return ModelAdvice(connect=True)
    if not here.standalone:
        return ModelAdvice()
    admins = [account.name for account in here.accounts.all() if account.is_admin and not account.disabled]
    return ModelAdvice(names=tuple(admins[:SHOWN_ADMINISTRATORS]))


def list_conversations() -> list[StoredConversation]:
    """Return the user's conversations, most recently used first; with a search text, those whose title contains it."""
    wanted = _fold(request.args.get("find", "")).strip()
    user_id = identity().account.id
    if not wanted:
        return site().conversations.conversations(user_id, limit=SHOWN_CONVERSATIONS)
    found = site().conversations.conversations(user_id)
    return [one for one in found if wanted in _fold(one.title)][:SHOWN_CONVERSATIONS]


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def render_sidebar(shown: StoredConversation | None) -> str:
    """Render the list; ``shown`` is the conversation that is open."""
    return render_template("braid/_chat_list.html", conversations=list_conversations(), conversation=shown)


def make_shelf(conversation_id: int, messages: Sequence[StoredMessage], readable: Readable) -> Shelf:
    """Return the data that a view of the messages needs besides them."""
    user_id, here = identity().account.id, site()
    chunk_ids = find_chunk_ids(messages)
    return Shelf(
        conversation_id,
        readable.by_id,
        here.feedback.current_thumbs(user_id, chunk_ids),
        frozenset(here.braid.ledger.visible(chunk_ids, readable.by_id.keys())),
    )
