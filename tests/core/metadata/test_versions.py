"""Versions of documents: what is recognized, which comes first, and what is said beside a citation."""

from __future__ import annotations

import pytest

from braid.core.metadata.versions import Edition, Version, editions_of, recognized, version_order
from braid.core.types import Passage

TODAY = "2026-06-01"
_IDS = iter(range(1, 10_000))


def passage(title: str, text: str, *, heading: str = "", source: str = "", since: str = "") -> Passage:
    number = next(_IDS)
    facts = {"valid_from": since} if since else {}
    source = source or f"{number}.md"
    place = (None, None, None, None, None)
    return Passage(f"c{number}", number, 1, "user_1", source, title, "md", heading, text, 0, *place, facts)


@pytest.mark.parametrize(
    ("text", "since", "replaces"),
    [
        ("Valid from 1 March 2025. This policy replaces the 2024 version.", "2025-03-01", "2024"),
        ("In force since March 1, 2025.", "2025-03-01", ""),
        ("It takes effect on 2025-03-01 and supersedes the edition of 2023.", "2025-03-01", "2023"),
        ("この規程は2025年3月1日から施行し、2024年版に代わる。", "2025-03-01", "2024"),
        ("施行日：２０２５年３月１日", "2025-03-01", ""),
        ("이 규정은 2025년 3월 1일부터 시행하며 2024년판을 대체한다.", "2025-03-01", "2024"),
        ("The ticket of 1 March 2025 was valid.", "", ""),
        ("Valid from 1 March 2025 in Oslo, and effective 1 April 2025 elsewhere.", "", ""),
        ("Valid from 1 March 2025." + " x" * 2_000 + " It replaces the version of 2024.", "2025-03-01", ""),
        ("Effective 45 Maple 2025", "", ""),
    ],
)
def test_what_a_document_says_of_its_version(text: str, since: str, replaces: str) -> None:
    found = recognized(text)
    assert (found.get("valid_from", ""), found.get("replaces", "")) == (since, replaces)
    assert "" not in found.values()


@pytest.mark.parametrize(
    ("title", "source", "year"),
    [
        ("Travel policy 2025", "a.md", "2025"),
        ("出張旅費規程（2025年版）", "a.md", "2025"),
        ("출장 규정 2025년판", "a.md", "2025"),
        ("Travel policy", "docs/travel-2024.md", "2024"),
        ("Budget 2024-2025", "a.md", None),
        ("Travel policy", "travel.md", None),
        ("2025", "2025.md", None),
        ("Invoice 20250301", "a.md", None),
    ],
)
def test_the_year_of_a_title_or_a_file(title: str, source: str, year: str | None) -> None:
    version = Version.of(passage(title, "x", source=source))
    assert (version.year if version else None) == year


def test_versions_share_a_name() -> None:
    titles = ("出張旅費規程（2023年版）", "出張旅費規程 2025年版", "出張旅費規程2024年度版")
    assert len({version.name for title in titles if (version := Version.of(passage(title, "x")))}) == 1


OLD = passage("Travel policy 2023", "Hotels are paid up to 90 euros per night.", since="2023-03-01")
NOW = passage("Travel policy 2025", "Hotels are paid up to 125 euros per night.", since="2025-03-01")
NEXT = passage("Travel policy 2027", "Hotels are paid up to 150 euros per night.", since="2027-03-01")
OTHER = passage("Cars", "Cars are washed on Fridays.")
CHAPTER = passage("Travel policy 2025", "Trains are booked by the office in Oslo at least a week before.")


def order(question: str, *passages: Passage) -> list[Passage]:
    return [passages[place] for place in version_order(passages, question, TODAY)]


def test_what_is_in_force_comes_first_and_other_passages_keep_their_places() -> None:
    assert order("hotel limit", OLD, OTHER, NEXT, NOW) == [NOW, OTHER, OLD, NEXT]


def test_the_year_asked_for_wins() -> None:
    assert order("hotel limit in 2023", NOW, OLD) == [OLD, NOW]
    assert order("hotel limit in 2019", OLD, NOW) == [OLD, NOW], "no version of that year"


def test_only_passages_that_say_the_same_are_moved() -> None:
    assert order("hotel limit", OLD, CHAPTER) == [OLD, CHAPTER]
    one = passage("Handbook 2023", "Ten days.", heading="Handbook 2023 > Leave")
    other = passage("Handbook 2025", "From now on everybody has thirty of them.", heading="Handbook 2025 > Leave")
    assert order("leave", one, other) == [other, one]
    elsewhere = passage("Survey 2025", "Hotels are paid up to 90 euros per night.")
    assert order("hotel limit", OLD, elsewhere) == [OLD, elsewhere]


def test_editions_are_said_where_they_are_sure() -> None:
    assert editions_of({1: NOW, 2: OTHER}, [OLD, NOW, NEXT], TODAY) == (Edition(1, "2025", True, ("2027", "2023")),)
    assert editions_of({1: OLD}, [OLD, NOW], TODAY) == (Edition(1, "2023", False, ("2025",)),)
    undated = passage("Handbook 2025", "x")
    assert editions_of({1: undated}, [undated, passage("Handbook 2024", "x")], TODAY) == (
        Edition(1, "2025", False, ("2024",)),
    )
    assert editions_of({1: undated}, [undated], TODAY) == ()
