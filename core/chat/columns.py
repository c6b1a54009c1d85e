"""What is stored of a chat turn: its settings and citations as values of columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from braid.core.chat.search_record import search_record
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ledger.database import storable
from braid.core.models.citations import Citation


def request_settings(request: ChatRequest) -> dict[str, Any]:
    """What the question was asked with."""
    settings: dict[str, Any] = {
        "dataset_ids": None if request.dataset_ids is None else list(request.dataset_ids),
        "strategy": request.strategy,
        "options": {name: _json_value(value) for name, value in request.options.items()},
        "language": request.spoken,
    }
    if request.fields is not None:
        settings["fields"] = {**request.fields.named, "instruction": request.fields.instruction}
    return settings


def _json_value(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    fields: Iterable[str] = getattr(value, "__dataclass_fields__", ())
    if fields:
        return {name: _json_value(getattr(value, name)) for name in fields}
    return sorted(map(str, value)) if isinstance(value, frozenset | set | list | tuple) else str(value)


def result_settings(result: ChatResult) -> dict[str, Any]:
    """How the answer came about."""
    return {
        "question": result.question,
        "query": result.query,
        "query_generator": result.query_generator,
        "search_generator": result.search.generator,
        "collections": list(result.search.collections),
        "generator": result.generator,
        "found": result.found,
        "removed_citations": result.removed_citations,
        "degraded": [{"leg": d.leg, "collection": d.collection, "reason": d.reason} for d in result.degraded],
        "notes": list(result.notes),
        "stopped": result.stopped,
        "search": search_record(result.search),
    }


def citation_values(message_id: int, citation: Citation) -> dict[str, Any]:
    """The columns of a citation."""
    passage = citation.passage
    return {
        "message_id": message_id,
        "number": citation.number,
        "chunk_id": passage.chunk_id,
        "dataset_id": passage.dataset_id,
        "document_id": passage.document_id,
        "source": passage.source,
        "title": passage.title,
        "heading_path": passage.heading_path,
        "page": passage.page,
        "line": passage.line,
        "text": storable(citation.text),
    }
