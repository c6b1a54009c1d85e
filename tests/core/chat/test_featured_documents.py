"""The words of an answer: mails, leaflets, lists of questions, and articles."""

from __future__ import annotations

import pytest

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.extractive import extract
from braid.core.chat.quoting.parts import parts_of
from braid.core.text.scripts import question_language
from tests.core.chat.featured import ANALYZER, answer, texts
from tests.core.chat.test_extractive import passage

THREADS = {
    "When did the oak boards arrive?": (
        "From: Ines\nTo: Rob\nDate: 3 March 2026 09:12\nSubject: Delivery of the oak boards\n\nHi Rob,\n"
        "the oak boards were promised for 27 February and have still not come.\nInes\n\n"
        "From: Ines\nTo: Rob\nDate: 6 March 2026 14:05\nSubject: Re: Delivery of the oak boards\n\n"
        "Hi Rob,\nthe boards arrived at 11:20. Two are split.\nInes",
        "the boards arrived at 11:20. Two are split.",
    ),
    "検査装置はいつ届きますか": (
        "差出人：田島\n宛先：小川様\n日時：2026年4月8日 10:05\n件名：検査装置の納期\n\n小川様\n"
        "検査装置は5月11日に届きます。\n田島\n\n差出人：田島\n宛先：小川様\n日時：2026年4月9日 9:12\n"
        "件名：Re: 検査装置の納期\n\n小川様\n検査装置は4月24日に届きます。\n田島",
        "検査装置は4月24日に届きます。",
    ),
    "벽면 공사는 언제 끝나나요?": (
        "보낸 사람: 남궁현\n받는 사람: 구자영\n날짜: 2026년 3월 16일 09:20\n제목: 벽면 공사 일정\n\n팀장님,\n"
        "벽면 공사는 3월 20일에 끝난다고 하셨습니다.\n남궁현 드림\n\n보낸 사람: 구자영\n받는 사람: 남궁현\n"
        "날짜: 2026년 3월 17일 14:45\n제목: Re: 벽면 공사 일정\n\n남궁현 님,\n벽면 공사는 3월 26일에 끝납니다.\n구자영",
        "벽면 공사는 3월 26일에 끝납니다.",
    ),
}


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("question", THREADS)
def test_the_later_mail_of_a_thread_answers_without_its_head_and_names(question: str, newest_first: bool) -> None:
    thread, quoted = THREADS[question]
    second = thread.rindex(thread[:4])
    thread = f"{thread[second:]}\n\n{thread[:second].rstrip()}" if newest_first else thread
    assert texts(question, thread)[0] == quoted


def test_the_head_of_a_meeting_is_quoted() -> None:
    minutes = "日時：2026年5月14日（木）14:00～15:10\n場所：本社3階会議室\n出席：佐々木部長、木村"
    assert "14:00" in texts("会議の日時はいつですか", minutes)[0]
    journey = "From: Leeds\nTo: York\nDate: 3 May, the train leaves at 9:40"
    assert "9:40" in texts("When does the train leave?", journey)[0]


LEAFLETS = {
    "What if I forget a dose?": (
        "1. What Solvarin is used for\nSolvarin lowers fever and relieves mild pain.\n\n"
        "2. How to take it\nAdults take 1 tablet a day.\nIf you forget a dose, do not take a double dose.\n\n"
        "3. Storage\nStore it below 25 °C.",
        "Adults take 1 tablet a day. If you forget a dose, do not take a double dose.",
    ),
    "飲み忘れたらどうしますか": (
        "1. この薬の効果\n寝つきの悪さを改善する薬です。\n\n2. 飲み方\n通常、大人は1回1錠を飲みます。\n"
        "飲み忘れたときは、翌日に飲んでください。\n\n3. 保管\n湿気を避けて保管してください。",
        "通常、大人は1回1錠を飲みます。飲み忘れたときは、翌日に飲んでください。",
    ),
    "복용을 잊었다면 어떻게 하나요?": (
        "1. 효능\n기침과 가래를 줄입니다.\n\n2. 용법·용량\n성인은 1일 3회 식후에 복용합니다.\n"
        "복용을 잊었다면 생각난 즉시 복용합니다.\n\n3. 보관\n냉장 보관하고 1개월 안에 사용합니다.",
        "성인은 1일 3회 식후에 복용합니다. 복용을 잊었다면 생각난 즉시 복용합니다.",
    ),
}


@pytest.mark.parametrize("question", LEAFLETS)
def test_numbered_sections_of_a_plain_text_are_no_list(question: str) -> None:
    leaflet, quoted = LEAFLETS[question]
    assert texts(question, leaflet)[0] == quoted


def test_a_numbered_item_that_goes_on_in_the_next_line_is_no_heading() -> None:
    for steps in (
        "1. Switch the machine off and take out the\nlower basket.\n2. Lift it out.",
        "1. Milk\n   of a cow that is red.\n\n2. Flour",
    ):
        assert {part.kind for part in parts_of(steps)} == {"item"}


