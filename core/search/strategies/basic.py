"""Strategy ``basic``: the query as it was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from braid.core.search.strategies.base import ExpandOnly, Expansion, Tools
from braid.core.types import Query


class Basic(ExpandOnly):
    """Searches for the query as it was typed."""

    description = "Searches for the query as it was typed."
    costs: Mapping[Literal["llm", "feedback"], str] = {}

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query itself."""
        return Expansion((tools.original,))
