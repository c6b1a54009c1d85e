"""Asking: a question is answered as a stream of events, or as a page without scripts."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from flask import Response, render_template, request, url_for
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule, wants_json
from braid.app.auth.identity import identity
from braid.app.pages.chat.choices import LAST_CHOICE, first_choices, read_choices
from braid.app.pages.chat.parts import chat, shelf, sidebar
from braid.app.pages.chat.stream import StreamedTurn, stream_turn
from braid.app.pages.chat.view import Exchange, exchanges
from braid.app.pages.status import unread_files
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.models import choose_models, model_shelf
from braid.app.web.event_stream import event_stream
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ledger.database import storable


@chat.post("/messages")
@rule("user")
def begin() -> Response | Redirect:
    """The first question of a conversation, which is made when the answer is stored."""
    return _ask(None)


@chat.post("/<int:conversation_id>/messages")
@rule("user")
def ask(conversation_id: int) -> Response | Redirect:
    """The next question of a conversation."""
    site().conversations.conversation(identity().account.id, conversation_id)
    return _ask(conversation_id)


@chat.post("/turns/<name>/stop")
@rule("user")
def stop(name: str) -> Response:
    """Stop an answer; what there is of it is stored. Nothing happens when it is over."""
    stopped = site().turns.stop(identity().account.id, name)
    return Response(json.dumps({"stopped": stopped}), mimetype="application/json")


def _ask(conversation_id: int | None) -> Response | Redirect:
    user, here = identity().account, site()
    asked = _asked(conversation_id)
    answerer = model_shelf().conversation(choose_models(user))
    here.usage.count(user.id, "chat")

    def store(result: ChatResult) -> int:
        stored_in = conversation_id or here.conversations.create(user.id).id
        here.conversations.add(stored_in, asked, result)
        here.metrics.searched(result.search, result.degraded)
        return stored_in

    if not wants_json():
        stored_in = store(answerer.ask(asked))
        return redirect(url_for("braid.chat.conversation", conversation_id=stored_in, _anchor="last"), 303)
    turn = StreamedTurn(asked, answerer.stream(asked), store, partial(_shown, asked.text))
    return event_stream(stream_turn(turn))


def _asked(conversation_id: int | None) -> ChatRequest:
    """The question as the form asks it. No dataset chosen means all personal ones, which are named in what is kept."""
    user, here = identity().account, site()
    choices = read_choices(request.form, first_choices(user))
    text = (request.form.get("example") or request.form.get("text", "")).strip()
    history = here.conversations.history(user.id, conversation_id) if conversation_id else ()
    personal = tuple(dataset.id for dataset in readable_datasets(user).personal)
    asked = ChatRequest(
        user.id,
        text,
        history=history,
        dataset_ids=choices.dataset_ids or personal or None,
        strategy=choices.strategy,
        options=choices.options(here.settings),
    )
    here.braid.manager.check(
        user_id=user.id, dataset_ids=asked.dataset_ids, strategy=asked.strategy, options=asked.options
    )
    if user.preferences.get(LAST_CHOICE) != choices.kept():
        here.accounts.set_preferences(user.id, {LAST_CHOICE: choices.kept()})
    return asked


def _shown(text: str, conversation_id: int) -> dict[str, Any]:
    """What the page needs when the answer is there: the exchange, and the side bar with its title."""
    user_id, here = identity().account.id, site()
    found = here.conversations.conversation(user_id, conversation_id)
    messages = here.conversations.messages(user_id, conversation_id)
    # Another tab may have stored a turn in between.
    at = max(p for p, message in enumerate(messages) if message.role == "user" and message.text == storable(text))
    messages = messages[at : at + 2]
    readable = readable_datasets(identity().account)
    newest = exchanges(messages, shelf(conversation_id, messages, readable))[0]
    asked = messages[0].settings.get("dataset_ids") or readable.by_id
    unread = here.background.store.unread([dataset_id for dataset_id in asked if dataset_id in readable.by_id])
    return {
        "html": _exchange(newest, conversation_id, unread_files(unread) if unread else ""),
        "sidebar": sidebar(found),
        "title": found.title,
        "conversation": url_for("braid.chat.conversation", conversation_id=conversation_id),
        "messages": url_for("braid.chat.ask", conversation_id=conversation_id),
    }


def _exchange(shown: Exchange, conversation_id: int, unread: str) -> str:
    return render_template("braid/_chat_exchange.html", exchange=shown, conversation_id=conversation_id, unread=unread)
