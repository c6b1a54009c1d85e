"""What the owner of a data directory has open: both indexes, the indexer that feeds them, and the way to search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from braid.core.datasets.registry import Registry
from braid.core.indexes.bm25 import LexicalIndex
from braid.core.indexes.dense import DenseIndex
from braid.core.indexes.indexer import Indexer
from braid.core.ledger.ledger import Ledger
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.priority import RightOfWay
from braid.core.retriever_manager import RetrieverManager
from braid.core.search.context import SearchContext, SearchModels
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg

SEARCH_THREADS = 16
"""Of each leg."""


class Engine:
    """Opens the indexes under ``folder`` and begins to follow the ledger. One at a time, see
    `braid.core.ledger.owner`."""

    def __init__(
        self,
        folder: Path,
        ledger: Ledger,
        registry: Registry,
        *,
        model_of: Callable[[str], EmbeddingModel],
        languages: tuple[str, ...],
        leg_timeout_s: float,
        max_open_collections: int,
        chroma_url: str,
        follow: Sequence[Leg],
        crashed: bool,
        before_work: Callable[[], None],
        rerankers: Rerankers | None,
        models: ChatModels | None,
        prompts: Prompts | None,
    ) -> None:
        self.analyzer = Analyzer(languages)
        self.lexical = LexicalIndex(folder / "bm25", self.analyzer, max_open_collections=max_open_collections)
        self.dense = DenseIndex(folder / "dense", max_open_collections=max_open_collections, url=chroma_url)
        self.right_of_way = RightOfWay()
        self.indexer = Indexer(
            ledger,
            self.lexical,
            self.dense,
            analyzer_version=self.analyzer.version,
            model_of=model_of,
            crashed=crashed,
            right_of_way=self.right_of_way,
            follow=follow,
            before_work=before_work,
        )
        legs: tuple[Leg, ...] = ("dense", "bm25")
        self._executors = {leg: ThreadPoolExecutor(SEARCH_THREADS, f"braid-search-{leg}") for leg in legs}
        self._rerankers = rerankers or Rerankers()
        context = SearchContext(
            ledger=ledger,
            indexer=self.indexer,
            dense=self.dense,
            lexical=self.lexical,
            analyzer=self.analyzer,
            model_of=model_of,
            executors=self._executors,
            leg_timeout_s=leg_timeout_s,
            models=SearchModels(models or ChatModels(), prompts or Prompts(), self._rerankers),
            right_of_way=self.right_of_way,
        )
        self.manager = RetrieverManager(context, registry)
        self.indexer.start()

    def close(self) -> None:
        """Finish the batches under way and give everything back."""
        self.indexer.stop()
        for executor in self._executors.values():
            executor.shutdown(wait=True, cancel_futures=True)
        self._rerankers.close()
        self.lexical.close()
        self.dense.close()
