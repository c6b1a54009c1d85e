"""What the benchmarks share: where the collections are, fake models, tables."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peers' processes use this file without Braid
    from braid.core.evaluation.beir import JudgedSet

ROOT = Path(__file__).resolve().parents[1]
EVAL = ROOT.parent / "shared" / "eval"
SETS = (
    "jsquad-valid",
    "scifact",
    "cosqa-dev",
    "gimphelp-ja",
    "gimphelp-ko",
    "ko-strategyqa-facts",
    "mtrag-mini",
)


class RandomVectors:
    """A model of ``size`` dimensions whose vector of a text is random, but the same at every call."""

    def __init__(self, size: int = 384) -> None:
        self.size = size
        self.fingerprint = f"benchmark:random-{size}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])
        return [float(value) for value in np.random.default_rng(seed).standard_normal(self.size)]


class WordVectors:
    """Each word of a text adds 1 in one of ``size`` places; texts that share words are near each other."""

    def __init__(self, size: int = 256) -> None:
        self.size = size
        self.fingerprint = f"benchmark:words-{size}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        vector = [0.001] * self.size
        for word in text.lower().split():
            vector[int.from_bytes(hashlib.md5(word.encode()).digest()[:4]) % self.size] += 1.0
        return vector


def arguments(description: str, *, add: Callable[[argparse.ArgumentParser], None] | None = None) -> argparse.Namespace:
    """The command line: ``--json``, ``--scratch`` and what the benchmark adds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--scratch", type=Path, help="keep the data directories here, for the next run")
    if add is not None:
        add(parser)
    return parser.parse_args()


@contextmanager
def scratch_folder(given: Path | None) -> Iterator[Path]:
    """The given folder, or a temporary one that is removed at the end."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="braid-benchmark-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def judged_sets(names: Sequence[str] = SETS) -> list[JudgedSet]:
    """The test collections; exits with the reason when they are not there."""
    from braid.core.evaluation.beir import read_sets

    for name in names:
        need(EVAL / name)
    return read_sets([EVAL / name for name in names])


def need(path: Path) -> None:
    """Exit with the reason when the path is not there."""
    if not path.exists():
        sys.exit(f"{os.path.relpath(path)} is not there: this benchmark needs the test collections beside the project")


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """``p50`` and ``p95``."""
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return {"p50": float(p50), "p95": float(p95)}


def resident_mb() -> int:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def private_mb() -> dict[str, float]:
    """Memory that only this process has: ``own``, what it has written; ``mapped``, pages of files, which the system may
    take back, and which become shared as soon as another process reads them.
    """
    rows = Path("/proc/self/smaps_rollup").read_text().splitlines()
    kb = {row.split(":")[0]: int(row.split()[1]) for row in rows if row.startswith("Private_")}
    return {"own": kb["Private_Dirty"] / 1024, "mapped": kb["Private_Clean"] / 1024}


def alive_s() -> float:
    """Seconds since this process began, its imports included."""
    began = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return float(Path("/proc/uptime").read_text().split()[0]) - began


def folder_mb(folder: Path) -> float:
    """What the files of a folder take on the disk."""
    blocks = sum(path.lstat().st_blocks for path in folder.rglob("*") if path.is_file())
    return blocks * 512 / 2**20


def note(message: str) -> None:
    """Say on stderr what is under way."""
    print(message, file=sys.stderr, flush=True)


def show(
    figures: Mapping[str, Any], tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[Any]]]], *, as_json: bool
) -> None:
    """Print the figures as JSON, or the tables: title, column names, rows."""
    if as_json:
        print(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    for title, columns, rows in tables:
        print(f"\n{title}\n\n{markdown_table(columns, rows)}")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table for a page, its columns padded."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[number]) for row in [list(columns), *cells]) for number in range(len(columns))]
    lines = []
    for row in [list(columns), ["-" * width for width in widths], *cells]:
        first, *others = (
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("| " + " | ".join([first, *others]) + " |")
    return "\n".join(lines)


def write_section(page: Path, command: str, text: str) -> None:
    """Replace what the page has between the marks of this command. Exits when the page has no such marks."""
    start, end = f"<!-- made by: {command} -->", "<!-- end of what is made -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(start)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        sys.exit(f"{page.name} has no section {start} … {end}; add these two lines where the figures belong")
    page.write_text(f"{before}{start}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
