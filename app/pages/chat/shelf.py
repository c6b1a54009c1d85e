"""Many conversations at once: archive them, bring them back, give them a label, delete them."""

from __future__ import annotations

from collections.abc import Sequence

from flask import flash, render_template, request
from flask_babel import ngettext
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat.blueprint import chat
from braid.app.site import site
from braid.app.web.transfers import delete_conversation
from braid.core.chat.store import MAX_LABEL_CHARS, StoredConversation
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.types import MAX_ID

PER_PAGE = 100
MAX_PAGE = 10**6
ACTS = ("archive", "restore", "label", "delete")


@chat.get("/shelf")
@rule("user")
def shelf() -> str:
    """List the user's conversations, or the archived ones, to choose several; says what was done last."""
    user_id, store = identity().account.id, site().conversations
    archived, page = request.args.get("archived") == "1", min(max(0, request.args.get("page", 0, type=int)), MAX_PAGE)
    found = store.conversations(user_id, archived=archived, limit=PER_PAGE + 1, offset=page * PER_PAGE)
    return render_template(
        "braid/chat_shelf.html",
        conversations=found[:PER_PAGE],
        archived=archived,
        page=page,
        more=len(found) > PER_PAGE,
        labels=store.labels(user_id),
        max_label_chars=MAX_LABEL_CHARS,
        undo=_ids(request.args.getlist("undo")),
    )


@chat.post("/shelf")
@rule("user")
def arrange() -> str | Redirect:
    """Do something with the chosen conversations; before they are deleted the page asks."""
    act, chosen = request.form.get("act", ""), _ids(request.form.getlist("c"))
    archived = request.form.get("archived") == "1"
    if act not in ACTS:
        raise InvalidInputError(f"act is {act[:20]!r}; choose one of {', '.join(ACTS)}", field="act")
    if act == "delete":
        return _delete(chosen, archived=archived)
    user_id, store = identity().account.id, site().conversations
    if act == "label":
        done = store.arrange(user_id, chosen, label=request.form.get("label", ""))
        flash(ngettext("%(num)s conversation labeled.", "%(num)s conversations labeled.", len(done)))
        return _to_list(archived=archived)
    done = store.arrange(user_id, chosen, archived=act == "archive")
    if act == "archive":
        return _to_list(archived=archived, undo=done)
    flash(
        ngettext("%(num)s conversation is back in the list.", "%(num)s conversations are back in the list.", len(done))
    )
    return _to_list(archived=archived)


@chat.post("/<int:conversation_id>/shelve")
@rule("user")
def shelve(conversation_id: int) -> Redirect:
    """Archive one conversation or bring it back, or give it a label."""
    label, given = request.form.get("label"), request.form.get("archived")
    archived = None if given is None else given == "1"
    done = site().conversations.arrange(identity().account.id, [conversation_id], archived=archived, label=label)
    if not done:
        raise NotFoundError(f"there is no conversation {conversation_id}")
    if archived:
        return _to_list(archived=False, undo=done)
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


def _delete(chosen: Sequence[int], *, archived: bool) -> str | Redirect:
    """Delete the chosen conversations once that is confirmed."""
    found = _own(chosen)
    if found and "confirmed" not in request.form:
        return render_template("braid/chat_delete.html", conversations=found, archived=archived)
    for one in found:
        delete_conversation(identity().account.id, one.id)
    flash(ngettext("%(num)s conversation deleted.", "%(num)s conversations deleted.", len(found)))
    return _to_list(archived=archived)


def _own(ids: Sequence[int]) -> list[StoredConversation]:
    """Return those of the conversations that are the user's and still there."""
    found = []
    for conversation_id in ids:
        try:
            found.append(site().conversations.conversation(identity().account.id, conversation_id))
        except NotFoundError:
            continue  # deleted in another window
    return found


def _ids(given: Sequence[str]) -> list[int]:
    """Return the ids among the values. Raises InvalidInputError for more than a page has."""
    ids = {int(text) for text in given if text.isascii() and text.isdecimal() and len(text) < 19}
    if len(ids) > PER_PAGE:
        raise InvalidInputError(f"{len(ids)} conversations are selected; at most {PER_PAGE} can be", field="c")
    return sorted(one for one in ids if one <= MAX_ID)


def _to_list(*, archived: bool, undo: Sequence[int] = ()) -> Redirect:
    return redirect(url_for("braid.chat.shelf", archived=1 if archived else None, undo=list(undo)), 303)
