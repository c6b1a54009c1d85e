"""``/conversations``: stored chats."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from flask import Response, request
from pydantic import Field
from werkzeug.exceptions import BadRequest

from braid.app.api.chat import ChatAnswer, Question, answer_question
from braid.app.api.framework.idempotency import HEADER
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import KEY_HEADERS, SAYS_SOMETHING, Given
from braid.app.api.framework.streams import wants_stream
from braid.app.api.schemas import DeletionQuery, Moment, Page, PageQuery, Shown, following_page, next_link, page_of
from braid.app.api.search import CitationShown
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.web.transfers import PDF_TYPE, WORD_TYPE
from braid.app.web.transfers import delete_conversation as delete
from braid.app.web.transfers import export_conversation as export
from braid.core.chat.feedback import MAX_COMMENT_CHARS, Fault, Thumb
from braid.core.chat.store import MAX_LABEL_CHARS, MAX_TITLE_CHARS
from braid.core.chat.turns.rows import State

MAX_PAGE_CHARS = 1_000_000
"""Characters of a page after which no further message is added to it."""

resource = Resource("conversations", "Stored chats; each user has their own.", "user")


class ConversationShown(Shown):
    """A conversation in a list."""

    id: int
    title: str
    created_at: Moment
    updated_at: Moment
    pinned: bool = Field(description="Whether it is kept at the top of the list")
    archived: bool = Field(description="Whether it is out of the list of the pages; it comes back when it goes on")
    label: str = Field(description="Your word for what it belongs to; empty for none")
    deleted_at: Moment | None = Field(description="When you deleted it; null while it is there")


class ConversationsQuery(PageQuery):
    """Which conversations to list."""

    deleted: bool = Field(False, description="List the deleted ones that can be restored instead, the last one first")


class StoredCitationShown(CitationShown):
    """A cited passage with its text when it was cited."""

    deleted: bool = Field(description="Whether the passage was deleted or changed, or you may no longer read it")
    fate: Literal["current", "changed", "deleted", "withheld"] = Field(
        description="`withheld`: you may no longer read it, so that its text, title and place are empty"
    )
    now: str = Field(description="Of a changed passage: the id of a passage of the document as it is now")


class MessageShown(Shown):
    """A question with its settings, or an answer with how it was made."""

    id: int
    role: Literal["user", "assistant"]
    text: str
    settings: dict[str, Any]
    created_at: Moment
    thumb: Literal["", "up", "down"] = Field(description="Your rating of the whole answer")
    fault: Fault = Field(description="With `down`: what you said is wrong with it; else empty")
    comment: str = Field(description="With `down`: your comment; else empty")
    parent_id: int | None = Field(description="The question of an answer, or the answer that a question follows")
    state: State = Field(
        description="Of an answer: `complete`, `running`, `stopped` by you, `interrupted` (the connection or the "
        "server ended), `cut` (the model ended too early) or `failed`"
    )
    variants: list[int] = Field(
        description="Ids of the message and its variants: edited questions, or further answers to one question"
    )
    citations: list[StoredCitationShown]


class ConversationWhole(ConversationShown):
    """A conversation with a page of its messages. ``next`` is the address of the next page; null at the end."""

    messages: list[MessageShown] = Field(description="The chosen variants, in order")
    other_variants: list[MessageShown] = Field(
        description="The messages that are not among the chosen ones, which come after these"
    )
    next: str | None


class ConversationGiven(Given):
    """A new conversation. Without a title it is named after its first question."""

    title: str = Field("", max_length=MAX_TITLE_CHARS)


class ConversationChanges(Given):
    """What is to change; what is left out stays."""

    title: str | None = Field(None, min_length=1, max_length=MAX_TITLE_CHARS, pattern=SAYS_SOMETHING)
    pinned: bool | None = Field(None, description="Whether it is kept at the top of the list")
    archived: bool | None = Field(None, description="Whether it is out of the list of the pages")
    label: str | None = Field(None, max_length=MAX_LABEL_CHARS, description="Empty takes the label away")


class ThumbGiven(Given):
    """A rating of a whole answer."""

    kind: Thumb = Field(description="A thumb; `none` removes it")
    fault: Fault = Field("", description="With `down`: what is wrong with the answer")
    comment: str = Field(
        "", max_length=MAX_COMMENT_CHARS, description="With `down`: why; administrators see it without your name"
    )


class ExportQuery(Given):
    """The export's format."""

    format: Literal["md", "json", "docx", "pdf"] = Field(
        "md", description="`docx`: a Word document with footnotes; `pdf`: a PDF with notes under each answer"
    )


@resource.get("/conversations", Page[ConversationShown])
def list_conversations(query: ConversationsQuery) -> Answered:
    """List your conversations: pinned ones first, then most recently used first."""
    store = site().conversations
    read = partial(store.deleted if query.deleted else store.conversations, identity().account.id)
    return page_of(Page[ConversationShown], query, read, ConversationShown.model_validate)


