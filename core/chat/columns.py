"""The columns of a stored chat turn: settings and citations as JSON values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from braid.core.chat.citations import Citation, citation_json
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.marks import marked, renumbered, shown
from braid.core.chat.types import HIT_PLACE, ChatRequest, ChatResult, Draft, Turn, result_json
from braid.core.json_form import pick, to_json
from braid.core.ledger.database import storable
from braid.core.metadata.gaps import text_of
from braid.core.options import Datasets, stored_options
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import ALL

MAX_STORED_QUERY_CHARS = 300
"""Longest part of a query that is stored; a hypothetical passage is long."""
MAX_STORED_HITS = 100
COPIED = "copied"
"""Whether an answer was copied from another user's conversation; it does not count as one that was asked for."""
_COPIED = (
    *("question", "query", "query_generator", "generator", "search_generator", "found", "stopped", "marks"),
    *("asks_back", "removed_citations", "prompt_tokens", "answer_tokens", "calculation", "editions", "printed_pages"),
    *("support", "featured", "also"),
)
"""Settings of an answer that another user's copy has."""
_COPIED_SEARCH = ("strategy", "generator", "mode", "timings_ms")
NO_PLACE = 0
"""The place of a neighbour of a hit, which the model of the next answer is given under another number."""


def request_settings(request: ChatRequest) -> dict[str, Any]:
    """Return the settings with which the question was asked."""
    settings: dict[str, Any] = {
        "dataset_ids": None if request.dataset_ids in (None, ALL) else list(request.dataset_ids),
        **({"everything": True} if request.everything or request.dataset_ids == ALL else {}),
        "strategy": request.strategy,
        "options": to_json(request.options),
        "language": request.answer_language,
        **({"assistant_id": request.assistant_id} if request.assistant_id else {}),
    }
    if request.fields is not None:
        settings["fields"] = {**request.fields.named, "instruction": request.fields.instruction}
    return settings


def stored_request(user_id: int, text: str, settings: Mapping[str, Any], history: tuple[Turn, ...]) -> ChatRequest:
    """Return the request of a stored question, as `request_settings` stored it."""
    fields = settings.get("fields")
    return ChatRequest(
        user_id,
        "" if fields else text,
        fields=ThreeFields(**fields) if fields else None,
        history=history,
        dataset_ids=asked_datasets(settings).given,
        everything=settings.get("everything", False),
        strategy=settings.get("strategy", "basic"),
        options=stored_options(settings.get("options", {})),
        language=settings.get("language"),
        assistant_id=settings.get("assistant_id"),
    )


def asked_datasets(settings: Mapping[str, Any]) -> Datasets:
    """Return the datasets of a stored question: their ids at that time, where these are stored."""
    chosen = settings.get("dataset_ids")
    return Datasets(tuple(chosen or ()), chosen is None and bool(settings.get("everything")))


def copied_settings(role: str, settings: Mapping[str, Any], readable: Collection[int]) -> dict[str, Any]:
    """Return the settings of a message as another user has them, who reads it by a link or copies it. A question is of
    those of its datasets that are ``readable``, else of everything, and names no documents and no assistant. An answer
    has those that tell of what it cites, and none that name what was searched.
    """
    if role == "assistant":
        told = {name: settings[name] for name in _COPIED if name in settings}
        search = {"search": _copied_search(settings["search"])} if settings.get("search") else {}
        return {**told, **search, COPIED: True}
    kept = [id_ for id_ in asked_datasets(settings).ids if id_ in readable]
    same = {name: settings[name] for name in ("strategy", "language", "fields") if name in settings}
    options = {name: value for name, value in settings.get("options", {}).items() if name != "filters"}
    return {**same, "options": options, "dataset_ids": kept or None, **({} if kept else {"everything": True})}


def _copied_search(search: Mapping[str, Any]) -> dict[str, Any]:
    hits = [{**hit, "legs": [{**leg, "query": ""} for leg in hit["legs"]]} for hit in search.get("hits", ())]
    return {**{name: search[name] for name in _COPIED_SEARCH if name in search}, "hits": hits}


def stored_filter_words(settings: Mapping[str, Any]) -> dict[str, bool]:
    """Return which words of the question of a stored answer are a filter, where its user has decided."""
    read = settings.get("search", {}).get("read_filters", ())
    return {each["said"]: each["applied"] for each in read if each["why"] in ("chosen", "taken_off")}


