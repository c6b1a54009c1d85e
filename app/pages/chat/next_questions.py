"""What to ask next: about the sections beside those that an answer cites."""

from __future__ import annotations

from flask import render_template

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.pages.chat.blueprint import chat
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.questions import tried
from braid.core.errors import NotFoundError

MOST = 3
MOST_CITED = 4
"""Cited passages whose neighbours are asked about."""


@chat.get("/<int:conversation_id>/messages/<int:message_id>/next")
@rule("user")
def next_questions(conversation_id: int, message_id: int) -> str:
    """Render questions to go on with, each of which a search answers; the page's script puts them below the answer."""
    user_id, store = identity().account.id, site().conversations
    path = store.path(user_id, conversation_id)
    messages = store.messages(user_id, conversation_id, ids=[message_id])
    if not messages or messages[0].role != "assistant":
        raise NotFoundError(f"there is no answer {message_id} in this conversation")
    asked = [each.text for each in store.messages(user_id, conversation_id, ids=path[-40::2])]
    cited = [citation.chunk_id for citation in messages[0].citations if citation.fate == "current"][:MOST_CITED]
    sections = site().outlines.near(cited, readable_datasets(identity().account).by_id.keys())
    return render_template("braid/_chat_next.html", questions=tried(sections, most=MOST, but=asked))
