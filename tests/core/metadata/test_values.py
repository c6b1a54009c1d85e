"""The values of metadata: what is stored, what is refused, and what comes back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from braid.core.errors import InvalidInputError
from braid.core.metadata import clean_metadata, read_metadata
from braid.core.metadata.values import MAX_KEYS, index_rows

GIVEN: dict[str, Any] = {
    "tenant": "x",
    "year": 2024,
    "price": 1.5,
    "open": True,
    "day": date(2026, 1, 31),
    "at": datetime(2026, 1, 31, 12, 30, tzinfo=timezone(timedelta(hours=9))),
    "tags": ["a", "b"],
    "none of them": [],
}


def test_every_kind_comes_back_as_it_was_through_json() -> None:
    stored = json.loads(json.dumps(clean_metadata(GIVEN)))
    assert stored["day"] == {"$date": "2026-01-31"}
    read = read_metadata(stored)
    assert read == GIVEN
    assert [type(value) for value in read.values()] == [type(value) for value in GIVEN.values()]
    assert clean_metadata(stored) == stored


def test_a_key_without_a_value_is_left_out_and_tuples_and_sets_are_lists() -> None:
    assert clean_metadata({"author": None, "tags": ("b", "a"), "groups": {"d", "c"}}) == {
        "tags": ["b", "a"],
        "groups": ["c", "d"],
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": {"b": 1}}, "metadata.a is {'b': 1}; a value is a text, a number, true or false, a date, or a list"),
        ({"a": [1, 2]}, "metadata.a is 1; a list has texts alone"),
        ({"a": float("nan")}, "metadata.a is nan; a number is finite"),
        ({"a": 2**60}, "metadata.a is 1152921504606846976; a whole number has at most 15 digits"),
        ({"a": b"x"}, "metadata.a is b'x'; a value is"),
        ({"a": {"$date": "yesterday"}}, "metadata.a is 'yesterday'; write a date as 2026-01-31"),
        ({"a": "x" * 100_001}, "it has 100,001 characters and 100,000 are allowed"),
        ({"a": ["x"] * 1_001}, "metadata.a has 1,001 texts; at most 1,000"),
        ({"": 1}, "metadata has the key ''; a key is a text of 1 to 100 characters"),
        ({7: 1}, "metadata has the key 7; a key is a text"),
        ({"$gte": 1}, "keys that begin with \\$ are operators"),
        ({"braid": 1}, "metadata has the key 'braid', under which Braid's own facts stand"),
        ({"braid\x00": 1}, "metadata has the key 'braid', under which Braid's own facts stand"),
        ({"\x00": 1}, "metadata has the key ''; a key is a text of 1 to 100 characters"),
        ({"\x00$gte": 1}, "keys that begin with \\$ are operators"),
        ({f"k{n}": 1 for n in range(MAX_KEYS + 1)}, "metadata has 201 keys; at most 200"),
        ("x", "metadata is 'x'; give an object"),
    ],
)
def test_what_cannot_be_stored_is_named_with_the_remedy(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("{", r"\{")) as refused:
        clean_metadata(given)
    assert refused.value.field.startswith("metadata")


def test_the_index_has_a_row_for_each_value_and_each_text_of_a_list() -> None:
    rows = index_rows(clean_metadata({**GIVEN, "long": "x" * 600}))
    assert [(row.key, row.position, row.kind) for row in rows] == [
        ("tenant", 0, "text"),
        ("year", 0, "number"),
        ("price", 0, "number"),
        ("open", 0, "flag"),
        ("day", 0, "date"),
        ("at", 0, "date"),
        ("tags", 0, "item"),
        ("tags", 1, "item"),
        ("none of them", 0, "item"),
        ("long", 0, "text"),
    ]
    by_key = {row.key: row for row in rows}
    assert by_key["day"].number == datetime(2026, 1, 31, tzinfo=UTC).timestamp()
    assert by_key["at"].number == datetime(2026, 1, 31, 3, 30, tzinfo=UTC).timestamp()
    assert by_key["long"].text == "x" * 500 + "…"
