"""Answers questions, new, edited or asked again, as a stream of events or, without scripts, as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Response, render_template, request
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import wants_json
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.opening import SAMPLE_NAME
from braid.app.pages.chat.about import FIELD, filters_of, keys_in, named
from braid.app.pages.chat.blueprint import chat, make_shelf
from braid.app.pages.chat.choices import (
    ChatChoices,
    choices_of_turn,
    first_choices,
    keep_choices,
    read_choices,
)
from braid.app.pages.chat.files import searched_with
from braid.app.pages.chat.sidebar import render_sidebar
from braid.app.pages.chat.stream import Values, follow
from braid.app.pages.chat.view import Exchange, build_exchanges, variants_of
from braid.app.pages.status import unread_files
from braid.app.site import site
from braid.app.user.assistants import asked_assistant, noting
from braid.app.user.datasets import readable_datasets
from braid.app.user.models import choose_models, model_shelf
from braid.app.web.event_stream import event_stream, step_aside
from braid.app.web.live_turns import run_turn
from braid.core.chat.columns import stored_draft, stored_filter_words, stored_request
from braid.core.chat.store import StoredMessage
from braid.core.chat.turns.rows import StoredTurn
from braid.core.chat.turns.running import Begin
from braid.core.chat.types import ChatRequest, Turn
from braid.core.errors import InvalidInputError, NotFoundError, Reason


@chat.post("/messages")
def begin() -> Response | Redirect:
    """Answer the first question of a conversation, which is created with it."""
    user_id, here = identity().account.id, site()
    choices = _form_choices()
    asked = _chat_request(choices, ())
    return _run(
        asked,
        lambda: here.turn_store.begin(
            here.conversations.create(user_id, most=here.settings.max_user_conversations).id, asked
        ),
        choices,
    )


@chat.post("/<int:conversation_id>/messages")
def ask(conversation_id: int) -> Response | Redirect:
    """Answer the next question of a conversation."""
    here = site()
    choices = _form_choices()
    history = here.conversations.history(identity().account.id, conversation_id)
    asked = _chat_request(choices, history, searched_with(conversation_id))
    return _run(asked, lambda: here.turn_store.begin(conversation_id, asked), choices)


@chat.post("/<int:conversation_id>/messages/<int:message_id>/edit")
def edit(conversation_id: int, message_id: int) -> Response | Redirect:
    """Answer a question in other words, as a variant of the question ``message_id``.

    A form without choices leaves those of that question.
    """
    here, question = site(), _message(conversation_id, message_id, "user")
    first = first_choices(identity().account)
    own = _form_choices() if {"mode", "pace", "assistant"} & set(request.form) else None
    history = here.conversations.history(identity().account.id, conversation_id, before=message_id)
    choices, before = own or choices_of_turn(question.settings, first), question.settings.get("assistant_id")
    about, assistant = keys_in(question.settings), None if own else before
    asked = _chat_request(choices, history, searched_with(conversation_id), about, assistant)
    return _run(asked, lambda: here.turn_store.begin(conversation_id, asked, instead_of=message_id), own)


@chat.post("/<int:conversation_id>/messages/<int:message_id>/again")
def again(conversation_id: int, message_id: int) -> Response | Redirect:
    """Write another answer to the question of the answer ``message_id``, as its variant; without a filter that was read
    from the question, ``filter_off``, or with one, ``filter_on``.
    """
    user_id, here = identity().account.id, site()
    asked = _ask_again(conversation_id, message_id, is_complete=True)
    ways = {"filter_off": False, "filter_on": True}
    changed = {said: on for name, on in ways.items() for said in request.form.getlist(name)}
    if changed:  # other passages: nothing of the answer so far is kept
        asked = replace(asked, filter_words={**asked.filter_words, **changed}, draft=None)
    return _run(asked, lambda: here.turn_store.begin_variant(user_id, conversation_id, message_id))


@chat.post("/<int:conversation_id>/messages/<int:message_id>/continue")
def resume(conversation_id: int, message_id: int) -> Response | Redirect:
    """Continue an answer that is not complete."""
    user_id, here = identity().account.id, site()
    asked = _ask_again(conversation_id, message_id, is_complete=False)
    return _run(asked, lambda: here.turn_store.resume(user_id, conversation_id, message_id))


@chat.get("/<int:conversation_id>/messages/<int:message_id>/events")
def events(conversation_id: int, message_id: int) -> Response:
    """Follow an answer that is being written, from the event on that the header ``Last-Event-ID`` names."""
    answer = _message(conversation_id, message_id, "assistant")
    turn = StoredTurn(conversation_id, answer.parent_id or 0, message_id)
    running = site().turns.find(identity().account.id, message_id)
    after = request.headers.get("Last-Event-ID", 0, type=int)
    return event_stream(follow(turn, running, first={}, last=lambda: _render_turn(turn), after=after))


@chat.post("/<int:conversation_id>/messages/<int:message_id>/stop")
def stop(conversation_id: int, message_id: int) -> Response | Redirect:
    """Stop an answer and store the part so far. Does nothing if the answer has ended."""
    user_id, here = identity().account.id, site()
    running = here.turns.find(user_id, message_id)
    if running is not None and running.ids and running.ids.conversation_id == conversation_id:
        running.end("stopped")
        is_stopped = True
    else:
        is_stopped = here.turn_store.end(user_id, conversation_id, message_id, "stopped")
    if wants_json():
        return Response(json.dumps({"stopped": is_stopped}), mimetype="application/json")
    return _to_answer(conversation_id, message_id)


@chat.post("/<int:conversation_id>/messages/<int:message_id>/choose")
def choose(conversation_id: int, message_id: int) -> Redirect:
    """Show this variant of a question or an answer, and what followed it."""
    site().turn_store.choose(identity().account.id, conversation_id, message_id)
    return _to_answer(conversation_id, message_id)


def _run(asked: ChatRequest, begin: Begin, choices: ChatChoices | None = None) -> Response | Redirect:
    """Run the turn, which goes on whoever listens, and follow it. A new conversation starts with the choices."""
    user, here = identity().account, site()
    assistant = asked_assistant(asked.assistant_id) if asked.assistant_id else None
    talk = model_shelf().conversation(assistant.models() if assistant else choose_models(user))
    # raises InvalidInputError here, before anything is kept
    events = noting(talk.stream(asked), assistant.notes if assistant else ())
    if choices:
        keep_choices(user, choices, asked.assistant_id)
    running = run_turn(asked, events, begin)
    turn = running.ids
    assert turn is not None, "it is stored"
    if not wants_json():
        step_aside()
        running.wait()
        return _to_answer(turn.conversation_id, turn.answer_id)
    conversation = here.conversations.conversation(user.id, turn.conversation_id)
    first: Values = {"sidebar": render_sidebar(conversation), "title": conversation.title}
    return event_stream(follow(turn, running, first=first, last=lambda: _render_turn(turn)))


def _form_choices() -> ChatChoices:
    """Return the choices of the form, with "everything" as such."""
    account = identity().account
    return read_choices(request.form, first_choices(account), readable_datasets(account))


def _aside() -> list[int]:
    """Return the datasets whose passages count only where they are much better: the guide."""
    return [entry.id for entry in site().braid.registry.entries() if entry.name == SAMPLE_NAME]


def _to_answer(conversation_id: int, message_id: int) -> Redirect:
    where = f"message-{message_id}"
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where), 303)


def _message(conversation_id: int, message_id: int, role: str) -> StoredMessage:
    """Return the question or the answer. Raises NotFoundError if this is none of the user's conversation."""
    found = site().conversations.messages(identity().account.id, conversation_id, ids=[message_id])
    if not found or found[0].role != role:
        raise NotFoundError(f"there is no such message {message_id} in this conversation")
    return found[0]


