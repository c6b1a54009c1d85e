"""Whether questions are answered by the files of others: ``python -m benchmarks.file_questions FOLDER…``.

The questions are in file_questions.json: language, the end of a file's path, the question, and a text that the passage
with the answer has. All those files that are in the folders are added to one dataset, as ``braid ingest`` does, and
each question is asked with the default settings. Found is a question whose answer is in one of the first two passages,
letters and digits compared alone; of a file that is not there, nothing is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import arguments, note, scratch_folder, show
from benchmarks.corpora import letters_of
from braid import Braid, SearchResult, ingest_paths

QUESTIONS = Path(__file__).with_name("file_questions.json")
INDEXING_TIMEOUT_S = 3_600.0
DEPTH, FIRST = 10, 2
"""Passages that are looked at, and among which an answer counts as found."""


class Question(NamedTuple):
    """A question with the file that answers it, and a text of the answer."""

    language: str
    path: str
    """The end of the file's path."""
    text: str
    answer: str


def main() -> int:
    """Add the files, ask the questions, and print what was found. Returns 1 where no file is there."""
    args = arguments(__doc__ or "", add=_add_arguments)
    questions = [Question(*each) for each in json.loads(QUESTIONS.read_text("utf-8"))]
    files = _files(args.folders, {each.path for each in questions})
    if not files:
        note("none of the files is in the folders")
        return 1
    with scratch_folder(args.scratch) as folder, Braid(folder) as braid:
        user = braid.ledger.add_user("reader")
        dataset = braid.ledger.add_dataset(user.id, "files")
        report = ingest_paths(braid, dataset.id, list(files.values()))
        note(f"{len(files)} files: {report}")
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            note(f"not indexed within {INDEXING_TIMEOUT_S:g} s")
        ranks = {
            each: _rank(braid.search(each.text, user_id=user.id, dataset_ids=[dataset.id], k=DEPTH), each)
            for each in questions
            if each.path in files
        }
    show(
        {each.text: rank for each, rank in ranks.items()},
        [_by_language(ranks.items(), len(questions)), _missed(ranks.items())],
        as_json=args.json,
    )
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, help="folders with files, of any depth")


def _files(folders: Sequence[Path], wanted: set[str]) -> dict[str, Path]:
    """Return the end of a path → the first file with it."""
    found: dict[str, Path] = {}
    names = {Path(each).name for each in wanted}
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.name in names):
        for end in wanted:
            if str(path).endswith(f"/{end}"):
                found.setdefault(end, path)
    return found


def _rank(result: SearchResult, question: Question) -> int:
    """Return the rank, from 1, of the first passage with the answer; 0 where none of them has it."""
    answer = letters_of(question.answer)
    for rank, hit in enumerate(result.hits, start=1):
        passage = hit.passage
        whole = f"{passage.title}\n{passage.heading_path}\n{passage.text}"
        if passage.source.endswith(Path(question.path).name) and answer in letters_of(whole):
            return rank
    return 0


Ranks = Iterable[tuple[Question, int]]
Table = tuple[str, list[str], list[list[object]]]


def _by_language(ranks: Ranks, questions: int) -> Table:
    groups: dict[str, list[int]] = defaultdict(list)
    for question, rank in ranks:
        groups[question.language].append(rank)
        groups["all"].append(rank)
    rows: list[list[object]] = [
        [name, len(group), sum(rank == 1 for rank in group), found, f"{found / len(group):.1%}"]
        for name, group in sorted(groups.items(), key=lambda each: (each[0] == "all", each[0]))
        if (found := sum(0 < rank <= FIRST for rank in group)) >= 0
    ]
    return f"Questions, of {questions}", ["language", "asked", "rank 1", f"rank 1–{FIRST}", "share"], rows


def _missed(ranks: Ranks) -> Table:
    rows: list[list[object]] = [
        [question.language, Path(question.path).name, question.text, rank or "—"]
        for question, rank in ranks
        if not 0 < rank <= FIRST
    ]
    return "Not among the first", ["language", "file", "question", "rank"], rows


if __name__ == "__main__":
    sys.exit(main())
