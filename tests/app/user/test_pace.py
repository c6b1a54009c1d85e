"""Fast and thorough as values of the search, and what counts as neither."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.app.user.preferences import Way, pace_of, ways
from braid.config.settings import Settings
from braid.core.types import MAX_K


def test_a_site_searches_as_set_or_in_several_ways_for_twice_the_passages() -> None:
    found = ways(Settings(k=7, fusion="rrf"))
    assert found == {
        "fast": Way("hybrid", "rrf", 0.7, 7, "basic"),
        "thorough": Way("hybrid", "rrf", 0.7, 14, "multi_query"),
    }
    assert ways(Settings(k=MAX_K))["thorough"].k == MAX_K


@pytest.mark.parametrize(
    ("changes", "pace"),
    [
        ({}, "fast"),
        ({"strategy": "multi_query", "k": 10}, "thorough"),
        ({"strategy": "multi_query"}, "expert"),
        ({"mode": "keyword"}, "expert"),
        ({"fusion": "weighted"}, "expert"),
        ({"alpha": 0.1}, "fast"),
        ({"k": 6}, "expert"),
    ],
)
def test_other_values_are_those_of_an_expert(changes: dict[str, object], pace: str) -> None:
    settings = Settings()
    assert pace_of(replace(ways(settings)["fast"], **changes), settings) == pace


def test_the_balance_counts_where_it_has_an_effect() -> None:
    settings = Settings(fusion="weighted", alpha=0.4)
    assert pace_of(replace(ways(settings)["fast"], alpha=0.5), settings) == "expert"
