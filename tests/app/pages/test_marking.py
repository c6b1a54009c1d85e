"""Which words of a passage are marked."""

from __future__ import annotations

import pytest

from braid.app.pages.search.marking import mark, wanted_tokens
from braid.core.text.analyzer import Analyzer


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("budget in Q3?", "Q3 budget: E3, 1.3, 3 and Q4", ["Q3", "budget"]),
        ("rule 3", "Rule 3 of E3 and 1.3", ["Rule", "3"]),
        ("version 1.3", "Version 1.3, not 3 or 1", ["Version", "1.3"]),
        ("E-4711", "The error 4711 is E-4711.", ["4711", "E-4711"]),
        ("3日", "第3章は3日間", ["3", "3"]),
    ],
)
def test_a_number_is_marked_where_it_stands_by_itself(query: str, text: str, marked: list[str]) -> None:
    analyzer = Analyzer(("en",))
    segments = mark(analyzer, text, wanted_tokens(analyzer, query))
    assert [segment.text for segment in segments if segment.marked] == marked
    assert "".join(segment.text for segment in segments) == text


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("패키지를 지키려면?", "패키지는 온도를 지키지 않는다. 키지", ["패키지", "지키"]),
        ("데이터베이스 설정", "데이터를 설정하고 재설정한다", ["데이터", "설정", "설정"]),
        ("집이 어디에 있나요?", "집은 집중하기 좋다. 이집트에 있는 집", ["집", "집"]),
        ("휴가에 대해 알려 주세요", "휴가에 대한 규정을 알려 준다", ["휴가"]),
        ("人の数を教えてください", "多くの人の中で人口の数を教える", ["人", "数"]),
        ("年次休暇の申請", "休暇は年に一度、申請書で願い出る", ["休暇", "申請"]),
        ("データセットとは何ですか", "メータとデータは何か。データセットとは", ["データ", "データセット"]),
        ("サーバーの設定", "オブザーバーが設定したｻｰﾊﾞｰ", ["設定", "ｻｰﾊﾞｰ"]),
        ("ある", "本がある。あるいは", ["ある", "ある"]),
    ],
)
def test_words_of_japanese_and_korean_are_marked_whole_or_by_a_part_of_a_compound(
    query: str, text: str, marked: list[str]
) -> None:
    """Not where two signs of a word happen to be within another, nor particles, endings and words that ask."""
    analyzer = Analyzer(("en",))
    segments = mark(analyzer, text, wanted_tokens(analyzer, query))
    assert [segment.text for segment in segments if segment.marked] == marked
    assert "".join(segment.text for segment in segments) == text
