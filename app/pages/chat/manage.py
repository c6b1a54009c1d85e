"""Manages a conversation and its answers: rename, export, delete, thumbs and clicks; `shelf` archives and labels."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from flask import Response, render_template, request
from markupsafe import Markup
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import wants_json
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat.blueprint import chat, make_shelf
from braid.app.pages.chat.shelf import flash_deleted
from braid.app.pages.chat.view import build_exchanges, build_how, find_chunk_ids
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.sharing import link_of
from braid.app.web.exported import MAX_CHARS, place_of
from braid.app.web.markdown import answer_html
from braid.app.web.transfers import delete_conversation, export_conversation, titled
from braid.app.words.searches import with_lead
from braid.core.chat.export import within
from braid.core.chat.feedback import Fault, Feedback, Thumb
from braid.core.chat.store import MAX_LABEL_CHARS, MAX_TITLE_CHARS, StoredMessage
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.text.scripts import display_language
from braid.core.types import MAX_QUERY_CHARS


@chat.get("/<int:conversation_id>/manage")
def manage(conversation_id: int) -> str:
    """Show the page to rename, export and delete; scripts show it as a dialog."""
    user_id = identity().account.id
    [found] = titled([site().conversations.conversation(user_id, conversation_id)])
    return render_template(
        "braid/chat_manage.html",
        conversation=found,
        deleted_days=site().settings.deleted_days,
        max_title_chars=MAX_TITLE_CHARS,
        labels=site().conversations.labels(user_id),
        max_label_chars=MAX_LABEL_CHARS,
        link=link_of(conversation_id),
    )


@chat.post("/<int:conversation_id>/rename")
def rename(conversation_id: int) -> Redirect:
    """Rename a conversation."""
    site().conversations.rename(identity().account.id, conversation_id, request.form.get("title", ""))
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


@chat.post("/<int:conversation_id>/pin")
def pin(conversation_id: int) -> Redirect:
    """Keep a conversation at the top of the list, or no longer."""
    site().conversations.pin(identity().account.id, conversation_id, request.form.get("pinned") == "1")
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


@chat.post("/<int:conversation_id>/delete")
def delete(conversation_id: int) -> Redirect:
    """Delete a conversation with all its turns and its files; the next page offers to undo it."""
    delete_conversation(identity().account.id, conversation_id)
    flash_deleted([conversation_id])
    return redirect(url_for("braid.chat.page"), 303)


@chat.get("/<int:conversation_id>/export.<any(md, json, docx, pdf):kind>")
def export(conversation_id: int, kind: str) -> Response:
    """Download a conversation as a file."""
    return export_conversation(identity().account.id, conversation_id, kind)


@chat.get("/<int:conversation_id>/print")
def print_out(conversation_id: int) -> str:
    """Show a whole conversation with its sources as notes, to be printed or saved as PDF by the browser."""
    user_id, store = identity().account.id, site().conversations
    found, ids = store.conversation(user_id, conversation_id), store.path(user_id, conversation_id)
    return render_template(
        "braid/chat_print.html",
        conversation=titled([found])[0],
        printed=[(each, _with_notes(each)) for each in within(MAX_CHARS, store.each(user_id, conversation_id, ids))],
        place_of=place_of,
        display_language=display_language,
    )


def _with_notes(message: StoredMessage) -> Markup:
    cited = {citation.number for citation in message.citations}
    html = answer_html(message.marked_text, lambda number: f"#note-{message.id}-{number}" if number in cited else "")
    return with_lead(html, message.text)


@chat.get("/<int:conversation_id>/messages/<int:message_id>/how")
def how(conversation_id: int, message_id: int) -> str:
    """Show how an answer was found; scripts show it below the answer."""
    question, answer = _turn_of(conversation_id, message_id)
    readable, chunk_ids = readable_datasets(identity().account), find_chunk_ids(answer)
    there = frozenset(site().braid.ledger.visible(chunk_ids, readable.by_id.keys()))
    shelf = replace(make_shelf(conversation_id, (question, answer), readable), there=there)
    if "search" not in answer.settings:
        raise NotFoundError(f"nothing was searched for the answer {message_id}")
    return render_template(
        "braid/chat_how.html",
        exchange=build_exchanges((question, answer), shelf)[0],
        how=build_how(question, answer, shelf),
        conversation_id=conversation_id,
    )


@chat.post("/<int:conversation_id>/messages/<int:message_id>/feedback")
def say(conversation_id: int, message_id: int) -> Response | Redirect:
    """Store the user's feedback on the answer, or on the cited passage with the given number.

    Feedback is a thumb or its withdrawal; for a passage also a click on the citation.
    """
    user_id, here = identity().account.id, site()
    if "number" in request.values:
        here.feedback.add(user_id, _read_feedback(*_turn_of(conversation_id, message_id)))
    else:
        here.conversations.conversation(user_id, conversation_id)
        kind = cast(Thumb, request.form.get("kind", ""))  # `put` checks it
        fault = cast(Fault, request.form.get("fault", ""))
        comment = request.form.get("comment", "")
        here.answer_thumbs.put(user_id, conversation_id, message_id, kind, fault=fault, comment=comment)
    if wants_json():
        return Response(status=204)
    where = f"message-{message_id}"
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where), 303)


def _turn_of(conversation_id: int, answer_id: int) -> tuple[StoredMessage, StoredMessage]:
    """Return the question and the answer. Raises NotFoundError if this is no answer of the user's conversation."""
    user_id, store = identity().account.id, site().conversations
    answers = store.messages(user_id, conversation_id, ids=[answer_id])
    if not answers or answers[0].role != "assistant":
        raise NotFoundError(Reason("there is no answer %(id)s in this conversation", id=answer_id))
    [question] = store.messages(user_id, conversation_id, ids=[answers[0].parent_id or 0])
    return question, answers[0]


def _read_feedback(question: StoredMessage, answer: StoredMessage) -> Feedback:
    """Read the feedback from the form, with the query, the scope and the ranking as they were stored."""
    number = request.values.get("number", type=int)
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
