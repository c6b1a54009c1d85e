"""What is said of the sentences of an answer: only what differs from the passage, or is not in it, is named."""

from __future__ import annotations

from typing import Any

import pytest

from braid.core.chat.marks import mark
from braid.core.chat.support.check import Checker, check
from braid.core.chat.support.findings import Support
from braid.core.errors import InvalidInputError
from braid.core.text.analyzer import Analyzer


def said(text: str, *passages: str) -> list[Support]:
    return list(check(text, passages).sentences)


@pytest.mark.parametrize(
    ("sentence", "passage", "kind", "wrong", "right"),
    [
        ("The warranty is 35 days [1].", "The warranty is 30 days.", "number", "35 days", "30 days"),
        ("本製品の保証期間は35日です[1]。", "本製品の保証期間は30日です。", "number", "35日", "30日"),
        ("보증 기간은 35일입니다[1].", "보증 기간은 30일입니다.", "number", "35일", "30일"),
        ("The warranty is 30 hours [1].", "The warranty is 30 days.", "number", "30 hours", "30 days"),
        ("The load is 12 kg [1].", "The load is 12 m.", "unit", "12 kg", "12 m"),
        ("It opened on 1 May 2025 [1].", "It opened on 1 April 2025.", "date", "1 May 2025", "1 April 2025"),
        ("2025年5月1日に開業した[1]。", "令和7年4月1日に開業した。", "date", "2025年5月1日", "令和7年4月1日"),
        ("2025년 5월 1일에 문을 열었다[1].", "2025. 4. 1.에 문을 열었다.", "date", "2025년 5월 1일", "2025. 4. 1."),
        ("The pump is not sold in Japan [1].", "The pump is sold in Japan.", "negation", "not sold", "sold"),
        ("The pump is sold in Japan [1].", "The pump isn't sold in Japan.", "negation", "sold", "isn't sold"),
        (
            "この製品は日本で販売されていない[1]。",
            "この製品は日本で販売されている。",
            "negation",
            "販売されていない",
            "販売されている",
        ),
        (
            "이 제품은 일본에서 판매되지 않습니다[1].",
            "이 제품은 일본에서 판매됩니다.",
            "negation",
            "판매되지 않습니다",
            "판매됩니다",
        ),
        ("Three copies are needed [1].", "Two copies are needed.", "number", "Three", "Two"),
        (
            "At least 18 people have to come [1].",
            "At most 18 people have to come.",
            "opposite",
            "At least 18",
            "At most 18",
        ),
        ("참가자는 18명 이하여야 한다[1].", "참가자는 18명 이상이어야 한다.", "opposite", "18명 이하", "18명 이상"),
        ("이 제품을 교체할 수 없다[1].", "이 제품을 교체할 수 있다.", "negation", "교체할 수 없다", "교체할 수 있다"),
        ("The pump can't be replaced [1].", "The pump can be replaced.", "negation", "can't be replaced", "replaced"),
        ("The pump is switched on first [1].", "The pump is switched off first.", "opposite", "on", "off"),
        ("Prices rose after the strike [1].", "Prices rose before the strike.", "opposite", "after", "before"),
        ("料金は10人以下で割引される[1]。", "料金は10人以上で割引される。", "opposite", "10人以下", "10人以上"),
        ("Store it at -4 °C [1].", "Store it at 4 °C.", "number", "-4 °C", "4 °C"),
        ("It delivers 12 L/h at 3 bar [1].", "It delivers 12 L/min at 3 bar.", "unit", "12 L/h", "12 L/min"),
        (
            "Half of the members must agree [1].",
            "Two thirds of the members must agree.",
            "number",
            "Half",
            "Two thirds",
        ),
        ("조합원의 절반이 동의했다[1].", "조합원의 3분의 2가 동의했다.", "number", "절반", "3분의 2"),
        ("Delivery takes 2 to 5 days [1].", "Delivery takes 3 to 5 days.", "number", "2", "3"),
        ("휴가는 이십 일이다[1].", "휴가는 십오 일이다.", "number", "이십 일", "십오 일"),
        ("It is on the second floor [1].", "It is on the third floor.", "number", "second", "third"),
        (
            "The third quarter was the best [1].",
            "The second quarter was the best.",
            "date",
            "third quarter",
            "second quarter",
        ),
        (
            "The load must exceed 200 kg [1].",
            "The load must not exceed 200 kg.",
            "opposite",
            "exceed 200 kg",
            "not exceed 200 kg",
        ),
        (
            "The fee is no longer refundable [1].",
            "The fee is refundable.",
            "negation",
            "no longer refundable",
            "refundable",
        ),
        ("The fee is non-refundable [1].", "The fee is refundable.", "opposite", "non-refundable", "refundable"),
        (
            "Dogs are allowed if the hall is rented [1].",
            "Dogs are allowed unless the hall is rented.",
            "opposite",
            "if",
            "unless",
        ),
        ("All of the parts contain lead [1].", "None of the parts contains lead.", "opposite", "All", "None"),
        ("Prices fell by 5% in May [1].", "Prices rose by 5% in May.", "opposite", "fell", "rose"),
        ("매출은 작년보다 크게 줄었다[1].", "매출은 작년보다 크게 증가했다.", "opposite", "줄었다", "증가했다"),
        ("撮影は許可されている[1]。", "撮影は禁止されている。", "opposite", "許可", "禁止"),
        ("許可を得て入室した者がいる[1]。", "許可を得ずに入室した者がいる。", "negation", "得て", "得ずに"),
        ("서면이 필요하다[1].", "서면이 필요 없다.", "negation", "필요하다", "필요 없다"),
        ("The call starts at 15:00 CET [1].", "The call starts at 15:00 UTC.", "opposite", "CET", "UTC"),
        ("The rent is £900 per week [1].", "The rent is £900 per month.", "unit", "£900 per week", "£900 per month"),
        ("Ms Suzuki approves the requests [1].", "Ms Tanaka approves the requests.", "name", "Suzuki", "Tanaka"),
        ("鈴木さんが出張申請を承認する[1]。", "田中さんが出張申請を承認する。", "name", "鈴木", "田中"),
        ("출장 신청은 박민수 과장이 승인한다[1].", "출장 신청은 김정호 과장이 승인한다.", "name", "박민수", "김정호"),
        ("Error E-204 means that it is dry [1].", "Error E-104 means that it is dry.", "name", "E-204", "E-104"),
        ("The office is in Hamburg [1].", "The office is in Berlin.", "name", "Hamburg", "Berlin"),
        (
            "The battery lasts 12 hours [1].",
            "The battery lasts 10 hours, and the charger 2 years.",
            "number",
            "12 hours",
            "10 hours",
        ),
    ],
)
def test_what_differs_is_named_with_both_wordings(
    sentence: str, passage: str, kind: str, wrong: str, right: str
) -> None:
    """In an answer and a passage with other sentences around it; the places are those of both texts."""
    text, source = f"Pumps are used at sea [1]. {sentence}", f"Pumps are used at sea. {passage} Call us."
    checked = check(text, [source])
    [finding] = checked.sentences[-1].findings
    assert (finding.kind, finding.said, finding.there, finding.passage) == (kind, wrong, right, 1)
    assert checked.text[finding.start : finding.end] == wrong
    assert source[finding.there_start : finding.there_end] == right
    assert checked.sentences[-1].verdict == "differs"
    [supporting] = checked.sentences[-1].sources
    assert source[supporting.start : supporting.end] == passage


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The warranty is 30 days [1].", "The warranty is 30 days."),
        ("It costs EUR 1,500 [1].", "The price of it is 1500 euros."),
        ("Three people work there [1].", "Anna, Ben and Carl work there."),
        ("It opened in April 2025 [1].", "It opened on 1 April 2025."),
        ("More than 100 people came [1].", "160 people came."),
        ("Neither Ann nor Ben would name the pump [1].", "Ann and Ben would not name the pump."),
        ("The manager declined to comment [1].", "The manager would not comment."),
        ("The fee must be paid [1].", "The fee must be paid not later than May."),
        ("申請しなければならない[1]。", "申請する必要がある。"),
        ("회비를 내야만 한다[1].", "회비를 내지 않으면 안 된다."),
        ("在庫がないわけではない[1]。", "在庫がある。"),
        ("6時間以上の移動ではグリーン車を利用できます[1]。", "6時間未満の移動ではグリーン車を利用できない。"),
        ("領収書は帰着後30日を過ぎると提出できません[1]。", "領収書は帰着後30日以内に提出する。"),
        ("The study lasted three years, from 2016 to 2019 [1].", "The study ran from March 2016 to June 2019."),
        ("18歳未満は利用できない[1]。", "18歳以上の人だけが利用できる。"),
        ("Sales grew from 5 to 10 million [1].", "Sales were 5 million in 2020 and 10 million in 2022."),
        ("They are sold in Japan, not in Korea [1].", "They are sold in Japan and not in Korea."),
        ("The fee is 1,200 pounds a month [1].", "The monthly fee is £1,200."),
        ("Around 60 people came from abroad [1].", "About half of the 120 people came from abroad."),
        ("It dropped by 7 degrees [1].", "It fell from 25 °C to 18 °C."),
        ("The population grew by 25% [1].", "The population grew from 1.2 million to 1.5 million."),
        ("100 of the patients did not recover [1].", "Of 400 patients, 300 recovered."),
        (
            "The south gate is open until eight [1].",
            "The north gate is always open, the south gate is open until eight.",
        ),
        ("Non-members may not borrow books [1].", "Only members may borrow books."),
        (
            "These changes come with fewer receptors [1].",
            "These changes come with fewer receptors, and no change of genes.",
        ),
        ("会員は本を借りることができる[1]。", "会員以外の方は本を借りることができません。"),
        ("30일이 지나면 이자가 붙는다[1].", "30일 이내에 내지 않으면 이자가 붙는다."),
        ("흡연이 허용되지 않는다[1].", "흡연이 금지된다."),
        ("The load may be at most 200 kg [1].", "The load must not exceed 200 kg."),
        ("하중은 200kg 이하여야 한다[1].", "하중은 200kg을 초과할 수 없다."),
        ("See p. 12 for the diagram [1].", "The diagram is on page 12."),
        ("The shop is open from 9 a.m. to 5:30 p.m. [1].", "The shop is open from 9:00 to 17:30."),
        ("Mr Petersen leads the team [1].", "Mr Pedersen leads the team."),
        ("The E104 means that it is dry [1].", "The E-104 means that it is dry."),
        ("The embassy is run by Germany [1].", "The embassy is run by Berlin."),
    ],
)
def test_what_says_the_same_is_left_alone(sentence: str, passage: str) -> None:
    assert {each.verdict for each in said(sentence, passage)} <= {"stands", "open", "not_found"}