def stored_draft(text: str, settings: Mapping[str, Any], cited: Mapping[int, str], *, is_complete: bool) -> Draft:
    """Return a stored answer as the draft of another one; ``cited`` are its citations: number → chunk id."""
    chunk_ids = tuple(hit["chunk_id"] for hit in settings.get("search", {}).get("hits", ()))
    places = {number: chunk_ids.index(chunk_id) + 1 for number, chunk_id in cited.items() if chunk_id in chunk_ids}
    numbered, marks = shown(
        renumbered(marked(text, settings.get("marks")), lambda number: places.get(number, NO_PLACE))
    )
    return Draft(numbered, chunk_ids, is_complete, marks)


def result_settings(result: ChatResult) -> dict[str, Any]:
    """Return the settings of the answer: how it was made."""
    form = result_json(result)
    search = form["search"]
    stored = (
        "question",
        "query",
        "query_generator",
        "generator",
        "found",
        "prompt_tokens",
        "removed_citations",
        "degraded",
        "notes",
        "marks",
    )
    return {
        **pick(form, *stored, "stopped"),
        **({"asks_back": True} if result.asks_back else {}),
        "answer_tokens": estimate_tokens(result.text),
        **({"calculation": form["calculation"]} if result.calculation else {}),
        **({"editions": form["editions"]} if result.editions else {}),
        **({"printed_pages": printed} if (printed := _printed_pages(result.citations)) else {}),
        **({"lookups": [_stored_lookup(each) for each in form["lookups"]]} if result.lookups else {}),
        **({"bill": form["bill"]} if result.lookups or result.bill.model_calls else {}),
        **({"support": form["support"]} if result.support else {}),
        **({"featured": _stored_quote(form["featured"])} if result.featured else {}),
        **({"also": [_stored_quote(each) for each in form["also"]]} if result.also else {}),
        "search_generator": search["generator"],
        "collections": search["collections"],
        "search": _stored_search(search),
    }


def _printed_pages(citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Return what is printed on the cited pages, where it is not their number in the file."""
    return [
        {
            "citation": each.number,
            "printed": each.passage.printed_page,
            "total": text_of(each.passage.metadata, "pages"),
        }
        for each in citations
        if each.passage.printed_page
    ]


def _stored_lookup(lookup: dict[str, Any]) -> dict[str, Any]:
    texts = {name: storable(lookup[name][:MAX_STORED_QUERY_CHARS]) for name in ("asked", "about")}
    return {**lookup, **texts, "problem": storable(lookup["problem"])}


def _stored_quote(quote: dict[str, Any]) -> dict[str, Any]:
    return {**quote, "text": storable(quote["text"])}


def citation_columns(message_id: int, citation: Citation) -> dict[str, Any]:
    """Return the columns of a citation."""
    return {"message_id": message_id, **citation_json(citation), "text": storable(citation.text)}


def _stored_search(search: dict[str, Any]) -> dict[str, Any]:
    """Pick enough of a search to say later how its passages were found, but not their text."""
    return {
        **pick(search, "strategy", "generator", "unresolved_dataset_ids"),
        "mode": search["query"]["mode"],
        "queries": [query[:MAX_STORED_QUERY_CHARS] for query in search["queries"]],
        **({"read_filters": list(map(_stored_filter, read))} if (read := search["read_filters"]) else {}),
        **({"added_forms": [_stored_form(each) for each in added]} if (added := search["added_forms"]) else {}),
        **({"did_you_mean": storable(search["did_you_mean"])} if search["did_you_mean"] else {}),
        "timings_ms": {stage: round(ms, 1) for stage, ms in search["timings_ms"].items()},
        "hits": [_stored_hit(hit) for hit in search["hits"][:MAX_STORED_HITS]],
    }


def _stored_form(form: dict[str, str]) -> dict[str, str]:
    return {name: storable(text) for name, text in form.items()}


def _stored_filter(read: dict[str, Any]) -> dict[str, Any]:
    return {**read, **{name: storable(read[name]) for name in ("said", "value", "key", "reason")}}


def _stored_hit(hit: dict[str, Any]) -> dict[str, Any]:
    return {
        **pick(hit["passage"], *HIT_PLACE),
        **pick(hit, "score", "rerank_score"),
        "legs": [{**leg, "query": leg["query"][:MAX_STORED_QUERY_CHARS]} for leg in hit["legs"]],
    }
