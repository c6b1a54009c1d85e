"""``POST /explain``: explains why a passage is, or is not, in a result."""

from __future__ import annotations

from pydantic import Field

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import KEY_HEADERS
from braid.app.api.request_models import search_models
from braid.app.api.schemas import Shown
from braid.app.api.search import LegShown, TextSearch
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.types import Reason

resource = Resource("explain", "Explains why a passage is, or is not, in the result of a search.", "user")


class ExplainBody(TextSearch):
    """A search, and the passage to explain."""

    chunk_id: str = Field(min_length=1, max_length=100)


class ExplanationShown(Shown):
    """The passage's rank, or the reason why it is missing."""

    chunk_id: str
    found: bool
    reason: Reason
    detail: str
    rank: int | None
    legs: list[LegShown]
    reranker: str = Field(description="The one that put the first hits in order; empty without one, or where it failed")


@resource.post("/explain", ExplanationShown, repeatable=False, headers=tuple(KEY_HEADERS.values()))
@rule("user", "read", limited=True)
def explain(body: ExplainBody) -> ExplanationShown:
    """Explain why a passage is, or is not, among the hits of a search."""
    options = body.options("hybrid")
    found = site().braid.manager.explain(
        body.query,
        chunk_id=body.chunk_id,
        user_id=identity().account.id,
        dataset_ids=body.dataset_ids,
        within=identity().dataset_ids,
        strategy=body.strategy,
        models=search_models(body, options),
        **options,
    )
    return ExplanationShown.model_validate(found)
