"""The chat's pages: a new conversation, the existing ones, and those that others share by a link."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from flask import Response, flash, render_template, request
from flask_babel import get_locale
from flask_babel import gettext as _
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat import ask as chat_ask
from braid.app.pages.chat import files as chat_files
from braid.app.pages.chat import manage as chat_manage
from braid.app.pages.chat import shelf as chat_shelf
from braid.app.pages.chat.about import FIELD, keys_in, named
from braid.app.pages.chat.blueprint import asked_by, chat, make_shelf
from braid.app.pages.chat.choices import (
    ChatChoices,
    choices_of_turn,
    first_assistant,
    first_choices,
    read_choices,
    recent_datasets,
)
from braid.app.pages.chat.files import render_files, searched_with
from braid.app.pages.chat.sidebar import list_conversations, render_sidebar, time_of
from braid.app.pages.chat.view import Shelf, build_exchanges, variants_of
from braid.app.pages.status import IndexStatus, status_of
from braid.app.site import site
from braid.app.user.assistants import UsableAssistant, asked_assistant, usable_assistants
from braid.app.user.dataset_picker import CHIPS, Picker, make_picker
from braid.app.user.datasets import Readable, readable_datasets
from braid.app.user.index_progress import progress_with
from braid.app.user.models import choose_models
from braid.app.user.questions import tried
from braid.app.user.sharing import ask_for_access, copy_shared, end_link, make_link, read_by_link
from braid.app.user.starters import is_guide_alone, starters
from braid.app.user.strategy_menu import strategy_choices
from braid.app.web.transfers import titled
from braid.app.words.languages import language_names
from braid.core.chat.store import StoredConversation, StoredMessage
from braid.core.errors import NotFoundError, Reason
from braid.core.options import Datasets
from braid.core.text.scripts import question_language
from braid.core.types import MAX_K, MAX_QUERY_CHARS

__all__ = ["chat", "chat_ask", "chat_files", "chat_manage", "chat_shelf"]

MOST_NEXT = 3
"""Questions that are offered to go on with."""
MOST_CITED = 4
"""Cited passages whose neighbours they are about."""
SHOWN_TURNS = 20
"""Newest turns of a conversation shown at first."""
MOST_TURNS = 160
"""Newest turns that are shown on request, twice as many each time; all of them are in the download."""


@chat.get("")
def page() -> str:
    """Show a new conversation."""
    return _page(None, [])


@chat.get("/<int:conversation_id>")
def conversation(conversation_id: int) -> str:
    """Show a conversation."""
    user_id, store = identity().account.id, site().conversations
    ids = store.path(user_id, conversation_id)
    turns = _turns()
    messages = store.messages(user_id, conversation_id, ids=ids[-2 * turns :])
    earlier = ""
    if len(ids) > 2 * turns and turns < MOST_TURNS:
        earlier = url_for("braid.chat.conversation", conversation_id=conversation_id, turns=2 * turns)
    elif len(ids) > 2 * turns:
        earlier = url_for("braid.chat.export", conversation_id=conversation_id, kind="md")
    return _page(store.conversation(user_id, conversation_id), messages, earlier=earlier)


@chat.get("/status.json")
def status() -> Response:
    """Return how far the datasets are that the question of this form is searched in, for the page's script."""
    account, form = identity().account, request.args
    readable, asked = readable_datasets(account), form.get("assistant", type=int)
    chosen = read_choices(form, first_choices(account), readable).datasets
    assistant = asked_assistant(asked) if asked else None
    found = _status(readable, chosen, assistant, form.get("conversation", type=int))
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")


def _status(
    readable: Readable, chosen: Datasets, assistant: UsableAssistant | None, conversation_id: int | None
) -> IndexStatus:
    ids = {*(assistant.dataset_ids if assistant else readable.ids_of(chosen))}
    ids.update(searched_with(conversation_id) if conversation_id else ())
    return status_of(site(), [dataset for id_, dataset in readable.by_id.items() if id_ in ids])


