"""Statements with constant text, which the database prepares once: building one anew takes SQLAlchemy milliseconds.

In the texts, ``:name`` is a parameter and ``IN :name`` takes any number of values in one parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import cache

Value = str | int | float | bytes | None | Collection[str] | Collection[int]

VECTORS_OF_COLLECTION = """
    SELECT e.chunk_id, c.document_id, c.dataset_id, e.vector
    FROM datasets d JOIN chunks c ON c.dataset_id = d.id JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE d.collection = :collection AND d.removed_at IS NULL"""

BYTES_OF_A_VECTOR = """
    SELECT length(e.vector)
    FROM datasets d JOIN chunks c ON c.dataset_id = d.id JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE d.collection = :collection AND d.removed_at IS NULL LIMIT 1"""

VECTORS = "SELECT e.chunk_id, e.vector FROM embeddings e WHERE e.chunk_id IN :ids AND e.model = :model"


@cache
def text_for(dialect: str, statement: str) -> str:
    """Return the statement in the words of SQLite's or PostgreSQL's driver."""
    if dialect == "sqlite":
        return re.sub(r"IN :(\w+)", r"IN (SELECT value FROM json_each(:\1))", statement)
    return re.sub(r":(\w+)", r"%(\1)s", re.sub(r"IN :(\w+)", r"= ANY(:\1)", statement))


def parameters_for(dialect: str, parameters: Mapping[str, Value]) -> dict[str, object]:
    """Return the parameters as the driver takes them: several values as JSON for SQLite, as an array for PostgreSQL."""
    return {name: _parameter(dialect, value) for name, value in parameters.items()}


def _parameter(dialect: str, value: Value) -> object:
    if value is None or isinstance(value, str | int | float | bytes):
        return value
    return json.dumps(list(value)) if dialect == "sqlite" else list(value)