def test_a_number_that_is_nowhere_is_said_quietly() -> None:
    [one] = said("Some 480 visitors travelled by train [1].", "The museum is closed on Mondays.")
    assert one.verdict == "not_found"
    assert [(each.said, each.there, each.differs) for each in one.findings] == [("480", "", False)]


@pytest.mark.parametrize(
    "passage",
    ["Fares: " + "12.5, " * 70, "no end " * 200, "The fare is 12 EUR. " * 450],
    ids=["many numbers", "one long sentence", "many sentences"],
)
def test_nothing_is_missed_in_what_was_not_read_whole(passage: str) -> None:
    [one] = said("Some 480 visitors travelled by train [1].", passage)
    assert (one.verdict, one.findings) == ("open", ())


def test_few_things_are_counted_without_a_remark() -> None:
    [one] = said("The three largest rooms are the hall, the library and the cellar [1].", "The hall is a large room.")
    assert one.findings == ()


@pytest.mark.parametrize(
    "sentence",
    [
        *("The main rules are as follows.", "主な規則は次のとおりです。", "주요 규정은 다음과 같습니다."),
        *("Let me know if you need more.", "ほかにご質問があればお知らせください。", "더 궁금한 점은 말씀해 주세요."),
        *(
            "The passages do not say when it was sold.",
            "この文書には価格の記載がありません。",
            "문서에는 가격 정보가 없습니다.",
        ),
    ],
)
def test_what_states_nothing_needs_no_source(sentence: str) -> None:
    found = check(f"The pump is blue [1].\n\n{sentence}", ["The pump is blue."])
    assert [each.verdict for each in found.sentences] == ["stands", "open"]


