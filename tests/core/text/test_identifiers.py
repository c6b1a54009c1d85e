"""Identifiers: which texts are one, and which texts have one as it is written."""

from __future__ import annotations

import pytest

from braid.core.text.identifiers import LiteralSearch, identifier_of


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("DocumentRoot", "DocumentRoot"),
        ("  `max_wal_size` ", "max_wal_size"),
        ("「E-104」？", "E-104"),
        ("Ｅ－１０４とは", ""),
        ("Ｅ－１０４", "E-104"),
        ("WAL?", "WAL"),
        ("getUserName()", "getUserName"),
        ("HTTPd", "HTTPd"),
        ("10.0.0.1", "10.0.0.1"),
        ("K-50S", "K-50S"),
    ],
)
def test_a_text_that_is_one_identifier(text: str, identifier: str) -> None:
    assert identifier_of(text) == identifier


@pytest.mark.parametrize(
    "text", ["", "IT", "a1", "pump", "Pump", "well-known", "두 번째", "規程", "WAL size", "?!", "A" * 500]
)
def test_a_text_that_is_none(text: str) -> None:
    assert identifier_of(text) == ""


@pytest.mark.parametrize(
    ("identifier", "text", "there"),
    [
        ("WAL", "The WAL is written first.", True),
        ("WAL", "WALは先に書かれる", True),
        ("WAL", "a wal of stones", False),
        ("WAL", "WALK", False),
        ("DocumentRoot", "set documentroot to /srv", True),
        ("E-104", "E-104은 탱크가 비었다는 뜻이다", True),
        ("E-104", "Ｅ‑１０４", True),
        ("E-104", "E-1040 and PE-104", False),
        ("max_wal_size", "the_max_wal_size", False),
        ("os.path", "osXpath", False),
    ],
)
def test_a_text_has_an_identifier_as_it_is_written(identifier: str, text: str, there: bool) -> None:
    assert LiteralSearch(identifier).is_in(text) is there
