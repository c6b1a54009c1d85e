"""``GET /strategies`` and ``GET /models``: strategies and models that a search may name."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Resource
from braid.app.auth.access import rule
from braid.app.site import site
from braid.app.user.models import offered_models
from braid.core.search.strategies import strategies as known_strategies

resource = Resource("choices", "Strategies and models that a search may name.")


class StrategyShown(BaseModel):
    """A strategy, which expands queries and refines hits."""

    name: str
    description: str
    costs: dict[Literal["llm", "feedback"], str] = Field(
        description="Per generator: a model (`llm`) or the first pass (`feedback`)"
    )


class StrategiesShown(BaseModel):
    """All strategies."""

    items: list[StrategyShown]


class ModelsShown(BaseModel):
    """Models as `provider:model`; the first chat model of a role is its default."""

    search: list[str] = Field(description="Models that write queries")
    summary: list[str] = Field(description="Models that write answers")
    embedding: str = Field(description="Model of collections that name no other")
    reranker: str = Field(description="Empty for none")


@resource.get("/strategies", StrategiesShown)
@rule("user")
def list_strategies() -> StrategiesShown:
    """List the strategies, each with its description."""
    return StrategiesShown(
        items=[
            StrategyShown(name=name, description=strategy.description, costs=dict(strategy.costs))
            for name, strategy in known_strategies().items()
        ]
    )


@resource.get("/models", ModelsShown)
@rule("user")
def list_models() -> ModelsShown:
    """List the models that this site offers."""
    offered, settings = offered_models(), site().settings
    return ModelsShown(
        search=list(offered.search),
        summary=list(offered.summary),
        embedding=settings.embedding_model,
        reranker=settings.reranker,
    )
