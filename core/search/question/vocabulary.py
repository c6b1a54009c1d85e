"""The values of metadata that datasets have, bounded, as questions may name them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from braid.core.datasets.metadata_keys import metadata_keys
from braid.core.ledger.database import Database
from braid.core.metadata.values import Kind
from braid.core.text.normalization import fold
from braid.core.text.stopwords import STOP_WORDS

MAX_VALUES_OF_KEY = 300
"""Values of one key in one dataset that are known, the first ones by their text. A key with more is hardly a label."""
MAX_VALUES = 5_000
"""Values of all datasets together."""
MAX_VALUE_CHARS = 40
MAX_STATEMENTS = 200
"""Statements that read values for one question: those of the first datasets, keys and kinds."""
_FUNCTION_WORDS = frozenset().union(*STOP_WORDS.values())
# Leaps through the index, one for each value, however many documents have it.
_VALUES = f"""
    WITH RECURSIVE found(value, place) AS (
        SELECT (SELECT MIN(m.text) FROM document_metadata m
            WHERE m.dataset_id = :dataset_id AND m.key = :key AND m.kind = :kind AND m.number IS NULL), 1
        UNION ALL
        SELECT (SELECT MIN(m.text) FROM document_metadata m
            WHERE m.dataset_id = :dataset_id AND m.key = :key AND m.kind = :kind AND m.number IS NULL
                AND m.text > f.value), f.place + 1
        FROM found f WHERE f.value IS NOT NULL AND f.place < {MAX_VALUES_OF_KEY})
    SELECT value FROM found WHERE value IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is stored. Of kind ``item`` it is one text of a list."""

    key: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The keys of metadata in a scope with the kinds of their values, and texts by how a question writes them."""

    keys: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)


def vocabulary_of(database: Database, dataset_ids: Collection[int]) -> Vocabulary:
    """Return the metadata of these datasets, which the caller must be allowed to read."""
    values: dict[str, dict[Value, None]] = {}
    left = MAX_VALUES
    for dataset_id, key, kind in islice(_labels(database, dataset_ids), MAX_STATEMENTS):
        rows = database.remembered_rows(_VALUES, dataset_id=dataset_id, key=key, kind=kind)[:left]
        left -= len(rows)
        for (text,) in rows:
            if 2 <= len(folded := fold(text)) <= MAX_VALUE_CHARS and folded not in _FUNCTION_WORDS:
                values.setdefault(folded, {})[Value(key, kind, text)] = None
        if not left:
            break
    return Vocabulary(metadata_keys(database, dataset_ids), {text: tuple(each) for text, each in values.items()})


def _labels(database: Database, dataset_ids: Collection[int]) -> Iterator[tuple[int, str, Kind]]:
    """Yield the datasets with their keys whose values are texts; at most `MAX_STATEMENTS` datasets are asked."""
    for dataset_id in islice(sorted(dataset_ids), MAX_STATEMENTS):
        for key, kinds in metadata_keys(database, [dataset_id]).items():
            for kind in kinds:
                if kind in ("text", "item"):
                    yield dataset_id, key, kind
