"""A dataset as one of LangChain's vector stores."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from braid.core.adding.given_document import read_given
from braid.core.adding.stored import StoredDocument, delete_documents, get_documents, read_filter, stored_document
from braid.core.batches import batches
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.readers import clean_text
from braid.core.ledger.document_batch import DOCUMENTS_PER_BATCH
from braid.core.metadata.values import shown
from braid.core.types import (
    DEFAULTS,
    MAX_K,
    ChunkInput,
    DocumentInput,
    Filters,
    Mode,
    Scope,
    SearchOptions,
    SearchResult,
    plain_number,
    require_choice,
)

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory
    from braid.core.retriever_manager import RetrieverManager

WAIT_S = 60.0
DEFAULT_K = 4
_KINDS = {
    "texts": "texts",
    "metadatas": "objects, or None",
    "documents": "LangChain documents",
    "ids": "texts that are not empty",
}
_ELSEWHERE = {
    "_collection": "len(Braid.get(dataset=…, filter=…)) counts, and get_by_ids reads",
    "add_images": "it has texts alone",
    "delete_collection": "Braid.remove_dataset removes it",
    "get": "get_by_ids, or Braid.get by a source or a filter",
    "persist": "what was added is stored",
    "save_local": "what was added is stored",
    "reset_collection": "Braid.remove_dataset removes it",
    "similarity_search_by_image": "it has texts alone",
    "update_document": "add_documents replaces what has the same id",
    "update_documents": "add_documents replaces what has the same id",
}
"""Names that other vector stores have, each with what to use here instead."""
_FIXED = {
    **dict.fromkeys(("filters", "where", "expr", "pre_filter"), "give it as filter, such as {'year': {'$gte': 2024}}"),
    "where_document": "Braid.vector_store(…, mode='hybrid') searches for words, too",
    "score_threshold": "give min_score, or search_type='similarity_score_threshold' to as_retriever",
    "fetch_k": "a filter holds for all documents; max_marginal_relevance_search takes it",
    **dict.fromkeys(("namespace", "collection_name"), "Braid.vector_store(dataset) has the documents of one dataset"),
    "mode": "Braid.vector_store(…, mode=…) has it",
    "group_by": "each result is a document",
}
"""Options that a search of a store sets itself, or that other stores have, each with what to do instead."""
logger = logging.getLogger(__name__)


class ModelEmbeddings(Embeddings):
    """Asks the embedding model of a collection, as it answers now."""

    def __init__(self, manager: RetrieverManager, collection: str) -> None:
        self.model = partial(manager.model_of, collection)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        return self.model().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.model().embed_query(text)


class BraidVectorStore(VectorStore):
    """Adds, reads, deletes and searches the documents of one dataset; made by `Braid.vector_store`.

    Whether it may be read is looked up each time: NotFoundError is raised once it may not. Who has it may write.

    Each document that is added is one passage, so that what comes back is what was given: `add` splits longer texts.
    Its id is the document's in Braid; without one it gets a random one. A document that was stored in other ways is
    found by its best passage. ``filter`` is what `braid.core.types.Filters.of` takes, Chroma's operators among them.
    Scores are higher for what is nearer: cosines in ``semantic`` mode.
    """

    def __init__(
        self,
        directory: DataDirectory,
        manager: RetrieverManager,
        dataset_id: int,
        *,
        user_id: int | None,
        mode: Mode = "semantic",
        wait_s: float = WAIT_S,
    ) -> None:
        require_choice("mode", mode, ("semantic", "keyword", "hybrid"))
        self._directory, self._manager = directory, manager
        self._dataset_id, self._user_id = dataset_id, user_id
        self._mode, self._wait_s = mode, wait_s
        (collection,) = (each.collection for each in self._readable().collections)
        self._embeddings = ModelEmbeddings(manager, collection)

    if not TYPE_CHECKING:  # who misspells a name hears of it from the type checker

        def __getattr__(self, name: str) -> NoReturn:
            remedy = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise AttributeError(f"{type(self).__name__} has no {name!r}{remedy}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it holds the open indexes of this process; make it with"
            " vector_store where it is used"
        )

    def _readable(self) -> Scope:
        """Return the dataset as what is searched, if it may be read now. Raises NotFoundError."""
        scope = self._manager.check(user_id=self._user_id, dataset_ids=[self._dataset_id])
        if scope.unresolved_dataset_ids:
            raise NotFoundError(f"dataset {self._dataset_id}: it may not be read; name a user_id who may")
        return scope

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model of the dataset's collection."""
        return self._embeddings

    # ------------------------------------------------------------ write

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Store texts, in place of what their ids have; return the ids. Raises what `add_documents` raises."""
        given = _listed("texts", texts, str)
        beside: list[list[Any]] = []
        for name, values, kind in (("metadatas", metadatas, Mapping | None), ("ids", ids, str | None)):
            beside.append([None for _ in given] if values is None else _listed(name, values, kind))
            if len(beside[-1]) != len(given):
                raise InvalidInputError(
                    f"{name} has {len(beside[-1])} for {len(given)} texts; give one for each", field=name
                )
        documents = [
            Document(text, metadata=dict(metadata or {}), id=number)
            for text, metadata, number in zip(given, *beside, strict=True)
        ]
        return self.add_documents(documents, **options)

    def add_documents(self, documents: list[Document], **options: Any) -> list[str]:
        """Store documents, in place of what their ids have; return the ids. When it returns they are found, unless that
        takes longer than ``wait_s``, which is logged. ``ids`` goes before the documents' own; ``batch_size`` are stored
        in one transaction. Raises InvalidInputError before anything is stored.
        """
        self._directory.require_open()
        documents = _listed("documents", documents, Document)
        given = options.pop("ids", None)
        ids = [document.id or None for document in documents] if given is None else _listed("ids", given, str | None)
        size = plain_number(options.pop("batch_size", DOCUMENTS_PER_BATCH))
        _require_no(options)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InvalidInputError(f"batch_size is {size!r}; give a whole number from 1", field="batch_size")
        if len(ids) != len(documents):
            raise InvalidInputError(
                f"ids has {len(ids)} for {len(documents)} documents; give one for each", field="ids"
            )
        named = [str(uuid4()) if number is None else number for number in ids]
        inputs = [_as_input(document, number) for document, number in zip(documents, named, strict=True)]
        stored = [
            result.document_id
            for batch in batches(inputs, size)
            for result in self._directory.ledger.put_documents(self._dataset_id, list(batch))
        ]
        self._directory.wake()
        if self._wait_s and stored and not self._manager.wait_for(self._dataset_id, stored, self._wait_s):
            logger.warning("what was added is not all indexed after %g s; searches name what they miss", self._wait_s)
        return named

    def delete(self, ids: list[str] | None = None, **options: Any) -> bool:
        """Delete the documents with these ids; those that are not there do not matter. Raises InvalidInputError
        without ids: a dataset is removed by `Braid.remove_dataset`.
        """
        _require_no(options)
        if ids is None:
            raise InvalidInputError("ids is None; name the documents, or remove the dataset as a whole", field="ids")
        delete_documents(self._directory, ids, dataset=self._dataset_id)
        return True

    # ------------------------------------------------------------ read

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in their order, without those that are not there."""
        self._readable()
        found = get_documents(self._directory, ids, dataset=self._dataset_id)
        return [_of_stored(each) for each in found]

    def similarity_search(self, query: str, k: int = DEFAULT_K, **options: Any) -> list[Document]:
        """Return the ``k`` documents nearest to the query, in the mode that the store was made with."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the ``k`` documents nearest to the query with their scores, higher ones for nearer ones.

        An empty query with a filter, as `SelfQueryRetriever` asks where all of a question is in the filter, finds
        ``k`` documents that the filter selects, with score 0.
        """
        if isinstance(query, str) and not query.strip() and (given := options.get("filter")):
            _require_no({name: value for name, value in options.items() if name != "filter"})
            self._readable()
            ledger, own, filters = self._directory.ledger, [self._dataset_id], read_filter(given)
            ledger.require_filterable(own, filters, whole_documents=True)
            ids, _ = ledger.matching_documents(own, filters, limit=SearchOptions(k=k).k, whole_documents=True)
            found = ledger.documents_with_ids([int(each) for each in ids], own)
            return [(_of_stored(stored_document(self._directory, each)), 0.0) for each in found]
        search = partial(self._manager.search_in, self._readable(), query)
        return _documents(self._answer(search, k, **options))

    def similarity_search_by_vector(self, embedding: list[float], k: int = DEFAULT_K, **options: Any) -> list[Document]:
        """Return the ``k`` documents nearest to a vector of the collection's model."""
        return [document for document, _ in _documents(self._near(embedding, k, **options))]

    def max_marginal_relevance_search(
        self, query: str, k: int = DEFAULT_K, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return ``k`` of the ``fetch_k`` documents nearest to the query, in the mode that the store was made with,
        which by meaning are near to it and far from each other.
        """
        wanted, fetched = _numbers(k, fetch_k, lambda_mult)
        if isinstance(query, str) and not query.strip():
            return self.similarity_search(query, wanted, **options)
        vector = self.embeddings.embed_query(DEFAULTS.for_text(query).text)
        if self._mode == "semantic":
            return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **options)
        result = self._answer(partial(self._manager.search_in, self._readable(), query), fetched, **options)
        return self._unlike(result, vector, wanted, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = DEFAULT_K,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """Return ``k`` of the ``fetch_k`` documents nearest to a vector, near to it and far from each other."""
        wanted, fetched = _numbers(k, fetch_k, lambda_mult)
        return self._unlike(self._near(embedding, fetched, **options), embedding, wanted, lambda_mult)

    def _unlike(self, result: SearchResult, vector: Sequence[float], wanted: int, lambda_mult: float) -> list[Document]:
        """Return so many of the documents found, near to the vector and far from each other, and then those that have
        no vector yet.
        """
        model = self._embeddings.model().fingerprint
        vectors = self._directory.ledger.embeddings(model, [hit.passage.chunk_id for hit in result.hits])
        found = [
            (document, vectors.get(hit.passage.chunk_id))
            for (document, _), hit in zip(_documents(result), result.hits, strict=True)
        ]
        known = [(document, each.tolist()) for document, each in found if each is not None]
        chosen = maximal_marginal_relevance(np.array(vector), [each for _, each in known], lambda_mult, wanted)
        others = [document for document, each in found if each is None]
        return [*(known[place][0] for place in chosen), *others][:wanted]

    def _select_relevance_score_fn(self) -> Any:
        if self._mode != "semantic":
            raise InvalidInputError(
                f"scores of mode {self._mode!r} are no relevance from 0 to 1; use mode 'semantic'", field="mode"
            )
        return lambda cosine: max(0.0, min(1.0, cosine))

    def _near(self, vector: Sequence[float], k: int, **options: Any) -> SearchResult:
        if self._mode != "semantic":
            raise InvalidInputError(f"mode {self._mode!r} takes no vector; use mode 'semantic'", field="mode")
        return self._answer(partial(self._manager.search_near, self._readable(), vector), k, **options)

    def _answer(
        self, search: Any, k: int, *, filter: Filters | Mapping[str, Any] | None = None, **options: Any
    ) -> SearchResult:
        """Search for documents. Raises DegradedError when nothing could be searched."""
        from braid.core.langchain import require_answer

        for name, remedy in _FIXED.items():
            if name in options:
                raise InvalidInputError(f"{name} cannot be given to a search of a store; {remedy}", field=name)
        filters = Filters() if filter is None else read_filter(filter)
        result: SearchResult = search(k=k, mode=self._mode, filters=filters, group_by="document", **options)
        require_answer(result, "warn")
        return result

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        store: Self | None = None,
        **options: Any,
    ) -> Self:
        """Add texts to ``store`` and return it.

        Raises InvalidInputError without one, and for embeddings: the model is the data directory's.
        """
        _require_no(options)
        if store is None or embedding is not None:
            raise InvalidInputError(
                "a dataset has its data directory's embedding model; open Braid(…, embedding_model=…), and give"
                " store=braid.vector_store(dataset) with embedding=None",
                field="store" if store is None else "embedding",
            )
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _listed(name: str, given: Iterable[Any], kind: Any) -> list[Any]:
    """Return what was given as a list. Raises InvalidInputError for one thing in place of several, for a thing of
    another type, and for an empty id.
    """
    is_one = not isinstance(given, Iterable) or isinstance(given, str | Mapping | Document)
    several = [given] if is_one else list(given)
    for each in several:
        if is_one or not isinstance(each, kind) or (name == "ids" and each == ""):
            raise InvalidInputError(f"{name} has {shown(each)}; give a list of {_KINDS[name]}", field=name)
    return several


def _numbers(k: int, fetch_k: int, lambda_mult: float) -> tuple[int, int]:
    """Return how many documents are wanted, and how many are read for them. Raises InvalidInputError."""
    wanted, fetched, weight = SearchOptions(k=k).k, plain_number(fetch_k), plain_number(lambda_mult)
    if isinstance(fetched, bool) or not isinstance(fetched, int) or not 0 <= fetched <= MAX_K:
        raise InvalidInputError(f"fetch_k is {fetch_k!r}; it must be a whole number up to {MAX_K}", field="fetch_k")
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise InvalidInputError(f"lambda_mult is {lambda_mult!r}; it must be from 0 to 1", field="lambda_mult")
    return wanted, max(wanted, fetched)


def _as_input(given: Document, number: str) -> DocumentInput:
    read = read_given(Document(given.page_content, metadata=given.metadata, id=number), {})
    if read.left_out:
        logger.warning("keys of metadata were left out: %s", "; ".join(read.left_out))
    text = clean_text(read.text)
    return DocumentInput(
        source=number,
        title="",
        file_type=read.file_type,
        chunks=(ChunkInput(text),),
        content_hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        size_bytes=len(text.encode("utf-8", "replace")),
        metadata=read.metadata,
    )


def _of_stored(stored: StoredDocument) -> Document:
    return Document(stored.text, metadata=dict(stored.metadata), id=stored.id)


def _documents(result: SearchResult) -> list[tuple[Document, float]]:
    return [
        (Document(hit.passage.text, metadata=dict(hit.passage.metadata), id=hit.passage.source), hit.score)
        for hit in result.hits
    ]


def _require_no(options: Mapping[str, Any]) -> None:
    if options:
        name = next(iter(options))
        raise InvalidInputError(f"there is no option {name!r} here; leave it out", field=name)
