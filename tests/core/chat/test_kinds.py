"""Which of two sentences with the question's words is the one in bold: that of the kind which is asked for."""

from __future__ import annotations

import pytest

from braid.core.chat.quoting.wanted import Wanted, without_asking
from tests.core.chat.featured import answer
from tests.core.chat.test_extractive import passage


@pytest.mark.parametrize(
    ("question", "other", "right"),
    [
        # an amount, a limit
        ("What is the berth fee?", "The berth fee is due on the first of May.", "The berth fee is £310."),
        ("What is the limit for fuel?", "Fuel is claimed with a receipt.", "Fuel is paid up to 60 litres a day."),
        ("ボート代の上限はいくらですか", "ボート代は月末締めで翌月10日に払う。", "ボート代の上限は月3万円です。"),
        ("船の係留料はいくらですか", "船の係留料は毎年4月1日に払う。", "船の係留料は年8万円である。"),
        ("배 정박료는 얼마인가요?", "배 정박료는 매년 4월 1일에 낸다.", "배 정박료는 한 해에 30만 원이다."),
        # a person
        ("Who inspects the crane?", "The crane is inspected in March.", "The crane is inspected by Ms. Aldous."),
        ("クレーンの点検は誰がしますか", "クレーンの点検は三月にする。", "クレーンの点検は設備部長がする。"),
        ("크레인 점검은 누가 하나요?", "크레인 점검은 봄에 한다.", "크레인 점검은 설비 팀장이 한다."),
        # a place
        ("Where are the oars kept?", "The oars are kept dry.", "The oars are kept in the boat hall."),
        ("オールはどこに置きますか", "オールは乾かして置きます。", "オールは会議室の隣に置きます。"),
        ("배의 노는 어디에 두나요?", "배의 노는 잘 말려서 둔다.", "배의 노는 지하 창고에 둔다."),
        # a reason
        ("Why is the slipway closed?", "The slipway is closed today.", "The slipway is closed because of ice."),
        ("なぜ北の桟橋は閉鎖中ですか", "北の桟橋は本日も閉鎖中です。", "北の桟橋は凍結のため閉鎖中です。"),
        ("왜 선착장이 닫혔나요?", "선착장이 오늘 닫혔다.", "선착장이 얼음 때문에 닫혔다."),
        # a date, a length of time
        ("When is the hull painted?", "The hull is painted blue.", "The hull is painted every October."),
        ("How long does the ferry take?", "The ferry takes 12 cars.", "The ferry takes forty minutes."),
        ("船体はいつ塗りますか", "船体は青い色に塗っています。", "船体は毎年十月に塗っています。"),
        ("有給の休みは何日ですか", "有給の休みは3営業日前までに頼む。", "有給の休みは10日である。"),
        ("유급 휴가는 며칠인가요?", "유급 휴가는 3일 전까지 신청한다.", "유급 휴가는 15일이다."),
        # a measure
        ("How heavy is the anchor?", "The anchor has 3 flukes.", "The anchor has 35 kg."),
        ("主錨の重さは", "主錨は全部で三回も塗られた。", "主錨は全部で35 kgある。"),
        ("How high is the mast?", "The mast has 3 lamps.", "The mast is 14 m."),
        # whether it is allowed
        ("桟橋で泳いでもよいですか", "桟橋で泳いで岸に行く人がいる。", "桟橋で泳いではならない。"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_first", [False, True])
def test_the_sentence_of_the_kind_that_is_asked_for_is_in_bold(
    question: str, other: str, right: str, *, is_first: bool
) -> None:
    pair = (right, other) if is_first else (other, right)
    shown = answer(question, passage(" ".join(pair))).shown[0]
    assert shown.text[shown.start : shown.end] == right


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who pays the fee?", "The fee is paid by the tenant."),
        ("When is the salary paid?", "The salary is paid on the last working day."),
        ("料金は誰が払いますか", "料金は借主が払う。"),
        ("給料はいつ支払われますか", "給料は末日に支払う。"),
        ("요금은 어디에서 내나요?", "요금은 창구에서 낸다."),
        ("How do I find out the telephone number?", "Ask at the gate."),
    ],
)
def test_who_pays_a_price_and_when_is_answered_without_the_price(question: str, text: str) -> None:
    assert not Wanted.of(question).lacks_kind(text)


def test_a_row_of_another_measure_is_no_answer_to_what_a_thing_costs() -> None:
    table = "| Feature | Value |\n|---|---|\n| Humidifier power | 28 W |\n| Humidifier tank | 4 L |"
    found = answer("What is the price of the humidifier?", passage(table))
    assert not found.found
    priced = answer("What is the price of the humidifier?", passage(table.replace("Value", "Price").replace(" W", "")))
    assert priced.found, "its column is named"


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("When is it open?", True),
        ("Tell me when it opens", True),
        ("What happens when the drum is out of balance?", False),
        ("How do I know when the bread is done?", False),
    ],
)
def test_when_asks_for_a_time_only_where_it_asks(question: str, number: bool) -> None:
    assert Wanted.of(question).number is number
    assert not Wanted.of("How can you tell that it is done?").list


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("임대인은 누구인가요?", "임대인"),
        ("진동자는 얼마나 자주 바꾸나요?", "진동자 바꾸"),
        ("학생은 몇 명인가요?", "학생 명"),
        ("왜냐하면 비가 온다", "왜냐하면 비가 온다"),
        ("釜の重さはどのくらいですか", "釜の重さ"),
        ("泳いでもよいですか", "泳いで"),
    ],
)
def test_the_words_that_ask_are_left_out(question: str, left: str) -> None:
    assert " ".join(without_asking(question).split()).strip(" ?") == left


