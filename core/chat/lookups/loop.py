"""Lookups by a model: it calls tools until it has what the answer needs, or a limit ends it.

A model that takes no tools is asked for queries as lines, once, and these are searched for.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from braid.core.admission import give_way
from braid.core.chat.lookups.further import FurtherResult, merge, with_hits
from braid.core.chat.lookups.lookup import NO_BILL, Bill, Lookup, LookupLimits, Tool
from braid.core.chat.lookups.tools import DESCRIPTIONS, Toolbox, ToolResult, shown_passages, tools
from braid.core.errors import BraidError, ModelError, Reason
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import Prompts
from braid.core.models.replies import parse_queries
from braid.core.models.tool_calls import NoToolsError, Reply, ToolCall, tool_answer
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import Degraded, Hit, Passage, SearchResult

MOST_REPLIES = 2
"""Replies of the model per call that it may make: one that calls, and one that repeats itself or says DONE."""
REPEATED = Reason("it was asked for before")
NOTHING_NEW = Reason("nothing new, so no further search was made")
TOO_MANY = "no more calls; reply DONE"


@dataclass(slots=True)
class Loop:
    """Looks up what the first search lacks, for one question. ``stopped`` is asked before each step."""

    model: ChatModel
    prompts: Prompts
    toolbox: Toolbox
    limits: LookupLimits
    stopped: Callable[[], bool]
    tell: Callable[[Lookup], object]
    found: SearchResult
    calls_left: int
    lookups: list[Lookup] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """What was calculated from tables."""
    bill: Bill = NO_BILL
    notes: list[str] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    _begun: float = field(default_factory=monotonic)
    _asked: set[str] = field(default_factory=set)
    _tag: str = field(default_factory=lambda: f"passage-{secrets.token_hex(8)}")
    _least: float = 0.0
    """Score of the last passage that the search before gave."""
    _ended: bool = False

    def run(self, question: str) -> FurtherResult:
        """Return the first search with what was looked up. A model that fails is named in ``degraded``."""
        self._least = min((hit.score for hit in self.found.hits), default=0.0)
        try:
            try:
                self._by_tools(question)
            except NoToolsError:
                self._by_lines(question)
        except ModelError as error:
            self.degraded.append(
                Degraded("model", "", Reason("%(reason)s; nothing more was looked up with it", reason=error))
            )
        bill = replace(self.bill, ms=(monotonic() - self._begun) * 1000)
        search = replace(
            self.found,
            degraded=(*self.found.degraded, *self.degraded),
            notes=tuple(dict.fromkeys((*self.found.notes, *self.notes))),
        )
        return FurtherResult(search, tuple(self.lookups), bill=bill, calculated=tuple(self.texts))

    # ------------------------------------------------------------ asking the model

    def _by_tools(self, question: str) -> None:
        shown = shown_passages(self._passages(), self._tag)
        messages: list[Any] = self.prompts.look_up.messages(question=question, passages=shown)
        for _ in range(MOST_REPLIES * self.calls_left):
            if self._is_over():
                return
            reply = self.model.call(messages, tools(), timeout_s=self._seconds_left())
            self._count(messages, reply)
            if not reply.calls:
                return
            messages.append(reply.message)
            messages += [tool_answer(call, self._run(call)) for call in reply.calls]
            if self._ended or not self.calls_left:
                return

    def _by_lines(self, question: str) -> None:
        """Ask a model that takes no tools for queries."""
        if self._is_over():
            return
        prompt = self.prompts.sub_questions.messages(
            question=question, passages=shown_passages(self._passages(), self._tag), count=self.calls_left
        )
        written = self.model.complete(prompt, timeout_s=self._seconds_left())
        self._count(prompt, Reply(written))
        for query in parse_queries(written, question=question, limit=self.calls_left) or ():
            if self._ended or self._is_over():
                return
            self._run(ToolCall("", "search", {"query": query}))

    def _count(self, messages: Sequence[Any], reply: Reply) -> None:
        texts = [str(each[1] if isinstance(each, tuple) else each.content) for each in messages]
        estimated = sum(map(estimate_tokens, texts)) + estimate_tokens(reply.text)
        bill = self.bill
        self.bill = replace(bill, model_calls=bill.model_calls + 1, tokens=bill.tokens + (reply.tokens or estimated))

    def _is_over(self) -> bool:
        """Return whether the turn was stopped, or has used what it may; the latter is noted."""
        if self.stopped():
            return True
        if self._seconds_left() <= 0:
            self.notes.append(
                Reason(
                    "looking up more ended after %(seconds)s s, the limit lookup_seconds",
                    seconds=format(self.limits.seconds, "g"),
                )
            )
            return True
        if self.bill.tokens >= self.limits.tokens:
            self.notes.append(
                Reason("looking up more ended at %(tokens)s tokens, the limit lookup_tokens", tokens=self.bill.tokens)
            )
            return True
        return False

    def _seconds_left(self) -> float:
        return self._begun + self.limits.seconds - monotonic()

    # ------------------------------------------------------------ running a call

    def _run(self, call: ToolCall) -> str:
        """Run a call, tell of it, and return what the model is told."""
        if not self.calls_left or self._ended or self._is_over():
            return TOO_MANY
        self.calls_left -= 1
        started = monotonic()
        asked = next((str(value) for value in call.arguments.values()), "")
        tool: Tool = next((known for known in DESCRIPTIONS if known == call.name), "search")
        if call.key in self._asked:
            self._add(Lookup(tool, asked, "model", problem=REPEATED))
            return REPEATED
        self._asked.add(call.key)
        give_way()
        try:
            given = self.toolbox.run(call.name, call.arguments, self._passages())
        except BraidError as error:
            self._add(Lookup(tool, asked, "model", ms=(monotonic() - started) * 1000, problem=str(error)))
            return f"failed: {error}"
        new, problem = self._take(tool, given)
        ms = (monotonic() - started) * 1000
        self._add(Lookup(tool, given.asked or asked, "model", len(given.hits), len(new), ms, problem))
        if given.text:
            return f"<{self._tag}>\n{given.text}\n</{self._tag}>"
        first = len(self.found.hits) - len(new) + 1
        return shown_passages(new, self._tag, first=first) or "nothing new"

    def _take(self, tool: str, given: ToolResult) -> tuple[list[Passage], str]:
        """Add what a tool gave; return the new passages, and why looking up more ends with it, if it does."""
        before = len(self.found.hits)
        if given.search is not None:
            self.bill = replace(self.bill, searches=self.bill.searches + 1)
            self.found = merge(self.found, given.search, given.hits)
        elif given.hits:
            self.found = with_hits(self.found, given.hits)
        if tool == "table" and given.text:
            self.texts.append(given.text)
        new: list[Hit] = list(self.found.hits[before:])
        if given.search is not None:
            is_useless = all(hit.score < self._least for hit in new)
            self._least = min((hit.score for hit in given.hits), default=self._least)
            if is_useless:
                self._ended = True
                return [hit.passage for hit in new], NOTHING_NEW
        return [hit.passage for hit in new], ""

    def _add(self, lookup: Lookup) -> None:
        self.lookups.append(lookup)
        self.tell(lookup)

    def _passages(self) -> list[Passage]:
        return [hit.passage for hit in self.found.hits]
