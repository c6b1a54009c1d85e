"""Answers questions, as a stream of events or, without scripts, as a page."""

from __future__ import annotations

import json
from typing import Any

from flask import Response, render_template, request, url_for
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule, wants_json
from braid.app.auth.identity import identity
from braid.app.pages.chat.blueprint import chat, make_shelf, render_sidebar
from braid.app.pages.chat.choices import ChatChoices, first_choices, keep_choices, read_choices
from braid.app.pages.chat.stream import StreamedTurn, stream_turn
from braid.app.pages.chat.view import Exchange, build_exchanges
from braid.app.pages.status import unread_files
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.models import choose_models, model_shelf
from braid.app.web.event_stream import event_stream
from braid.core.chat.turns.rows import StoredTurn
from braid.core.chat.types import ChatRequest, ChatResult, Turn


@chat.post("/messages")
@rule("user")
def begin() -> Response | Redirect:
    """Answer the first question of a conversation, which is created when the answer is stored."""
    return _answer(None, ())


@chat.post("/<int:conversation_id>/messages")
@rule("user")
def ask(conversation_id: int) -> Response | Redirect:
    """Answer the next question of a conversation."""
    return _answer(conversation_id, site().conversations.history(identity().account.id, conversation_id))


@chat.post("/turns/<name>/stop")
@rule("user")
def stop(name: str) -> Response:
    """Stop an answer and store the part so far. Does nothing if the answer has ended."""
    stopped = site().turns.stop(identity().account.id, name)
    return Response(json.dumps({"stopped": stopped}), mimetype="application/json")


def _answer(conversation_id: int | None, history: tuple[Turn, ...]) -> Response | Redirect:
    user, here = identity().account, site()
    choices = read_choices(request.form, first_choices(user))
    asked = _chat_request(choices, history)
    events = (
        model_shelf().conversation(choose_models(user)).stream(asked)
    )  # raises InvalidInputError here, before anything is kept
    keep_choices(user, choices)
    here.usage.count(user.id, "chat")

    def store(result: ChatResult) -> StoredTurn:
        stored_in = conversation_id or here.conversations.create(user.id).id
        stored = here.conversations.add(stored_in, asked, result)
        here.metrics.count_search(result.search, result.degraded)
        return stored

    turn = StreamedTurn(asked, events, store, _render_turn)
    if wants_json():
        return event_stream(stream_turn(turn))
    stored = turn.store(turn.finish())
    return redirect(url_for("braid.chat.conversation", conversation_id=stored.conversation_id, _anchor="last"), 303)


def _chat_request(choices: ChatChoices, history: tuple[Turn, ...]) -> ChatRequest:
    """Return the request for the submitted question.

    Without a chosen dataset all personal ones are searched, and their ids are stored with the question.
    """
    user = identity().account
    personal = tuple(dataset.id for dataset in readable_datasets(user).personal)
    return ChatRequest(
        user.id,
        (request.form.get("example") or request.form.get("text", "")).strip(),
        history=history,
        dataset_ids=choices.dataset_ids or personal or None,
        strategy=choices.strategy,
        options=choices.options(site().settings),
    )


def _render_turn(stored: StoredTurn) -> dict[str, Any]:
    """Return the page's values once the answer is stored: the exchange, and the side bar with the title."""
    user_id, here, conversation_id = identity().account.id, site(), stored.conversation_id
    conversation = here.conversations.conversation(user_id, conversation_id)
    messages = here.conversations.messages(user_id, conversation_id, ids=stored.message_ids)
    readable = readable_datasets(identity().account)
    newest = build_exchanges(messages, make_shelf(conversation_id, messages, readable))[0]
    asked = messages[0].settings.get("dataset_ids") or readable.by_id
    unread = here.background.store.unread([dataset_id for dataset_id in asked if dataset_id in readable.by_id])
    return {
        "html": _render_exchange(newest, conversation_id, unread_files(unread) if unread else ""),
        "sidebar": render_sidebar(conversation),
        "title": conversation.title,
        "conversation": url_for("braid.chat.conversation", conversation_id=conversation_id),
        "messages": url_for("braid.chat.ask", conversation_id=conversation_id),
    }


def _render_exchange(shown: Exchange, conversation_id: int, unread: str) -> str:
    return render_template("braid/_chat_exchange.html", exchange=shown, conversation_id=conversation_id, unread=unread)