def _ask_again(conversation_id: int, answer_id: int, *, is_complete: bool) -> ChatRequest:
    """Return the request of a stored question, with its answer so far as a draft."""
    user_id, store = identity().account.id, site().conversations
    answer = _message(conversation_id, answer_id, "assistant")
    question = _message(conversation_id, answer.parent_id or 0, "user")
    history = store.history(user_id, conversation_id, before=question.id)
    cited = {citation.number: citation.chunk_id for citation in answer.citations}
    draft = stored_draft(answer.text, answer.settings, cited, is_complete=is_complete)
    asked = stored_request(user_id, question.text, question.settings, history)
    asked = replace(asked, draft=draft, aside=_aside(), filter_words=stored_filter_words(answer.settings))
    return _to_assistant(asked, searched_with(conversation_id))


def _to_assistant(asked: ChatRequest, files: tuple[int, ...]) -> ChatRequest:
    """Return the request as the assistant that it names answers it, besides the conversation's files; as it is without
    one. Raises InvalidInputError for one that is no longer open to the user.
    """
    return asked_assistant(asked.assistant_id).request(asked, *files) if asked.assistant_id else asked


def _chat_request(
    choices: ChatChoices,
    history: tuple[Turn, ...],
    files: tuple[int, ...] = (),
    named_before: Sequence[str] = (),
    assistant_id: int | None = None,
) -> ChatRequest:
    """Return the request for the submitted question.

    Without a chosen dataset all personal ones are searched, and their ids are stored with the question. ``files`` is
    the dataset with the conversation's files, which is always searched. A question to an assistant, that of the form or
    else ``assistant_id``, is searched as it says. What the form names, or was ``named_before``, is searched instead of
    all these. Raises InvalidInputError for an assistant beside what is named.
    """
    text = (request.form.get("example") or request.form.get("text", "")).strip()
    if not text:
        raise InvalidInputError(Reason("the question is empty; type one"), field="text")
    user = identity().account
    readable = readable_datasets(user)
    asked = ChatRequest(
        user.id,
        text,
        history=history,
        dataset_ids=(*readable.ids_of(choices.datasets), *files),
        everything=choices.datasets.is_everything,
        aside=_aside(),
        strategy=choices.strategy,
        options=choices.options(site().options),
        assistant_id=request.form.get("assistant", assistant_id, type=int),
    )
    about = named(request.form.getlist(FIELD) or named_before, readable.by_id)
    if not about:
        return _to_assistant(asked, files)
    if asked.assistant_id:
        raise InvalidInputError("an assistant searches its own datasets; ask about this without it", field="assistant")
    ids = tuple(dict.fromkeys(each.dataset_id for each in about))
    options = {**asked.options, "filters": filters_of(about)}
    return replace(asked, dataset_ids=ids, everything=False, aside=(), options=options)


def _render_turn(stored: StoredTurn) -> dict[str, Any]:
    """Return the page's values once the answer is stored: the exchange, and the side bar with the title."""
    user_id, here, conversation_id = identity().account.id, site(), stored.conversation_id
    conversation = here.conversations.conversation(user_id, conversation_id)
    messages = here.conversations.messages(user_id, conversation_id, ids=stored.message_ids)
    readable = readable_datasets(identity().account)
    newest = build_exchanges(messages, make_shelf(conversation_id, messages, readable))[0]
    asked = messages[0].settings.get("dataset_ids") or [dataset.id for dataset in readable.all]
    unread = here.background.store.unread([dataset_id for dataset_id in asked if dataset_id in readable.by_id])
    return {
        "html": _render_exchange(newest, conversation_id, unread_files(unread) if unread else ""),
        "sidebar": render_sidebar(conversation),
        "title": conversation.title,
        "state": messages[-1].state,
    }


def _render_exchange(shown: Exchange, conversation_id: int, unread: str) -> str:
    return render_template(
        "braid/_chat_exchange.html",
        exchange=shown,
        conversation_id=conversation_id,
        unread=unread,
        variants_of=variants_of,
    )
