"""Braid's values as JSON."""

from __future__ import annotations

import json

import pytest

from braid.core.json_form import pick, to_json
from braid.core.types import Degraded, Filters, Query, SearchResult


def test_a_search_result_becomes_objects_and_lists() -> None:
    query = Query("q", filters=Filters(frozenset({"pdf", "md"})))
    found = SearchResult(query, "basic", "none", ("q",), (), ("user_1",), (Degraded("dense", "", "slow"),))
    form = to_json(found)
    assert json.loads(json.dumps(form)) == form
    assert form["query"]["filters"]["file_types"] == ["md", "pdf"]
    assert form["degraded"] == [{"leg": "dense", "collection": "", "reason": "slow"}]
    assert (form["timings_ms"], form["unresolved_dataset_ids"]) == ({}, [])


def test_keys_become_texts_and_plain_values_stay() -> None:
    assert to_json({1: (None, 0.5, True, "a")}) == {"1": [None, 0.5, True, "a"]}


def test_a_field_that_is_missing_is_not_picked() -> None:
    assert pick({"a": 1, "b": 2}, "b") == {"b": 2}
    with pytest.raises(KeyError):
        pick({"a": 1}, "b")
