"""``/datasets/{dataset_id}/shares``, ``/conversations/{conversation_id}/link``: what users share with each other."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.conversations import StoredCitationShown
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given
from braid.app.api.schemas import Moment, PageQuery, Shown, following_page, next_link
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.app.user.sharing import ask_for_access, end_link, hand_over, link_of, make_link, read_by_link
from braid.core.datasets.shares import Share
from braid.core.types import MAX_ID, MAX_NAME_CHARS, Dataset

resource = Resource("shares", "Datasets and conversations that users share with each other.", "user")
ONE = "/datasets/<int(signed=True):dataset_id>"


class ShareShown(Shown):
    """A user, or the members of a group, with whom a dataset is shared."""

    kind: Literal["user", "group"]
    name: str
    may_write: bool = Field(description="Whether they may add and remove documents as well as read")


class RequestShown(Shown):
    """A user who asks to read a dataset."""

    user: str
    created_at: Moment


class SharingShown(BaseModel):
    """With whom a dataset is shared, and who asks for it."""

    shares: list[ShareShown]
    requests: list[RequestShown]


class Named(Given):
    """The name of a user."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=SAYS_SOMETHING, examples=["ben"])


class ShareNamed(Named):
    """A user or a group."""

    kind: Literal["user", "group"] = "user"


class ShareGiven(ShareNamed):
    """A user or a group, and what they may do."""

    may_write: bool = Field(
        False,
        description="Whether they may add and remove documents; true for the editors of a shared dataset",
    )


@resource.get(f"{ONE}/shares", SharingShown)
def list_shares(dataset_id: int) -> SharingShown:
    """List with whom your dataset is shared, and who asks for it. Administrators list the editors of a shared one."""
    return _show(caller_datasets().sharable(dataset_id))


@resource.post(f"{ONE}/shares", SharingShown)
def share_dataset(dataset_id: int, body: ShareGiven) -> SharingShown:
    """Share your dataset with a user or a group, or change what they may do. A user's request is granted by it."""
    dataset = caller_datasets().sharable(dataset_id)
    site().shares.put(dataset, Share(body.kind, body.name.strip(), body.may_write), by=identity().account.name)
    return _show(dataset)


@resource.post(f"{ONE}/shares/delete", SharingShown)
def unshare_dataset(dataset_id: int, body: ShareNamed) -> SharingShown:
    """Take back what was shared, with effect from the next request."""
    dataset = caller_datasets().sharable(dataset_id)
    site().shares.remove(dataset, body.kind, body.name.strip(), by=identity().account.name)
    return _show(dataset)


@resource.post(f"{ONE}/shares/decline", SharingShown)
def decline_request(dataset_id: int, body: Named) -> SharingShown:
    """Decline a user's request for access, which the user is not told."""
    dataset = caller_datasets().sharable(dataset_id)
    site().shares.decline(dataset, body.name.strip(), by=identity().account.name)
    return _show(dataset)


@resource.post(f"{ONE}/hand-over")
def hand_over_dataset(dataset_id: int, body: Named) -> None:
    """Give your dataset to another user. You may not read it any more, unless they share it with you."""
    hand_over(caller_datasets().personal(dataset_id), body.name)


# ---------------------------------------------------------------- conversations


class LinkShown(BaseModel):
    """The link of a conversation."""

    url: str


class SharedMessage(Shown):
    """A question, or an answer as far as you may read what it is from."""

    id: int
    role: Literal["user", "assistant"]
    text: str
    citations: list[StoredCitationShown]


class SharedConversationShown(BaseModel):
    """A conversation that another user shares, as it was at that time."""

    owner: str
    title: str
    shared_at: Moment
    messages: list[SharedMessage]
    next: str | None = Field(description="The address of the next page; null at the end")


class CitationNamed(Given):
    """A citation of an answer."""

    number: int = Field(ge=1, le=MAX_ID)


@resource.put("/conversations/<int:conversation_id>/link", LinkShown)
def share_conversation(conversation_id: int) -> LinkShown:
    """Share a conversation as it is now, read-only, with people who have an account and its new link.

    An earlier link of the conversation leads nowhere then.
    """
    make_link(conversation_id)
    return LinkShown(url=link_of(conversation_id))


@resource.delete("/conversations/<int:conversation_id>/link")
def unshare_conversation(conversation_id: int) -> None:
    """Take the link of a conversation back."""
    end_link(conversation_id)


@resource.get("/shared-conversations/<token>", SharedConversationShown)
def get_shared_conversation(token: str, query: PageQuery) -> Answered:
    """Read a conversation that another user shares; the token is the end of its link."""
    found = site().conversations.links.find(token)
    wanted = found.message_ids[query.offset : query.offset + query.limit]
    shown = [SharedMessage.model_validate(each) for each in read_by_link(found, wanted)]
    more = query.offset + len(shown) < len(found.message_ids)
    following = following_page(query, len(shown)) if more and shown else None
    whole = SharedConversationShown(
        owner=found.owner,
        title=site().conversations.conversation(found.user_id, found.conversation_id).title,
        shared_at=found.created_at,  # type: ignore[arg-type]  # Moment takes seconds
        messages=shown,
        next=following,
    )
    return Answered(whole, next_link(following))


@resource.post("/conversations/<int:conversation_id>/messages/<int:message_id>/ask-access", status=204)
def ask_access(conversation_id: int, message_id: int, body: CitationNamed) -> None:
    """Ask for access to the source of a citation that is `withheld`. Those who may share it see that you ask."""
    user_id, store = identity().account.id, site().conversations
    ask_for_access(store.messages(user_id, conversation_id, ids=[message_id]), body.number)


def _show(dataset: Dataset) -> SharingShown:
    shares = site().shares
    return SharingShown(
        shares=[ShareShown.model_validate(each) for each in shares.of(dataset)],
        requests=[RequestShown.model_validate(each) for each in shares.requests([dataset.id])],
    )
