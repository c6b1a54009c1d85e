"""The chat: conversations with the datasets. Questions are answered as a stream, or as a page without scripts."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Any

from flask import Blueprint, Response, render_template, request, url_for
from flask_babel import gettext as _
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from app.access import rule, rule_of, wants_json
from app.chat_models import conversation_for, models_for
from app.event_stream import event_stream
from app.first_start import SAMPLE_NAME
from app.identity import identity
from app.pages.chat_choices import LAST_CHOICE, ChatChoices, choices_of_turn, first_choices, read_choices
from app.pages.chat_picker import Picker, picker
from app.pages.chat_stream import StreamedTurn, stream_turn
from app.pages.chat_view import Exchange, Shelf, exchanges, found_chunks
from app.scoping import Readable, readable_datasets
from app.site import site
from app.strategy_menu import strategy_choices
from core.chat_types import ChatRequest, ChatResult
from core.conversation_export import as_json, as_markdown
from core.conversation_store import MAX_TITLE_CHARS, StoredConversation, StoredMessage
from core.database import storable
from core.errors import InvalidInputError, NotFoundError
from core.feedback import Feedback
from core.types import MAX_K, MAX_QUERY_CHARS

SHOWN_CONVERSATIONS = 100
"""In the side bar; older ones are found by their title."""

chat = Blueprint("chat", __name__, url_prefix="/chat")


# ---------------------------------------------------------------- pages


@chat.get("")
@rule("user")
def page() -> str:
    """A new conversation."""
    return _page(None, [])


@chat.get("/<int:conversation_id>")
@rule("user")
def conversation(conversation_id: int) -> str:
    """A conversation with all its turns."""
    user = identity().account
    found = site().conversations.conversation(user.id, conversation_id)
    return _page(found, site().conversations.messages(user.id, conversation_id))


@chat.get("/conversations")
@rule("user")
def conversations() -> str:
    """The list of the side bar alone, those whose title contains what is searched for."""
    return _sidebar(None)


def _page(shown: StoredConversation | None, messages: Sequence[StoredMessage]) -> str:
    user, here = identity().account, site()
    readable = readable_datasets(user)
    choices = _choices(messages)
    models = models_for(user)
    return render_template(
        "braid/chat.html",
        conversation=shown,
        conversations=_listed(),
        find=request.args.get("find", ""),
        exchanges=exchanges(messages, _shelf(shown.id, messages, readable)) if shown else [],
        choices=choices,
        picker=_picker(readable, choices),
        strategies=strategy_choices(with_model=models.search is not None),
        examples=_examples(readable),
        has_documents=any(dataset.documents for dataset in readable.all),
        datasets_url=_url_of("braid.datasets.index"),
        settings_url=_url_of("braid.settings.page"),
        registry_problem=here.braid.registry.problem(),
        max_query_chars=MAX_QUERY_CHARS,
        max_k=MAX_K,
    )


def _choices(messages: Sequence[StoredMessage]) -> ChatChoices:
    """Those of the conversation's last question, else those of the user's last one."""
    first = first_choices(identity().account)
    asked = [message for message in messages if message.role == "user"]
    return choices_of_turn(asked[-1].settings, first) if asked else first


def _picker(readable: Readable, choices: ChatChoices) -> Picker:
    braid = site().braid
    stored = braid.ledger.datasets_in({dataset.collection for dataset in readable.all})
    return picker(readable, choices.dataset_ids, braid.indexer.progress(), stored)


def _shelf(conversation_id: int, messages: Sequence[StoredMessage], readable: Readable) -> Shelf:
    user_id, here = identity().account.id, site()
    chunk_ids = found_chunks(messages)
    return Shelf(
        conversation_id,
        readable.by_id,
        here.feedback.standing(user_id, chunk_ids),
        frozenset(here.braid.ledger.visible(chunk_ids, readable.by_id.keys())),
    )


def _examples(readable: Readable) -> list[str]:
    """Questions that the sample answers, in the page's language."""
    if not any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in readable.shared):
        return []
    return [
        _("How are the two rankings fused?"),
        _("What happens when a dataset is deleted?"),
        _("What can be done when a file cannot be read?"),
    ]


def _listed() -> list[StoredConversation]:
    """The user's conversations, those used last first; all whose title contains what is searched for."""
    wanted = _plain(request.args.get("find", "")).strip()
    user_id = identity().account.id
    if not wanted:
        return site().conversations.conversations(user_id, limit=SHOWN_CONVERSATIONS)
    found = site().conversations.conversations(user_id)
    return [listed for listed in found if wanted in _plain(listed.title)][:SHOWN_CONVERSATIONS]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _sidebar(shown: StoredConversation | None) -> str:
    return render_template("braid/_chat_list.html", conversations=_listed(), conversation=shown)


def _url_of(endpoint: str) -> str:
    """The page's address; empty where it is not built in."""
    return url_for(endpoint) if rule_of(endpoint) else ""


