"""Filters as one line of text."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json
from braid.core.metadata import parse_where
from braid.core.metadata.written import read_written


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("year>=2024", {"year": {"$gte": 2024}}),
        (" year = 2024.5 ", {"year": {"$eq": 2024.5}}),
        ("year=-3", {"year": {"$eq": -3}}),
        ('year="2024"', {"year": {"$eq": "2024"}}),
        ("tenant!=x y", {"tenant": {"$ne": "x y"}}),
        ("draft=true", {"draft": {"$eq": True}}),
        ("day<2026-01-31", {"day": {"$lt": to_json(date(2026, 1, 31))}}),
        ("tags~2024", {"tags": {"$contains": "2024"}}),
        ("作成者=田中", {"作成者": {"$eq": "田中"}}),
        ("formula=a=b", {"formula": {"$eq": "a=b"}}),
        ("empty=", {"empty": {"$eq": ""}}),
        ("author", {"author": {"$exists": True}}),
        ("!author", {"author": {"$exists": False}}),
        ('{"$or": [{"a": 1}, {"b": 2}]}', {"$or": [{"a": 1}, {"b": 2}]}),
    ],
)
def test_a_line_is_a_filter(text: str, where: dict[str, Any]) -> None:
    assert read_written([text]) == where
    assert parse_where(where) is not None


def test_several_lines_hold_together_and_none_is_no_filter() -> None:
    assert read_written(["a=1", "a<5"]) == {"$and": [{"a": {"$eq": 1}}, {"a": {"$lt": 5}}]}
    assert read_written([]) == {}


@pytest.mark.parametrize("text", ["", "=5", ">= 5", '{"a": ', "{a: 1}"])
def test_a_line_that_cannot_be_read_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InvalidInputError, match="write year>=2024"):
        read_written([text])
