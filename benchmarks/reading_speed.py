"""Pages per second of each type of file, beside another commit: ``python -m benchmarks.reading_speed FOLDER…``.

``--against`` is a checkout of the other commit. Each of them reads the files in a process of its own, in turns; of each
file the fastest of ``--rounds`` readings counts, in seconds of processor time. A file that is no PDF counts as a page.
Files that one of them refuses are left out. A commit that reads more of a file may take longer for it: the last column
is the time per character, of that before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.common import ROOT, arguments, show
from benchmarks.corpora import is_wanted

SEED = 7
_CHILD = """
import json, os, sys, time
sys.path.insert(0, os.getcwd())
from braid.core.ingest.readers import read_document
for line in sys.stdin:
    path = line.rstrip("\\n")
    content = open(path, "rb").read()
    started = time.process_time()
    pages = chars = 0
    try:
        parsed = read_document(os.path.basename(path), content, max_bytes=10**9, scans={})
        pages = int(parsed.metadata.get("pages", 1))
        chars = sum(len(section.text) for section in parsed.sections)
    except Exception:
        pass
    print(json.dumps([pages, time.process_time() - started, chars]), flush=True)
"""

Reading = tuple[int, float, int]
"""Pages, seconds of processor time, and characters of text."""


def main() -> None:
    """Read the files by both, and print the table."""
    args = arguments(__doc__ or "", add=_add_arguments)
    groups: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(each for folder in args.folders for each in folder.rglob("*") if each.is_file()):
        if is_wanted(path, args.types) and path.stat().st_size <= args.most_bytes:
            groups[path.suffix.lower()[1:]].append(path)
    dice = random.Random(SEED)
    rows = []
    for kind, found in sorted(groups.items()):
        paths = sorted(dice.sample(found, min(args.files, len(found))))
        checkouts = [checkout for checkout in (args.against, ROOT) if checkout is not None]
        read = [_fastest(checkout, paths, args.rounds) for checkout in checkouts]
        kept = [path for path in paths if all(each[path][0] for each in read)]
        pages = sum(read[-1][path][0] for path in kept)
        seconds = [sum(each[path][1] for path in kept) for each in read]
        if kept:
            chars = [max(1, sum(each[path][2] for path in kept)) for each in read]
            rates = [f"{pages / max(second, 1e-9):,.1f}" for second in seconds]
            ratio = seconds[-1] / max(seconds[0], 1e-9)
            ratios = [f"{ratio:.2f}", f"{ratio * chars[0] / chars[-1]:.2f}"] if args.against else []
            rows.append([kind, len(kept), pages, *rates, *ratios])
    names = ["before", "now", "time, of before", "per character"] if args.against else ["now"]
    show({"rows": rows}, [("Pages per second", ["type", "files", "pages", *names], rows)], as_json=args.json)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, help="folders with files, of any depth")
    parser.add_argument("--against", type=Path, help="a checkout of another commit")
    parser.add_argument("--types", nargs="*", default=[], help="only files with these suffixes: docx xlsx")
    parser.add_argument("--files", type=int, default=40, help="most files of a type, taken at random")
    parser.add_argument("--rounds", type=int, default=3, help="how often each file is read")
    parser.add_argument("--most-bytes", type=int, default=2_000_000, help="size of the largest file")


def _fastest(checkout: Path, paths: Sequence[Path], rounds: int) -> Mapping[Path, Reading]:
    """Return for each path its pages, 0 where it is refused, and the least time of all rounds but the first."""
    command = [sys.executable, "-c", _CHILD]
    given = "".join(f"{path}\n" for _ in range(rounds + 1) for path in paths)  # the first round loads the libraries
    done = subprocess.run(
        command,
        cwd=checkout,
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    readings = [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[Path, Reading] = {}
    for at, (pages, seconds, chars) in enumerate(readings[len(paths) :]):
        path = paths[at % len(paths)]
        found[path] = pages, min(seconds, found[path][1]) if path in found else seconds, chars
    return found


if __name__ == "__main__":
    main()
