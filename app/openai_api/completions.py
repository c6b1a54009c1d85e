"""A turn as a chat completion: at once, or in chunks."""

from __future__ import annotations

import time
import uuid
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field

from braid.app.api.chat import BillShown, FeaturedShown, LookupShown
from braid.app.api.check import SupportShown
from braid.app.api.schemas import DegradedShown
from braid.app.api.search import CitationShown
from braid.app.mounted import url_for
from braid.app.openai_api.errors import failure_in_stream
from braid.app.openai_api.footnotes import NOTE_MARK, footnotes, with_footnotes
from braid.app.web.event_stream import json_line
from braid.core.chat.citations import Citation, citation_json
from braid.core.chat.links import LinkFilter, check_links
from braid.core.chat.texts import Language, say
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatResult, Event, StageStarted
from braid.core.errors import Reason
from braid.core.json_form import to_json
from braid.core.models.pieces import WITHHELD_TEMPLATE
from braid.core.text.token_budget import estimate_tokens

DONE = "data: [DONE]\n\n"
Finish = Literal["stop", "length", "content_filter"]


class LinkedCitation(CitationShown):
    """A passage that the answer cites, and the address of its page, for browsers that are signed in to Braid."""

    url: str


class BraidShown(BaseModel):
    """How the answer was made, as in `POST /api/v1/chat`."""

    generator: str = Field(description="What wrote the answer: `extractive`, or the name of a model")
    found: bool
    featured: FeaturedShown | None = Field(description="Without a model, the passage that answers")
    question: str
    query: str
    degraded: list[DegradedShown]
    notes: list[str]
    unresolved_dataset_ids: list[int]
    lookups: list[LookupShown] = Field(description="What was looked for after the first search")
    bill: BillShown = Field(description="What looking up more has cost; `usage` has the answer alone")
    support: list[SupportShown] = Field(
        description="The sentences of the answer, and how each agrees with what it cites; characters are those of the "
        "message's content"
    )


class Usage(BaseModel):
    """Tokens, estimated; without a chat model nothing was prompted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class UrlCitation(BaseModel):
    """A passage that a part of the answer cites: the part, in characters, and the passage's page."""

    start_index: int
    end_index: int
    url: str
    title: str


class Annotation(BaseModel):
    """A mark in the answer, as OpenAI's clients read it."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class MessageShown(BaseModel):
    """The answer: Markdown with citations as footnotes."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    """The only answer."""

    index: Literal[0] = 0
    message: MessageShown
    finish_reason: Finish
    logprobs: None = None


class Completion(BaseModel):
    """An answer, with what it cites."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    citations: list[LinkedCitation]
    braid: BraidShown


@dataclass(frozen=True, slots=True)
class Head:
    """What a completion and all of its chunks have in common."""

    model: str
    language: Language
    notes: tuple[str, ...] = ()
    """What was given and has no effect."""
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))


@dataclass(frozen=True, slots=True)
class Sent:
    """The text that was sent, where in it citations begin, and where the answer does."""

    text: str
    places: Sequence[int]
    begins: int = 0

    def place_of(self, at: int, marks: Sequence[int]) -> int:
        """Return where a character of the answer is in the text that was sent, by the citation before it."""
        before = bisect_left(marks, at)
        if before == 0 or before > len(self.places):
            return self.begins + at
        return self.places[before - 1] + at - marks[before - 1] + 1  # [^1] for [1]


def completion(head: Head, result: ChatResult) -> Completion:
    """Return a whole turn."""
    text, places = with_footnotes(result.text, result.marks)
    return _whole(head, result, Sent(text + _tail(result, head.language), places))


def _whole(head: Head, result: ChatResult, sent: Sent) -> Completion:
    message = MessageShown(content=sent.text, annotations=_annotations(sent.text, sent.places, result.citations))
    return Completion(
        id=head.id,
        created=head.created,
        model=head.model,
        choices=[Choice(message=message, finish_reason=_finish(result))],
        usage=_usage(result),
        citations=_citations(result),
        braid=_how(result, head.notes, sent),
    )