def test_an_answer_is_checked_as_far_as_so_many_looks_go() -> None:
    passages = dict.fromkeys((1, 2), "The pump is blue and quiet. It is loud at night.")
    text = f"The pump is blue at night {mark(1)}{mark(2)}. " * 9
    found = list(Checker(passages, Analyzer(), looks=15).sentences(text))
    assert [each.start for each in found] == [0, 34, 68], "four sentences are looked at for each"


def test_across_languages_numbers_are_looked_for_and_nothing_differs() -> None:
    passage = "The warranty is 30 days from 1 April 2025."
    [same] = said("保証期間は2025年4月1日から30日です[1]。", passage)
    [other] = said("保証期間は2025年4月1日から45日です[1]。", passage)
    assert (same.verdict, other.verdict) == ("open", "not_found")
    assert [(source.start, source.end) for source in same.sources] == [(0, len(passage))]


def test_quoted_text_must_stand_literally() -> None:
    passage = "The guide says that pumps “must be  cleaned each week” by staff."
    assert [each.verdict for each in said('Pumps "must be cleaned each week" [1].', passage)] != ["not_found"]
    [one] = said('Pumps "must be cleaned twice a week" [1].', passage)
    assert [(each.kind, each.said) for each in one.findings] == [("quotation", '"must be cleaned twice a week"')]