@resource.post("/conversations", ConversationShown, status=201)
def add_conversation(body: ConversationGiven) -> Answered:
    """Start a conversation."""
    added = site().conversations.create(identity().account.id, body.title, most=site().settings.max_user_conversations)
    where = url_for("braid.api.get_conversation", conversation_id=added.id)
    return Answered(ConversationShown.model_validate(added), {"Location": where})


@resource.get("/conversations/<int:conversation_id>", ConversationWhole)
def get_conversation(conversation_id: int, query: PageQuery) -> Answered:
    """Get a conversation with its messages, a page at a time.

    The pages go through the chosen messages, then through the others. A page that reaches a
    million characters ends there, with fewer messages than `limit`: follow `next`.
    """
    user_id, store = identity().account.id, site().conversations
    found, (path, others) = store.conversation(user_id, conversation_id), store.ids(user_id, conversation_id)
    ids = [*path, *others]
    wanted = ids[query.offset : query.offset + query.limit]
    shown, chars = list[MessageShown](), 0
    for message in store.each(user_id, conversation_id, wanted):
        shown.append(MessageShown.model_validate(message))
        chars += len(shown[-1].model_dump_json())
        if chars > MAX_PAGE_CHARS:
            break
    following = following_page(query, len(shown)) if query.offset + len(shown) < len(ids) else None
    whole = ConversationWhole(
        **ConversationShown.model_validate(found).model_dump(),
        messages=[message for message in shown if message.id in set(path)],
        other_variants=[message for message in shown if message.id in set(others)],
        next=following,
    )
    return Answered(whole, next_link(following))


@resource.patch("/conversations/<int:conversation_id>", ConversationShown)
def change_conversation(conversation_id: int, body: ConversationChanges) -> ConversationShown:
    """Rename a conversation, pin it to the top of the list, archive it, or give it a label."""
    user_id, store = identity().account.id, site().conversations
    if body.title is not None:
        store.rename(user_id, conversation_id, body.title)
    if body.pinned is not None:
        store.pin(user_id, conversation_id, body.pinned)
    store.arrange(user_id, [conversation_id], archived=body.archived, label=body.label)
    return ConversationShown.model_validate(store.conversation(user_id, conversation_id))


@resource.delete("/conversations/<int:conversation_id>")
def delete_conversation(conversation_id: int, query: DeletionQuery) -> None:
    """Delete a conversation with its messages and its files; for some days it can be restored.

    How many days, the setting `deleted_days` says. Meanwhile it is in no list, search or export, and its
    link leads nowhere.
    """
    delete(identity().account.id, conversation_id, for_good=query.permanently)


@resource.post("/conversations/<int:conversation_id>/restore", ConversationShown)
def restore_conversation(conversation_id: int) -> ConversationShown:
    """Restore a deleted conversation with its messages, its files and its link."""
    user_id, store = identity().account.id, site().conversations
    store.restore(user_id, [conversation_id], most=site().settings.max_user_conversations)
    return ConversationShown.model_validate(store.conversation(user_id, conversation_id))


@resource.post(
    "/conversations/<int:conversation_id>/messages",
    ChatAnswer,
    status=201,
    media_types=("text/event-stream",),
    headers=tuple(KEY_HEADERS.values()),
)
def add_message(conversation_id: int, body: Question) -> Answered | Response:
    """Ask a question in a conversation and store it with the answer.

    Works as `POST /chat`, also with `Accept: text/event-stream`, but takes the earlier turns from the conversation. The
    question is stored at once, and the answer as it grows. If the connection is closed early, the model is stopped and
    the answer so far is `interrupted`; on the pages, where nobody waits for an answer to end, it would go on.
    """
    user_id, store = identity().account.id, site().conversations
    if wants_stream() and HEADER in request.headers:
        raise BadRequest(f"{HEADER} and text/event-stream cannot be combined; leave one out")
    history = store.history(user_id, conversation_id)
    files = store.files.dataset(user_id, conversation_id)
    return answer_question(body, history, partial(site().turn_store.begin, conversation_id), files=files)


@resource.put("/conversations/<int:conversation_id>/messages/<int:message_id>/thumb", status=204)
def put_thumb(conversation_id: int, message_id: int, body: ThumbGiven) -> None:
    """Rate an answer. Ratings of a single passage go to `/feedback`."""
    thumbs, user_id = site().answer_thumbs, identity().account.id
    thumbs.put(user_id, conversation_id, message_id, body.kind, fault=body.fault, comment=body.comment)


@resource.get(
    "/conversations/<int:conversation_id>/export",
    None,
    media_types=("text/markdown", "application/json", WORD_TYPE, PDF_TYPE),
)
def export_conversation(conversation_id: int, query: ExportQuery) -> Response:
    """Download a conversation, as Markdown or Word for people or as JSON for programs.

    Markdown and Word have the chosen variants alone, JSON the others as well (`other_variants`). A conversation of more
    than a million characters is too long for Word.
    """
    return export(identity().account.id, conversation_id, query.format)