@dataclass(slots=True)
class Chunks:
    """Writes the events of a turn as chunks of a completion, the last of which has what it cites."""

    head: Head
    with_usage: bool = False
    _sent: LinkFilter = field(default_factory=LinkFilter)
    """Knows whether what was sent ends within code."""
    _ends_in_mark: bool = False
    _length: int = 0
    _places: list[int] = field(default_factory=list)
    """Places of the citations in the text that was sent, in characters."""
    _begins: int = 0
    """Place in the text that was sent where the answer that counts begins."""
    _answer_text: list[str] = field(default_factory=list)
    _has_begun: bool = False
    has_text: bool = False
    is_sent: bool = False

    def event(self, happened: Event) -> str:
        """Return the chunks of an event; empty for one that is not shown."""
        match happened:
            case StageStarted():
                begun, self._has_begun = self._has_begun, True
                return "" if begun else self._chunk({"role": "assistant", "content": ""})
            case AnswerText():
                return self._answer(happened)
            case AnswerWithdrawn():
                return self._withdraw()
            case ChatResult():
                return self._end(happened)
            case _:
                return ""

    def error(self, error: Exception) -> str:
        """Return an error behind the status, which ends the stream; raise it before the stream has begun."""
        if not self.is_sent:
            raise error
        return _line(failure_in_stream(error))

    def _answer(self, piece: AnswerText) -> str:
        text, places = with_footnotes(piece.text, piece.marks)
        if self._ends_in_mark and 0 in places:
            text, places = f" {text}", tuple(place + 1 for place in places)
        self._places += [self._length + place for place in places]
        if text:
            self._ends_in_mark = bool(places) and text.endswith("]") and "]" not in text[places[-1] : -1]
        return self._text(text)

    def _text(self, text: str) -> str:
        self.has_text = self.has_text or bool(text)
        self._answer_text.append(text)
        self._length += len(text)
        self._sent.feed(text)
        return self._chunk({"content": text}) if text else ""

    def _withdraw(self) -> str:
        """What a client has cannot be taken back: say that it does not count, and begin again, outside of code."""
        self._places.clear()
        if not self.has_text:
            return ""
        end = f"\n{self._sent.fence}" if self._sent.fence else ""
        lines = self._text(f"{end}\n\n*{say('withdrawn', self.head.language)}*\n\n")
        self._sent = LinkFilter()
        self._begins = self._length
        return lines

    def _end(self, result: ChatResult) -> str:
        whole, lines = self.whole(result)
        shown = whole.model_dump(mode="json")
        choice = shown["choices"][0]
        marks = choice["message"]["annotations"]
        delta = {"annotations": marks} if marks else {}
        lines += self._chunk(delta, choice["finish_reason"], citations=shown["citations"], braid=shown["braid"])
        if self.with_usage:
            lines += _line({**self._shared(), "choices": [], "usage": shown["usage"]})
        return lines + DONE

    def whole(self, result: ChatResult) -> tuple[Completion, str]:
        """Return the completion with the text as it was sent, and the lines of what stands below the answer."""
        lines = self._text(_tail(result, self.head.language))
        text = "".join(self._answer_text)
        return _whole(self.head, result, Sent(text, self._places, self._begins)), lines

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _line({**self._shared(), "choices": [choice], **more})

    def _shared(self) -> dict[str, Any]:
        head = self.head
        return {"id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model}


def _line(values: dict[str, Any]) -> str:
    return f"data: {json_line(values)}\n\n"


def _tail(result: ChatResult, language: Language) -> str:
    """Return what stands below an answer: what could not be searched or asked, and the footnotes."""
    reasons = "; ".join(dict.fromkeys(" ".join(part.reason.split()) for part in result.degraded))
    missing = f"> {check_links(say('degraded', language, reasons=reasons))}" if reasons else ""
    return "".join(f"\n\n{part}" for part in (missing, footnotes(result.citations, _page)) if part)


def _finish(result: ChatResult) -> Finish:
    if any(isinstance(note, Reason) and note.template == WITHHELD_TEMPLATE for note in result.notes):
        return "content_filter"
    return "length" if result.cut else "stop"


def _usage(result: ChatResult) -> Usage:
    written = estimate_tokens(result.text)
    return Usage(
        prompt_tokens=result.prompt_tokens, completion_tokens=written, total_tokens=result.prompt_tokens + written
    )


def _citations(result: ChatResult) -> list[LinkedCitation]:
    return [LinkedCitation.model_validate({**citation_json(each), "url": _page(each)}) for each in result.citations]


def _page(citation: Citation) -> str:
    return url_for("braid.search.document", chunk_id=citation.passage.chunk_id, _external=True)


def _annotations(text: str, places: Sequence[int], citations: Sequence[Citation]) -> list[Annotation]:
    """Return a mark for each citation in the text that was sent."""
    cited = {citation.number: citation for citation in citations}
    marks = [(found, cited[int(found[1])]) for place in places if (found := NOTE_MARK.match(text, place))]
    return [
        Annotation(
            url_citation=UrlCitation(
                start_index=found.start(),
                end_index=found.end(),
                url=_page(citation),
                title=citation.passage.title or citation.passage.source,
            )
        )
        for found, citation in marks
    ]


def _how(result: ChatResult, notes: Sequence[str], sent: Sent) -> BraidShown:
    return BraidShown.model_validate(
        {
            **to_json({"degraded": result.degraded, "notes": (*result.notes, *notes)}),
            **to_json({"lookups": result.lookups, "bill": result.bill}),
            "generator": result.generator,
            "found": result.found,
            "featured": to_json(result.featured),
            "question": result.question,
            "query": result.query,
            "unresolved_dataset_ids": list(result.search.unresolved_dataset_ids),
            "support": [_moved(each, result.marks or (), sent) for each in to_json(result.support)],
        }
    )


def _moved(part: dict[str, Any], marks: Sequence[int], sent: Sent) -> dict[str, Any]:
    """Return a sentence or a finding as JSON with its place in the text that was sent."""
    start, end = (sent.place_of(part[name], marks) for name in ("start", "end"))
    findings = [_moved(each, marks, sent) for each in part.get("findings", ())]
    return {**part, "start": start, "end": end, **({"findings": findings} if "findings" in part else {})}
