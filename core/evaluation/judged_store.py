"""Judged sets, stored in a scratch data directory that is kept between evaluations."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from braid.core.batches import batches
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.datasets.entry import SharedDataset
from braid.core.errors import EmbeddingError, IndexUnavailableError
from braid.core.evaluation.beir import CorpusDocument, JudgedSet, StoredVectors, read_vectors
from braid.core.indexes.leg_progress import LegProgress
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.ledger.change_log import ChangeLog
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel, embedding_model
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.types import ChunkInput, Dataset, DocumentInput, Leg
from braid.core.vector import Vector

DOCUMENTS_PER_PUT = 500
LEG_TIMEOUT_S = 60.0
"""Seconds per leg, so many that figures depend on quality and not on a busy machine."""
WAIT_STEP_S = 0.1
PATIENCE_S = 20.0
"""Seconds that an index may fail before the evaluation gives up."""


@dataclass(frozen=True, slots=True)
class EvaluationProgress:
    """Progress of one stage of an evaluation, for one set (``store``, ``search``) or all (``index``)."""

    stage: Literal["store", "index", "search"]
    name: str
    done: int
    total: int


OnProgress = Callable[[EvaluationProgress], None]


@dataclass(frozen=True, slots=True)
class StoredSets:
    """Judged sets in an open data directory, ready to be searched."""

    braid: Braid
    sets: tuple[JudgedSet, ...]
    datasets: Mapping[str, tuple[int, ...]]
    """Set name → ids of its shared datasets."""
    model: EmbeddingModel
    """The real model, to measure with; the directory's own takes known queries from vectors.npz."""
    known_queries: frozenset[str]
    """Queries whose vectors the directory takes from vectors.npz instead of embedding them."""

    def dataset_ids(self) -> list[int]:
        """Return the ids of all sets' datasets."""
        return [dataset_id for ids in self.datasets.values() for dataset_id in ids]


class KnownQueries:
    """A model with stored vectors for some queries."""

    def __init__(self, model: EmbeddingModel, queries: Mapping[str, Vector]) -> None:
        self._model = model
        self._queries = queries

    @property
    def fingerprint(self) -> str:
        """The real model's fingerprint."""
        return self._model.fingerprint

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed with the real model."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the stored vector, or embed with the real model."""
        known = self._queries.get(text)
        return self._model.embed_query(text) if known is None else [float(value) for value in known]


@contextmanager
def stored_sets(
    sets: Sequence[JudgedSet],
    *,
    scratch_dir: Path,
    embedding_model: str | EmbeddingModel,
    legs: Sequence[Leg] = ("dense", "bm25"),
    languages: tuple[str, ...] = ("en",),
    collection_of: Callable[[str], str] | None = None,
    on_progress: OnProgress = lambda _: None,
    rerankers: Rerankers | None = None,
    models: ChatModels | None = None,
    prompts: Prompts | None = None,
    milvus: MilvusOptions | None = None,
) -> Iterator[StoredSets]:
    """Store new and changed documents, wait until the legs have all, and keep the directory open for searches.

    Each set, or each ``metadata.collection`` of its corpus, is a shared dataset; ``collection_of`` gives the
    collection of a dataset's name, one of its own unless given. Without the dense leg no passage is embedded.
    Raises NotOwnerError when another process has the directory, EmbeddingError or IndexUnavailableError when
    an index cannot be built.
    """
    model = _model(embedding_model)
    vectors = {judged.name: read_vectors(judged, model.fingerprint) for judged in sets}
    known = {text: vector for found in vectors.values() if found for text, vector in found.queries.items()}
    at_hand = KnownQueries(model, known)
    with DataDirectory(scratch_dir, embedding_model=at_hand) as directory:
        datasets: dict[str, tuple[Dataset, ...]] = {}
        for judged in sets:
            datasets[judged.name] = _store_set(directory, judged, collection_of or own_collection, on_progress)
            found = vectors[judged.name]
            if found is not None:
                _store_vectors(directory, datasets[judged.name], found, model.fingerprint)
    with Braid(
        scratch_dir,
        embedding_model=at_hand,
        index_options=IndexOptions(languages=languages, leg_timeout_s=LEG_TIMEOUT_S, follow=tuple(legs), milvus=milvus),
        rerankers=rerankers,
        models=models,
        prompts=prompts,
        must_own=True,
    ) as braid:
        _wait(braid, legs, [dataset for of_set in datasets.values() for dataset in of_set], on_progress)
        ids = {name: tuple(dataset.id for dataset in of_set) for name, of_set in datasets.items()}
        yield StoredSets(braid, tuple(sets), ids, model, frozenset(known))


