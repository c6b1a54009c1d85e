"""LangChain's EnsembleRetriever, from the package that has it here; the only file that imports it.

It moved from langchain to langchain-classic, which is for langchain-core 1.0 and later. Braid's retrievers take from it
what they are, not what they do: where neither is installed, a class with the same fields stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.retrievers import BaseRetriever

from braid.core.extras import is_installed

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


__all__ = ["EnsembleRetriever"]
