"""A document that does not fit into a model's prompt, read part by part: notes of each part, from which the answer is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic

from braid.core.admission import give_way
from braid.core.chat.lookups.lookup import NO_BILL, Bill, Lookup
from braid.core.chat.marks import cited_in, renumbered
from braid.core.chat.passage_block import NOT_FOUND, passage_block
from braid.core.errors import ModelError, Reason
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import Prompts
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import Degraded, Hit

FRAME_TOKENS = 60
"""Tokens of the tags around a passage in a prompt."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a model has noted of a document's parts."""

    text: str = ""
    """A marked text, whose numbers are the places of the passages, from 1."""
    read: int = 0
    """Passages of the parts that were read."""
    lookups: tuple[Lookup, ...] = ()
    bill: Bill = NO_BILL
    degraded: tuple[Degraded, ...] = ()


def parts_within(hits: Sequence[Hit], tokens: int) -> list[tuple[Hit, ...]]:
    """Return the passages in order, in as few parts of at most ``tokens`` as there are without cutting a passage."""
    parts: list[tuple[Hit, ...]] = []
    kept: list[Hit] = []
    left = tokens
    for hit in hits:
        needed = estimate_tokens(f"{hit.passage.title} {hit.passage.heading_path} {hit.passage.text}") + FRAME_TOKENS
        if kept and needed > left:
            parts.append(tuple(kept))
            kept, left = [], tokens
        kept.append(hit)
        left -= needed
    return [*parts, tuple(kept)] if kept else parts


@dataclass(frozen=True, slots=True)
class PartReader:
    """Reads parts with a model, and tells of each. ``tokens`` are those of all notes together; ``stopped`` is asked
    before each part.
    """

    model: ChatModel
    prompts: Prompts
    tokens: int
    stopped: Callable[[], bool]
    tell: Callable[[Lookup], object]

    def read(self, question: str, title: str, parts: Sequence[Sequence[Hit]]) -> Notes:
        """Return the notes of the parts, up to the one at which the model failed, which is named in ``degraded``."""
        notes, first = Notes(), 1
        room = self.tokens // max(1, len(parts))
        for number, part in enumerate(parts, start=1):
            if self.stopped():
                break
            give_way()
            started = monotonic()
            try:
                text, tokens = self._note(question, part)
            except ModelError as error:
                reason = Reason(
                    "%(reason)s; the parts of %(title)s from %(number)s of %(total)s on were not read",
                    reason=error,
                    title=repr(title),
                    number=number,
                    total=len(parts),
                )
                return replace(notes, degraded=(Degraded("model", "", reason),))
            ms = (monotonic() - started) * 1000
            new = len(part)
            lookup = Lookup("read", title, "part", new, new, ms, about=f"{title} ({number}/{len(parts)})")
            self.tell(lookup)
            kept = "\n".join(_within(renumbered(text, lambda place, at=first: at + place - 1), room))  # type: ignore[misc]
            bill = notes.bill + Bill(model_calls=1, tokens=tokens, ms=ms)
            text = "\n".join(filter(None, (notes.text, kept)))
            notes, first = Notes(text, notes.read + new, (*notes.lookups, lookup), bill), first + new
        return notes

    def _note(self, question: str, part: Sequence[Hit]) -> tuple[str, int]:
        """Return what the model notes of a part, as a marked text, and the tokens of prompt and reply. Raises
        ModelError.
        """
        block = passage_block([hit.passage for hit in part], tokens=10 * self.tokens)
        (_, system), (_, user) = self.prompts.read_part.messages(passages=block.text, question=question)
        messages = [("system", system + block.rules(datetime.now().astimezone().date())), ("user", user)]
        reply = self.model.complete(messages)
        tokens = sum(estimate_tokens(text) for _, text in messages) + estimate_tokens(reply)
        filter_ = block.citation_filter(renumber=False)
        return ("" if NOT_FOUND in reply else filter_.read(reply)), tokens


def _within(notes: str, tokens: int) -> Iterator[str]:
    """Yield the lines of notes that cite something, as far as they fit."""
    for line in notes.split("\n"):
        if not cited_in(line):
            continue
        tokens -= estimate_tokens(line)
        if tokens < 0:
            return
        yield line.strip()
