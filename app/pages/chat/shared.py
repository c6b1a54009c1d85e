"""Conversations that are read by a link, and requests for access to what they cite."""

from __future__ import annotations

from flask import flash, render_template, request
from flask_babel import gettext as _
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat.blueprint import asked_by, chat
from braid.app.pages.chat.view import Shelf, build_exchanges
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.sharing import ask_for_access, end_link, make_link, read_by_link

SHOWN_TURNS = 20
MOST_TURNS = 160
"""Newest turns that are shown, twice as many each time."""


@chat.post("/<int:conversation_id>/link")
@rule("user")
def share_link(conversation_id: int) -> Redirect:
    """Share the conversation as it is now by a new link."""
    make_link(conversation_id)
    return redirect(url_for("braid.chat.manage", conversation_id=conversation_id, _anchor="link-title"), 303)


@chat.post("/<int:conversation_id>/link/end")
@rule("user")
def take_link_back(conversation_id: int) -> Redirect:
    """Take the conversation's link back."""
    end_link(conversation_id)
    return redirect(url_for("braid.chat.manage", conversation_id=conversation_id, _anchor="link-title"), 303)


@chat.get("/shared/<token>")
@rule("user")
def read_shared(token: str) -> str:
    """Show a conversation that another user shares, as far as the reader may read what its answers are from."""
    found = site().conversations.links.find(token)
    turns = min(max(request.args.get("turns", 0, type=int), SHOWN_TURNS), MOST_TURNS)
    messages = read_by_link(found, found.message_ids[-2 * turns :])
    shelf = Shelf(None, readable_datasets(identity().account).by_id, {}, asked=asked_by(messages), token=token)
    more = len(found.message_ids) > 2 * turns and turns < MOST_TURNS
    return render_template(
        "braid/chat_shared.html",
        shared=found,
        title=site().conversations.conversation(found.user_id, found.conversation_id).title,
        exchanges=build_exchanges(messages, shelf),
        token=token,
        earlier=url_for("braid.chat.read_shared", token=token, turns=2 * turns) if more else "",
    )


@chat.post("/shared/<token>/messages/<int:message_id>/ask-access")
@rule("user")
def ask_access_shared(token: str, message_id: int) -> Redirect:
    """Ask for access to a source of a shared conversation."""
    found = site().conversations.links.find(token)
    ids = tuple(id_ for id_ in found.message_ids if id_ == message_id)
    ask_for_access(read_by_link(found, ids), request.values.get("number", type=int))
    return _asked(url_for("braid.chat.read_shared", token=token, _anchor=f"message-{message_id}"))


@chat.post("/<int:conversation_id>/messages/<int:message_id>/ask-access")
@rule("user")
def ask_access(conversation_id: int, message_id: int) -> Redirect:
    """Ask for access to a source that the user may no longer read."""
    messages = site().conversations.messages(identity().account.id, conversation_id, ids=[message_id])
    ask_for_access(messages, request.values.get("number", type=int))
    where = f"message-{message_id}"
    return _asked(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where))


def _asked(where: str) -> Redirect:
    flash(_("Your request has been passed on."))
    return redirect(where, 303)