def test_a_sentence_without_a_source_is_said_to_be_one() -> None:
    text = (
        "## The pump\n\nThe pump is blue [1]. It weighs twelve kilograms and is loud.\n\n"
        "Is that all? These are its parts:\n\n- the motor of the pump [1]\n\n```\npump = 12\n```\n"
    )
    found = check(text, ["The pump is blue. The motor of the pump is grey."])
    uncited = [found.text[each.start : each.end] for each in found.sentences if each.verdict == "uncited"]
    assert uncited == ["It weighs twelve kilograms and is loud."]


def test_a_citation_at_the_end_of_a_paragraph_is_for_what_stands_there_too() -> None:
    passage = "The pump is blue. It weighs twelve kilograms."
    verdicts = [each.verdict for each in said("The pump is blue. It weighs twelve kilograms [1].", passage)]
    assert verdicts == ["stands", "stands"]
    [first, _] = said("The pump is blue. It weighs 15 kilograms [1].", "The pump is blue. It weighs 12 kilograms.")
    assert first.cited == (1,)
    [other, _] = said("Elephants sleep standing. It weighs twelve kilograms [1].", passage)
    assert other.verdict == "uncited"


def test_each_sentence_is_checked_against_what_it_cites() -> None:
    passages = ["The pump weighs 12 kg.", "The motor weighs 30 kg."]
    found = said("The pump weighs 12 kg [1]. The pump weighs 12 kg [2].", *passages)
    assert found[0].verdict == "stands"
    assert found[1].verdict == "elsewhere"
    assert [(each.kind, each.passage, each.there) for each in found[1].findings] == [
        ("source", 1, "The pump weighs 12 kg.")
    ]
    assert [each.cited for each in found] == [(1,), (2,)]


def test_what_another_passage_says_too_does_not_differ() -> None:
    old, new = "In 2024 the hotel limit is 140 EUR.", "In 2025 the hotel limit is 150 EUR."
    assert [each.verdict for each in said("In 2025 the hotel limit is 150 EUR [1].", old, new)] == ["elsewhere"]
    assert [each.verdict for each in said("In 2025 the hotel limit is 160 EUR [1].", old, new)] == ["differs"]


def test_a_title_says_the_year_that_the_text_leaves_out() -> None:
    said_year = f"The rules are valid from 1 March 2025 {mark(1)}."
    passages = {1: "The rules are valid from 1 March."}
    bare = next(Checker(passages, Analyzer()).sentences(said_year))
    titled = next(Checker(passages, Analyzer(), {1: "Travel policy 2025"}).sentences(said_year))
    assert (bare.verdict, titled.findings) == ("not_found", ())


def test_marks_of_emphasis_and_code_do_not_hide_a_number() -> None:
    text = "The warranty of the `H-70` is **35 days** [1]."
    [one] = said(text, "The warranty of the H-70 is 30 days.")
    assert [text[each.start : each.end] for each in one.findings] == ["35 days"]


def test_a_sentence_without_end_is_left_open() -> None:
    [one] = said("The pump is not sold for 35 EUR, " * 40 + "[1].", "The pump is sold for 30 EUR, " * 40)
    assert one.verdict in ("open", "not_found")


