"""Files that are added in the chat: the dataset of a conversation, which is searched with the chosen ones."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from flask import Response, jsonify, render_template, request
from markupsafe import Markup
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import takes_uploads, wants_json
from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.mounted import url_for
from braid.app.pages.chat.blueprint import chat
from braid.app.pages.datasets.add import form_bytes, queue_jobs, read_file, spool_upload
from braid.app.site import site
from braid.app.web.transfers import delete_conversation
from braid.core.indexes.document_progress import document_progress
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import ADDING, OPEN, NewJob
from braid.core.types import Dataset

MOST_SHOWN = 20
"""Files that are listed at the composer; for the others there is a number."""
_NAMING = threading.Lock()

State = Literal["waiting", "ready", "failed"]
"""A file waits until it is read and can be found by keyword."""


@dataclass(frozen=True, slots=True)
class ChatFile:
    """A file of the conversation. ``reason`` says why one failed; ``href`` is empty while one waits."""

    name: str
    state: State
    reason: str = ""
    href: str = ""
    document_id: int = 0
    """0 while there is no document of it yet."""


@chat.post("/files")
@takes_uploads(form_bytes)
def add_first_file() -> tuple[Response, int] | AnyResponse:
    """Add a file to a new conversation."""
    user_id = identity().account.id
    quotas().require_document_room(identity().account.id)
    conversation_id = site().conversations.create(user_id, most=site().settings.max_user_conversations).id
    try:
        return _add(conversation_id)
    except BaseException:  # nothing was added, so that there is nothing to talk about
        delete_conversation(user_id, conversation_id)
        raise


@chat.post("/<int:conversation_id>/files")
@takes_uploads(form_bytes)
def add_file(conversation_id: int) -> tuple[Response, int] | AnyResponse:
    """Add a file to a conversation."""
    return _add(conversation_id)


@chat.get("/<int:conversation_id>/files")
def files(conversation_id: int) -> str:
    """Return the list of the conversation's files alone."""
    site().conversations.conversation(identity().account.id, conversation_id)
    return render_files(conversation_id)


@chat.post("/<int:conversation_id>/files/keep")
def keep_files(conversation_id: int) -> AnyResponse:
    """Make the files an ordinary dataset, without reading or embedding them again."""
    user, here = identity().account, site()
    here.conversations.conversation(user.id, conversation_id)
    name, most = request.form.get("name", ""), here.settings.max_user_datasets
    kept = here.conversations.files.keep(user.id, conversation_id, name, most=most)
    return redirect(url_for("braid.datasets.dataset", dataset_id=kept.id), 303)


def render_files(conversation_id: int) -> Markup:
    """Render the list of a conversation's files; empty without any."""
    dataset = site().conversations.files.dataset(identity().account.id, conversation_id)
    shown = list(_shown(dataset)) if dataset else []
    more = max(0, len(shown) - MOST_SHOWN)
    return Markup(render_template("braid/_chat_files.html", dataset=dataset, files=shown[:MOST_SHOWN], more=more))


def searched_with(conversation_id: int) -> tuple[int, ...]:
    """Return the id of the dataset with the conversation's files; nothing without files."""
    found = site().conversations.files.dataset(identity().account.id, conversation_id)
    return (found.id,) if found else ()


def _add(conversation_id: int) -> tuple[Response, int] | AnyResponse:
    me, here = identity().account, site()
    here.conversations.conversation(me.id, conversation_id)
    name, stream = read_file()
    dataset = here.conversations.files.add_dataset(me.id, conversation_id)
    spooled = spool_upload(dataset, name, stream)
    with _NAMING:
        [job] = queue_jobs(dataset, [_beside(dataset, spooled)])
    address = url_for("braid.chat.conversation", conversation_id=conversation_id)
    if not wants_json():
        return redirect(address, 303)
    added = {
        "job": job.id,
        "name": job.title,
        "conversation": address,
        "messages": url_for("braid.chat.ask", conversation_id=conversation_id),
        "files": url_for("braid.chat.add_file", conversation_id=conversation_id),
    }
    return jsonify(added), 202


def _beside(dataset: Dataset, job: NewJob) -> NewJob:
    """Return the job; with a name of its own, such as ``notes (2).txt``, where another file has its name already."""
    here, source = site(), job.title
    waiting = here.background.store.of_dataset(dataset.id, kinds=ADDING, states=OPEN, limit=1000)
    taken = {each.title for each in waiting}
    there = here.braid.ledger.document(dataset.id, source)
    if there is not None and source not in taken:
        new = Incoming.from_file(here.background.spool.path(str(job.payload["file"])), source)
        if there.state == "failed" or there.content_hash == new.content_hash:
            return job
    taken |= {each.source for each in here.braid.ledger.documents(dataset.id)}
    path = PurePosixPath(source)
    others = (str(path.with_stem(f"{path.stem} ({number})")) for number in itertools.count(2))
    free = source if source not in taken else next(other for other in others if other not in taken)
    return replace(job, title=free, payload={**job.payload, "source": free})


def _shown(dataset: Dataset) -> Iterator[ChatFile]:
    """Yield the files that wait to be read, and then those that were, the newest first."""
    here = site()
    waiting = here.background.store.of_dataset(dataset.id, kinds=ADDING, states=OPEN, limit=1000)
    yield from (ChatFile(job.title, "waiting") for job in waiting)
    titles = {job.title for job in waiting}
    documents = sorted(here.braid.ledger.documents(dataset.id), key=lambda each: -each.updated_at)
    progress = document_progress(here.braid, dataset.id, [each.id for each in documents[:MOST_SHOWN]])
    for each in documents:
        if each.source in titles:
            continue
        href = url_for("braid.datasets.document", dataset_id=dataset.id, document_id=each.id)
        at = progress.get(each.id)
        is_indexed = at is None or at.stage != "parsed"  # by keyword; by meaning follows
        state: State = "failed" if each.state == "failed" else "ready" if is_indexed else "waiting"
        yield ChatFile(each.source, state, each.error, href, each.id)