FAQS = {
    "What does ILL mean?": (
        "**What does it cost to be late?**\n20 pence per day. Children pay no late fees.\n\n**What does ILL mean?**\n"
        "ILL stands for inter-library loan. It takes ten days.\n\n**Can I use the printers?**\nYes. Scanning is free.",
        "**ILL stands for inter-library loan**. It takes ten days.",
    ),
    "駐車場は何台分ありますか": (
        "**Q. 休館日はいつですか。**\nA. 毎月第3月曜日です。\n\n**Q. 駐車場はありますか。**\n"
        "A. 駐車場は60台分あります。最初の2時間は無料です。\n\n"
        "**Q. 土足で入れますか。**\nA. 室内用シューズをお持ちください。",
        "**A. 駐車場は60台分あります**。最初の2時間は無料です。",
    ),
    "주차는 몇 시간 무료인가요?": (
        "**Q. 환불이 되나요?**\nA. 개강 전에는 전액을 돌려드립니다.\n\n**Q. 주차할 수 있나요?**\n"
        "A. 지하에 40면이 있습니다. 주차는 **2시간** 무료입니다.\n\n"
        "**Q. 왜 신분증이 필요한가요?**\nA. 주민인지 확인합니다.",
        "A. 지하에 40면이 있습니다. **주차는 2시간 무료입니다**.",
    ),
}


@pytest.mark.parametrize("question", FAQS)
def test_an_entry_of_a_faq_is_quoted_without_its_neighbours_and_marks_of_bold(question: str) -> None:
    faq, quoted = FAQS[question]
    assert quoted in answer(question, passage(faq)).text
    assert texts(question, faq)[0] == quoted.replace("**", "")


ARTICLES = {
    "What does §3.3 say?": (
        "3.1 The rent is GBP 1,180 a month.\n3.2 The deposit is GBP 2,360. It is returned in time.\n"
        "3.3 For late payment there is a charge. It is GBP 25.\n3.4 The Landlord has the boiler serviced.",
        "3.3 For late payment there is a charge. It is GBP 25.",
    ),
    "第３条には何が書いてありますか": (
        "第2条（期間） 期間は2年とする。\n\n第3条（賃料） 賃料は月額92,000円とする。毎月27日までに振り込む。\n\n"
        "第4条（敷金） 敷金は1か月分とする。",
        "第3条（賃料） 賃料は月額92,000円とする。毎月27日までに振り込む。",
    ),
    "제3조 내용 알려줘": (
        "제2조 (보증금) 보증금은 5,000만 원으로 한다.\n\n제3조 (기간) 기간은 24개월로 한다. 연장할 수 있다.\n\n"
        "제4조 (수선) 수리비는 갑이 부담한다.",
        "제3조 (기간) 기간은 24개월로 한다. 연장할 수 있다.",
    ),
}


@pytest.mark.parametrize("question", ARTICLES)
def test_an_article_whose_number_is_asked_for_is_found_alone_whatever_its_words(question: str) -> None:
    text, quoted = ARTICLES[question]
    citations = [Citation(1, passage(text), text)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), question_language(question))
    found = extract(asked, citations, ANALYZER, match="absent", nearness=lambda texts: [-0.1 for _ in texts])
    assert found.found
    assert not found.is_weak
    assert found.shown[0].text == quoted
    other = extract(
        asked, [Citation(1, passage("第9条 それは1円。 9.9 No. 제9조 없다."), "")], ANALYZER, match="absent"
    )
    assert not other.found


def test_an_article_of_each_document_is_shown_by_its_number_in_the_heading() -> None:
    named = [
        passage("年次有給休暇を与える。", 1, title="規則", heading_path="規則 > 第12条（休暇）"),
        passage("敷金は返す。", 2, title="契約", heading_path="契約 > 第12条（敷金）"),
        passage("第1条には何が書いてありますか、と聞かれる。", 3, title="質問", heading_path="質問 > 第1条"),
    ]
    assert [each.citation for each in answer("第12条には何が書いてありますか", *named).shown] == [1, 2]


def test_what_is_beside_an_article_is_not_shown_with_the_answer() -> None:
    for question, (text, _) in {
        "How much is the deposit?": ARTICLES["What does §3.3 say?"],
        "敷金はいくらですか": ARTICLES["第３条には何が書いてありますか"],
        "보증금은 얼마인가요?": ARTICLES["제3조 내용 알려줘"],
    }.items():
        shown = texts(question, text)[0]
        assert shown.startswith(("3.2", "第4条", "제2조"))
        assert sum(shown.count(sign) for sign in ("3.3", "第3条", "제3조", "3.1")) == 0


def test_a_number_at_the_beginning_of_a_sentence_is_no_article() -> None:
    flour = "Bread needs flour and water. 2.5 kilograms of flour are enough. 4.2 litres of water are not needed."
    assert texts("How much flour is enough?", flour)[0] == flour


def test_a_paragraph_that_answers_is_shown_without_the_next_one() -> None:
    trip = "We go to Whitby in May. The coach leaves at 8:15. We are back on Wednesday.\n\nThe trip costs 145 pounds."
    assert texts("When does the coach leave?", trip)[0] == trip.split("\n\n")[0]
    lone = "The coach leaves at 8:15.\n\nThe trip costs 145 pounds."
    assert texts("When does the coach leave?", lone)[0] == lone.replace("\n\n", "\n")


