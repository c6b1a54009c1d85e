"""Numbers, units and dates of three languages are the same where they mean the same, and only there."""

from __future__ import annotations

import pytest

from braid.core.chat.support.facts import Fact, Number, comparable, same
from braid.core.chat.support.reading import facts_of
from braid.core.text.normalization import normalize

DAYS = (
    *("2025年4月1日", "２０２５年４月１日", "令和7年4月1日", "令和七年四月一日", "二〇二五年四月一日", "R7.4.1"),
    *("2025. 4. 1.", "2025.4.1", "2025년 4월 1일", "April 1, 2025", "April 1st, 2025", "Apr. 1, 2025"),
    *("1st of April 2025", "4/1/2025", "01/04/2025", "2025-04-01", "2025/4/1"),
)
DAY = "1 April 2025"


def fact(text: str) -> Fact:
    [found] = facts_of(normalize(text))
    return found


@pytest.mark.parametrize("written", DAYS)
def test_a_day_is_the_same_in_all_its_forms(written: str) -> None:
    assert same(fact(written), fact(DAY))
    assert not same(fact(written), fact("2 April 2025"))
    assert not same(fact(written), fact("1 April 2026"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("120,000,000円", "1億2千万円"),
        ("35,000원", "3만 5천 원"),
        ("１２３個", "123個"),
        ("四十五人", "45人"),
        ("세 번", "3번"),
        ("twelve weeks", "12 weeks"),
        ("90 minutes", "1.5 hours"),
        ("€1.234,50", "1,234.50 EUR"),
        ("35%", "35 percent"),
        ("35パーセント", "35퍼센트"),
        ("6 miles", "10 km"),
        ("1.5 million", "1,500,000"),
        ("$5m", "$5 million"),
        ("3 p.m.", "15:00"),
        ("午後3時半", "15:30"),
        ("오전 9시", "9:00 am"),
        ("April 2025", "3 April 2025"),
        ("月曜日", "Monday"),
        ("약 12,000명", "12,345명"),
        ("more than 100 people", "160 people"),
        ("third", "第3"),
        ("1時間半", "90分"),
        ("1시간 30분", "90분"),
        ("두 시간 반", "150 minutes"),
        ("2 hours and 15 minutes", "135 min"),
        ("the 1980s", "1984"),
        ("1980年代", "1984年"),
        ("1980년대에", "1984년"),
        ("열두 개", "12개"),
        ("10 gallons", "37.85 litres"),
        ("20 km/h", "20 kilometres per hour"),
        ("時速20キロ", "20km/h"),
        ("시속 20킬로미터", "20 km/h"),
        ("12 L/min", "720 litres per hour"),
        ("−20℃", "マイナス20度"),
        ("영하 20도", "-20°C"),
        ("4 degrees Celsius", "4 ℃"),
        ("two thirds of it", "2/3"),
        ("3分の2", "三分の二"),
        ("3분의 2", "2/3"),
        ("a quarter of it", "25%"),
        ("半数", "50%"),
        ("절반", "half of it"),
        ("6割", "60%"),
        ("two hundred and fifty thousand", "250,000"),
        ("twenty-four months", "24か月"),
        ("십오 일", "15일"),
        ("오만 원", "50,000원"),
        ("1200百万円", "12億円"),
        ("1,200 pounds", "£1,200"),
        ("18 years", "18歳"),
        ("third floor", "3rd floor"),
        ("첫 번째", "1st"),
        ("p. 12", "12ページ"),
        ("Q2", "second quarter"),
        ("第2四半期", "2분기"),
        ("平成元年", "1989年"),
    ],
)
def test_amounts_are_the_same_in_other_words(one: str, other: str) -> None:
    assert same(fact(one), fact(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("35 days", "30 days"),
        ("35 days", "35 hours"),
        ("30 kg", "30 m"),
        ("30 EUR", "30 USD"),
        ("3万円", "3億円"),
        ("15:00", "16:00"),
        ("3 a.m.", "3 p.m."),
        ("April 2025", "April 2024"),
        ("金曜日", "Monday"),
        ("more than 100 people", "90 people"),
        ("more than 6,000 genes", "more than 2,000 genes"),
        ("12,345", "12,000"),
        ("the 1980s", "1991"),
        ("1984", "the 1980s"),
        ("1時間半", "80分"),
        ("35 gallons", "35 litres"),
        ("20 km/h", "20 m/s"),
        ("20 km/h", "20 mph"),
        ("12 L/min", "12 L/h"),
        ("4 °C", "-4 °C"),
        ("80 °F", "20 °C"),
        ("2/3", "three quarters of it"),
        ("a fifth of it", "40%"),
        ("절반", "3분의 1"),
        ("십오 일", "이십 일"),
        ("two hundred thousand", "two hundred million"),
        ("1,200 pounds", "$1,200"),
        ("first floor", "3rd floor"),
        ("Q2", "third quarter"),
        ("平成元年", "1990年"),
        ("上半期", "下半期"),
    ],
)
def test_other_amounts_are_not(one: str, other: str) -> None:
    assert not same(fact(one), fact(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("45 V", "45 kV"),
        ("3,000 mAh", "3,000 Ah"),
        ("6 mbar", "6 bar"),
        ("2 キロワット", "2 メガワット"),
        ("20 Mbps", "20 Gbps"),
        ("version 2.10", "version 2.1"),
        ("Python 3.11.7", "Python 3.11.9"),
        ("10.0.0.1", "10.0.0.7"),
        ("1年間", "2024年4月1日"),
    ],
)
def test_neither_is_the_other(one: str, other: str) -> None:
    assert not same(fact(one), fact(other))
    assert not same(fact(other), fact(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [("3 Ah", "3,000 mAh"), ("1.5 kV", "1,500 volts"), ("2 キロワット", "2,000W"), ("3.11", "Python 3.11.7")],
)
def test_an_amount_with_another_prefix_and_a_version_in_short_are_the_same(one: str, other: str) -> None:
    assert same(fact(one), fact(other))


def test_only_what_could_stand_in_its_place_is_compared() -> None:
    assert comparable(fact("35 days"), fact("2 hours"))
    assert not comparable(fact("35 days"), fact("30 EUR"))
    assert not comparable(fact("28 January 2025"), fact("January 2025")), "what is less exact contradicts nothing"
    assert not comparable(fact("22.4 EUR"), fact("22 EUR")), "nor what is rounded"


@pytest.mark.parametrize("text", ["IL-10 and H-70", "HCC1954 cells", "a 3D model", "9/11", "一部の人"])
def test_codes_and_pronouns_are_no_amounts(text: str) -> None:
    assert [each for each in facts_of(text) if not (isinstance(each, Number) and each.is_small)] == []
