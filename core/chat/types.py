"""What travels through a chat: requests, progress events, answers. All are frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from braid.core.chat.comparison import ThreeFields
from braid.core.chat.texts import Language, language_of
from braid.core.errors import InvalidInputError
from braid.core.models.citations import Citation
from braid.core.types import MAX_QUERY_CHARS, Degraded, SearchResult

Stage = Literal["normalize", "generate_query", "search", "answer", "compare"]
LANGUAGES: tuple[Language, ...] = ("en", "ja", "ko")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question with the turns before it (the oldest first), or a three-field search.

    ``options`` are the fields of `braid.core.types.SearchOptions`. Raises InvalidInputError when there is
    not
    exactly one of ``text`` and ``fields``; `braid.core.chat.conversation.Conversation` checks the rest before it does
    anything.
    """

    user_id: int | None
    text: str = ""
    fields: ThreeFields | None = None
    history: tuple[Turn, ...] = ()
    dataset_ids: Sequence[int] | None = None
    strategy: str = "basic"
    options: Mapping[str, Any] = field(default_factory=dict)
    evaluation_mode: bool = False
    """Stop after the search."""
    language: Language | None = None
    """Of what Braid itself says; None means that of the question."""

    def __post_init__(self) -> None:
        if bool(self.text.strip()) == (self.fields is not None):
            raise InvalidInputError("give a text or three fields, and not both", field="text")
        if len(self.text) > MAX_QUERY_CHARS:
            raise InvalidInputError(
                f"the question has {len(self.text)} characters; at most {MAX_QUERY_CHARS} are allowed", field="text"
            )
        if self.language not in (None, *LANGUAGES):
            raise InvalidInputError(
                f"language is {self.language!r}; choose one of {', '.join(LANGUAGES)}", field="language"
            )

    @property
    def spoken(self) -> Language:
        """The language with its default."""
        return self.language or language_of(self.shown)

    @property
    def shown(self) -> str:
        """What the user typed, as one text."""
        return self.text if self.fields is None else self.fields.described(self.language or "en")


# ---------------------------------------------------------------- events, in the order in which they come


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A node of the graph begins."""

    type: ClassVar[str] = "stage"
    stage: Stage
    generator: str = ""
    """Of ``answer`` and ``compare``, who is to write: the name of a model, or ``extractive``."""


@dataclass(frozen=True, slots=True)
class QueryWritten:
    """What will be searched for. ``generator`` is ``none``, ``feedback`` or the name of a model."""

    type: ClassVar[str] = "query"
    question: str
    """The question as one that can be understood alone."""
    query: str
    generator: str


@dataclass(frozen=True, slots=True)
class Searched:
    """What the search found, before it is answered from."""

    type: ClassVar[str] = "search"
    result: SearchResult


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of the answer."""

    type: ClassVar[str] = "token"
    text: str


@dataclass(frozen=True, slots=True)
class AnswerWithdrawn:
    """Forget the pieces so far: the model failed in their midst, or was thinking aloud. Another answer follows."""

    type: ClassVar[str] = "withdrawn"
    reason: str
    generator: str = "extractive"
    """Who writes the other one."""


@dataclass(frozen=True, slots=True)
class ChatResult:
    """The answer with everything needed to say how it came about. Also the last event."""

    type: ClassVar[str] = "answer"
    question: str
    query: str
    query_generator: str
    search: SearchResult
    text: str = ""
    """Markdown; empty in evaluation mode."""
    generator: str = "none"
    """Who wrote the answer: ``extractive``, the name of a model, or ``none`` in evaluation mode."""
    found: bool = False
    """Whether the passages held an answer."""
    citations: tuple[Citation, ...] = ()
    """Those that the text cites, in its order."""
    removed_citations: int = 0
    """Citations of passages that do not exist, taken out of the text."""
    prompt_tokens: int = 0
    """Estimated; 0 without a model."""
    degraded: tuple[Degraded, ...] = ()
    """What was missing, the search's parts included."""
    notes: tuple[str, ...] = ()
    """What a limit left out though nothing failed, those of the search included."""
    stopped: bool = False
    """The turn was ended before its answer was; see `braid.core.chat.turn_recorder`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a ChatResult that is written from the passages; the fields are those of the same name there."""

    text: str
    generator: str
    found: bool = False
    citations: tuple[Citation, ...] = ()
    removed_citations: int = 0
    prompt_tokens: int = 0
    degraded: tuple[Degraded, ...] = ()
    notes: tuple[str, ...] = ()


def answered(result: ChatResult, answer: Answer) -> ChatResult:
    """The result with its answer."""
    added = ("degraded", "notes")
    parts = {name: getattr(answer, name) for name in Answer.__dataclass_fields__ if name not in added}
    return replace(result, **parts, degraded=result.degraded + answer.degraded, notes=result.notes + answer.notes)


Event = StageStarted | QueryWritten | Searched | AnswerText | AnswerWithdrawn | ChatResult


def event_json(event: Event) -> dict[str, Any]:
    """An event as JSON values, with its ``type``: what a page or an API streams."""
    if isinstance(event, Searched):
        return {"type": event.type, **_search_json(event.result)}
    if isinstance(event, ChatResult):
        return {
            "type": event.type,
            "question": event.question,
            "query": event.query,
            "query_generator": event.query_generator,
            "text": event.text,
            "generator": event.generator,
            "found": event.found,
            "citations": [_citation_json(citation) for citation in event.citations],
            "removed_citations": event.removed_citations,
            "prompt_tokens": event.prompt_tokens,
            "degraded": [_degraded_json(part) for part in event.degraded],
            "notes": list(event.notes),
            "stopped": event.stopped,
        }
    names = event.__dataclass_fields__
    return {"type": event.type, **{name: getattr(event, name) for name in names if name != "type"}}


def _search_json(result: SearchResult) -> dict[str, Any]:
    return {
        "strategy": result.strategy,
        "generator": result.generator,
        "queries": list(result.queries),
        "collections": list(result.collections),
        "unresolved_dataset_ids": list(result.unresolved_dataset_ids),
        "passages": [
            {
                "chunk_id": hit.passage.chunk_id,
                "dataset_id": hit.passage.dataset_id,
                "source": hit.passage.source,
                "title": hit.passage.title,
                "score": hit.score,
            }
            for hit in result.hits
        ],
        "degraded": [_degraded_json(part) for part in result.degraded],
        "notes": list(result.notes),
        "timings_ms": dict(result.timings_ms),
    }


def _citation_json(citation: Citation) -> dict[str, Any]:
    passage = citation.passage
    return {
        "number": citation.number,
        "chunk_id": passage.chunk_id,
        "document_id": passage.document_id,
        "dataset_id": passage.dataset_id,
        "source": passage.source,
        "title": passage.title,
        "heading_path": passage.heading_path,
        "page": passage.page,
        "line": passage.line,
        "text": citation.text,
    }


def _degraded_json(part: Degraded) -> dict[str, str]:
    return {"leg": part.leg, "collection": part.collection, "reason": part.reason}
