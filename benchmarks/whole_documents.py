"""Questions about whole documents of 2 to 200 pages in three languages: what is read, and what is said of the rest.

The documents are made of real texts of the test collections, a section for each; the later version of one has changed
numbers, a new section and one less. The model is a script that notes the first words of every passage it is given, so
that what reaches a model is known; its prompt has 6,000 tokens, as the app's.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common import EVAL, WordVectors, arguments, need, scratch_folder, show
from benchmarks.scripted import scripted
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ingest.ingest import ingest_bytes
from braid.core.models.chat import ChatModels

SETS = {"en": ("scifact", 1_800), "ja": ("gimphelp-ja", 1_000), "ko": ("gimphelp-ko", 1_000)}
"""Language → the collection whose texts are taken, and the characters of a page."""
PAGES = (2, 10, 50, 200)
COMPARED = (2, 50)
TITLES = {"en": "Reader of laboratory findings", "ja": "画像編集の解説集", "ko": "그림 편집 해설집"}
SUMMARISE = {"en": "Summarise {}", "ja": "{}を要約してください", "ko": "{} 요약해 주세요"}
CHANGED = {
    "en": "What changed in {} between 2024 and 2025?",
    "ja": "{}は2024年版から2025年版でどう変わりましたか",
    "ko": "{} 2024년판과 2025년판은 어떻게 바뀌었나요?",
}
DEADLINES = {"en": "List all deadlines in {}", "ja": "{}の期限をすべて挙げてください"}
DEADLINE = {
    "en": "The report on section {} is due by {} March 2027.",
    "ja": "第{}節の報告書は2027年3月{}日を期限とする。",
    "ko": "{}절의 보고서는 2027년 3월 {}일까지 낸다.",
}
ADDED = {"en": "Section added later", "ja": "追加された節", "ko": "추가된 절"}
EVERY = 3
"""Each section of this number has a deadline."""
MOST_CHARS = 6_000
"""Of one text."""
WAIT_S = 600.0


@dataclass
class Made:
    """A document: its sections with their texts, in order."""

    title: str
    sections: dict[str, str]

    @property
    def markdown(self) -> bytes:
        """The document as a file."""
        parts = [f"# {self.title}", *(f"## {heading}\n\n{text}" for heading, text in self.sections.items())]
        return "\n\n".join(parts).encode()


@dataclass
class Given:
    """What a script was given, and what it replied: notes of each passage with its mark."""

    headings: set[str] = field(default_factory=set)
    calls: int = 0
    last: str = ""

    def __call__(self, messages: Sequence[Any], tools: bool) -> str:
        """Note what is given."""
        text = str(messages[-1].content)
        self.calls += 1
        self.last = text
        marks = re.findall(r'mark="(\[[^\]]+\])" title="([^"\n]*)"', text)
        self.headings.update(title.rpartition("&gt; ")[2].rpartition("> ")[2] for _, title in marks)
        self.headings.update(re.findall(r"(?m)^(.+?): (?:earlier|later): ", text))
        return "\n".join(f"{title[-40:]} {mark}" for mark, title in marks) or "Noted."


def main() -> None:
    """Print a table of the questions."""
    args = arguments("Whole documents: what is read of them.")
    with scratch_folder(args.scratch) as scratch, Braid(scratch / "whole", embedding_model=WordVectors()) as braid:
        user = braid.ledger.add_user("ann").id
        rows = [row for language in SETS for row in _rows(braid, user, language)]
    columns = list(rows[0])
    title = f"{len(rows)} questions about whole documents"
    show({"questions": rows}, [(title, columns, [list(row.values()) for row in rows])], as_json=args.json)


def _rows(braid: Braid, user: int, language: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for pages in PAGES:
        made = make(language, pages)
        dataset = _store(braid, user, f"{language}-{pages}", made)
        rows.append(_ask(braid, user, dataset, language, made, SUMMARISE[language], pages, _outlined))
        if pages == 10 and language in DEADLINES:
            rows.append(_ask(braid, user, dataset, language, made, DEADLINES[language], pages, _deadlines))
        if pages in COMPARED:
            old, new = _version(made, "2024"), _changed(made, language)
            both = _store(braid, user, f"{language}-{pages}-versions", old, new)
            rows.append(_ask(braid, user, both, language, made, CHANGED[language], pages, _changes))
    return rows


def make(language: str, pages: int) -> Made:
    """Return a document of so many pages of real texts."""
    name, of_page = SETS[language]
    need(EVAL / name)
    sections: dict[str, str] = {}
    with (EVAL / name / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            heading = " ".join(found["title"].split())[:60].strip(" .#>")
            if len(heading) < 3 or heading in sections or re.search(r"[<>&|\"*_`\[\]]", heading):
                continue
            text = re.sub(r"(?m)^[#|>].*$", "", found["text"][:MOST_CHARS]).strip()
            number = len(sections) + 1
            if number % EVERY == 0:
                text += "\n\n" + DEADLINE[language].format(number, 1 + number % 28)
            sections[heading] = text
            if sum(map(len, sections.values())) >= pages * of_page:
                break
    return Made(TITLES[language], sections)


def _version(made: Made, year: str) -> Made:
    return Made(f"{made.title} {year}", made.sections)


def _changed(made: Made, language: str) -> Made:
    """Return the later version: another day for each deadline, the first section gone, and a new one at the end."""
    later = {
        heading: re.sub(r"(\d+)( March 2027|일까지|日を期限)", lambda day: f"{int(day[1]) + 1}{day[2]}", text)
        for heading, text in list(made.sections.items())[1:]
    }
    later[ADDED[language]] = DEADLINE[language].format(len(later) + 2, 30)
    return Made(f"{made.title} 2025", later)


def _store(braid: Braid, user: int, name: str, *documents: Made) -> int:
    dataset = braid.ledger.add_dataset(user, name).id
    for number, made in enumerate(documents):
        ingest_bytes(braid, dataset, f"{name}-{number}.md", made.markdown)
    if not braid.indexer.wait(WAIT_S):
        raise SystemExit(f"{name} is not indexed after {WAIT_S:g} s")
    return dataset


Measure = Callable[[Made, ChatResult], float]


def _ask(
    braid: Braid, user: int, dataset: int, language: str, made: Made, question: str, pages: int, measure: Measure
) -> dict[str, Any]:
    asked = question.format(made.title)
    request = ChatRequest(user, asked, dataset_ids=[dataset], options={"k": 5})
    begun = time.process_time()
    alone = Conversation(braid, models=ChatModels()).ask(request)
    seconds = time.process_time() - begun
    given = Given()
    result = Conversation(braid, models=ChatModels(None, scripted(given))).ask(request)
    meant = set(made.sections) if measure is not _changes else _differing(made, language)
    reached = len(given.headings & meant) / len(meant)
    return {
        "language": language,
        "pages": pages,
        "sections": len(made.sections),
        "question": asked.replace(made.title, "…")[:34],
        "without a model": round(measure(made, alone), 3),
        "processor s": round(seconds, 2),
        "sections in question that reached the model": round(reached, 3),
        "calls": given.calls,
        "said to a reader": _said(result),
        "said to the model": "part" if "was not read" in given.last or "Say so" in given.last else "all",
    }


def _differing(made: Made, language: str) -> set[str]:
    """Return the headings of the sections that the later version has in another form, or has not, or alone has."""
    headings = list(made.sections)
    return {headings[0], *headings[EVERY - 1 :: EVERY], ADDED[language]}


def _said(result: ChatResult) -> str:
    problems = [each.problem for each in result.lookups if each.problem]
    if problems:
        return problems[-1].partition(";")[0]
    return "all" if any(each.why == "document" for each in result.lookups) else "no document was found"


def _outlined(made: Made, result: ChatResult) -> float:
    """Return the share of the tenths of the document, or of its sections if there are fewer, that have a line."""
    places = {heading: place for place, heading in enumerate(made.sections)}
    parts = min(10, len(places))
    told = re.findall(r"^- \*\*(.+?)\*\*", result.text, re.MULTILINE)
    return len({places[heading] * parts // len(places) for heading in told if heading in places}) / parts


def _deadlines(made: Made, result: ChatResult) -> float:
    """Return the share of the deadlines that are listed."""
    days = len(made.sections) // EVERY
    listed = sum(bool(re.search("2027", line)) for line in result.text.split("\n") if line.startswith("- "))
    return min(1.0, listed / days) if days else 1.0


def _changes(made: Made, result: ChatResult) -> float:
    """Return the share of the differences that are shown or counted: the deadlines, and a section new and one gone."""
    rows = [line for line in result.text.split("\n") if line.startswith("| ")][1:]
    deadlines = sum("2027" in line and line.count("**") == 4 for line in rows)
    others = len(rows) - deadlines
    counted = re.search(r"(?:Not shown: |省略しました|ほかの違い |차이 )(\d+)", result.text)
    expected = len(made.sections) // EVERY + 2
    found = deadlines + min(2, others) + (int(counted[1]) if counted else 0)
    return min(1.0, found / expected)


if __name__ == "__main__":
    main()
