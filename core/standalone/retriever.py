"""Hybrid search over one existing Chroma collection, which other code may have made and may write."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, Self, TypedDict, Unpack, cast, get_args

from braid.core.errors import BraidError, ClosedError, HybridRetrieverError, IndexUnavailableError, ValidationError
from braid.core.indexes.bm25 import Bm25Index
from braid.core.ledger.change_log import IndexedChunk
from braid.core.models.embeddings import EmbeddingModel, embed_query, labelled_model
from braid.core.search import fusion
from braid.core.standalone.chroma_reader import ChromaReader, ChunkRow, check_filter, unwrapped
from braid.core.text.analyzer import Analyzer
from braid.core.types import MAX_K, MAX_QUERY_CHARS, GroupBy, ScoredChunk, plain_number

if TYPE_CHECKING:  # who has a collection has the packages
    import chromadb
    from langchain_chroma import Chroma
    from langchain_core.embeddings import Embeddings

    from braid.core.standalone.langchain_retriever import HybridChromaRetriever

MAX_QUERY_TERMS = 256
LEAST_FETCHED = 50
MOST_FETCHED = 2_000
"""Most chunks that a leg is asked for so as to find ``top_k`` documents."""
_ONLY = "chunks"
_CHUNKS_PER_COMMIT = 20_000


class RetrieverHit(TypedDict):
    """One result: the document's ``filepath`` (the chunk's id without one), the fused score, the text as it is now.

    ``id`` is the chunk's; of results grouped by document it is the ``filepath``.
    """

    id: str
    filepath: str
    score: float
    document: str
    metadata: dict[str, Any]
    more_in_document: NotRequired[int]
    """Other chunks of the document that were found, of results grouped by document."""


class HybridOptions(TypedDict, total=False):
    """The options of a search."""

    top_k: int
    where: Mapping[str, Any] | None
    rrf_constant: int
    group_by: GroupBy


class HybridRetriever:
    """Searches a Chroma collection by meaning and by keyword; the collection is read and never written.

    The keyword index is built beside it at the first search, in a temporary folder, and follows the collection: each
    search first compares what has changed. Changes of an embedded collection are seen at once; on a server, or in
    memory, a text that was replaced in place is seen within a minute. ``embeddings`` is the model that made the
    collection's vectors; the default is that of the LangChain store, or the collection's own. A manager that has the
    store as ``vectorstore`` is taken, too. A leg whose weight is 0 is not asked. One retriever serves many threads.

    Raises HybridRetrieverError for a store that is not open, and ValidationError for wrong weights.

    >>> with HybridRetriever(chroma_collection, 0.4, 0.6, embeddings=model) as retriever:
    ...     [found["id"] for found in retriever.search("XK-4711", top_k=1)]
    ['valve']
    """

    def __init__(
        self,
        collection: chromadb.Collection | Chroma,
        dense_weight: float = 0.5,
        sparse_weight: float = 0.5,
        *,
        embeddings: str | Embeddings | EmbeddingModel | None = None,
        languages: Sequence[str] = ("en",),
    ) -> None:
        collection = unwrapped(collection)
        self._reader = ChromaReader(collection)
        if embeddings is None and hasattr(collection, "_collection"):  # LangChain's store
            embeddings = cast("Chroma", collection).embeddings
        for name, weight in (("dense_weight", dense_weight), ("sparse_weight", sparse_weight)):
            _require(name, weight, weight >= 0, "0 or more")
        _require("dense_weight", dense_weight, dense_weight + sparse_weight > 0, "above 0, or sparse_weight must be")
        self._weights = {"dense": float(dense_weight), "bm25": float(sparse_weight)}
        self._model = None if embeddings is None else labelled_model(embeddings)
        self._analyzer = Analyzer(tuple(languages))
        self._folder = tempfile.TemporaryDirectory(prefix="braid-bm25-", ignore_cleanup_errors=True)
        self._bm25 = Bm25Index(Path(self._folder.name), self._analyzer)
        self._signature: object = None
        self._hashes: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._closed = False

    def search(
        self,
        query: str,
        top_k: int = 5,
        where: Mapping[str, Any] | None = None,
        rrf_constant: int = fusion.RRF_C,
        *,
        group_by: GroupBy = "passage",
    ) -> list[RetrieverHit]:
        """Return the best chunks; ``where`` is a Chroma filter over their metadata.

        ``group_by="document"`` gives one result per ``filepath`` (per chunk without one): its best chunk, with the
        number of the others. Up to 2,000 chunks of each leg are read to find ``top_k`` documents.

        Raises ValidationError for a wrong value, ClosedError after `close`, ChromaDBError when the collection cannot be
        read, and HybridRetrieverError when the query cannot be embedded or the keyword index cannot be searched.
        """
        if self._closed:
            raise ClosedError("this HybridRetriever is closed; search inside its with block, or before close()")
        _require("query", query, isinstance(query, str) and bool(query.strip()), "at least one word")
        _require("query", len(query), len(query) <= MAX_QUERY_CHARS, f"at most {MAX_QUERY_CHARS} characters long")
        top_k = plain_number(top_k)
        _require("top_k", top_k, isinstance(top_k, int) and 1 <= top_k <= MAX_K, f"from 1 to {MAX_K}")
        _require("rrf_constant", rrf_constant, rrf_constant > 0, "above 0")
        _require("group_by", group_by, group_by in get_args(GroupBy), "'passage' or 'document'")
        restriction = check_filter(where)
        depth = max(2 * top_k, LEAST_FETCHED)
        rankings = self._rankings(query, depth, restriction)
        hits = self._make_results(rankings, rrf_constant, restriction)
        if group_by == "passage":
            return hits[:top_k]
        documents = _by_document(hits)
        if len(documents) < top_k and any(len(ranking) >= depth for ranking, _ in rankings):
            rankings = self._rankings(query, MOST_FETCHED, restriction)
            documents = _by_document(self._make_results(rankings, rrf_constant, restriction))
        return documents[:top_k]

    def as_retriever(self, **options: Unpack[HybridOptions]) -> HybridChromaRetriever:
        """Return a LangChain retriever, which searches with these options of `search` unless a call has others."""
        from braid.core.standalone.langchain_retriever import HybridChromaRetriever

        if unknown := options.keys() - HybridOptions.__annotations__.keys():
            known = ", ".join(HybridOptions.__annotations__)
            raise ValidationError(f"there is no option {min(unknown)!r}; the options are {known}", field=min(unknown))
        return HybridChromaRetriever(hybrid=self, options=options)

    def refresh(self) -> int:
        """Compare the whole collection with the keyword index now. Returns how many chunks have changed."""
        with self._lock:
            return self._follow(self._reader.signature())

    def close(self) -> None:
        """Remove the keyword index; further searches are refused."""
        self._closed = True
        self._bm25.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rankings(
        self, query: str, depth: int, where: Mapping[str, Any] | None
    ) -> list[tuple[list[ScoredChunk], float]]:
        """Return the ``depth`` best chunks of each leg that has a weight, with its weight."""
        legs: dict[str, Callable[..., list[ScoredChunk]]] = {"dense": self._dense, "bm25": self._sparse}
        try:
            return [(legs[leg](query, depth, where), weight) for leg, weight in self._weights.items() if weight]
        except HybridRetrieverError:
            raise
        except BraidError as error:
            raise HybridRetrieverError(str(error)) from error

    def _dense(self, query: str, depth: int, where: Mapping[str, Any] | None) -> list[ScoredChunk]:
        vector = None if self._model is None else embed_query(self._model, query)
        return self._reader.nearest(query, vector, depth, where)

    def _sparse(self, query: str, depth: int, where: Mapping[str, Any] | None) -> list[ScoredChunk]:
        with self._lock:
            signature = self._reader.signature()
            if signature != self._signature:
                self._follow(signature)
        terms = {term: float(n) for term, n in Counter(self._analyzer.tokens(query)).most_common(MAX_QUERY_TERMS)}
        wanted = depth
        while True:
            hits = self._bm25.search(_ONLY, terms, wanted)
            allowed = hits if where is None else self._allowed(hits, where)
            if len(allowed) >= depth or len(hits) < wanted:
                return allowed[:depth]
            wanted *= 8  # a filter that lets few through: look deeper

    def _allowed(self, hits: Sequence[ScoredChunk], where: Mapping[str, Any]) -> list[ScoredChunk]:
        rows = self._reader.rows([hit.chunk_id for hit in hits], where)
        return [hit for hit in hits if hit.chunk_id in rows]

    def _follow(self, signature: object) -> int:
        """Update the keyword index; the caller holds the lock. Changes since ``signature`` was read are seen the next
        time.
        """
        hashes: dict[str, bytes] = {}
        changed, batch = 0, list[IndexedChunk]()
        for chunk_id, text in self._reader.documents():
            hashes[chunk_id] = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
            if self._hashes.get(chunk_id) != hashes[chunk_id]:
                batch.append(IndexedChunk(chunk_id, 0, 0, None, text))
            if len(batch) == _CHUNKS_PER_COMMIT:
                changed, batch = changed + self._apply(batch, ()), []
        gone = self._hashes.keys() - hashes.keys()
        if batch or gone:
            changed += self._apply(batch, sorted(gone))
        self._hashes, self._signature = hashes, signature
        return changed

    def _apply(self, chunks: Sequence[IndexedChunk], gone: Sequence[str]) -> int:
        try:
            self._bm25.apply(_ONLY, chunks, gone)
        except IndexUnavailableError as error:
            raise HybridRetrieverError(str(error)) from error
        return len(chunks) + len(gone)

    def _make_results(
        self, rankings: Sequence[tuple[list[ScoredChunk], float]], rrf_constant: int, where: Mapping[str, Any] | None
    ) -> list[RetrieverHit]:
        """Return everything that the legs found and that is still there, best first."""
        fused = fusion.add_contributions(
            fusion.rrf_contributions(ranking, weight, rrf_constant) for ranking, weight in rankings
        )
        order = fusion.by_score_then_id(fused, fusion.rrf_ties(rankings))
        rows = self._reader.rows([hit.chunk_id for hit in order], where) if order else {}
        return [_result(rows[hit.chunk_id], hit.score) for hit in order if hit.chunk_id in rows]


def _result(row: ChunkRow, score: float) -> RetrieverHit:
    filepath = str(row.metadata.get("filepath") or row.id)
    return RetrieverHit(id=row.id, filepath=filepath, score=score, document=row.document, metadata=dict(row.metadata))


def _by_document(hits: Sequence[RetrieverHit]) -> list[RetrieverHit]:
    """Return the best hit of each document, which has the document's id and the number of its other hits."""
    best: dict[str, RetrieverHit] = {}
    for hit in hits:
        first = best.setdefault(hit["filepath"], {**hit, "id": hit["filepath"], "more_in_document": -1})
        first["more_in_document"] += 1
    return list(best.values())


def _require(name: str, value: object, right: bool, expected: str) -> None:
    if not right:
        raise ValidationError(f"{name} is {value!r}; it must be {expected}", field=name)