def _turns() -> int:
    return min(max(request.args.get("turns", 0, type=int), SHOWN_TURNS), MOST_TURNS)


@chat.get("/conversations")
def conversations() -> str:
    """Return the list of the side bar alone, of those conversations that have the words searched for."""
    return render_sidebar(None)


def _page(shown: StoredConversation | None, messages: Sequence[StoredMessage], *, earlier: str = "") -> str:
    user, here = identity().account, site()
    readable = readable_datasets(user)
    choices = _choices(messages, readable)
    usable = usable_assistants(readable)
    assistant, is_closed = _assistant(messages, usable)
    picker = _make_picker(readable, choices)
    status = _status(readable, choices.datasets, assistant, shown.id if shown else None)
    is_indexed = all(each.state in ("ready", "empty") for each in picker.all)
    return render_template(
        "braid/chat.html",
        assistant=assistant,
        assistants=[] if messages else usable,
        assistant_closed=is_closed,
        conversation=titled([shown])[0] if shown else None,
        listed=list_conversations(),
        time_of=time_of,
        find=request.args.get("find", ""),
        exchanges=build_exchanges(messages, make_shelf(shown.id, messages, readable)) if shown else [],
        earlier=earlier,
        choices=choices,
        picker=picker,
        most_chips=CHIPS,
        strategies=strategy_choices(with_model=choose_models(user).search is not None),
        starters=[] if messages else _starters(readable, assistant),
        guide_alone=is_guide_alone(readable.all),
        has_documents=any(dataset.documents for dataset in readable.all),
        has_own=any(dataset.documents for dataset in readable.personal),
        max_file_mb=here.settings.max_file_mb,
        files=render_files(shown.id) if shown else "",
        status=status,
        is_busy=status.state != "ready" or not is_indexed or bool(here.background.store.unread([*readable.by_id])),
        registry_problem=here.braid.registry.problem(),
        variants_of=variants_of,
        about=named(request.args.getlist(FIELD), readable.by_id),
        max_query_chars=MAX_QUERY_CHARS,
        max_k=MAX_K,
    )


def _choices(messages: Sequence[StoredMessage], readable: Readable) -> ChatChoices:
    """Return the choices of the conversation's last question that names no documents, else the user's first choices.

    An address may tick the datasets of a new conversation: ``/chat?d=7``.
    """
    first = first_choices(identity().account)
    wanted = tuple(id_ for id_ in request.args.getlist("d", type=int) if id_ in {each.id for each in readable.all})
    if wanted and not messages:
        return replace(first, datasets=Datasets.of(wanted))
    asked = [message for message in messages if message.role == "user" and not keys_in(message.settings)]
    return choices_of_turn(asked[-1].settings, first) if asked else first


def _assistant(
    messages: Sequence[StoredMessage], usable: Sequence[UsableAssistant]
) -> tuple[UsableAssistant | None, bool]:
    """Return the assistant that the next question goes to, and whether one that was wanted is not open to the user.

    An address chooses it: ``/chat?assistant=7``, and with 0 datasets of the user's own selection; else it is that of
    the conversation's last question, or the first choice of a new one.
    """
    wanted = request.args.get("assistant", type=int)
    asked = [message for message in messages if message.role == "user"]
    if wanted is None and asked:
        wanted = asked[-1].settings.get("assistant_id", 0)
    if wanted is None:
        return (None if request.args.get("d") else first_assistant(identity().account, usable)), False
    found = next((each for each in usable if each.assistant.id == wanted), None)
    return found, bool(wanted) and found is None


def _starters(readable: Readable, assistant: UsableAssistant | None) -> list[str]:
    """Return questions to begin with: the assistant's, else some about the documents that are searched."""
    if assistant is None:
        return starters(readable)
    own = set(assistant.dataset_ids)
    personal, shared = ([each for each in part if each.id in own] for part in readable)
    return list(assistant.assistant.questions) or starters(Readable(personal, shared, []))


