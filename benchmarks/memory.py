"""Memory of a server: after its start, at most while it embeds documents in three languages, and at rest again."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from benchmarks.common import arguments, note, scratch_folder, show
from braid.core.data_directory import DataDirectory
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput
from tests.served import Served

AT_REST_MB = 550
"""Aim for the server at rest, with the default model."""
WORDS = (
    ["pump", "valve", "maintenance", "pressure", "hydraulic", "report", "system", "water", "leak", "seal"],
    ["ポンプ", "バルブ", "保守", "圧力", "油圧", "報告", "システム", "水", "漏れ", "部品"],
    ["펌프", "밸브", "유지보수", "압력", "유압", "보고서", "시스템", "물", "누수", "부품"],
)
DOCUMENT_CHARS, PASSAGE_CHARS = 4_000, 1_200


def main() -> None:
    """Measure, and exit with 1 when the memory at rest is above the aim."""
    args = arguments(__doc__ or "", add=_options)
    with scratch_folder(args.scratch) as scratch, Served(scratch / "data") as served:
        figures = {"after the start": _memory_mb(served.process.pid)}
        with DataDirectory(served.data_dir) as directory:
            _fill(directory.ledger, args.documents)
        note("embedding")
        most = 0
        while served.client.get("/status.json").json()["state"] != "ready" or not most:
            most = max(most, _memory_mb(served.process.pid))
            time.sleep(0.5)
        note(f"at rest for {args.rest} s")
        time.sleep(args.rest)
        figures |= {"at most while embedding": most, "at rest": _memory_mb(served.process.pid)}
    rows = [[what, mb] for what, mb in figures.items()]
    show(figures, [(f"Memory with {args.documents} documents", ["", "MB"], rows)], as_json=args.json)
    if figures["at rest"] > AT_REST_MB:
        sys.exit(1)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=360, help="of up to 4,000 characters")
    parser.add_argument("--rest", type=float, default=45.0, help="seconds of rest")


def _fill(ledger: Ledger, documents: int) -> None:
    dice = random.Random(1)
    dataset = ledger.add_dataset(ledger.add_user("memory").id, "manuals").id
    for number in range(documents):
        words = WORDS[number % len(WORDS)]
        text = " ".join(dice.choice(words) + str(dice.randrange(999)) for _ in range(600))
        text = text[: dice.randint(400, DOCUMENT_CHARS)]
        chunks = (ChunkInput(text[at : at + PASSAGE_CHARS]) for at in range(0, len(text), PASSAGE_CHARS))
        ledger.put_document(dataset, DocumentInput(f"{number}.txt", f"Manual {number}", "txt", tuple(chunks)))


def _memory_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
