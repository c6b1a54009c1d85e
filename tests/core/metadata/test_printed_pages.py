"""Numbers that are printed on pages, as they are kept for a whole document."""

from __future__ import annotations

import pytest

from braid.core.metadata.printed_pages import PageNumber, printed_page, printed_pages


def numbers(*texts: str) -> list[PageNumber | None]:
    return [PageNumber.read(text) for text in texts]


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        (("", "i", "ii", "iii", "1", "2", "3", "4"), "2=i, 5=1"),
        (("", "", "", "1", "", "3", "4"), "4=1"),
        (("1", "2", "3", "", "", "", "9"), ""),
        (("", "II", "III", "IV", "", ""), "2=II, 5="),
        (("7", "12", "3", "41"), ""),
        (("101", "102", "103"), "1=101"),
    ],
)
def test_numbers_that_count_up_are_kept(printed: tuple[str, ...], kept: str) -> None:
    assert printed_pages(numbers(*printed)) == kept
    for page, text in enumerate(printed, start=1):
        if kept and text:
            assert printed_page({"printed_pages": kept}, page) == text


@pytest.mark.parametrize("stored", ["", "41", "1=q", "1=", "a=1", 7, "1=1; 2=5", None, "1=9999"])
def test_what_somebody_else_has_stored_under_this_key_is_no_number(stored: object) -> None:
    assert printed_page({"printed_pages": stored}, 3) == ""


def test_a_page_whose_number_is_printed_on_it_has_no_other() -> None:
    assert printed_page({"printed_pages": "1=i, 4=4"}, 5) == ""
    assert printed_page({"printed_pages": "1=i, 4=4"}, 2) == "ii"


def test_no_word_is_a_roman_number() -> None:
    words = ("civil", "mix", "vic", "iiii", "ivx", "I'd", "Xi")
    assert numbers(*words) == [None] * len(words)
