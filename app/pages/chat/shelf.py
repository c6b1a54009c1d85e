"""Many conversations at once: archive them, give them a label, delete them; what was done to them can be undone."""

from __future__ import annotations

from collections.abc import Sequence

from flask import flash, render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat.blueprint import chat
from braid.app.site import site
from braid.app.web.transfers import chosen_ids, delete_conversation, flash_undo, titled
from braid.core.chat.store import MAX_LABEL_CHARS, StoredConversation
from braid.core.errors import NotFoundError, Reason
from braid.core.options import require_choice

PER_PAGE = 100
MAX_PAGE = 10**6
ACTS = ("archive", "restore", "label", "delete", "undelete", "erase")
"""``restore`` those that are archived, ``undelete`` those that were deleted, and ``erase`` these for good."""


@chat.get("/shelf")
def shelf() -> str:
    """List the user's conversations, the archived or the deleted ones, to choose several."""
    user_id, store = identity().account.id, site().conversations
    archived, deleted = (request.args.get(name) == "1" for name in ("archived", "deleted"))
    page = min(max(0, request.args.get("page", 0, type=int)), MAX_PAGE)
    limit, offset = PER_PAGE + 1, page * PER_PAGE
    if deleted:
        found = store.deleted(user_id, limit=limit, offset=offset)
    else:
        found = store.conversations(user_id, archived=archived, limit=limit, offset=offset)
    return render_template(
        "braid/chat_shelf.html",
        conversations=titled(found[:PER_PAGE]),
        archived=archived,
        deleted=deleted,
        deleted_days=site().settings.deleted_days,
        page=page,
        more=len(found) > PER_PAGE,
        labels=store.labels(user_id),
        max_label_chars=MAX_LABEL_CHARS,
    )


@chat.post("/shelf")
def arrange() -> str | Redirect:
    """Do something with the chosen conversations; before they are deleted for good the page asks."""
    act, chosen = request.form.get("act", ""), chosen_ids("c", most=PER_PAGE)
    archived = request.form.get("archived") == "1"
    require_choice("act", act, ACTS)
    if act == "erase":
        return _erase(chosen)
    if act == "delete":
        return _delete(chosen, archived=archived)
    user_id, store = identity().account.id, site().conversations
    if act == "label":
        done = store.arrange(user_id, chosen, label=request.form.get("label", ""))
        flash(ngettext("%(num)s conversation moved.", "%(num)s conversations moved.", len(done)))
        return _to_list(archived=archived)
    if act == "undelete":
        done = store.restore(user_id, chosen, most=site().settings.max_user_conversations)
    else:
        done = store.arrange(user_id, chosen, archived=act == "archive")
    if act == "archive":
        _flash_archived(done)
        return _to_list(archived=False)
    is_undone = act == "undelete" or (act == "restore" and not archived)
    if is_undone and len(done) == 1:
        return redirect(url_for("braid.chat.conversation", conversation_id=done[0]), 303)
    flash(
        ngettext("%(num)s conversation is back in the list.", "%(num)s conversations are back in the list.", len(done))
    )
    return _to_list(archived=archived)


@chat.post("/<int:conversation_id>/shelve")
def shelve(conversation_id: int) -> Redirect:
    """Archive one conversation or bring it back, or give it a label."""
    label, given = request.form.get("label"), request.form.get("archived")
    archived = None if given is None else given == "1"
    done = site().conversations.arrange(identity().account.id, [conversation_id], archived=archived, label=label)
    if not done:
        raise NotFoundError(Reason("there is no conversation %(id)s", id=conversation_id))
    if archived:
        _flash_archived(done)
    return redirect(url_for("braid.chat.conversation", conversation_id=conversation_id), 303)


def flash_deleted(ids: Sequence[int]) -> None:
    """Say on the next page that these conversations were deleted, with a button that undoes it."""
    told = ngettext("%(num)s conversation deleted.", "%(num)s conversations deleted.", len(ids))
    flash_undo(told, url_for("braid.chat.arrange"), "undelete", ids)


def _flash_archived(ids: Sequence[int]) -> None:
    told = ngettext("%(num)s conversation archived.", "%(num)s conversations archived.", len(ids))
    flash_undo(told, url_for("braid.chat.arrange"), "restore", ids)


def _delete(chosen: Sequence[int], *, archived: bool) -> Redirect:
    """Delete the chosen conversations, so that they can be restored."""
    done = []
    for conversation_id in chosen:
        try:
            delete_conversation(identity().account.id, conversation_id)
        except NotFoundError:
            continue  # deleted in another window
        done.append(conversation_id)
    if done:
        flash_deleted(done)
    return _to_list(archived=archived)


def _erase(chosen: Sequence[int]) -> str | Redirect:
    """Delete the chosen ones of the deleted conversations for good, once that is confirmed."""
    user_id, store = identity().account.id, site().conversations
    if "confirmed" not in request.form:
        wanted = frozenset(chosen)
        found = [one for one in store.deleted(user_id) if one.id in wanted]
        return _ask(found) if found else _to_deleted()
    done = store.erase(user_id, chosen)
    site().braid.wake()
    flash(
        ngettext("%(num)s conversation permanently deleted.", "%(num)s conversations permanently deleted.", len(done))
    )
    return _to_deleted()


def _ask(found: Sequence[StoredConversation]) -> str:
    """Ask whether these conversations are to be deleted for good."""
    asked = ngettext(
        "Permanently delete %(num)s conversation?", "Permanently delete %(num)s conversations?", len(found)
    )
    return render_template(
        "braid/delete.html",
        heading=asked,
        told=_("This deletes all their questions, answers and files. It cannot be undone."),
        names=[one.title for one in titled(found)],
        ids=[one.id for one in found],
        back=url_for("braid.chat.shelf", deleted=1),
    )


def _to_deleted() -> Redirect:
    return redirect(url_for("braid.chat.shelf", deleted=1), 303)


def _to_list(*, archived: bool) -> Redirect:
    return redirect(url_for("braid.chat.shelf", archived=1 if archived else None), 303)