def _make_picker(readable: Readable, choices: ChatChoices) -> Picker:
    progress = progress_with(site().braid, readable.all)
    names, recent = language_names(readable.all), recent_datasets(identity().account)
    return make_picker(readable, choices.datasets, names, progress=progress, recent=recent)


@chat.get("/<int:conversation_id>/messages/<int:message_id>/next")
def next_questions(conversation_id: int, message_id: int) -> str:
    """Render questions to go on with, each of which a search answers; the page's script puts them below the answer."""
    user_id, store = identity().account.id, site().conversations
    path = store.path(user_id, conversation_id)
    messages = store.messages(user_id, conversation_id, ids=[message_id])
    if not messages or messages[0].role != "assistant":
        raise NotFoundError(Reason("there is no answer %(id)s in this conversation", id=message_id))
    asked = [each.text for each in store.messages(user_id, conversation_id, ids=path[-40::2])]
    cited = [citation.chunk_id for citation in messages[0].citations if citation.fate == "current"][:MOST_CITED]
    sections = site().outlines.near(cited, readable_datasets(identity().account).by_id.keys())
    languages = {question_language(asked[-1]), str(get_locale())[:2]} if asked else set()
    questions = tried([sections], most=MOST_NEXT, but=asked, languages=languages)
    return render_template("braid/_chat_next.html", questions=questions)


# ---------------------------------------------------------------- read by a link


@chat.post("/<int:conversation_id>/link")
def share_link(conversation_id: int) -> Redirect:
    """Share the conversation as it is now by a new link."""
    make_link(conversation_id)
    return redirect(url_for("braid.chat.manage", conversation_id=conversation_id, _anchor="share"), 303)


@chat.post("/<int:conversation_id>/link/end")
def take_link_back(conversation_id: int) -> Redirect:
    """Take the conversation's link back."""
    end_link(conversation_id)
    return redirect(url_for("braid.chat.manage", conversation_id=conversation_id, _anchor="share"), 303)


@chat.get("/shared/<token>")
def read_shared(token: str) -> str:
    """Show a conversation that another user shares, as far as the reader may read what its answers are from."""
    found = site().conversations.links.find(token)
    turns = _turns()
    messages = read_by_link(found, found.message_ids[-2 * turns :])
    shelf = Shelf(None, readable_datasets(identity().account).by_id, {}, asked=asked_by(messages), token=token)
    more = len(found.message_ids) > 2 * turns and turns < MOST_TURNS
    return render_template(
        "braid/chat_shared.html",
        shared=found,
        title=titled([site().conversations.conversation(found.user_id, found.conversation_id)])[0].title,
        exchanges=build_exchanges(messages, shelf),
        token=token,
        earlier=url_for("braid.chat.read_shared", token=token, turns=2 * turns) if more else "",
    )


@chat.post("/shared/<token>/copy")
def copy(token: str) -> Redirect:
    """Copy a conversation that another user shares to the reader's own, to go on with it."""
    conversation_id = copy_shared(site().conversations.links.find(token))
    flash(_("This copy is yours. What you ask here is not shared."))
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


@chat.post("/shared/<token>/messages/<int:message_id>/ask-access")
def ask_access_shared(token: str, message_id: int) -> Redirect:
    """Ask for access to a source of a shared conversation."""
    found = site().conversations.links.find(token)
    ids = tuple(id_ for id_ in found.message_ids if id_ == message_id)
    ask_for_access(read_by_link(found, ids), request.values.get("number", type=int))
    return _asked(url_for("braid.chat.read_shared", token=token, _anchor=f"message-{message_id}"))


@chat.post("/<int:conversation_id>/messages/<int:message_id>/ask-access")
def ask_access(conversation_id: int, message_id: int) -> Redirect:
    """Ask for access to a source that the user may no longer read."""
    messages = site().conversations.messages(identity().account.id, conversation_id, ids=[message_id])
    ask_for_access(messages, request.values.get("number", type=int))
    where = f"message-{message_id}"
    return _asked(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where))


def _asked(where: str) -> Redirect:
    flash(_("Your request has been passed on."))
    return redirect(where, 303)
