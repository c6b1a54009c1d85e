"""Exact texts: passages that contain a text character for character.

The keyword index says which passages have all of its words; the ledger has their text, in which it is looked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from braid.core.admission import give_way
from braid.core.errors import IndexUnavailableError, InvalidInputError, Reason
from braid.core.search.calls import Calls, Deadline
from braid.core.search.context import SearchContext
from braid.core.search.overlap import repeated_chars
from braid.core.types import MAX_K, Passage, Scope

MAX_EXACT_CHARS = 500
"""Longest text; passages are not much longer."""
MAX_CANDIDATES = 2_000
"""Passages of one collection that are looked at."""
PASSAGES_PER_READ = 200

Place = tuple[int, int]
"""First character, and the one after the last."""


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """A passage with the text in it."""

    passage: Passage
    start: int
    """First character of the first occurrence in the passage's text."""
    end: int
    occurrences: int
    line: int | None
    """1-based line of the file; None where the format has none."""


@dataclass(frozen=True, slots=True)
class ExactResult:
    """The passages found, by source, and what is missing."""

    matches: tuple[ExactMatch, ...]
    missing: tuple[str, ...] = ()
    """Why there may be more, in sentences; empty when every passage with the text as whole words is listed."""
    unanswered: bool = False
    """Whether no collection could answer."""
    unresolved_dataset_ids: tuple[int, ...] = ()
    """Ids that do not exist, are disabled, or are not the caller's."""


@dataclass(frozen=True, slots=True)
class ExactSearch:
    """Looks for one text in one scope, for at most ``context.leg_timeout_s`` seconds.

    White space in the text matches any white space. Raises InvalidInputError for a text that cannot be looked for.
    """

    context: SearchContext
    scope: Scope
    text: str
    k: int = 20
    ignore_case: bool = False
    _missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.text.strip() or len(self.text) > MAX_EXACT_CHARS:
            message = f"the text has {len(self.text)} characters; it must have 1 to {MAX_EXACT_CHARS}, not only spaces"
            raise InvalidInputError(message, field="text")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise InvalidInputError(f"k is {self.k!r}; it must be a whole number from 1 to {MAX_K}", field="k")

    def run(self) -> ExactResult:
        """Look in all collections of the scope. Raises InvalidInputError for a text without a word of the index."""
        tokens = self.context.analyzer.common_tokens(self.text)
        if not tokens:
            raise InvalidInputError(
                f"{self.text!r} has no word that the keyword index knows, only punctuation or words such as 'the'; add "
                "a word, or name the document to look in",
                field="text",
            )
        deadline = Deadline(self.context.leg_timeout_s)
        candidates = self._candidates(tokens, deadline)
        unanswered = bool(self.scope.collections) and not candidates
        return self._result(self._passages(candidates), deadline, unanswered=unanswered)

    def run_in(self, document_id: int) -> ExactResult:
        """Look in every passage of one document, also for a part of a word."""
        return self._result(self._passages_of(document_id), Deadline(self.context.leg_timeout_s))

    # ------------------------------------------------------------ where to look

    def _candidates(self, tokens: set[str], deadline: Deadline) -> Mapping[str, list[str]]:
        """Return the ids of passages with all of the tokens by collection, without collections that do not answer."""
        datasets = {each.collection: each.dataset_ids for each in self.scope.collections}
        find = self.context.bm25.containing
        calls = {
            name: partial(find, name, tokens, MAX_CANDIDATES, dataset_ids=datasets[name]) for name in self._usable()
        }
        found: dict[str, list[str]] = {}
        asked = Calls(self.context.executors["bm25"], calls).start().hasten(deadline)
        for name in asked.keys:
            try:
                found[name], count = asked.result(name, deadline)
            except IndexUnavailableError as error:
                self.context.indexer.suspect("bm25", name)
                self._missing.append(str(error))
            except TimeoutError:
                seconds = format(self.context.leg_timeout_s, "g")
                self._missing.append(Reason("an index gave no answer within %(seconds)s s", seconds=seconds))
            else:
                if count > MAX_CANDIDATES:
                    looked = Reason(
                        "%(count)s passages have all words; %(most)s of them were looked at",
                        count=format(count, ","),
                        most=format(MAX_CANDIDATES, ","),
                    )
                    self._missing.append(looked)
        return found

    def _usable(self) -> Iterator[str]:
        """Yield the collections whose keyword index may be asked."""
        datasets = {each.collection: each.dataset_ids for each in self.scope.collections}
        states = self.context.indexer.lacks([("bm25", name) for name in datasets], datasets)
        for name, progress in zip(datasets, states, strict=True):
            if reason := progress.obstacle or progress.shortfall:
                self._missing.append(reason)
            if not progress.obstacle:
                yield name

    def _passages(self, candidates: Mapping[str, Sequence[str]]) -> Iterator[Passage]:
        for ids in candidates.values():
            for start in range(0, len(ids), PASSAGES_PER_READ):
                part = ids[start : start + PASSAGES_PER_READ]
                give_way()
                read = self.context.ledger.passages(part, self.scope.dataset_ids)
                yield from (read[chunk_id] for chunk_id in part if chunk_id in read)

    def _passages_of(self, document_id: int) -> Iterator[Passage]:
        offset, read = 0, self.context.ledger.document_passages
        while passages := read(document_id, self.scope.dataset_ids, limit=PASSAGES_PER_READ, offset=offset):
            yield from passages
            give_way()
            offset += len(passages)

    # ------------------------------------------------------------ looking

    def _result(self, passages: Iterable[Passage], deadline: Deadline, *, unanswered: bool = False) -> ExactResult:
        pattern = _pattern(self.text, self.ignore_case)
        found: dict[tuple[int, int], tuple[Passage, list[Place]]] = {}
        for passage in passages:
            if len(found) == self.k:
                self._missing.append(Reason("%(count)s passages are listed; there may be more", count=self.k))
                break
            if not deadline.left_s:
                seconds = format(self.context.leg_timeout_s, "g")
                self._missing.append(Reason("not every passage was looked at within %(seconds)s s", seconds=seconds))
                break
            if places := [match.span() for match in pattern.finditer(passage.text)]:
                found[passage.document_id, passage.position] = passage, places
        matches = []
        for (document_id, position), (passage, places) in found.items():
            before = found.get((document_id, position - 1))
            repeated = repeated_chars(before[0], passage) if before else 0
            if left := [place for place in places if place[1] > repeated]:
                matches.append(ExactMatch(passage, *left[0], len(left), _line(passage, left[0][0])))
        matches.sort(key=lambda match: (match.passage.source, match.passage.dataset_id, match.passage.position))
        return ExactResult(tuple(matches), tuple(self._missing), unanswered, self.scope.unresolved_dataset_ids)


def _pattern(text: str, ignore_case: bool) -> re.Pattern[str]:
    """Return a pattern of the text in both normal forms of Unicode, with any white space for its own."""
    forms = dict.fromkeys(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    words = (r"\s+".join(map(re.escape, form.split())) for form in forms)
    return re.compile("|".join(words), re.IGNORECASE if ignore_case else 0)


def _line(passage: Passage, start: int) -> int | None:
    """Return the line of the file on which a character is; the passage's first where its text is not the file's."""
    if passage.line is None or passage.line_end is None:
        return passage.line
    if passage.text.count("\n") != passage.line_end - passage.line:
        return passage.line
    return passage.line + passage.text.count("\n", 0, start)
