"""``GET /strategies`` and ``GET /models``: strategies and models that a search may name."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Resource
from braid.app.site import site
from braid.app.user.models import offered_models
from braid.core.search.strategies import StrategyInfo

resource = Resource("choices", "Strategies and models that a search may name.", "user", limited=True)


class ParameterShown(BaseModel):
    """A number that tunes a strategy; the bounds are allowed, too."""

    value: float = Field(description="The value in force where a request names none")
    default: float
    lowest: float
    highest: float
    whole: bool = Field(description="Whether it must be a whole number")
    meaning: str


class StrategyShown(BaseModel):
    """A strategy, which expands queries and refines hits."""

    name: str
    description: str
    costs: dict[Literal["llm", "feedback"], str] = Field(
        description="Per generator: a model (`llm`) or the first pass (`feedback`)"
    )
    parameters: dict[str, ParameterShown] = Field(description="What a request may say in `parameters`")


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
def list_strategies() -> StrategiesShown:
    """List the strategies, each with its description and parameters."""
    return StrategiesShown(items=[_show(strategy) for strategy in site().braid.manager.strategies()])


def _show(strategy: StrategyInfo) -> StrategyShown:
    parameters = {
        name: ParameterShown(
            value=strategy.parameters[name],
            default=limits.default,
            lowest=limits.lowest,
            highest=limits.highest,
            whole=isinstance(limits.default, int),
            meaning=limits.meaning,
        )
        for name, limits in strategy.limits.items()
    }
    return StrategyShown(
        name=strategy.name, description=strategy.description, costs=dict(strategy.costs), parameters=parameters
    )


@resource.get("/models", ModelsShown)
def list_models() -> ModelsShown:
    """List the models that this site offers."""
    offered = offered_models()
    return ModelsShown(
        search=list(offered.search),
        summary=list(offered.summary),
        embedding=site().settings.embedding_model,
        reranker=site().reranker,
    )
