"""A Milvus server, and the collections that Braid's indexes have there.

Milvus calls "collection" what has a schema and indexes; here that is a `Store`, and each of its rows is a chunk with
the name of the collection of Braid's that it is in, which is the partition key.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any, NamedTuple

from braid.core.batches import batches
from braid.core.errors import IndexUnavailableError, OtherSiteError, StoreUnreachableError
from braid.core.extras import require
from braid.core.files.claim import Claim
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.spans import NOTHING, span

TIMEOUT_S = 30.0
"""For writes and inspections; searches have the time that is left to them."""
CONNECT_S = 3.0
"""For a connection; nobody else tries for as long after a failure."""
ROWS_PER_WRITE = 1_000
ROWS_PER_READ = 1_000
MOST_HITS = 16_384
"""Milvus's own limit of hits."""
PARTITIONS = 16
"""Partitions of a store; a collection is in one of them, which it shares with others. Milvus's default."""
MAX_ID_CHARS = 128
MAX_NAME_BYTES = 512
SITE = "braid_site_"
"""Beginning of the name of the collection that says which site the indexes are of."""
_NO_SUCH_COLLECTION = 100

Row = Mapping[str, Any]


class MilvusHit(NamedTuple):
    """A chunk with Milvus's distance."""

    chunk_id: str
    distance: float
    row: Row


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a kind of store beside those of every chunk, and its index."""

    kind: str
    version: str
    """What the field's contents depend on; another version is another store."""
    add_fields: Callable[[Any], None]
    """Adds the fields to a schema of pymilvus."""
    index: Mapping[str, Any]
    """What to index, as pymilvus's ``add_index`` takes it."""