STEPS = "1. Lift the lid.\n2. Turn the key.\n3. Press the lever.\n4. Wait a minute.\n5. Close the lid."


def test_beside_a_sentence_a_list_is_shown_whole_or_not_at_all() -> None:
    shown = answer("When is the valve rinsed?", passage(f"The valve is rinsed in May.\n\n{STEPS}")).shown[0]
    assert shown.text == f"The valve is rinsed in May.\n{STEPS}"
    assert shown.text[shown.start : shown.end] == "The valve is rinsed in May."
    long = "\n".join(f"{line} {'Mind the hose. ' * 12}" for line in STEPS.split("\n"))
    shown = answer("When is the valve rinsed?", passage(f"The valve is rinsed in May.\n\n{long}")).shown[0]
    assert shown.text == "The valve is rinsed in May."


def test_an_item_is_shown_with_its_whole_list() -> None:
    shown = answer("Which lever is pressed?", passage(STEPS)).shown[0]
    assert (shown.text, shown.text[shown.start : shown.end]) == (STEPS, "3. Press the lever.")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("懲戒の種類は何ですか", "懲戒の種類は、次のとおりとする。\n\n1. けん責\n2. 減給\n3. 停職\n4. 解雇\n5. 降格"),
        ("징계의 종류는 무엇인가요?", "징계의 종류는 다음과 같다.\n\n1. 견책\n2. 감봉\n3. 정직\n4. 해고\n5. 강등"),
        ("What are the ingredients of the soup?", "Soup needs the following\n\n- peas\n- salt\n- water\n- ham\n- mint"),
        ("スープの材料を教えてください", "スープの材料\n\n- 豆\n- 塩\n- 水\n- ハム\n- ミント"),
        ("スープの作り方", "スープの作り方です。\n\n1. 切る。\n2. 煮る。\n3. こす。\n4. 混ぜる。\n5. 冷やす。"),
    ],
)
def test_kinds_ingredients_and_ways_are_whole_lists(question: str, text: str) -> None:
    shown = answer(question, passage(text)).shown[0]
    assert shown.text[shown.start : shown.end].endswith(text.split("\n\n")[1])


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("When was the yard founded?", "The yard got a second crane in 2019.", False),
        ("When was the yard founded?", "The yard was started by two brothers in 1911.", True),
        ("When was Ada Birk born?", "Ada Birk (3 May 1871 – 1940) led the yard.", True),
        ("造船所はいつ設立されましたか", "造船所は2019年にクレーンを買った。", False),
        ("造船所はいつ設立されましたか", "造船所は1911年に二人の兄弟が建てた。", True),
        ("조선소는 언제 설립되었나요?", "조선소는 2019년에 크레인을 샀다.", False),
        ("造船所の社長は誰ですか", "造船所の守衛は佐野である。", False),
        ("조선소의 대표는 누구인가요?", "조선소의 대표이사는 한 씨이다.", True),
        ("Who is the president of the yard?", "The yard's guard is Mr. Sano.", False),
    ],
)
def test_what_founding_and_heads_of_a_company_ask_for_is_needed(question: str, text: str, *, found: bool) -> None:
    assert answer(question, passage(text)).found is found


@pytest.mark.parametrize(
    ("question", "actual", "limit"),
    [
        ("What is the limit for ferry costs?", "Ferry costs are paid as they are.", "The limit is 200 EUR a month."),
        ("巡視の旅費の上限はいくらですか", "巡視の旅費は実費を支給する。", "上限は月2万円とする。"),
        ("순찰 여비의 한도는 얼마인가요?", "순찰 여비는 실비를 지급한다.", "한도는 월 20만 원으로 한다."),
    ],
)
def test_what_is_paid_as_it_is_has_no_limit(question: str, actual: str, limit: str) -> None:
    shown = answer(question, passage(f"{actual} {limit}")).shown[0]
    assert shown.text[shown.start : shown.end] == limit


def test_an_amount_may_begin_with_its_currency_and_a_place_may_be_a_branch() -> None:
    assert Wanted.of("What does a soup cost?").kinds_in("A soup is GBP 3.10.")
    assert not Wanted.of("What does a soup cost?").kinds_in("A soup is 3.10.")
    assert Wanted.of("木村さんはどこに移りましたか").kinds_in("木村は仙台本店に移った。")
