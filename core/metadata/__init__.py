"""The facts that a host gives its documents: typed values, and the filters that select by them.

May import: `core.errors`, `core.json_form`.
Way in: `clean_metadata` for values, `parse_where` for filters.
"""

from __future__ import annotations

from braid.core.metadata.values import Metadata, MetadataValue, clean_metadata, read_metadata
from braid.core.metadata.where import parse_where

__all__ = ["Metadata", "MetadataValue", "clean_metadata", "parse_where", "read_metadata"]
