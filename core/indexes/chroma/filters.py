"""Filters in the few forms that Chroma accepts.

Chroma rejects ``{}``, two bare keys, two operators on one key, ``$in: []`` and an ``$and`` of one clause. All of
them mean something, and are rewritten here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from braid.core.errors import InvalidInputError

if TYPE_CHECKING:
    from chromadb.api.types import Where

NOTHING: Final[dict[str, object]] = {"$or": []}
"""The filter that no chunk passes; compare with ``is``."""


def simplify(where: Mapping[str, object] | None) -> dict[str, object] | None:
    """Return an equal filter that Chroma accepts: None for everything, `NOTHING` for a contradiction."""
    if not where:
        return None
    return _all_of(clause for key, value in where.items() for clause in _clauses(key, value))


def selection_filter(
    dataset_ids: Collection[int] | None, document_ids: Collection[int] | None
) -> dict[str, object] | None:
    """Return the filter that chunks of these datasets and documents pass; None where both are None, which is all."""
    given = {"dataset_id": dataset_ids, "document_id": document_ids}
    return simplify({key: {"$in": sorted(ids)} for key, ids in given.items() if ids is not None})


def to_where(where: dict[str, object]) -> Where:
    """Return the filter as Chroma's type. Raises InvalidInputError when Chroma would not accept it."""
    from chromadb.api.types import validate_where

    filter_: Where = where  # type: ignore[assignment]
    try:
        validate_where(filter_)
    except ValueError as error:
        raise InvalidInputError(f"{where!r} is not a filter: {error}", field="where") from error
    return filter_


def _clauses(key: str, value: object) -> Iterable[dict[str, object] | None]:
    if key == "$and":
        return [_all_of(simplify(clause) for clause in _require_list(key, value))]
    if key == "$or":
        return [_any_of(simplify(clause) for clause in _require_list(key, value))]
    if not isinstance(value, Mapping):
        return [{key: value}]
    if not value:
        raise InvalidInputError(f"the filter on {key!r} has no operator; write {{'$eq': …}}", field="where")
    return [_comparison(key, operator, operand) for operator, operand in value.items()]


def _comparison(key: str, operator: str, operand: object) -> dict[str, object] | None:
    if operator in ("$in", "$nin"):
        operand = list(_require_list(operator, operand))
        if not operand:
            return NOTHING if operator == "$in" else None
    return {key: {operator: operand}}


def _require_list(operator: str, value: object) -> Iterable[Mapping[str, object]]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{operator} has {value!r}; it takes a list", field="where")
    return value


def _all_of(clauses: Iterable[dict[str, object] | None]) -> dict[str, object] | None:
    kept = [clause for clause in clauses if clause is not None]
    if any(clause is NOTHING for clause in kept):
        return NOTHING
    if len(kept) <= 1:
        return kept[0] if kept else None
    return {"$and": kept}


def _any_of(clauses: Iterable[dict[str, object] | None]) -> dict[str, object] | None:
    given = list(clauses)
    kept = [clause for clause in given if clause is not NOTHING]
    if not kept:
        return NOTHING
    if any(clause is None for clause in kept):
        return None
    return kept[0] if len(kept) == 1 else {"$or": kept}
