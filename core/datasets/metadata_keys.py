"""The keys of metadata that datasets have, for those who choose a filter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from braid.core.ledger.database import Database
from braid.core.metadata.values import Kind

MAX_KEYS = 100
# The keys are found by leaps through the index, one for each key of a dataset, however many documents have it, and no
# more of a dataset than are returned of all.
_KEYS = f"""
    WITH RECURSIVE found(dataset_id, name, place) AS (
        SELECT d.id, (SELECT MIN(m.key) FROM document_metadata m WHERE m.dataset_id = d.id), 1
        FROM datasets d WHERE d.id IN :datasets AND d.removed_at IS NULL
        UNION ALL
        SELECT f.dataset_id,
            (SELECT MIN(m.key) FROM document_metadata m WHERE m.dataset_id = f.dataset_id AND m.key > f.name),
            f.place + 1
        FROM found f WHERE f.name IS NOT NULL AND f.place < {MAX_KEYS}),
    kinds(kind) AS (
        SELECT 'text' UNION ALL SELECT 'number' UNION ALL SELECT 'flag' UNION ALL SELECT 'date' UNION ALL SELECT 'item')
    SELECT DISTINCT f.name, k.kind FROM found f CROSS JOIN kinds k
    WHERE f.name IS NOT NULL AND EXISTS (
        SELECT 1 FROM document_metadata m WHERE m.dataset_id = f.dataset_id AND m.key = f.name AND m.kind = k.kind)
    ORDER BY 1, 2"""


def metadata_keys(database: Database, dataset_ids: Collection[int]) -> Mapping[str, tuple[Kind, ...]]:
    """Return the keys that documents of these datasets have, by name, with the kinds of their values; the first 100."""
    keys: dict[str, tuple[Any, ...]] = {}
    for key, kind in database.remembered_rows(_KEYS, datasets=sorted(dataset_ids)):
        if key in keys or len(keys) < MAX_KEYS:
            keys[key] = (*keys.get(key, ()), kind)
    return keys
