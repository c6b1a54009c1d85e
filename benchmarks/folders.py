"""A week of edits to a folder that a dataset follows; after every day the dataset is compared with a fresh import."""

from __future__ import annotations

import argparse
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.common import WordVectors, arguments, note, scratch_folder, show
from braid.core.braid import Braid
from braid.core.folders.sync import FolderSync, SyncReport
from braid.core.ingest.ingest import ingest_paths
from braid.core.ingest.parse import parse_here
from braid.core.types import Leg, Mode

DAYS = 7
FILES = 2_000
FOLDERS = 40
QUERIES = 30
K = 10
INDEXING_TIMEOUT_S = 900
SYLLABLES = ("ka", "to", "mi", "re", "su", "no", "li", "pe", "du", "ga", "vo", "ze", "ba", "fi", "jo", "wu")
VOCABULARY = 4_000
COLUMNS = (
    "day",
    "edited",
    "added",
    "moved",
    "deleted",
    "files",
    "passages",
    "new texts",
    "embedded",
    "differences",
    "same nearest",
    "same first hit",
    f"overlap@{K}",
    "followed s",
    "imported s",
)


def main() -> None:
    """Print a row for each day; ends with 1 when anything differs or too much was embedded."""
    args = arguments(f"A week of edits to a folder of {FILES:,} files.", add=_options)
    with scratch_folder(args.scratch) as scratch:
        for made in (scratch / "folder", scratch / "kept"):  # a week begins with an empty dataset
            shutil.rmtree(made, ignore_errors=True)
        days = list(_week(Folder(scratch / "folder", args.files), scratch))
    rows = [[day[column] for column in COLUMNS] for day in days]
    show({"days": days}, [(f"A folder of {args.files:,} files, {DAYS} days", COLUMNS, rows)], as_json=args.json)
    if any(day["differences"] or day["embedded"] != day["new texts"] for day in days):
        raise SystemExit("the dataset is not as a fresh import would be")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=FILES)


# ---------------------------------------------------------------- the folder


@dataclass(frozen=True, slots=True)
class Changes:
    """How many files a day touched."""

    edited: int = 0
    added: int = 0
    moved: int = 0
    deleted: int = 0