class MilvusServer:
    """One connection to a server, made by the first call. Calls come from any thread.

    Raises StoreUnreachableError when the server does not answer, IndexUnavailableError when it refuses, or has another
    site's indexes than those of the ``claim``.
    """

    def __init__(self, options: MilvusOptions, claim: Claim | None = None) -> None:
        require("milvus", "an index in Milvus", "pymilvus")
        self._options = options
        self._claim = claim
        self._other: OtherSiteError | None = None
        self._connected: Any = None
        self._lock = threading.Lock()
        self._refused_until = 0.0
        self._known: set[str] = set()
        self.seen: dict[tuple[str, str], float] = {}
        """Until when a collection of a store need not be counted; forgotten with each error."""

    def store(self, collection: str, shape: Shape) -> Store:
        """Return the store that has the collection's chunks of this shape; it is made by the first write."""
        own = collection if any(fnmatchcase(collection, pattern) for pattern in self._options.apart) else ""
        return Store(self, f"braid_{shape.kind}_{_digest(shape.version)}{own and '_' + _digest(own)}", shape)

    def stores(self, kind: str) -> list[str]:
        """Return the names of the stores of this kind, of whatever version."""
        with self.answering() as client:
            return sorted(name for name in client.list_collections() if name.startswith(f"braid_{kind}_"))

    def require_site(self) -> None:
        """Raise OtherSiteError when the server has another site's indexes; one that is down is asked later."""
        try:
            with self.answering():
                return
        except IndexUnavailableError:
            if self._other is not None:
                raise self._other from None

    def _claim_it(self, client: Any) -> None:
        """Let only one site use this database: the name of an empty collection has its id."""
        if self._claim is None:
            return
        names = [name for name in client.list_collections() if name.startswith("braid_")]
        marks = [name for name in names if name.startswith(SITE)]
        mine = SITE + self._claim.site
        found = "" if not marks else self._claim.site if mine in marks else marks[0].removeprefix(SITE)
        has = "indexes" if len(names) > len(marks) else ""
        if self._claim.check(f"Milvus at {self._options.where}", found, has=has):
            from pymilvus import DataType

            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_ID_CHARS)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)  # there is no collection without one
            if not client.has_collection(mine):
                client.create_collection(mine, schema=schema)
            for name in marks:  # of sites that have it no more
                client.drop_collection(name)
            self._claim = replace(self._claim, takes=False)

    @contextmanager
    def answering(self, call: str = "") -> Iterator[Any]:
        """Yield pymilvus's client, and translate what it raises. ``call`` names its span."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            with span("milvus", **{"db.operation.name": call}) if call else NOTHING:
                yield self._client()
        except (MilvusException, grpc.RpcError, OSError) as error:
            self._forget()  # somebody may have deleted a store, or the server has started again
            raise self._translation(error) from error

    def is_there(self, name: str, timeout_s: float = TIMEOUT_S) -> bool:
        """Return whether there is a store of this name, and have it loaded; asks only until there is, and after each
        error.
        """
        if name not in self._known:
            with self.answering() as client:
                if not client.has_collection(name, timeout=timeout_s) or not client.list_indexes(
                    name, timeout=timeout_s
                ):
                    self.seen.clear()
                    return False  # or it was being made when its process was killed
                client.load_collection(name, timeout=timeout_s)
            self._known.add(name)
        return True

    def _forget(self) -> None:
        self._known.clear()
        self.seen.clear()

    def create(self, name: str, shape: Shape) -> None:
        """Create the store unless it is there. Two processes may do so at once."""
        if self.is_there(name):
            return
        from pymilvus import DataType
        from pymilvus.exceptions import MilvusException

        with self.answering() as client:
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False, description=shape.version)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_ID_CHARS)
            schema.add_field("collection", DataType.VARCHAR, max_length=MAX_NAME_BYTES, is_partition_key=True)
            schema.add_field("dataset_id", DataType.INT64)
            schema.add_field("document_id", DataType.INT64)
            shape.add_fields(schema)
            indexes = client.prepare_index_params()
            # pymilvus lays "params" open. Within another one they arrive as such: Milvus Lite knows them only so.
            indexes.add_index(**{**shape.index, "params": {"params": shape.index["params"]}})
            try:
                client.create_collection(name, schema=schema, consistency_level="Strong", num_partitions=PARTITIONS)
            except MilvusException:
                if not client.has_collection(name, timeout=TIMEOUT_S):  # another process has just made it
                    raise
            try:
                client.create_index(name, indexes, timeout=TIMEOUT_S)
            except MilvusException:
                if not client.list_indexes(name, timeout=TIMEOUT_S):  # here, too
                    raise
            client.load_collection(name, timeout=TIMEOUT_S)
        self._known.add(name)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            client, self._connected = self._connected, None
        if client is not None:
            client.close()

    def _client(self) -> Any:
        with self._lock:
            if self._connected is None:
                from pymilvus import MilvusClient

                # It logs a traceback for each refusal, also for those that are expected.
                logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
                options = self._options
                named = {"db_name": options.database} if options.database else {}
                if time.monotonic() < self._refused_until:  # nobody waits for what somebody has just waited for
                    raise StoreUnreachableError(f"Milvus at {options.where} cannot be reached: it did not answer")
                if self._other is not None:
                    raise IndexUnavailableError(str(self._other))
                try:
                    client = MilvusClient(options.url, token=options.token, timeout=CONNECT_S, **named)
                    self._claim_it(client)
                    self._connected = client
                except OtherSiteError as error:
                    client.close()
                    self._other = error
                    raise IndexUnavailableError(str(error)) from error
                finally:
                    if self._connected is None and self._other is None:
                        self._refused_until = time.monotonic() + CONNECT_S
            return self._connected

    def _translation(self, error: Exception) -> IndexUnavailableError:
        from pymilvus.exceptions import MilvusException

        subject, said = f"Milvus at {self._options.where}", _short(error)
        # Of a server that is unavailable, pymilvus's error has a code of gRPC's, which is no number.
        code = error.code if isinstance(error, MilvusException) and isinstance(error.code, int) else 0
        if code == _NO_SUCH_COLLECTION:
            return IndexUnavailableError(f"{subject} has lost an index, which is made again: {said}")
        if 0 < code < 65_535 and code not in _OUTAGES:
            return IndexUnavailableError(f"{subject} refuses: {said}", inner=str(error))
        return StoreUnreachableError(f"{subject} cannot be reached: {said}", inner=str(error))


_OUTAGES = frozenset({1, 2, 3, 4})
"""Codes of Milvus and pymilvus for a server that is starting, is overloaded, or does not answer."""


@dataclass(frozen=True, slots=True)
class Store:
    """One collection of Milvus."""

    server: MilvusServer
    name: str
    shape: Shape

    def write(self, collection: str, rows: Mapping[str, Mapping[str, Any]], gone: Sequence[str]) -> None:
        """Add or replace rows, by chunk id, and delete chunk ids; searches see it at once. An id in both is added."""
        mark = f"@{_digest(collection)}"  # a chunk that moves is for a moment in two collections
        kept = {f"{key}{mark}": {"id": f"{key}{mark}", "collection": collection, **row} for key, row in rows.items()}
        if not kept and not self.server.is_there(self.name):
            return
        self.server.create(self.name, self.shape)
        with self.server.answering() as client:
            for ids in batches([f"{key}{mark}" for key in gone if key not in rows], ROWS_PER_WRITE):
                client.delete(self.name, ids=list(ids), timeout=TIMEOUT_S)
            for part in batches(list(kept.values()), ROWS_PER_WRITE):
                client.upsert(self.name, data=list(part), timeout=TIMEOUT_S)

    def search(
        self,
        what: Any,
        expression: str,
        k: int,
        *,
        field: str,
        parameters: Mapping[str, Any],
        timeout_s: float,
        fields: Sequence[str] = ("collection",),
    ) -> list[MilvusHit]:
        """Return up to ``k`` hits of one query with these fields, best first; none of a store that is not there."""
        if not self.server.is_there(self.name, max(0.1, timeout_s)):
            return []
        with self.server.answering("search") as client:
            found = client.search(
                self.name,
                [what],
                anns_field=field,
                filter=expression,
                limit=min(k, MOST_HITS),
                search_params=dict(parameters),
                output_fields=list(fields),
                timeout=max(0.1, timeout_s),
            )
        return [MilvusHit(_chunk_id(hit["id"]), hit["distance"], hit["entity"]) for hit in found[0]]

    def count(self, expression: str) -> int:
        """Count the rows that the expression selects."""
        if not self.server.is_there(self.name):
            return 0
        with self.server.answering("count") as client:
            [row] = client.query(self.name, filter=expression, output_fields=["count(*)"], timeout=TIMEOUT_S)
        return int(row["count(*)"])

    def chunk_ids(self, expression: str) -> Iterator[str]:
        """Yield the ids of the chunks that the expression selects, sorted."""
        return (_chunk_id(row["id"]) for row in self.rows(expression, ["id"]))

    def rows(
        self, expression: str, fields: Sequence[str], *, limit: int = -1, timeout_s: float = TIMEOUT_S
    ) -> Iterator[Row]:
        """Yield the rows that the expression selects, by id; not more than ``limit``."""
        if not self.server.is_there(self.name, timeout_s):
            return
        with self.server.answering() as client:
            reading = client.query_iterator(
                self.name,
                batch_size=ROWS_PER_READ,
                limit=limit,
                filter=expression,
                output_fields=list(fields),
                timeout=timeout_s,
            )
            try:
                while part := reading.next():
                    yield from part
            finally:
                reading.close()

    def delete(self, collection: str) -> None:
        """Delete every row of one collection of Braid's."""
        if self.server.is_there(self.name):
            with self.server.answering() as client:
                client.delete(self.name, filter=within({collection: (None, None)})[0], timeout=TIMEOUT_S)


