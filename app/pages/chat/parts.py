"""What the routes of the chat share: the list of conversations, and what a view of one needs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from flask import Blueprint, render_template, request

from braid.app.auth.identity import identity
from braid.app.pages.chat.view import Shelf, found_chunks
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.core.chat.store import StoredConversation, StoredMessage

SHOWN_CONVERSATIONS = 100
"""In the side bar; older ones are found by their title."""

chat = Blueprint("chat", __name__, url_prefix="/chat")


def listed() -> list[StoredConversation]:
    """The user's conversations, those used last first; all whose title contains what is searched for."""
    wanted = _plain(request.args.get("find", "")).strip()
    user_id = identity().account.id
    if not wanted:
        return site().conversations.conversations(user_id, limit=SHOWN_CONVERSATIONS)
    found = site().conversations.conversations(user_id)
    return [one for one in found if wanted in _plain(one.title)][:SHOWN_CONVERSATIONS]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def sidebar(shown: StoredConversation | None) -> str:
    """The list as HTML; ``shown`` is the one that is open."""
    return render_template("braid/_chat_list.html", conversations=listed(), conversation=shown)


def shelf(conversation_id: int, messages: Sequence[StoredMessage], readable: Readable) -> Shelf:
    """What a view of the messages needs beside them."""
    user_id, here = identity().account.id, site()
    chunk_ids = found_chunks(messages)
    return Shelf(
        conversation_id,
        readable.by_id,
        here.feedback.standing(user_id, chunk_ids),
        frozenset(here.braid.ledger.visible(chunk_ids, readable.by_id.keys())),
    )