def own_collection(dataset_name: str) -> str:
    """Return a collection name for this dataset alone; readable, and valid whatever the name's script."""
    digest = hashlib.sha256(dataset_name.encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", dataset_name).strip("-")[:60]
    return "_".join(part for part in ("shared", readable, digest) if part)


def _model(model: str | EmbeddingModel) -> EmbeddingModel:
    return embedding_model(model) if isinstance(model, str) else model


# ---------------------------------------------------------------- documents


def _store_set(
    directory: DataDirectory, judged: JudgedSet, collection_of: Callable[[str], str], on_progress: OnProgress
) -> tuple[Dataset, ...]:
    """Store the set's datasets with exactly the documents of its corpus; write nothing when they are stored."""
    of_collection: dict[str, list[CorpusDocument]] = {}
    for document in judged.documents:
        of_collection.setdefault(document.collection, []).append(document)
    datasets, done = [], 0
    for collection, documents in of_collection.items():
        name = f"{judged.name}/{collection}" if collection else judged.name
        entry = _entry(directory, name, collection_of(name))
        mark = f"corpus {judged.corpus_hash}"
        if entry.description != mark:
            for batch in batches(documents, DOCUMENTS_PER_PUT):
                directory.ledger.put_documents(entry.id, map(_document, batch))
                done += len(batch)
                on_progress(EvaluationProgress("store", judged.name, done, len(judged.documents)))
            _remove_others(directory, entry.id, documents)
            directory.registry.update(entry.id, description=mark)
        datasets.append(directory.ledger.dataset(entry.id))
    return tuple(datasets)


def _entry(directory: DataDirectory, name: str, collection: str) -> SharedDataset:
    found = [e for e in directory.registry.entries() if (e.name, e.collection_name) == (name, collection)]
    entry = found[0] if found else directory.registry.add(name, collection)
    directory.mirror_registry()
    return entry


def _document(document: CorpusDocument) -> DocumentInput:
    content = json.dumps([document.title, document.text])
    return DocumentInput(
        source=document.id,
        title=document.title,
        file_type="txt",
        chunks=(ChunkInput(document.text),),
        content_hash=hashlib.sha256(content.encode()).hexdigest(),
    )


def _remove_others(directory: DataDirectory, dataset_id: int, documents: Sequence[CorpusDocument]) -> None:
    wanted = {document.id for document in documents}
    for stored in directory.ledger.documents(dataset_id):
        if stored.source not in wanted:
            directory.ledger.remove_document(dataset_id, stored.source)


def _store_vectors(
    directory: DataDirectory, datasets: Sequence[Dataset], vectors: StoredVectors, fingerprint: str
) -> None:
    """Store vectors for the chunks that have none yet."""
    changes = ChangeLog(directory.ledger.database)
    for dataset in datasets:
        if changes.embedded_count(dataset.collection, fingerprint) >= changes.chunk_count(dataset.collection):
            continue
        sources = {document.id: document.source for document in directory.ledger.documents(dataset.id)}
        for chunks in changes.all_chunks(dataset.collection, DOCUMENTS_PER_PUT, fingerprint):
            bare = {c.id: sources[c.document_id] for c in chunks if c.vector is None and c.document_id in sources}
            found = {key: vectors.documents[source] for key, source in bare.items() if source in vectors.documents}
            if found:
                directory.ledger.store_embeddings(fingerprint, list(found), np.stack(list(found.values())))


# ---------------------------------------------------------------- indexes


def _wait(braid: Braid, legs: Sequence[Leg], datasets: Sequence[Dataset], on_progress: OnProgress) -> None:
    """Wait until the legs have all chunks of these datasets, whatever else the directory holds."""
    collections = sorted({dataset.collection for dataset in datasets})
    total = len(legs) * sum(dataset.chunks for dataset in datasets)
    patience = _Patience()
    while not all(_is_complete(braid, leg, collections) for leg in legs):
        progress = [braid.indexer.leg_progress(leg, name) for leg in legs for name in collections]
        left = min(total, sum(part.pending for part in progress))
        on_progress(EvaluationProgress("index", "", total - left, total))
        patience.require(progress)
        time.sleep(WAIT_STEP_S)


class _Patience:
    """Gives up on an index that has been failing for `PATIENCE_S`."""

    def __init__(self) -> None:
        self._failing_since: float | None = None

    def require(self, progress: Sequence[LegProgress]) -> None:
        """Raise EmbeddingError or IndexUnavailableError when some index has failed for too long."""
        failed = next((part for part in progress if part.error), None)
        if failed is None:
            self._failing_since = None
            return
        self._failing_since = self._failing_since or time.monotonic()
        if time.monotonic() - self._failing_since > PATIENCE_S:
            # An index that stays searchable while it reports an error waits for its embedding model.
            raise (EmbeddingError if failed.state == "ready" else IndexUnavailableError)(failed.error)


def _is_complete(braid: Braid, leg: Leg, collections: Sequence[str]) -> bool:
    changes = ChangeLog(braid.ledger.database)
    heads, states = changes.heads(), changes.states(braid.indexer.followers[leg].name)
    return all(
        name in states
        and states[name].state == "ready"
        and states[name].applied_seq >= heads[name]
        and not braid.indexer.leg_progress(leg, name).obstacle
        for name in collections
    )
