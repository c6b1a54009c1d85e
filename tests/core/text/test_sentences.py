"""Where a sentence ends: not within an abbreviation, a date or a time of day."""

from __future__ import annotations

import pytest

from braid.core.text.sentences import sentences


@pytest.mark.parametrize(
    "text",
    [
        "The wiring diagram is on p. 12 of the handbook.",
        "The diagrams are on pp. 12 and 13 of the handbook.",
        "The shop is open from 9 a.m. to 5 p.m. on Mondays.",
        "Support is available until 6 p.m. CET on all days.",
        "이 규정은 2025. 4. 1.부터 시행한다.",
        "강좌는 2025. 6. 3.부터 6. 14.까지 열린다.",
    ],
)
def test_a_sentence_goes_on_behind_a_point_that_does_not_end_it(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Store the samples at 4 °C. ", "Call us when it is warmer."),
        ("The shop closes at 5 p.m. ", "The bar is open all night."),
        ("There were twelve in 2025. ", "4 of them were children."),
        ("We met the plan of J. Smith. ", "It was a good one."),
    ],
)
def test_a_sentence_ends_where_another_begins(one: str, other: str) -> None:
    assert sentences(one + other) == [one, other]


def test_shorter_sentences_are_asked_for_by_their_length() -> None:
    assert sentences("이 방에는 문이 있다. 저 방에는 없다.") == ["이 방에는 문이 있다. ", "저 방에는 없다."]
    assert sentences("来客は裏から。会議室は二階にあります。") == ["来客は裏から。会議室は二階にあります。"]
    assert sentences("来客は裏から。会議室は二階にあります。", least=4) == [
        "来客は裏から。",
        "会議室は二階にあります。",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "彼は「これは何ですか？」と聞いた。",
        "「返品できますか？」という質問には、受領から14日以内なら可能だと答えてください。",
        "패키지 풀의 출현으로( 6.10절. “pool 디렉터리 안에는 무엇이 있나요?” 참조) 패키지가 저장되기 시작했습니다.",
        "The relay (see fig. B. It is the red one.) must be open.",
        "The sign “Closed. Come back later.” hangs on the door.",
        '"Is the valve open?" asked the fitter on duty.',
        "保証（本体は2年です。部品は1年です。）は購入日から始まります。",
    ],
)
def test_what_is_said_within_a_sentence_does_not_end_it(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("「この商品は返品できますか？」", "この質問は毎日のように受けます。"),
        ("The relay is open (see the manual). ", "It is the red one."),
        ("The face of it is sad :( . " + "x" * 120 + ". ", "It is the last one."),
        ("He asked whether the valve was (almost\n\n", "open. It was."),
        ("(It is red. It is blue.) ", "It is a colour of ours."),
        ("The value lies in (0, 1]. ", "It is read once a day."),
    ],
)
def test_a_quote_that_is_closed_and_a_bracket_that_is_not_end_in_time(one: str, other: str) -> None:
    assert sentences(one + other) == [one, other]


def test_brackets_that_are_opened_again_and_again_hold_no_long_text_together() -> None:
    assert max(map(len, sentences("(Ab cd. " * 1000))) < 1500
