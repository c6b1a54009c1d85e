"""The dense leg: exact search by cosine similarity, over files with a byte per component of each vector.

The files of a collection are written from the ledger's vectors by the process that indexes, and mapped by each that
searches. The best candidates of a scan are scored again with the ledger's vectors, so that the result is exact.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import neg
from pathlib import Path

import numpy as np

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, InvalidInputError, internal
from braid.core.indexes.answering_models import AnsweringModels, changed
from braid.core.indexes.answers import DenseAnswer, Where, scored
from braid.core.indexes.base import TIMEOUT_S, VectorIndex
from braid.core.indexes.scan import Processor, Scanner, always
from braid.core.indexes.vector_block import (
    ID_BYTES,
    ROUNDING,
    SAMPLE,
    Found,
    Probe,
    Selection,
    VectorBlock,
    best,
    merged,
)
from braid.core.indexes.vector_block import spread as spread_of
from braid.core.indexes.vector_files import FileNote, Loaded, VectorFiles
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, StateName
from braid.core.models.embeddings import EmbeddingModel
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

logger = logging.getLogger(__name__)

MIN_CANDIDATES = 100
"""Candidates that are scored again at most; on seven sets of real vectors all of the exact best ten are among 100."""
SCORE_DECIMALS = 8
LOOK_S = 0.02
"""Time between two looks for the files of a collection that are being written."""
MERGE_RATIO = 4
"""A block is merged into the one before it when that is not this many times larger, so that there are few blocks."""
SMALL_ROWS = 2**12
"""Rows of a block that is merged with the next one in any case: to scan them takes as long as to begin a scan."""
MOST_ROWS = 2**18
"""Rows of a block that is made of others, which bounds the memory that merging takes: 113 MB with the default model."""
REST_RATIO, REST_ROWS = 32, 2**16
"""The same two numbers for a collection whose log is applied: a search then scans one block of most collections."""
STAGING_S = 2.0
"""Time in which first stages of scans are made, and then for as long none: after an update every collection may lack
one, and what has just been put is not to wait for all of them."""
MERGE_AGAIN_S = 600.0
"""Time until blocks are merged again that could not be written, as on a full disk; until then each is searched."""


class DenseIndex(VectorIndex):
    """Searches the files in ``folder``, which have the vectors of the model that answers for each collection.

    Searches come from any thread of any process. `mend`, `apply` and `drop` come from one thread of the process that
    indexes. A second thread helps a search to scan while it gets a
    ``processor``. The files of at most ``max_open`` collections are mapped.
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
        max_open: int = 128,
        processor: Processor = always,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._changes = changes
        self._models = models
        self._files = VectorFiles(folder, max_open=max_open)
        self._scanner = Scanner(processor)
        self._mended: dict[str, str] = {}
        """The model of each collection whose files were found sound and complete, or that has no vectors."""
        self._clock = clock
        self._merge_at: dict[str, float] = {}
        """When the blocks of each collection are merged again whose last merging could not be written."""
        self._stages_until = self._stages_again_at = float("-inf")
        """Until when first stages of scans are made, and when again."""
        self._filed: set[str] = set()
        """Collections whose files were there."""
        self._closed = False
        self._look: Callable[[str], object] = lambda collection: None

    # ------------------------------------------------------------ searching

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
        ``spread`` it is not measured. A collection whose files are not written after ``timeout_s`` is an error.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        versions: dict[str, str] = {}
        to_scan: dict[str, tuple[Loaded, Selection]] = {}
        depth, deadline = max(MIN_CANDIDATES, 2 * k), time.monotonic() + timeout_s
        for collection, selection in where.items():
            try:
                loaded = self._load(collection, deadline, model)
                _require_dimension(collection, loaded, vector)
                to_scan[collection], versions[collection] = (loaded, selection), loaded.version
            except (IndexUnavailableError, EmbeddingError) as error:
                answers[collection] = error
        probe = Probe.of(vector)
        scanned = self._scanner.nearest(to_scan, probe, depth, sample=SAMPLE if spread else 0)
        answers.update(self._rescored(scanned, versions, probe, k, depth=depth, pooled=pooled))
        return DenseAnswer(answers, spread_of([part for parts in scanned.values() for part in parts], probe))

    def _rescored(
        self,
        scanned: Mapping[str, Sequence[Found]],
        versions: Mapping[str, str],
        probe: Probe,
        k: int,
        *,
        depth: int,
        pooled: bool,
    ) -> dict[str, list[ScoredChunk]]:
        """Return the best ``k`` of each collection, or those that are among the best ``k`` of all, by the exact
        similarity: the vectors of the ``depth`` best rows are read from the ledger at once, without those whose
        approximate score is too low for that.
        """

        def candidates(parts: Sequence[Found]) -> list[Found]:
            margin = max((ROUNDING / part.block.scale for part in parts), default=0.0) + ROUNDING / probe.scale
            return best(best(parts, depth), k, margin)

        of_one = [(name, part) for name, parts in scanned.items() for part in (parts if pooled else candidates(parts))]
        hits: dict[str, list[ScoredChunk]] = {name: [] for name in scanned}
        if not of_one:
            return hits
        parts = candidates([part for _, part in of_one]) if pooled else [part for _, part in of_one]
        ids = np.concatenate([part.ids for part in parts]).astype(str).tolist()
        scores = np.concatenate([part.scores for part in parts]).tolist()
        owners, by_version = list[str](), dict[str, list[str]]()
        for (name, _), part in zip(of_one, parts, strict=True):
            by_version.setdefault(versions[name], []).extend(ids[len(owners) : len(owners) + len(part.scores)])
            owners += [name] * len(part.scores)
        exact: dict[str, float] = {}
        for version, of_version in by_version.items():
            exact.update(self._exact_scores(version, of_version, probe.vector))
        # A vector that is being made again is not in the ledger for a while: until then the last one answers.
        score_of: Callable[[str, float], float] = exact.get
        ranked = sorted(zip(map(neg, map(score_of, ids, scores)), ids, owners, strict=True))
        negatives, ids_in_order, names = zip(*ranked[: k if pooled else None], strict=True) if ranked else ((), (), ())
        for name, hit in zip(names, scored(ids_in_order, map(neg, negatives)), strict=True):
            hits[name].append(hit)
        return {name: of_name[:k] for name, of_name in hits.items()}

    def _exact_scores(self, version: str, chunk_ids: Collection[str], vector: Vector) -> dict[str, float]:
        if not chunk_ids:
            return {}
        found, matrix = self._changes.vectors(version, chunk_ids)
        if not found or matrix.shape[1] != vector.size:
            return {}
        # The last bits of a product depend on the row's place among the others; equal vectors must score equally.
        scores = np.round(matrix.astype(np.float64) @ vector.astype(np.float64), SCORE_DECIMALS)
        return dict(zip(found, scores.tolist(), strict=True))

    def _load(self, collection: str, deadline: float, model: str = "") -> Loaded:
        """Return the collection's vectors. Raises IndexUnavailableError when their files are not there by the deadline,
        cannot be used, or are not of the ``model``.
        """
        is_missed = False
        while not self._closed:
            loaded = self._files.load(collection)
            if loaded is not None and model and loaded.version != model:
                raise changed(collection)
            if loaded is not None:
                return loaded
            version = self._models.answering_version(collection)
            if self._changes.dimension(collection, version) is None:
                return Loaded(version)
            if not is_missed:
                is_missed = True
                self._look(collection)
            if time.monotonic() >= deadline:
                raise IndexUnavailableError(
                    internal("the vectors of %(collection)s are being written into files", collection=collection)
                )
            time.sleep(LOOK_S)
        raise IndexUnavailableError("the dense index is closed")

    def on_missing(self, look: Callable[[str], object]) -> None:
        """Have ``look`` called by a search that waits for files: who indexes should look now."""
        self._look = look

    def answering_model(self, collection: str) -> EmbeddingModel:
        """Return the model of the vectors that the collection's files have; before they are written, of those that they
        will have. Raises EmbeddingError.
        """
        loaded, answering = None, self._models.answering
        with suppress(IndexUnavailableError):
            loaded = self._files.load(collection)
        if loaded is not None:
            with suppress(EmbeddingError):
                if (model := answering(collection)).fingerprint == loaded.version:
                    return model
            with suppress(InvalidInputError):
                return self._models.named(collection, loaded.version)
        return answering(collection)

    # ------------------------------------------------------------ following the ledger

    def mend(
        self,
        collection: str,
        *,
        head: int,
        is_complete: bool,
        doubt: bool,
        stopping: threading.Event,
        crashed: bool = False,
    ) -> None:
        """Write the collection's files again where they are missing, damaged, or of a model that answers no more.

        Files that nobody has looked at yet are counted once the log has been applied up to ``head``, as ``is_complete``
        says; with ``doubt``, and where the last process was killed (``crashed``), their checksums are compared. Raises
        IndexUnavailableError.
        """
        version, seen = self._models.answering_version(collection), self._mended.get(collection)
        try:
            loaded = self._files.load(collection)
            if loaded is not None:
                sound = loaded.version == version
                self._filed.add(collection)
            else:
                sound = collection not in self._filed and (seen is not None or self.dimension(collection) is None)
            if sound and (doubt or (seen is None and crashed)):
                sound = not self._files.damage(collection)
        except IndexUnavailableError:
            loaded, sound = None, False
        if sound and seen == version and not doubt:
            if is_complete and loaded is not None:
                self._merge(collection, loaded)
            return
        if sound and is_complete:
            sound = (loaded.living if loaded else 0) == self._changes.embedded_count(collection, version)
            if not sound and self._changes.heads([collection]).get(collection, 0) != head:
                return  # something was written meanwhile: compared at the next look
        if not sound:
            self._build(collection, version, stopping)
        if is_complete or not sound:
            self._mended[collection] = version

    def _merge(self, collection: str, loaded: Loaded) -> None:
        """Write blocks that are better one as one, without deleted rows, and with the first stage of their scan. Where
        that fails the old ones answer.
        """
        now = self._clock()
        if now < self._merge_at.get(collection, 0.0):
            return
        tidy = _tidy(loaded.blocks)
        if now >= self._stages_again_at:
            self._stages_until, self._stages_again_at = now + STAGING_S, now + 2 * STAGING_S
        lacks_stage = now < self._stages_until and any(block.is_large and not block.coarse for block in tidy)
        if tidy == loaded.blocks and not lacks_stage:
            return
        try:
            self._files.write(collection, replace(loaded, blocks=tidy), at_rest=True)
            self._merge_at.pop(collection, None)
        except IndexUnavailableError as error:
            if collection not in self._merge_at:
                logger.warning("the blocks of %s are searched as they are, not merged: %s", collection, error.inner)
            self._merge_at[collection] = self._clock() + MERGE_AGAIN_S

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; an id in both is added.

        The vectors are of the collection's wanted model and in the ledger already. Raises EmbeddingError for vectors
        of different dimensions, and IndexUnavailableError.
        """
        chunks = list({chunk.id: chunk for chunk in upserts if chunk.vector is not None}.values())
        loaded, version = self._files.load(collection), self._models.answering_version(collection)
        # While vectors of another model are made, those of the last one answer.
        is_wanted = (loaded.version if loaded else version) == self._models.wanted_version(collection)
        new = _block(chunks) if chunks and is_wanted else None
        if loaded is None or (new and loaded.blocks and new.dimension != loaded.blocks[0].dimension):
            if chunks:  # nothing is there yet, or all were embedded again: the ledger has none of the old ones
                self._build(collection, version, threading.Event())
            return
        gone = np.array(deletes, dtype=f"S{ID_BYTES}")
        if new is not None:  # the log comes to chunks that were embedded ahead of it, or read by `_build`
            is_known = np.any([np.zeros(len(new), np.bool_), *(block.holds(new) for block in loaded.blocks)], axis=0)
            gone = np.concatenate([gone[~np.isin(gone, new.ids)], new.ids[~is_known]])
            new = None if is_known.all() else merged([replace(new, alive=~is_known)])
        kept = [block.without(gone) for block in loaded.blocks] if len(gone) else loaded.blocks
        blocks = _compacted([block for block in (*kept, new) if block is not None])
        if blocks != loaded.blocks:
            self._files.write(collection, replace(loaded, blocks=blocks))

    def _build(self, collection: str, version: str, stopping: threading.Event) -> None:
        """Write the collection's files from the ledger, a block at a time."""
        files: dict[str, FileNote] = {}
        blocks, loose = list[VectorBlock](), list[VectorBlock]()
        with self._files.whole(collection):
            for batch in self._changes.vectors_of(collection, version):
                if stopping.is_set():
                    raise IndexUnavailableError(f"the vectors of {collection} are written at the next start")
                ids = np.array(batch.chunk_ids, dtype=f"S{ID_BYTES}")
                loose.append(VectorBlock.make(ids, batch.dataset_ids, batch.document_ids, batch.vectors))
                if sum(map(len, loose)) >= MOST_ROWS:
                    blocks, loose = [*blocks, self._files.stage(collection, merged(loose), files)], []
            blocks += [merged(loose)] if loose else []
            if blocks or self._files.signature(collection):
                self._files.write(collection, Loaded(version, tuple(blocks), files=files))
                self._filed.add(collection)

    def drop(self, collection: str) -> None:
        """Delete the collection's files; `mend` writes them again."""
        self._mended.pop(collection, None)
        self._merge_at.pop(collection, None)
        self._filed.discard(collection)
        self._files.drop(collection)

    # ------------------------------------------------------------ inspecting

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""
        return self._changes.dimension(collection, self._models.answering_version(collection))

    def count(self, collection: str) -> int:
        """Count the chunks that a search can find; 0 when the collection does not exist."""
        return self._load(collection, 0.0).living

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id that a search can find."""
        for block in self._load(collection, 0.0).blocks:
            yield from block.living_ids().astype(str).tolist()

    def check(self, collection: str) -> str:
        """Compare the files with their checksums, and return what is wrong in one sentence; empty when all is right."""
        if self._files.signature(collection) is None and self.dimension(collection) is not None:
            return f"the vectors of {collection} are in no files"
        return self._files.damage(collection)

    def collections(self) -> list[str]:
        """Return the names of the collections that have files, sorted."""
        return self._files.collections()

    def close(self) -> None:
        """Give back what is mapped."""
        self._closed = True
        self._scanner.close()
        self._files.close()


def _block(chunks: Sequence[IndexedChunk]) -> VectorBlock:
    vectors = [chunk.vector for chunk in chunks if chunk.vector is not None]
    dimensions = {vector.size for vector in vectors}
    if len(dimensions) > 1:
        raise EmbeddingError(f"vectors of {sorted(dimensions)} dimensions do not go together")
    return VectorBlock.make(
        np.array([chunk.id for chunk in chunks], dtype=f"S{ID_BYTES}"),
        np.array([chunk.dataset_id for chunk in chunks], dtype=np.int64),
        np.array([chunk.document_id for chunk in chunks], dtype=np.int64),
        np.stack(vectors),
    )


def _compacted(
    blocks: Sequence[VectorBlock], ratio: int = MERGE_RATIO, most_rows: int = MOST_ROWS
) -> tuple[VectorBlock, ...]:
    """Merge small blocks, so that their number grows with the logarithm of the rows, slowly beyond ``most_rows``."""
    kept = list(blocks)
    while len(kept) > 1 and len(kept[-2]) < min(max(ratio * len(kept[-1]), SMALL_ROWS), most_rows - len(kept[-1])):
        kept[-2:] = [merged(kept[-2:])]
    return tuple(kept)


def _tidy(blocks: Sequence[VectorBlock]) -> tuple[VectorBlock, ...]:
    """Merge blocks of a collection at rest, and leave out rows that were deleted: each takes time of every search."""
    whole = [
        merged([block]) if REST_RATIO * block.deleted > len(block) and len(block) <= REST_ROWS else block
        for block in blocks
    ]
    return _compacted(whole, REST_RATIO, REST_ROWS)


def _require_dimension(collection: str, loaded: Loaded, vector: Vector) -> None:
    if loaded.blocks and vector.shape != (loaded.blocks[0].dimension,):
        raise EmbeddingError(
            f"{collection} has vectors of {loaded.blocks[0].dimension} dimensions, the query's has {vector.size}; "
            "embed the collection again after a change of the embedding model"
        )
