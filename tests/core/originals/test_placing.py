"""Where a passage stands on a page."""

from __future__ import annotations

import pytest

from braid.core.originals.placing import Box, boxes_of_lines, find_passage

PAGE = (
    "The printer manual\r\nThe tray holds forty sheets of pa\ufffeper. Do not fill it\r\nabove the mark.\r\nPage 3\r\n"
)


def marked(passage: str, page: str = PAGE, *, in_part: bool = False) -> list[str]:
    return [page[found.start : found.stop] for found in find_passage(passage, page, in_part=in_part)]


def test_a_passage_is_found_over_line_breaks_and_hyphens() -> None:
    assert marked("The tray holds forty sheets of paper.") == ["The tray holds forty sheets of pa\ufffeper."]
    assert marked("Do not fill it above the mark.") == ["Do not fill it\r\nabove the mark."]


@pytest.mark.parametrize(
    ("passage", "page"),
    [
        (
            "貸出は一人につき十冊まで、期間は二週間です。",
            "図書館\r\n貸出は一人につき十冊\r\nまで、期間は二週間です。\r\n",
        ),
        ("대출은 한 사람에 열 권까지입니다.", "도서관\r\n대출은 한 사람에\r\n열 권까지입니다.\r\n"),
        ("ＡＢＣの注意事項をご確認ください", "abcの注意\r\n事項をご確認ください"),
    ],
)
def test_a_passage_in_another_script(passage: str, page: str) -> None:
    [found] = find_passage(passage, page)
    assert "".join(page[found.start : found.stop].split()).casefold()[-3:] == "".join(passage.split())[-3:]


def test_of_a_passage_over_two_pages_each_has_its_part() -> None:
    passage = "Do not fill it above the mark. Page 3 The second tray is for envelopes."
    following = "The second tray is for envelopes.\r\nAnd so on."
    assert marked(passage, in_part=True) == ["Do not fill it\r\nabove the mark.\r\nPage 3"]
    assert marked(passage, following, in_part=True) == ["The second tray is for envelopes."]


def test_an_end_that_is_on_the_page_by_chance_is_not_taken_for_the_passage() -> None:
    passage = "Something else entirely, as is said in the printer manual"
    assert marked(passage, "the printer manual\r\nThe tray holds forty sheets of paper.") == []


def test_what_parts_a_passage_is_not_marked() -> None:
    passage = "The tray holds forty sheets of paper. Use the second tray for envelopes."
    page = "The tray holds forty sheets of paper.\r\nACME Corp. running head\r\nUse the second tray for envelopes."
    assert marked(passage, page) == ["The tray holds forty sheets of paper.", "Use the second tray for envelopes."]


@pytest.mark.parametrize("passage", ["Something that is nowhere on this page.", "", "The tray"])
def test_what_cannot_be_placed_is_not_marked(passage: str) -> None:
    assert find_passage(passage, "The printer manual, all of it.") == []


def test_a_box_per_line() -> None:
    boxes = [(0, 0, 10, 10), (10, 0, 20, 10), (20, 0, 20, 0), (0, 15, 10, 25), (10, 15, 20, 25)]
    assert boxes_of_lines(boxes, range(0, 5)) == [Box(0, 0, 20, 10), Box(0, 15, 20, 25)]
    assert boxes_of_lines(boxes, range(1, 2)) == [Box(10, 0, 20, 10)]