def test_the_item_that_answers_is_among_the_first_lines() -> None:
    for mark in ("-", "{n}."):
        items = [f"{mark.format(n=n)} Pump {n} is red." for n in range(1, 10)]
        items.append(f"{mark.format(n=10)} The gasket is blue.")
        shown = answer("Which colour has the gasket?", passage("\n".join(items))).shown[0]
        lines = shown.text.split("\n")
        assert "gasket" in lines[5]
        assert lines[0] == f"… {items[4]}"
        assert "gasket" in shown.text[shown.start : shown.end]


def test_an_item_that_points_back_is_not_cut_from_the_beginning_of_its_list() -> None:
    text = "1. この薬は効く。\n2. 寝る前に飲む。\n\n飲んだ後は自動車の運転をしないでください。"
    assert texts("飲んだ後に自動車の運転をしてもよいですか", text)[0] == text.replace("\n\n", "\n")


@pytest.mark.parametrize(
    ("question", "text", "main"),
    [
        (
            "Who can't work from home?",
            "You may work from home for two days a week. Staff in the workshop cannot work remotely.",
            "Staff in the workshop cannot work remotely.",
        ),
        (
            "재택근무 안되는 사람은 누구",
            "재택근무는 주 2일까지 허용한다. 다만 수습 기간 중인 사원은 제외한다.",
            "다만 수습 기간 중인 사원은 제외한다.",
        ),
        (
            "在宅勤務できないのは誰ですか",
            "在宅勤務は週3日までとする。ただし工場勤務の者は対象としない。",
            "ただし工場勤務の者は対象としない。",
        ),
    ],
)
def test_who_may_not_is_answered_by_the_exception(question: str, text: str, main: str) -> None:
    shown = answer(question, passage(text)).shown[0]
    assert (shown.text, shown.text[shown.start : shown.end]) == (text, main)


def test_an_earlier_mail_that_answers_best_is_quoted_with_what_a_later_one_says() -> None:
    thread = (
        "From: Ann\nTo: Ben\nDate: 3 March 2026 09:12\nSubject: The machine\n\nHi Ben,\n"
        "the testing machine of hall 4 is delivered on 11 May, as agreed.\nAnn\n\n"
        "From: Ben\nTo: Ann\nDate: 4 March 2026 09:12\nSubject: Re: The machine\n\nHi Ann,\n"
        "that is too late. The hall is cold.\nBen\n\n"
        "From: Ann\nTo: Ben\nDate: 5 March 2026 14:05\nSubject: Re: The machine\n\nHi Ben,\n"
        "it comes on 24 April. We pay for it.\nAnn"
    )
    shown = answer("When is the testing machine of hall 4 delivered?", passage(thread)).shown
    assert [each.text[each.start : each.end] for each in shown] == [
        "the testing machine of hall 4 is delivered on 11 May, as agreed.",
        "it comes on 24 April.",
    ]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_the_title_of_a_document_is_not_read_into_its_first_sentence(gap: str) -> None:
    rules = f"出張旅費規程{gap}本規程は、従業員が出張する場合の旅費について定める。"
    assert texts("本規程は何について定めますか", rules)[0] == "本規程は、従業員が出張する場合の旅費について定める。"


MAIL = "From: Ann <ann@x.example>\nTo: ben@x.example\nSubject: Gate\nDate: 3 March 2026\n\n"


@pytest.mark.parametrize(
    ("body", "question", "told"),
    [
        ("The gate code is 4711", "What is the gate code?", "The gate code is 4711"),
        ("The gate code has changed.\nNew gate code: 4711", "What is the new gate code?", "New gate code: 4711"),
        ("入口の暗証番号は4711です", "入口の暗証番号は何ですか", "入口の暗証番号は4711です"),
        ("정문 비밀번호는 4711입니다", "정문 비밀번호는 무엇인가요?", "정문 비밀번호는 4711입니다"),
        ("The gate is open", "Is the gate open?", "The gate is open"),
    ],
)
def test_the_one_short_line_of_a_mail_is_what_it_says(body: str, question: str, told: str) -> None:
    assert told in texts(question, MAIL + body)[0]


@pytest.mark.parametrize("times", [("09:00", "17:00"), ("9:00 AM", "5:00 PM"), ("午前9:00", "午後5:00")])
@pytest.mark.parametrize("newest_first", [True, False])
def test_of_mails_of_one_day_the_later_one_answers(times: tuple[str, str], newest_first: bool) -> None:
    codes = ("4711", "5000")
    mails = [
        f"From: Ann <ann@x.example>\nSubject: Gate\nDate: 2026-03-03 {time}\n\nThe gate code is {code} now."
        for time, code in zip(times, codes, strict=True)
    ]
    assert "5000" in texts("What is the gate code?", "\n\n".join(reversed(mails) if newest_first else mails))[0]
