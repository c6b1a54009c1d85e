"""Which words of a passage are marked."""

from __future__ import annotations

import random
import time

import pytest

from braid.app.pages.search.marking import mark, wanted_tokens, word_ranges
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
        ("会議室の予約", "会議室予約の議事録と会議、予約室", ["会議室予約", "会議", "予約"]),
        ("人事部長", "人事課の部長", ["人事", "部長"]),
        ("人事部長", "人事課部長", ["人事", "部長"]),
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


@pytest.mark.parametrize("alphabet", ["가나다라마바사아자차", "人事部長会議室予約申請休暇", "アイウエオカキクケコ"])
def test_marking_grows_with_the_query_and_the_text_not_with_their_product(alphabet: str) -> None:
    """Both eight times as long: eight times as long, not sixty-four."""
    analyzer, draw = Analyzer(("en",)), random.Random(1)

    def took(times: int) -> float:
        query, text = (" ".join("".join(draw.choices(alphabet, k=5)) for _ in range(times * n)) for n in (80, 160))
        wanted, least = wanted_tokens(analyzer, query), float("inf")
        for _ in range(3):
            started = time.thread_time()
            assert word_ranges(analyzer, text, wanted)
            least = min(least, time.thread_time() - started)
        return least

    assert took(8) < 24 * took(1)


@pytest.mark.parametrize("sign", ["다", "人", "ア"])
def test_one_long_word_is_marked_by_its_whole_length(sign: str) -> None:
    analyzer, word = Analyzer(("en",)), sign * 2000
    assert word_ranges(analyzer, f"{word} {sign}", wanted_tokens(analyzer, word)) == [(0, 2000)]
