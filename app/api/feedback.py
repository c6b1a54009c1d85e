"""``/feedback``: thumbs and clicks on passages."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given
from braid.app.api.schemas import DatasetId, Moment, Page, PageQuery, Shown, page_of
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.chat.feedback import CHUNK_ID, MAX_RANKING, Feedback
from braid.core.chat.turns.cited_passages import lost_of
from braid.core.datasets.scope import MAX_DATASET_IDS
from braid.core.types import MAX_K, MAX_QUERY_CHARS

resource = Resource("feedback", "Your ratings of passages, from which qrels are made.", "user")

ChunkId = Annotated[str, Field(pattern=f"^{CHUNK_ID.pattern}$")]
Kind = Literal["up", "down", "none", "click"]


class FeedbackGiven(Given):
    """Feedback on one passage of one search."""

    kind: Kind = Field(description="A thumb, `none` to remove it, or a click on the citation")
    chunk_id: ChunkId
    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=SAYS_SOMETHING)
    dataset_ids: list[DatasetId] = Field(min_length=1, max_length=MAX_DATASET_IDS, description="The searched datasets")
    ranking: list[ChunkId] = Field(
        min_length=1,
        max_length=MAX_K,
        description="Ids of the passages in the order shown, this one included; the first "
        f"{MAX_RANKING} are kept, the last of which is this one if it was shown further down",
    )


class FeedbackShown(Shown):
    """Stored feedback on a passage."""

    kind: Kind
    chunk_id: str
    query: str = Field(description="Empty if you may no longer read a shared dataset that was searched")
    dataset_ids: list[int]
    ranking: list[str]
    created_at: Moment


class FeedbackAdded(Shown):
    """The id of stored feedback."""

    id: int


@resource.post("/feedback", FeedbackAdded, status=201)
def add_feedback(body: FeedbackGiven) -> FeedbackAdded:
    """Store feedback on a passage of a search."""
    said = Feedback(body.kind, body.chunk_id, body.query, tuple(body.dataset_ids), tuple(body.ranking))
    return FeedbackAdded(id=site().feedback.add(identity().account.id, said))


@resource.get("/feedback", Page[FeedbackShown])
def list_feedback(query: PageQuery) -> Answered:
    """List your feedback, the oldest first."""
    read = partial(site().feedback.of_user, identity().account.id)
    return page_of(Page[FeedbackShown], query, read, _show_feedback)


@resource.delete("/feedback")
def delete_feedback() -> None:
    """Delete all your ratings of passages; those of whole answers go with their conversations."""
    site().feedback.forget(identity().account.id)


def _show_feedback(said: Feedback) -> FeedbackShown:
    """Show feedback; a query that a model wrote may repeat what was found in datasets that the user has lost."""
    braid = site().braid
    is_readable = not lost_of(braid.ledger, braid.registry, identity().account.id, said.scope)
    return FeedbackShown(
        kind=said.kind,
        chunk_id=said.chunk_id,
        query=said.query if is_readable else "",
        dataset_ids=list(said.scope),
        ranking=list(said.ranking),
        created_at=said.created_at,  # type: ignore[arg-type]  # Moment takes seconds
    )
