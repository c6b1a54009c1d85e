"""Manages a conversation and its answers: rename, export, delete, thumbs and clicks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from flask import Response, render_template, request, url_for
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule, wants_json
from braid.app.auth.identity import identity
from braid.app.pages.chat.blueprint import chat
from braid.app.site import site
from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.feedback import Feedback
from braid.core.chat.store import MAX_TITLE_CHARS, StoredMessage
from braid.core.chat.thumbs import Thumb
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.types import MAX_QUERY_CHARS


@chat.get("/<int:conversation_id>/manage")
@rule("user")
def manage(conversation_id: int) -> str:
    """Show the page to rename, export and delete; scripts show it as a dialog."""
    user_id = identity().account.id
    found = site().conversations.conversation(user_id, conversation_id)
    questions = sum(message.role == "user" for message in site().conversations.messages(user_id, conversation_id))
    return render_template(
        "braid/chat_manage.html", conversation=found, questions=questions, max_title_chars=MAX_TITLE_CHARS
    )


@chat.post("/<int:conversation_id>/rename")
@rule("user")
def rename(conversation_id: int) -> Redirect:
    """Rename a conversation."""
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
    """Download a conversation as a file."""
    user_id = identity().account.id
    found = site().conversations.conversation(user_id, conversation_id)
    messages = site().conversations.messages(user_id, conversation_id)
    text = as_markdown(found, messages) if kind == "md" else as_json(found, messages)
    response = Response(text, mimetype="text/markdown" if kind == "md" else "application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="braid-conversation-{conversation_id}.{kind}"'
    return response


@chat.post("/<int:conversation_id>/messages/<int:message_id>/feedback")
@rule("user")
def say(conversation_id: int, message_id: int) -> Response | Redirect:
    """Store the user's feedback on the answer, or on the cited passage with the given number.

    Feedback is a thumb or its withdrawal; for a passage also a click on the citation.
    """
    user_id, here = identity().account.id, site()
    if "number" in request.form:
        messages = here.conversations.messages(user_id, conversation_id)
        here.feedback.add(user_id, _read_feedback(messages, message_id))
    else:
        here.conversations.conversation(user_id, conversation_id)
        kind = cast(Thumb, request.form.get("kind", ""))  # `put` checks it
        here.answer_thumbs.put(user_id, conversation_id, message_id, kind)
    if wants_json():
        return Response(status=204)
    where = f"message-{message_id}"
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id, _anchor=where), 303)


def _read_feedback(messages: Sequence[StoredMessage], message_id: int) -> Feedback:
    """Read the feedback from the form, with the query, the scope and the ranking as they were stored."""
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