MAX_DOCUMENTS = 5_000
"""Documents that one expression names."""

Wanted = Mapping[str, tuple[Collection[int] | None, Any]]
"""By collection: the datasets and the documents, of which None is all; a `Selection` is such a pair."""


def within(wanted: Wanted) -> list[str]:
    """Return expressions of which each row that is wanted matches one: more than one where many documents are named."""
    whole = [name for name, selection in wanted.items() if selection[0] is None and selection[1] is None]
    first = [f"collection in {_names(whole)}"] if whole else []
    more: list[str] = []
    for name in wanted.keys() - set(whole):
        dataset_ids, document_ids = wanted[name]
        of = [f"collection == {_names([name])[1:-1]}"]
        if dataset_ids is not None:
            of.append(f"dataset_id in {sorted(int(each) for each in dataset_ids)}")
        if document_ids is None:
            first.append(f"({' and '.join(of)})")
            continue
        ids = sorted(int(each) for each in document_ids)
        named = [[*of, f"document_id in {list(part)}"] for part in batches(ids, MAX_DOCUMENTS)]
        first += [f"({' and '.join(part)})" for part in named[:1]]
        more += [" and ".join(part) for part in named[1:]]
    return [" or ".join(first), *more] if first else more


def _names(names: Sequence[str]) -> str:
    """Return a list of names as Milvus reads it; a name cannot end its quotes."""
    return json.dumps(sorted(names), ensure_ascii=False)


def _chunk_id(row_id: str) -> str:
    return row_id.rpartition("@")[0]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _short(error: Exception) -> str:
    """Return what the server says, in one line; of a connection that broke, gRPC describes itself."""
    said = str(getattr(error, "message", "") or error).strip().splitlines()
    if said and said[0].startswith("<"):
        return "it did not answer"
    return said[0][:200] if said else type(error).__name__
