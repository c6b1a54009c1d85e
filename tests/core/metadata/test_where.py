"""Filters as people write them: what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from braid.core.errors import InvalidInputError
from braid.core.metadata import parse_where
from braid.core.metadata.where import All, Condition, Not
from braid.core.types import Filters, SearchOptions


def nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"a": 1}
    for _ in range(depth - 1):
        where = {"$not": where}
    return where


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"year": {"$above": 1}}, r"'\$above' is no operator of 'year'; the operators are \$eq, \$ne, \$gt"),
        ({"$nor": [{"a": 1}]}, r"\$nor is no operator that joins filters; those are \$and, \$or, \$not"),
        ({"a": {"b": 1}}, "'b' is no operator of 'a'"),
        ({"a": None}, r"\$eq of 'a' has None; give it a text, a number, true or false, or a date"),
        ({"a": ["x"]}, r"\$eq of 'a' has \['x'\]; use \$in for one of several values, \$contains for"),
        ({"a": {"$gt": True}}, r"\$gt of 'a' has True; true and false have no order"),
        ({"a": {"$gt": ["x"]}}, r"\$gt of 'a' has \['x'\]; use \$in"),
        ({"a": {"$in": "x"}}, r"\$in of 'a' has 'x'; give it a list of values"),
        ({"a": {"$in": []}}, r"\$in of 'a' has \[\]; give it a list"),
        ({"a": {"$in": list(range(1_001))}}, r"\$in of 'a' has 1,001 values; at most 1,000"),
        ({"a": {"$contains": 1}}, r"\$contains of 'a' has 1; give it a text"),
        ({"a": {"$exists": "yes"}}, r"\$exists of 'a' has 'yes'; give it true or false"),
        ({"a": {"$date": "soon"}}, r"\$eq of 'a' has 'soon'; write a date as 2026-01-31"),
        ({"a": "x" * 501}, r"\$eq of 'a' has a text of 501 characters; at most 500 are compared"),
        ({"a": 2**54}, "a whole number has at most 15 digits"),
        ({"a": {"$in": [10**400]}}, "a whole number has at most 15 digits"),  # more than a float can be
        ({"a": float("inf")}, r"\$eq of 'a' has inf; give it"),
        ({"a": {}}, "the filter of 'a' is empty"),
        ({"$and": []}, r"\$and has \[\]; give it a list of filters"),
        ({"$or": [{}]}, "a part of the filter is empty"),
        ({"$or": [5]}, "5 is no filter"),
        ({"": 1}, "'' is no key"),
        ({"k" * 101: 1}, "is no key"),
        (["a"], r"\['a'\] is no filter"),
        (nested(9), "nested more than 8 deep"),
        ({"a": {"$not": nested(9)}}, r"'\$not' is no operator|nested more than 8 deep|'a' is no operator"),
        ({"$or": [{"a": n} for n in range(101)]}, "has 101 conditions; at most 100"),
    ],
)
def test_a_wrong_filter_is_refused_with_its_value_and_the_remedy(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        Filters(metadata=given)
    assert refused.value.field == "filters.metadata"


def test_the_deepest_filter_that_is_allowed_is_read() -> None:
    assert parse_where(nested(8)) is not None
    assert parse_where({}) is None


def test_parts_of_a_filter_hold_together() -> None:
    assert parse_where({"a": "x", "b": {"$ne": "y"}}) == All(
        (Condition("a", "equal", "text", ("x",)), Not(Condition("b", "equal", "text", ("y",))))
    )


def test_a_plain_object_is_a_filter_wherever_filters_are() -> None:
    options = SearchOptions().changed({"filters": {"source_prefix": "a/", "year": {"$gte": 2024}}})
    assert options.filters == Filters(source_prefix="a/", metadata={"year": {"$gte": 2024}})
    both = Filters.of({"metadata": {"date_from": 1}, "year": 2024})
    assert both.metadata == {"$and": [{"date_from": 1}, {"year": 2024}]}
    assert Filters.of({"file_types": ["md"]}) == Filters(file_types=frozenset({"md"}))
    assert not SearchOptions().changed({"filters": {}}).filters
    assert Filters(metadata={"a": 1})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("md", "filters"),
        ({"file_types": "md"}, "file_types"),
        ({"source_prefix": 5}, "source_prefix"),
        ({"date_from": "2024-01-01"}, "date_from"),
        ({"metadata": "x"}, "filters.metadata"),
        ({"metadata": "x", "year": 2024}, "filters.metadata"),
    ],
)
def test_other_things_are_no_filters(given: Any, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        SearchOptions().changed({"filters": given})
    assert refused.value.field == field