class Folder:
    """Notes in Markdown and plain text, the same at every run."""

    def __init__(self, path: Path, files: int) -> None:
        self.path = path
        self.size = files
        self._numbers = random.Random(7)
        self._names = count()

    def edit(self, day: int) -> Changes:
        """All files on day 0; then one file in forty is edited, another added, moved, deleted; a folder is moved."""
        if day == 0:
            return Changes(added=self._add(self.size))
        whole = self.path / f"area {day}"
        files = [path for path in self.files() if path.parent != whole]
        self._numbers.shuffle(files)
        some = max(1, self.size // 40)
        for path in files[:some]:
            self._edit_paragraph(path)
        for path in files[some : 2 * some]:
            self._move(path, day)
        for path in files[2 * some : 3 * some]:
            path.unlink()
        moved = some + _renamed(whole)
        return Changes(edited=some, added=self._add(some), moved=moved, deleted=some)

    def files(self) -> list[Path]:
        """All of them."""
        return sorted(path for path in self.path.rglob("*.*") if path.is_file())

    def queries(self) -> list[str]:
        """Half of a sentence out of each of some files."""
        paragraphs = (path.read_text().rpartition("\n\n")[2].split() for path in self.files())
        return [" ".join(words[3:11]) for words in self._numbers.sample(list(paragraphs), QUERIES)]

    def _add(self, number: int) -> int:
        for _ in range(number):
            name = next(self._names)
            path = self.path / f"area {name % FOLDERS}" / f"note {name}{'.txt' if name % 5 == 0 else '.md'}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._note(name, markdown=path.suffix == ".md"))
        return number

    def _note(self, name: int, *, markdown: bool) -> str:
        parts = [self._words(self._numbers.randrange(40, 90)) for _ in range(self._numbers.randrange(2, 6))]
        if not markdown:
            return "\n\n".join(parts)
        return "\n\n".join([f"# Note {name}", *(f"## Part {n}\n\n{part}" for n, part in enumerate(parts))])

    def _words(self, number: int) -> str:
        # The smaller of two numbers: some words are common and some are rare, as in a language.
        numbers = (min(self._numbers.randrange(VOCABULARY) for _ in range(2)) for _ in range(number))
        return " ".join(SYLLABLES[n >> 8] + SYLLABLES[n >> 4 & 15] + SYLLABLES[n & 15] for n in numbers)

    def _edit_paragraph(self, path: Path) -> None:
        parts = path.read_text().split("\n\n")
        parts[-1] = f"{self._words(8)} {parts[-1]}"
        path.write_text("\n\n".join(parts))

    def _move(self, path: Path, day: int) -> None:
        """Into another folder, every second one under another name, too."""
        name = path.name if self._numbers.random() < 0.5 else f"moved {next(self._names)}{path.suffix}"
        target = self.path / f"day {day}" / f"area {self._numbers.randrange(FOLDERS)}" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


def _renamed(folder: Path) -> int:
    """How many files move with it."""
    moved = len(list(folder.iterdir()))
    folder.rename(folder.with_name(f"{folder.name} of old"))
    return moved


# ---------------------------------------------------------------- the week


class CountedVectors(WordVectors):
    """Counts the passages that it embeds."""

    embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        self.embedded += len(texts)
        return super().embed_documents(texts)


@dataclass(frozen=True, slots=True)
class Opened:
    """A data directory with one dataset."""

    braid: Braid
    dataset_id: int
    user_id: int
    model: CountedVectors

    def indexed(self) -> None:
        """Wait for both indexes. Exits with what is left when they do not come up."""
        if not self.braid.indexer.wait(INDEXING_TIMEOUT_S):
            raise SystemExit(f"not indexed within {INDEXING_TIMEOUT_S} s: {self.braid.indexer.progress()}")

    def stored(self) -> dict[str, tuple[Any, ...]]:
        """Chunk id → all that the ledger tells of the passage but ids."""
        ledger, allowed = self.braid.ledger, frozenset({self.dataset_id})
        return {
            p.chunk_id: (p.source, p.title, p.heading_path, p.text, p.position, p.line, p.line_end, p.date, p.file_type)
            for document in ledger.documents(self.dataset_id)
            for p in ledger.document_passages(document.id, allowed)
        }

    def indexed_ids(self, leg: Leg) -> set[str]:
        """What an index holds."""
        collection = self.braid.ledger.dataset(self.dataset_id).collection
        index = self.braid.bm25 if leg == "bm25" else self.braid.dense
        return set(index.ids(collection))

    def nearest(self, query: str) -> list[tuple[float, str, str]]:
        """Negative cosine, source and text of the best hits by meaning; ties by source, for ids differ."""
        result = self.braid.manager.search(query, user_id=self.user_id, mode="semantic", k=K)
        assert not result.degraded, result.degraded
        return sorted((-round(hit.legs[0].score, 5), hit.passage.source, hit.passage.text) for hit in result.hits)

    def search(self, query: str, mode: Mode) -> list[tuple[str, str]]:
        """Source and text of the best hits."""
        result = self.braid.manager.search(query, user_id=self.user_id, mode=mode, k=K)
        assert not result.degraded, result.degraded
        return [(hit.passage.source, hit.passage.text) for hit in result.hits]


@contextmanager
def _opened(path: Path) -> Iterator[Opened]:
    model = CountedVectors()
    with Braid(path, embedding_model=model) as braid:
        user = braid.ledger.add_user("ann")
        yield Opened(braid, braid.ledger.add_dataset(user.id, "notes").id, user.id, model)


def _week(folder: Folder, scratch: Path) -> Iterator[dict[str, Any]]:
    known: set[tuple[str, ...]] = set()
    with _opened(scratch / "kept") as kept:
        for day in range(DAYS + 1):
            changes = folder.edit(day)
            before, started = kept.model.embedded, time.perf_counter()
            _require_done(FolderSync(kept.braid, kept.dataset_id, str(folder.path), parse=parse_here).run(), changes)
            kept.indexed()
            followed_s = time.perf_counter() - started
            fresh_path = scratch / f"fresh {day}"
            shutil.rmtree(fresh_path, ignore_errors=True)
            with _opened(fresh_path) as fresh:
                started = time.perf_counter()
                ingest_paths(fresh.braid, fresh.dataset_id, [str(folder.path)])
                fresh.indexed()
                imported_s = time.perf_counter() - started
                queries = folder.queries()
                differences = _differences(kept, fresh)
                nearest = sum(kept.nearest(query) == fresh.nearest(query) for query in queries)
                first, overlap = _agreement(kept, fresh, queries, "hybrid")
                texts = {(title, heading, text) for _, title, heading, text, *_ in fresh.stored().values()}
            shutil.rmtree(fresh_path)
            yield {
                "day": day,
                "edited": changes.edited,
                "added": changes.added,
                "moved": changes.moved,
                "deleted": changes.deleted,
                "files": len(folder.files()),
                "passages": len(kept.stored()),
                "new texts": len(texts - known),
                "embedded": kept.model.embedded - before,
                "differences": differences.total(),
                "same nearest": f"{nearest}/{len(queries)}",
                "same first hit": first,
                f"overlap@{K}": overlap,
                "followed s": followed_s,
                "imported s": imported_s,
            }
            known = texts
            note(f"day {day}: {dict(differences)} differences")


def _require_done(report: SyncReport, changes: Changes) -> None:
    done = (report.put, report.renamed, report.removed, report.failures)
    assert done == (changes.edited + changes.added, changes.moved, changes.deleted, ()), (done, changes)


def _differences(kept: Opened, fresh: Opened) -> Counter[str]:
    """Passages in one ledger or index and not in the other."""
    there, here = kept.stored(), fresh.stored()
    different = Counter(ledger=len(set(there.values()) ^ set(here.values())))
    legs: tuple[Leg, ...] = ("bm25", "dense")
    for leg in legs:
        ours, theirs = kept.indexed_ids(leg), fresh.indexed_ids(leg)
        different[leg] = len({there.get(id, id) for id in ours} ^ {here.get(id, id) for id in theirs})
    return different


def _agreement(kept: Opened, fresh: Opened, queries: Sequence[str], mode: Mode) -> tuple[float, float]:
    """Share of queries with the same first hit, and mean share of the first ten that both find."""
    both = [(kept.search(query, mode), fresh.search(query, mode)) for query in queries]
    first = sum(ours[:1] == theirs[:1] for ours, theirs in both) / len(both)
    return first, sum(len(set(ours) & set(theirs)) / len(ours) for ours, theirs in both) / len(both)


if __name__ == "__main__":
    main()
