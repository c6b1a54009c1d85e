"""Many small documents at once: seconds until they are stored, found by keyword, embedded, and found by meaning.

The model costs nothing, so what is measured is the ledger and the indexes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.common import arguments, note, scratch_folder, show
from benchmarks.passages import scale_passages
from braid.core.braid import Braid
from braid.core.ledger.change_log import ChangeLog
from braid.core.types import ChunkInput, Dataset, DocumentInput

DOCUMENTS = 20_000
DIMENSIONS = 384
TIMEOUT_S = 3_600


class FreeVectors:
    """A model whose vector of a text is 1 in one place: what it costs is the list."""

    fingerprint = f"benchmark:free-{DIMENSIONS}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        vector = [0.0] * DIMENSIONS
        vector[hash(text) % DIMENSIONS] = 1.0
        return vector


def main() -> None:
    """Print a row for each step."""
    args = arguments("Many small documents at once.", add=_options)
    documents = [
        DocumentInput(f"{number}.txt", title, "txt", (ChunkInput(text),), content_hash=str(number))
        for number, (title, text) in enumerate(scale_passages(args.documents))
    ]
    with (
        scratch_folder(args.scratch) as scratch,
        Braid(scratch / "puts", embedding_model=FreeVectors(), database_url=args.database_url) as braid,
    ):
        user = braid.ledger.user_named("reader") or braid.ledger.add_user("reader")
        dataset = braid.ledger.add_dataset(user.id, "small documents")
        steps = [*_put(braid, dataset, documents), *_put_again(braid, dataset, documents)]
        braid.ledger.remove_dataset(dataset.id)
    columns = ["step", "seconds", "seconds of a core"]
    rows = [[each[column] for column in columns] for each in steps]
    show({"steps": steps}, [(f"{len(documents):,} documents of one passage", columns, rows)], as_json=args.json)


def _put(braid: Braid, dataset: Dataset, documents: Sequence[DocumentInput]) -> Iterator[dict[str, Any]]:
    """Yield the steps of a put, each with the time since its beginning."""
    log, watch = ChangeLog(braid.ledger.database), _Watch()
    braid.ledger.put_documents(dataset.id, documents)
    yield watch.step("stored")
    _until(lambda: braid.indexer.wait(1.0, ["bm25"]))
    yield watch.step("found by keyword")
    _until(lambda: log.embedded_count(dataset.collection, FreeVectors.fingerprint) >= len(documents))
    yield watch.step("every vector stored")
    _until(lambda: braid.indexer.wait(1.0, ["dense"]))
    yield watch.step("dense index complete")


def _put_again(braid: Braid, dataset: Dataset, documents: Sequence[DocumentInput]) -> Iterator[dict[str, Any]]:
    watch = _Watch()
    braid.ledger.put_documents(dataset.id, documents)
    yield watch.step("put again, unchanged")
    watch = _Watch()
    braid.ledger.put_documents(dataset.id, [_changed(document) for document in documents])
    yield watch.step("put again, all changed")


def _changed(document: DocumentInput) -> DocumentInput:
    chunk = ChunkInput(f"{document.chunks[0].text} Changed.")
    return replace(document, chunks=(chunk,), content_hash=f"{document.content_hash} changed")


class _Watch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def step(self, name: str) -> dict[str, Any]:
        """The time until now."""
        seconds, cpu = time.perf_counter() - self._started, time.process_time() - self._cpu
        note(f"{name}: {seconds:.1f} s")
        return {"step": name, "seconds": seconds, "seconds of a core": cpu}


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help=f"so many (default {DOCUMENTS:,})")
    parser.add_argument("--database-url", default="", help="a PostgreSQL to store them in, instead of SQLite")


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