# ---------------------------------------------------------------- asking


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
    answerer = conversation_for(user)
    here.usage.count(user.id, "chat")

    def store(result: ChatResult) -> int:
        stored_in = conversation_id or here.conversations.create(user.id).id
        here.conversations.add(stored_in, asked, result)
        _measure(asked, result)
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


def _measure(asked: ChatRequest, result: ChatResult) -> None:
    metrics = site().metrics
    metrics.searches.labels(result.search.query.mode, asked.strategy).inc()
    for part in {part.leg for part in result.degraded}:
        metrics.degraded.labels(part).inc()


def _shown(text: str, conversation_id: int) -> dict[str, Any]:
    """What the page needs when the answer is there: the exchange, and the side bar with its title."""
    user_id, here = identity().account.id, site()
    found = here.conversations.conversation(user_id, conversation_id)
    messages = here.conversations.messages(user_id, conversation_id)
    # Another tab may have stored a turn in between.
    at = max(p for p, message in enumerate(messages) if message.role == "user" and message.text == storable(text))
    messages = messages[at : at + 2]
    newest = exchanges(messages, _shelf(conversation_id, messages, readable_datasets(identity().account)))[0]
    return {
        "html": _exchange(newest, conversation_id),
        "sidebar": _sidebar(found),
        "title": found.title,
        "conversation": url_for("braid.chat.conversation", conversation_id=conversation_id),
        "messages": url_for("braid.chat.ask", conversation_id=conversation_id),
    }


def _exchange(shown: Exchange, conversation_id: int) -> str:
    return render_template(
        "braid/_chat_exchange.html",
        exchange=shown,
        conversation_id=conversation_id,
        settings_url=_url_of("braid.settings.page"),
    )


# ---------------------------------------------------------------- what a conversation is called, and its end


@chat.get("/<int:conversation_id>/manage")
@rule("user")
def manage(conversation_id: int) -> str:
    """Rename, export and delete, as a page; scripts show it as a dialog."""
    user_id = identity().account.id
    found = site().conversations.conversation(user_id, conversation_id)
    questions = sum(message.role == "user" for message in site().conversations.messages(user_id, conversation_id))
    return render_template(
        "braid/chat_manage.html", conversation=found, questions=questions, max_title_chars=MAX_TITLE_CHARS
    )


@chat.post("/<int:conversation_id>/rename")
@rule("user")
def rename(conversation_id: int) -> Redirect:
    """Give a conversation another title."""
    site().conversations.rename(identity().account.id, conversation_id, request.form.get("title", ""))
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


@chat.post("/<int:conversation_id>/delete")
@rule("user")
def delete(conversation_id: int) -> Redirect:
    """Delete a conversation with all its turns."""
    site().conversations.delete(identity().account.id, conversation_id)
    return redirect(url_for("braid.chat.page"), 303)


@chat.get("/<int:conversation_id>/export.<any(md, json):kind>")
@rule("user")
def export(conversation_id: int, kind: str) -> Response:
    """A conversation as a file."""
    user_id = identity().account.id
    found = site().conversations.conversation(user_id, conversation_id)
    messages = site().conversations.messages(user_id, conversation_id)
    text = as_markdown(found, messages) if kind == "md" else as_json(found, messages)
    response = Response(text, mimetype="text/markdown" if kind == "md" else "application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="braid-conversation-{conversation_id}.{kind}"'
    return response


# ---------------------------------------------------------------- thumbs and clicks


@chat.post("/<int:conversation_id>/messages/<int:message_id>/feedback")
@rule("user")
def say(conversation_id: int, message_id: int) -> Response | Redirect:
    """Store what the user says of a cited passage: a thumb, its withdrawal, or a click on the citation."""
    user_id, here = identity().account.id, site()
    messages = here.conversations.messages(user_id, conversation_id)
    here.feedback.add(user_id, _said(messages, message_id))
    if wants_json():
        return Response(status=204)
    where = f"message-{message_id}"
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where), 303)


def _said(messages: Sequence[StoredMessage], message_id: int) -> Feedback:
    """The feedback with the query, the scope and the ranking as they were stored."""
    position = next((p for p, m in enumerate(messages) if m.id == message_id and m.role == "assistant"), 0)
    if not position:
        raise NotFoundError(f"there is no answer {message_id} in this conversation")
    question, answer = messages[position - 1], messages[position]
    number = request.form.get("number", type=int)
    cited = next((citation for citation in answer.citations if citation.number == number), None)
    if cited is None:
        raise InvalidInputError(f"the answer has no citation {number}; give the number of one", field="number")
    ranking = tuple(hit["chunk_id"] for hit in answer.settings.get("search", {}).get("hits", ()))
    return Feedback(
        kind=request.form.get("kind", ""),  # type: ignore[arg-type]  # Feedback checks it
        chunk_id=cited.chunk_id,
        query=str(answer.settings.get("query") or question.text)[:MAX_QUERY_CHARS],
        scope=tuple(question.settings.get("dataset_ids") or (cited.dataset_id,)),
        ranking=ranking if cited.chunk_id in ranking else (*ranking, cited.chunk_id),
    )
