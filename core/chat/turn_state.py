"""The state of a chat turn on its way from its question to its answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from braid.core.chat.lookups.further import FurtherResult
from braid.core.chat.query_writing import NormalizedQuestion
from braid.core.chat.types import ChatRequest, ChatResult, QueryWritten
from braid.core.chat.whole.about import Whole
from braid.core.types import Degraded, ReadFilter, Scope, SearchResult


@dataclass(slots=True)
class ChatTurn:
    """A turn on its way through the graph. Each node sets the fields that the next ones need."""

    request: ChatRequest
    scope: Scope
    """Resolved once, when the turn begins."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when nobody listens to the events any more."""
    question: NormalizedQuestion = field(init=False)
    query: QueryWritten = field(init=False)
    languages: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Languages of the documents in which the question is not, by their codes, and the datasets that have them."""
    wordings: tuple[str, ...] = ()
    """The question in these, as a model has written it."""
    in_others: frozenset[str] = frozenset()
    """Chunk ids of passages in these, where no passage that was found first has the question's words."""
    degraded: tuple[Degraded, ...] = ()
    read_filters: tuple[ReadFilter, ...] = ()
    """The filters that were read from the question; ``scope`` and the request's options have those that are applied."""
    read_from: frozenset[int] = frozenset()
    """The datasets whose passages have been found so far."""
    looked_at: float = 0.0
    """When the rights of the user to read these datasets were looked up last."""
    first: SearchResult = field(init=False)
    """The first search, by which the match is judged."""
    found: FurtherResult = field(init=False)
    onward: tuple[str, ...] = ()
    """Chunk ids of the passage that the last answer quoted, and of the next ones, where that is asked for."""
    whole: Whole | None = None
    """The document, or the two, that the question is about as a whole."""
    notes: str = ""
    """What a model is given in place of passages, as a marked text: notes of a document that does not fit into its
    prompt, or the wordings of two that differ."""
    result: ChatResult = field(init=False)

    def note_read(self, found: SearchResult) -> None:
        """Note the datasets of passages, so that it is looked up with the next event whether they may still be read."""
        self.read_from |= {hit.passage.dataset_id for hit in found.hits}
        self.looked_at = 0.0


@dataclass(frozen=True, slots=True)
class GraphState:
    """The state that LangGraph hands from node to node."""

    turn: ChatTurn
