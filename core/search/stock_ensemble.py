"""LangChain's EnsembleRetriever, from the package that has it here, and its legs as child runs; the only file that
imports it.

It moved from langchain to langchain-classic, which is for langchain-core 1.0 and later. Braid's retrievers take from it
what they are, not what they do: where neither is installed, a class with the same fields stands for it. Braid asks its
legs together, not each retriever by itself: a child run lasts as long as the search, and ends with those of the hits
that its leg has found, or with the reason why it could not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from braid.core.errors import IndexUnavailableError
from braid.core.extras import is_installed
from braid.core.types import CollectionScope, Hit, Leg, SearchResult

if TYPE_CHECKING or is_installed("langchain_classic"):
    from langchain_classic.retrievers.ensemble import EnsembleRetriever
elif is_installed("langchain") and is_installed("langchain.retrievers"):  # before langchain 1.0
    from langchain.retrievers.ensemble import EnsembleRetriever
else:

    class EnsembleRetriever(BaseRetriever):
        """Has the stock class's fields."""

        retrievers: list[BaseRetriever]
        weights: list[float]
        c: int = 60
        id_key: str | None = None

        def _get_relevant_documents(self, query: str, **options: Any) -> Any:
            raise NotImplementedError

        def weighted_reciprocal_rank(self, doc_lists: list[list[Any]]) -> list[Any]:
            """Raise NotImplementedError: there is no stock class to fuse."""
            raise NotImplementedError


__all__ = ["EnsembleRetriever", "LegName", "aend_legs", "astart_legs", "end_legs", "start_legs"]

LegName = tuple[Leg, CollectionScope]
Show = Callable[[Sequence[Hit]], list[Document]]
"""Returns hits as documents."""


def start_legs(
    run: CallbackManagerForRetrieverRun, query: str, legs: Mapping[int, LegName]
) -> dict[int, CallbackManagerForRetrieverRun]:
    """Begin a child run for each leg, by its number, from 1; none where nobody listens."""
    if not run.handlers:
        return {}
    return {
        number: run.get_child(f"retriever_{number}").on_retriever_start({}, query, **_of(*leg))
        for number, leg in legs.items()
    }


async def astart_legs(
    run: AsyncCallbackManagerForRetrieverRun, query: str, legs: Mapping[int, LegName]
) -> dict[int, AsyncCallbackManagerForRetrieverRun]:
    """Do what `start_legs` does."""
    if not run.handlers:
        return {}
    return {
        number: await run.get_child(f"retriever_{number}").on_retriever_start({}, query, **_of(*leg))
        for number, leg in legs.items()
    }


def end_legs(
    runs: Mapping[int, CallbackManagerForRetrieverRun],
    legs: Mapping[int, LegName],
    result: SearchResult | BaseException,
    show: Show,
) -> None:
    """End the runs with what their legs have found, or with why they could not."""
    for number, run in runs.items():
        outcome = _outcome(legs[number], result)
        if isinstance(outcome, BaseException):
            run.on_retriever_error(outcome)
        else:
            run.on_retriever_end(show(outcome))


async def aend_legs(
    runs: Mapping[int, AsyncCallbackManagerForRetrieverRun],
    legs: Mapping[int, LegName],
    result: SearchResult | BaseException,
    show: Show,
) -> None:
    """Do what `end_legs` does."""
    for number, run in runs.items():
        outcome = _outcome(legs[number], result)
        if isinstance(outcome, BaseException):
            await run.on_retriever_error(outcome)
        else:
            await run.on_retriever_end(show(outcome))


def _of(leg: Leg, scope: CollectionScope) -> dict[str, Any]:
    return {"name": f"{leg} {scope.collection}"}


def _outcome(name: LegName, result: SearchResult | BaseException) -> Sequence[Hit] | BaseException:
    """Return the leg's own hits, best first."""
    if isinstance(result, BaseException):
        return result
    leg, collection = name[0], name[1].collection
    ranked = [
        (each.rank, place, hit)
        for place, hit in enumerate(result.hits)
        for each in hit.legs
        if each.leg == leg and hit.passage.collection == collection
    ]
    missing = [part.reason for part in result.degraded if part.leg == leg and part.collection in ("", collection)]
    if missing and not ranked:
        return IndexUnavailableError("; ".join(missing))
    return [hit for _, _, hit in sorted(ranked, key=lambda each: each[:2])]
