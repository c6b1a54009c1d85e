"""A class for each strategy, for who asks a strategy for its retriever instead of the manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:  # LangChain takes a second to load
    from braid.core.langchain import SearchRetriever
    from braid.core.types import DatasetIds


class MakesRetrievers(Protocol):
    """A `Braid`, or its `RetrieverManager`."""

    @property
    def get_retriever(self) -> Any:
        """Returns a retriever of a strategy, for a user and datasets."""


class RetrieverStrategy:
    """Makes retrievers of one strategy; ``options`` are those of `RetrieverManager.get_retriever`."""

    strategy: ClassVar[str]

    def __init__(self, of: MakesRetrievers, **options: Any) -> None:
        self._of = of
        self._options = options

    def get_retriever(self, user_id: int | None, dataset_ids: DatasetIds = None, **options: Any) -> SearchRetriever:
        """Return the retriever for these datasets; see `RetrieverManager.get_retriever`."""
        given = {**self._options, **options}
        made: SearchRetriever = self._of.get_retriever(self.strategy, user_id=user_id, dataset_ids=dataset_ids, **given)
        return made


class BasicRetrieverStrategy(RetrieverStrategy):
    """Searches for the query as it is.

    >>> retriever = BasicRetrieverStrategy(braid).get_retriever(user_id=1, dataset_ids=[1])
    >>> retriever.invoke("XK-4711")[0].metadata["source"]
    'valve.md'
    """

    strategy = "basic"


class MultiQueryRetrieverStrategy(RetrieverStrategy):
    """Searches for several ways of putting the query.

    >>> retriever = MultiQueryRetrieverStrategy(braid).get_retriever(user_id=1, dataset_ids=[1])
    >>> retriever.invoke("XK-4711")[0].metadata["source"]
    'valve.md'
    """

    strategy = "multi_query"


class ContextualCompressionRetrieverStrategy(RetrieverStrategy):
    """Shows of each passage only what answers.

    >>> retriever = ContextualCompressionRetrieverStrategy(braid).get_retriever(user_id=1, dataset_ids=[1])
    >>> retriever.invoke("XK-4711")[0].metadata["source"]
    'valve.md'
    """

    strategy = "compression"


class HydeRetrieverStrategy(RetrieverStrategy):
    """Searches by meaning for a passage that might answer.

    >>> retriever = HydeRetrieverStrategy(braid).get_retriever(user_id=1, dataset_ids=[1])
    >>> retriever.invoke("XK-4711")[0].metadata["source"]
    'valve.md'
    """

    strategy = "hyde"
