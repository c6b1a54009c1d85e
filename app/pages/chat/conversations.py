"""The chat's pages: a new conversation, and the existing ones."""

from __future__ import annotations

from collections.abc import Sequence

from flask import render_template, request, url_for

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.pages.chat import ask as chat_ask
from braid.app.pages.chat import manage as chat_manage
from braid.app.pages.chat.blueprint import chat, list_conversations, make_shelf, render_sidebar
from braid.app.pages.chat.choices import ChatChoices, choices_of_turn, first_choices, recent_datasets
from braid.app.pages.chat.view import build_exchanges
from braid.app.site import site
from braid.app.user.dataset_picker import CHIPS, Picker, make_picker
from braid.app.user.datasets import Readable, readable_datasets
from braid.app.user.index_progress import progress_with
from braid.app.user.models import choose_models
from braid.app.user.starters import starters
from braid.app.user.strategy_menu import strategy_choices
from braid.app.web.languages import language_names
from braid.core.chat.store import StoredConversation, StoredMessage
from braid.core.types import MAX_K, MAX_QUERY_CHARS

__all__ = ["chat", "chat_ask", "chat_manage"]

SHOWN_TURNS = 20
"""Newest turns of a conversation shown at once; the page shows the others on request."""


@chat.get("")
@rule("user")
def page() -> str:
    """Show a new conversation."""
    return _page(None, [])


@chat.get("/<int:conversation_id>")
@rule("user")
def conversation(conversation_id: int) -> str:
    """Show a conversation."""
    user = identity().account
    found = site().conversations.conversation(user.id, conversation_id)
    return _page(found, site().conversations.messages(user.id, conversation_id))


@chat.get("/conversations")
@rule("user")
def conversations() -> str:
    """Return the list of the side bar alone, filtered by title."""
    return render_sidebar(None)


def _page(shown: StoredConversation | None, messages: Sequence[StoredMessage]) -> str:
    user, here = identity().account, site()
    readable = readable_datasets(user)
    choices = _choices(messages)
    recent = messages if "all" in request.args else messages[-2 * SHOWN_TURNS :]
    return render_template(
        "braid/chat.html",
        conversation=shown,
        conversations=list_conversations(),
        find=request.args.get("find", ""),
        exchanges=build_exchanges(recent, make_shelf(shown.id, recent, readable)) if shown else [],
        left_out=len(messages) > len(recent),
        choices=choices,
        picker=_make_picker(readable, choices),
        most_chips=CHIPS,
        strategies=strategy_choices(with_model=choose_models(user).search is not None),
        starters=starters(readable) if not messages else [],
        has_documents=any(dataset.documents for dataset in readable.all),
        add_url=_where_to_add(readable),
        registry_problem=here.braid.registry.problem(),
        max_query_chars=MAX_QUERY_CHARS,
        max_k=MAX_K,
    )


def _choices(messages: Sequence[StoredMessage]) -> ChatChoices:
    """Return the choices of the conversation's last question, else the user's first choices."""
    first = first_choices(identity().account)
    asked = [message for message in messages if message.role == "user"]
    return choices_of_turn(asked[-1].settings, first) if asked else first


def _make_picker(readable: Readable, choices: ChatChoices) -> Picker:
    progress = progress_with(site().braid, readable.all)
    names, recent = language_names(readable.all), recent_datasets(identity().account)
    return make_picker(readable, choices.dataset_ids, names, progress=progress, recent=recent)


def _where_to_add(readable: Readable) -> str:
    """Return the address of the user's first dataset if none of their datasets has a document; else empty."""
    if any(dataset.documents for dataset in readable.personal) or not readable.personal:
        return ""
    return url_for("braid.datasets.dataset", dataset_id=readable.personal[0].id)
