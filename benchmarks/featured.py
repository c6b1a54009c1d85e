"""Answers without a language model, as they are read: questions with the text of their answers, and hard questions.

The first are of ../shared/eval/reading and jsquad-valid, 150 a language; each paragraph is one passage. The hard ones
(hard_questions.py) are asked of made-up documents, with the paragraphs around them.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.common import EVAL, note
from benchmarks.hard_questions import HARD_QUESTIONS, Hard, write_documents
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.texts import TEXTS
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.evaluation.beir import QUERIES
from braid.core.evaluation.judged_store import own_collection
from braid.core.ingest.ingest import IngestOptions, ingest_paths
from braid.core.types import ChunkInput, DocumentInput

READING = {"en": "xquad.en.json", "ko": "KorQuAD_v1.0_dev.json"}
"""Language → its file of paragraphs in `EVAL`/reading; Japanese has jsquad-valid."""
JAPANESE = "jsquad-valid"
SEED = 11
PER_LANGUAGE = 150
MOST_CHARS = 600
"""Longest featured passage of a question that asks for no list."""
OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 5}


@dataclass(frozen=True, slots=True)
class Read:
    """A question with the text of its answers."""

    language: str
    text: str
    answers: tuple[str, ...]


def reading_missing() -> str:
    """Return why the questions with the text of their answers cannot be asked; empty if they can."""
    missing = [name for name in READING.values() if not (EVAL / "reading" / name).exists()]
    return f"{', '.join(missing)} not in {EVAL / 'reading'}: these questions are not asked" if missing else ""


def read_questions() -> list[Read]:
    """Return 150 questions of each language, always the same."""
    with (EVAL / JAPANESE / QUERIES).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = {"ja": [Read("ja", row["text"], tuple(row["metadata"]["answers"])) for row in rows]}
    for language in READING:
        found[language] = [
            Read(language, each["question"], tuple(answer["text"] for answer in each["answers"]))
            for _, paragraph in _paragraphs(language)
            for each in paragraph["qas"]
        ]
    return [one for name in ("en", "ja", "ko") for one in random.Random(SEED).sample(found[name], PER_LANGUAGE)]


def store_reading(braid: Braid, japanese: Sequence[int]) -> dict[str, list[int]]:
    """Store the paragraphs, each as a document of one passage; return the datasets of each language."""
    return {"ja": list(japanese)} | {
        language: [
            _store(
                braid,
                f"reading-{language}",
                [
                    DocumentInput(f"{number}.txt", title, "txt", (ChunkInput(paragraph["context"]),))
                    for number, (title, paragraph) in enumerate(_paragraphs(language))
                ],
            )
        ]
        for language in READING
    }


def store_hard(braid: Braid) -> dict[str, int]:
    """Store the made-up documents; return the dataset of each language."""
    found = {}
    for language in HARD_QUESTIONS:
        found[language] = _store(braid, f"hard-{language}", [])
        with tempfile.TemporaryDirectory() as folder:
            write_documents(Path(folder), language)
            ingest_paths(braid, found[language], [folder], options=IngestOptions(relative=True))
    return found


def ask_hard(chat: Conversation, hard: Hard, dataset_ids: Sequence[int]) -> ChatResult:
    """Ask a hard question, after the one before it if it has one."""
    history = ()
    if hard.before:
        first = chat.ask(ChatRequest(None, hard.before, dataset_ids=dataset_ids, options=OPTIONS))
        history = (Turn("user", hard.before), Turn("assistant", first.text))
    return chat.ask(ChatRequest(None, hard.text, history=history, dataset_ids=dataset_ids, options=OPTIONS))


def featured_text(result: ChatResult) -> str:
    """Return what is featured; empty where nothing is."""
    return result.featured.text if result.featured else ""


def shown_text(result: ChatResult) -> str:
    """Return all that is shown as an answer."""
    return result.text if result.found else ""


def verdict(hard: Hard, result: ChatResult, plain: Callable[[str], str]) -> str:
    """Return ``right``, ``part``, ``wrong``, or of a question without an answer ``right`` and ``false``."""
    if not hard.parts:
        is_doubted = any(result.text.startswith(weak) for weak in TEXTS["weak"].values())
        return "right" if not result.found or is_doubted else "false"
    text = plain(shown_text(result) if hard.kind in ("comparison", "list") else featured_text(result))
    having = sum(plain(part) in text for part in hard.parts)
    return "right" if having == len(hard.parts) else "part" if having else "wrong"


def reading_table(pairs: Sequence[tuple[Read, ChatResult]], plain: Callable[[str], str]) -> dict[str, dict[str, float]]:
    """Return the shares of the questions whose answer is held, by language."""
    table = {}
    for language in ("en", "ja", "ko"):
        mine = [pair for pair in pairs if pair[0].language == language]
        texts = [featured_text(result) for _, result in mine]
        table[language] = {
            "featured holds it": fmean(_has(each, text, plain) for (each, _), text in zip(mine, texts, strict=True)),
            "anything shown holds it": fmean(_has(each, shown_text(result), plain) for each, result in mine),
            "first hit holds it": fmean(_has(each, _hits(result, 1), plain) for each, result in mine),
            "any hit holds it": fmean(_has(each, _hits(result, 5), plain) for each, result in mine),
            "“not found”": fmean(not result.found for _, result in mine),
            "mean characters": float(round(fmean(map(len, texts)))),
            "most characters": max(map(len, texts)),
        }
    return table


def hard_table(asked: Sequence[tuple[str, Hard, str]]) -> dict[str, dict[str, str]]:
    """Return how many are right, by kind and language: ``3/4``."""
    kinds = dict.fromkeys(hard.kind for _, hard, _ in asked)
    which = {kind: {kind} for kind in kinds} | {"all with an answer": set(kinds) - {"unanswerable"}}
    return {
        title: {language: _right(asked, language, of_these) for language in HARD_QUESTIONS}
        for title, of_these in which.items()
    }


def _right(asked: Sequence[tuple[str, Hard, str]], language: str, kinds: Collection[str]) -> str:
    mine = [said for name, hard, said in asked if name == language and hard.kind in kinds]
    return f"{mine.count('right')}/{len(mine)}"


def _has(each: Read, text: str, plain: Callable[[str], str]) -> bool:
    return any(plain(answer) in plain(text) for answer in each.answers)


def _hits(result: ChatResult, count: int) -> str:
    return "\n".join(hit.passage.text for hit in result.search.hits[:count])


def _paragraphs(language: str) -> Iterator[tuple[str, dict[str, Any]]]:
    path = EVAL / "reading" / READING[language]
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield article.get("title", "").replace("_", " "), paragraph


def _store(braid: Braid, name: str, documents: Sequence[DocumentInput]) -> int:
    known = {entry.name: entry.id for entry in braid.registry.entries()}
    dataset_id = known.get(name) or braid.registry.add(name, own_collection(name)).id
    braid.mirror_registry()
    if documents:
        note(f"{name}: {len(documents)} documents")
        braid.ledger.put_documents(dataset_id, documents)
    return dataset_id
