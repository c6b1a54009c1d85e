"""The dense leg: exact search by cosine similarity over the ledger's vectors, of which memory has a compact copy.

A collection's copy is loaded from the ledger with its first search, brought up to date by the change log, and forgotten
when others need its memory. The best candidates of a scan are scored again with the ledger's vectors, so that the
result is exact. The copy of a collection that does not fit into memory is in files, which are scanned in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.answers import DenseAnswer, Where
from braid.core.indexes.vector_block import EVERYTHING, SAMPLE, Found, Selection
from braid.core.indexes.vector_memory import Loaded, Processor, VectorMemory, always
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, StateName
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

MIN_CANDIDATES = 100
"""Candidates that are scored again; on seven sets of real vectors all of the exact best ten are among 100."""
SCORE_DECIMALS = 8
TIMEOUT_S = 5.0
INSPECTION_S = 60.0


class DenseIndex:
    """Searches the vectors that the ledger has under the model that answers for a collection.

    At most ``memory_mb`` of them are in memory. Those of a collection that needs more are in files in ``folder``, which
    nothing else may use. A second thread helps a search to scan while it gets a ``processor``.
    Searches come from any thread, `apply` and `drop` from one.
    """

    name: StateName = "dense"
    leg: Leg = "dense"
    stored = False
    crash_safe = True

    def __init__(
        self,
        changes: ChangeLog,
        models: AnsweringModels,
        *,
        folder: Path,
        memory_mb: int = 1024,
        processor: Processor = always,
    ) -> None:
        self._changes = changes
        self._version = models.answering_version
        self._memory = VectorMemory(changes, models, folder=folder, memory_mb=memory_mb, processor=processor)

    # ------------------------------------------------------------ searching

    def search(
        self,
        collection: str,
        vector: Vector,
        k: int,
        selection: Selection = EVERYTHING,
        *,
        model: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> list[ScoredChunk]:
        """Return the ``k`` chunks nearest to ``vector`` (dim,) float32 of unit length, by cosine similarity, ties by
        id. Empty when nothing is selected.

        Raises IndexUnavailableError when the collection cannot be searched, EmbeddingError when the vector does not
        fit it.
        """
        found = self.search_all(
            {collection: selection}, vector, k, model=model, spread=False, timeout_s=timeout_s
        ).hits[collection]
        if isinstance(found, BraidError):
            raise found
        return found

    def search_all(
        self,
        where: Where,
        vector: Vector,
        k: int,
        *,
        model: str = "",
        pooled: bool = False,
        spread: bool = True,
        timeout_s: float = TIMEOUT_S,
    ) -> DenseAnswer:
        """Search several collections of one model like `search`.

        ``model`` is the fingerprint of the vector's model: a collection for which another one answers by now is an
        error. With ``pooled`` only hits that are among the best ``k`` of all collections are returned. Without
        ``spread`` it is not measured. A collection that is not in memory after ``timeout_s`` is an error, and goes on
        being loaded.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        candidates: dict[str, Found] = {}
        versions: dict[str, str] = {}
        to_scan: dict[str, tuple[Loaded, Selection]] = {}
        loaded: Loaded | None
        depth, deadline = max(MIN_CANDIDATES, 2 * k), time.monotonic() + timeout_s
        sample = SAMPLE if spread else 0
        forgotten = self._memory.forgotten
        for collection, selection in where.items():
            try:
                loaded = self._memory.load(collection, deadline, model)
                _require_dimension(collection, loaded, vector)
                to_scan[collection], versions[collection] = (loaded, selection), loaded.version
            except (IndexUnavailableError, EmbeddingError) as error:
                answers[collection] = error
            if self._memory.forgotten != forgotten:  # not all fit into memory: let go of what was loaded
                candidates |= self._memory.nearest(to_scan, vector, depth, sample=sample)
                to_scan, loaded, forgotten = {}, None, self._memory.forgotten
        candidates |= self._memory.nearest(to_scan, vector, depth, sample=sample)
        answers.update(self._rescored(_best(candidates, depth) if pooled else candidates, versions, vector, k))
        return DenseAnswer(answers, _spread(candidates) if spread else 0.0)

    def _rescored(
        self, candidates: Mapping[str, Found], versions: Mapping[str, str], vector: Vector, k: int
    ) -> dict[str, list[ScoredChunk]]:
        """Return the best ``k`` candidates of each collection by the exact similarity, read from the ledger at once."""
        exact: dict[str, float] = {}
        by_version: dict[str, list[str]] = {}
        names = {collection: found.ids.astype(str).tolist() for collection, found in candidates.items()}
        for collection, ids in names.items():
            by_version.setdefault(versions[collection], []).extend(ids)
        for version, ids in by_version.items():
            exact.update(self._exact_scores(version, ids, vector))
        answers = {}
        for collection, found in candidates.items():
            approximate = zip(names[collection], found.scores.tolist(), strict=True)
            # A vector that is being made again is not in the ledger for a while: until then the last one answers.
            hits = [ScoredChunk(chunk_id, exact.get(chunk_id, score)) for chunk_id, score in approximate]
            answers[collection] = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:k]
        return answers

    def _exact_scores(self, version: str, chunk_ids: Collection[str], vector: Vector) -> dict[str, float]:
        if not chunk_ids:
            return {}
        found, matrix = self._changes.vectors(version, chunk_ids)
        if not found or matrix.shape[1] != vector.size:
            return {}
        # The last bits of a product depend on the row's place among the others; equal vectors must score equally.
        scores = np.round(matrix.astype(np.float64) @ vector.astype(np.float64), SCORE_DECIMALS)
        return dict(zip(found, scores.tolist(), strict=True))

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids in memory, if the collection is there; an id in both is added.

        The vectors are of the collection's wanted model and in the ledger already. Raises EmbeddingError for vectors
        of different dimensions.
        """
        self._memory.apply(collection, upserts, deletes)

    def drop(self, collection: str) -> None:
        """Forget the collection; the next search loads it again."""
        self._memory.drop(collection)

    def reset(self) -> bool:
        """Do nothing and return False: the ledger has the vectors."""
        return False

    # ------------------------------------------------------------ inspecting

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""
        return self._changes.dimension(collection, self._version(collection))

    def count(self, collection: str) -> int:
        """Count the chunks that a search can find; 0 when the collection does not exist."""
        return sum(1 for _ in self.ids(collection))

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id that a search can find; loads the collection."""
        for block in self._memory.load(collection, time.monotonic() + INSPECTION_S).blocks:
            yield from block.living_ids().astype(str).tolist()

    def check(self, collection: str) -> str:
        """Return an empty sentence: what is in memory is forgotten and loaded again when it is in doubt."""
        return ""

    def is_gone(self, collection: str) -> bool:
        """Return False: the vectors are in the ledger."""
        return False

    def collections(self) -> list[str]:
        """Return the names of the collections that are in memory, sorted."""
        return self._memory.collections()

    @property
    def size_bytes(self) -> int:
        """Memory that the vectors take."""
        return self._memory.size_bytes

    def rest(self) -> None:
        """Keep what is loaded: a large collection takes seconds to load again, and ``memory_mb`` bounds them all."""

    def close(self) -> None:
        """Give back the memory."""
        self._memory.close()


def _spread(candidates: Mapping[str, Found]) -> float:
    """Return the standard deviation of the sampled scores; 0.0 where there are not two."""
    sample = Found.joined(list(candidates.values()), 0).sample_scores if candidates else ()
    return float(np.std(sample)) if len(sample) > 1 else 0.0


def _require_dimension(collection: str, loaded: Loaded, vector: Vector) -> None:
    if loaded.blocks and vector.shape != (loaded.blocks[0].dimension,):
        raise EmbeddingError(
            f"{collection} has vectors of {loaded.blocks[0].dimension} dimensions, the query's has {vector.size}; "
            "embed the collection again after a change of the embedding model"
        )


def _best(candidates: Mapping[str, Found], k: int) -> dict[str, Found]:
    """Return those candidates that are among the best ``k`` of all collections."""
    scores = np.concatenate([found.scores for found in candidates.values()]) if candidates else np.empty(0)
    if len(scores) <= k:
        return dict(candidates)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    kept = {collection: found.scores >= least for collection, found in candidates.items()}
    return {
        collection: found._replace(ids=found.ids[kept[collection]], scores=found.scores[kept[collection]])
        for collection, found in candidates.items()
    }
