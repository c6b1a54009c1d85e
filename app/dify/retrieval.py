"""``POST /retrieval``: the passages of datasets for a question, as Dify asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from werkzeug.exceptions import ServiceUnavailable

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, WHOLE, Lenient
from braid.app.api.request_models import search_models
from braid.app.api.schemas import DegradedShown
from braid.app.api.search_options import SearchOptionsGiven
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.dify.conditions import MetadataConditionGiven, metadata_filter
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.dataset_choices import choice_named
from braid.core.braid import Braid
from braid.core.chat.quoting.match import SCALES
from braid.core.errors import EmbeddingError
from braid.core.json_form import to_json
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query
from braid.core.types import MAX_K, MAX_QUERY_CHARS, Filters, Hit, SearchResult, indexed_text
from braid.core.vector import Vector

MAX_KNOWLEDGE_CHARS = 4_000

resource = Resource("retrieval", "Passages for a question.", "user")


class RetrievalSetting(Lenient):
    """How much to return. Dify sends null for what is not set."""

    top_k: Annotated[int, Field(ge=1, le=MAX_K), WHOLE] | None = None
    score_threshold: float | None = Field(None, ge=0.0, le=1.0)


class RetrievalGiven(Lenient):
    """A question about some knowledge."""

    knowledge_id: str = Field(
        max_length=MAX_KNOWLEDGE_CHARS,
        examples=["all"],
        description="Ids of datasets as `-1,3`, `all`, or the name of a saved choice",
    )
    query: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARS, pattern=SAYS_SOMETHING, examples=["how are the rankings fused?"]
    )
    retrieval_setting: RetrievalSetting | None = None
    metadata_condition: MetadataConditionGiven | None = Field(
        None, description="None, or without conditions: no filter"
    )


class RecordShown(BaseModel):
    """A passage. `metadata` is never null, which Dify needs."""

    content: str
    score: float = Field(description="0–1, the same scale for every question: 0.5 is where a match is no longer weak")
    title: str
    metadata: dict[str, Any]


class RecordsShown(BaseModel):
    """Passages, best first, and what could not be searched."""

    records: list[RecordShown]
    degraded: list[DegradedShown]


@resource.post("/retrieval", RecordsShown, repeatable=False)
@rule("user", "read", limited=True)
def retrieve(body: RetrievalGiven) -> RecordsShown:
    """Search the datasets of the knowledge, by meaning and by keyword.

    Passages below the threshold are left out. Where something failed and nothing can be returned, the answer is 503.
    """
    account, here, setting = identity().account, site(), body.retrieval_setting or RetrievalSetting.model_validate({})
    choice = choice_named(account, body.knowledge_id.strip()).given
    plain = SearchOptionsGiven.model_validate({"dataset_ids": choice, "top_k": setting.top_k})
    options = plain.options("hybrid") | {"filters": Filters(metadata=metadata_filter(body.metadata_condition))}
    here.usage.count(account.id, "search")
    result = here.braid.manager.search(
        body.query,
        user_id=account.id,
        dataset_ids=choice,
        within=identity().dataset_ids,
        models=search_models(plain, options),
        **options,
    )
    here.metrics.count_search(result)
    records = list(_records(result, setting.score_threshold or 0.0))
    if result.degraded and not records:
        reasons = dict.fromkeys(part.reason for part in result.degraded)
        raise ServiceUnavailable(f"nothing can be said of this question now: {'; '.join(reasons)}")
    return RecordsShown(records=records, degraded=[DegradedShown.model_validate(part) for part in result.degraded])


def _records(result: SearchResult, threshold: float) -> Iterator[RecordShown]:
    scores = scores_of(result, site().braid)
    for hit in result.hits:
        score = scores.get(hit.passage.chunk_id, 0.0)
        if score >= threshold:
            yield RecordShown(content=hit.passage.text, score=score, title=hit.passage.title, metadata=_metadata(hit))


def _metadata(hit: Hit) -> dict[str, Any]:
    """Return the document's own metadata, and where the passage stands; ids are texts, as Dify's are."""
    passage = hit.passage
    place = {
        "path": passage.source,
        "document_id": str(passage.document_id),
        **{name: getattr(passage, name) for name in ("chunk_id", "file_type", "heading_path", "page", "line")},
        "also_in": [each.source for each in hit.also_in] or None,
        "url": url_for("braid.search.document", chunk_id=passage.chunk_id, _external=True),
    }
    return {**to_json(passage.metadata), **{name: value for name, value in place.items() if value not in (None, "")}}


MAX_EMBEDDED = 16
"""Passages that are embedded for their score, since their vectors are not there yet."""


def scores_of(result: SearchResult, braid: Braid) -> dict[str, float]:
    """Return the score of each hit by its chunk id, those left out whose model fails.

    Scores of 0–1 mean the same for every query, for thresholds and for comparing with other knowledge. Those that rank
    Braid's hits do not: by rank the best possible one is 0.016, and in ``auto`` and ``weighted`` fusion a score says
    how far a hit stands out among those of the same query. The exact cosine of question and passage depends on nothing
    else, but many models give unrelated texts a high one. So it is put on the scale that is known for the model
    (`braid.core.chat.quoting.match.CosineScale.share`): 0 for an unrelated text, 0.5 where a match is no longer weak.
    """
    of_collection: dict[str, list[Hit]] = {}
    for hit in result.hits:
        of_collection.setdefault(hit.passage.collection, []).append(hit)
    found: dict[str, float] = {}
    for collection, hits in of_collection.items():
        try:
            model = braid.answering_model(collection)
            cosines = _cosines(result.query.text, hits, model, braid)
        except EmbeddingError:
            continue
        scale = SCALES.get(model.fingerprint)
        found |= {
            chunk_id: scale.share(cosine) if scale else min(1.0, max(0.0, cosine))
            for chunk_id, cosine in cosines.items()
        }
    return found


def _cosines(text: str, hits: Sequence[Hit], model: EmbeddingModel, braid: Braid) -> dict[str, float]:
    """Return the exact cosines: those of the dense leg, and for hits that only the keyword leg had, computed."""
    known = {
        hit.passage.chunk_id: leg.score for hit in hits for leg in hit.legs if leg.leg == "dense" and leg.query == text
    }
    others = [hit for hit in hits if hit.passage.chunk_id not in known]
    if not others:
        return known
    query = embed_query(model, text)
    vectors: dict[str, Vector] = dict(
        braid.ledger.embeddings(model.fingerprint, [hit.passage.chunk_id for hit in others])
    )
    new = [hit.passage for hit in others if hit.passage.chunk_id not in vectors][:MAX_EMBEDDED]
    if new:
        made = embed_passages(model, [indexed_text(each.title, each.heading_path, each.text) for each in new])
        vectors |= {passage.chunk_id: vector for passage, vector in zip(new, made, strict=True)}
    return known | {chunk_id: float(vector @ query) for chunk_id, vector in vectors.items()}