def test_citations_of_what_was_not_given_are_counted() -> None:
    checked = check("The pump is blue [7]. It is sold [1].", ["The pump is blue."])
    assert (checked.text, checked.removed_citations) == ("The pump is blue. It is sold [1].", 1)


@pytest.mark.parametrize("passages", ["The pump is blue.", [b"The pump"], [None], [["The pump"]], [1]])
def test_passages_are_a_list_of_texts(passages: Any) -> None:
    with pytest.raises(InvalidInputError, match="give each passage as one text"):
        check("The pump is blue [1].", passages)


@pytest.mark.parametrize(
    "text", ["", " ", "[1]", "[1].", "`", "***", "\ud800 [1].", "\u200b\u200b [1]", "1" * 5_000 + " [1]."]
)
def test_no_text_is_too_odd(text: str) -> None:
    check(text, [text, "The pump is blue."])


@pytest.mark.parametrize(
    ("said", "there", "found"),
    [
        (
            "The engine has 90 kW and the pump has 12 kW [1].",
            "The engine has 12 kW and the pump has 90 kW.",
            [("90 kW", "12 kW"), ("12 kW", "90 kW")],
        ),
        (
            "Hotels cost up to 125 euros in Oslo and 160 euros in Paris [1].",
            "Hotels cost up to 160 euros in Oslo and 125 euros in Paris.",
            [("125 euros", "160 euros"), ("160 euros", "125 euros")],
        ),
        (
            "東京は12,000円、大阪は15,000円とする [1]。",
            "東京は15,000円、大阪は12,000円とする。",
            [("12,000円", "15,000円"), ("15,000円", "12,000円")],
        ),
        (
            "서울은 125,000원이고 부산은 155,000원이다 [1].",
            "서울은 155,000원이고 부산은 125,000원이다.",
            [("125,000원", "155,000원"), ("155,000원", "125,000원")],
        ),
        ("The pump has 90 kW and the engine has 12 kW [1].", "The engine has 12 kW and the pump has 90 kW.", []),
        (
            "Hotels in Paris cost up to 125 euros and in Oslo 160 euros [1].",
            "Hotels cost up to 160 euros in Oslo and 125 euros in Paris.",
            [],
        ),
        ("大阪は12,000円、東京は15,000円とする [1]。", "東京は15,000円、大阪は12,000円とする。", []),
    ],
)
def test_values_that_changed_places_differ_and_another_order_does_not(
    said: str, there: str, found: list[tuple[str, str]]
) -> None:
    [sentence] = check(said, [there]).sentences
    assert [(each.said, each.there) for each in sentence.findings] == found
    assert sentence.verdict == ("differs" if found else "stands")


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Sales of the group in Canada rose by 6.7 % [1].", "Sales of the group in the States grew by 8.8 % in May."),
        (
            "The shares went down by $1.66, or 16.7 %, to $8.26 [1].",
            "The shares lost $1.85 and were at $8.07 in the afternoon.",
        ),
        ("The gate is opened at 3 p.m. MST on Sunday [1].", "The gate is opened at 6 p.m. EDT on Sunday."),
        ("会議は日本時間15時に始まる[1]。", "会議は現地時間9時に始まる。"),
    ],
)
def test_other_figures_of_another_matter_or_day_are_not_found_and_do_not_differ(sentence: str, passage: str) -> None:
    assert [each.verdict for each in said(sentence, passage)] == ["not_found"]


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The shares went down by $1.66 to $8.26 [1].", "The shares went down by $1.85 to $8.07."),
        ("Sales of Canada rose by 6.7 % [1].", "Sales of Canada rose by 8.8 %."),
        ("The gate is opened at 3 p.m. EDT [1].", "The gate is opened at 6 p.m. EDT."),
        ("Delivery takes 3 to 5 weeks [1].", "Delivery takes 3 to 5 days."),
    ],
)
def test_other_figures_in_the_passages_own_words_differ(sentence: str, passage: str) -> None:
    assert [each.verdict for each in said(sentence, passage)] == ["differs"]


def test_mixed_fractions_are_numbers() -> None:
    passage = "The bottle has 2 ½ servings and ¾ of a litre."
    assert [said(f"The bottle has {many} servings [1].", passage)[0].verdict for many in ("2.5", "3.5")] == [
        "stands",
        "differs",
    ]
