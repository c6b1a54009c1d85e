"""The featured passage of an answer without a model: whole sentences, whole lists, and what is never quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.hard_questions import DOCUMENTS
from braid.core.chat.citations import Citation
from braid.core.chat.lookups.further import QuotedPart
from braid.core.chat.lookups.quoted import quote_parts
from braid.core.chat.marks import MARKS
from braid.core.chat.quoting.candidates import Asked, nothing_around
from braid.core.chat.quoting.extractive import extract
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.wanted import Wanted
from braid.core.chat.texts import say
from braid.core.text.scripts import question_language
from braid.core.types import Passage
from tests.core.chat.featured import ANALYZER, answer, texts
from tests.core.chat.test_extractive import passage


def section(language: str, name: str, heading: str) -> Passage:
    """Return a section of a made-up document, as its passage."""
    text = DOCUMENTS[language][name]
    body = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    title = text.partition("\n")[0].removeprefix("# ")
    return passage(f"## {heading}\n{body}", title=title, heading_path=f"{title} > {heading}")


PUMP = (
    "The pump stands in hall 4. It was built in Halden in 1911 by two brothers. The gasket is changed every year. "
    "Only trained persons may do that. The old gasket is thrown away. Nobody knows why."
)


def test_two_to_four_whole_sentences_are_shown_around_the_one_that_answers() -> None:
    shown = answer("How often is the gasket changed?", passage(PUMP)).shown[0]
    assert shown.text[shown.start : shown.end] == "The gasket is changed every year."
    sentences = [part.text for part in parts_of(shown.text)]
    assert 2 <= len(sentences) <= 4
    assert shown.text in PUMP, "they follow one another"


STEPS = [
    "To salvage a pump, this is done.",
    "1. Open a report and say what is wrong with the pump.",
    "2. In this step you wait for objections of the owner for 21 days.",
    "3. Then the pump is yours.",
]


def test_a_step_is_quoted_with_those_before_it() -> None:
    long = f"3. Then the pump is yours. {'It is long. ' * 60}"
    for steps, quoted in ((STEPS, STEPS), ([*STEPS[:3], long], STEPS[:3])):
        shown = answer("How long does one wait for objections?", passage("\n".join(steps))).shown[0]
        assert shown.text == "\n".join(quoted), "a short list is shown whole"
        assert shown.text[shown.start : shown.end] == STEPS[2]
    first = answer("What does one say in the report?", passage("\n".join(STEPS))).shown[0]
    assert first.text.startswith(STEPS[0]) or first.text.startswith(STEPS[1])


@pytest.mark.parametrize("long", ["", "It is long. " * 200])
def test_a_step_whose_first_ones_are_not_there_has_a_sign_before_it(long: str) -> None:
    steps = [f"{STEPS[1]} {long}", *STEPS[2:]] if long else STEPS[2:]
    shown = answer("How long does one wait for objections?", passage("\n".join(steps))).shown[0]
    assert shown.text.startswith(f"… {STEPS[2]}")
    assert shown.text[shown.start : shown.end] == STEPS[2]


def test_the_first_step_of_a_list_with_zeros_has_no_sign_before_it() -> None:
    steps = ["01. In this step you wait for objections of the owner for 21 days.", "02. Then the pump is yours."]
    shown = answer("How long does one wait for objections?", passage("\n".join(steps))).shown[0]
    assert shown.text.startswith(steps[0])


def test_the_sentences_around_are_left_out_where_they_are_long() -> None:
    long = "This is said " + "very " * 120 + "often."
    assert texts("How often is the gasket changed?", f"{long} The gasket is changed every year. {long}") == [
        "The gasket is changed every year."
    ]


@pytest.mark.parametrize(
    ("before", "text", "after", "whole"),
    [
        (
            "It is very old. Whoever takes the seal of the pump",
            "off needs the puller T-12 for it. The seal is oiled.",
            "",
            "Whoever takes the seal of the pump off needs the puller T-12 for it.",
        ),
        (
            "",
            "It is very old. The puller T-12 for the seal",
            "is kept in hall 4. It is red.",
            "The puller T-12 for the seal is kept in hall 4.",
        ),
        (
            "",
            "このポンプはもうかなり古いものである。シールの引き抜き工具T-12は第4",
            "棟に保管している。色はどれも赤い。",
            "シールの引き抜き工具T-12は第4棟に保管している。",
        ),
    ],
)
def test_a_sentence_that_is_cut_is_continued_from_its_neighbour(before: str, text: str, after: str, whole: str) -> None:
    question = "シールの引き抜き工具T-12" if "シール" in text else "Which puller takes the seal off?"
    shown = answer(question, passage(text), around=lambda _: (before, after)).shown[0]
    assert shown.text[shown.start : shown.end] == whole
    assert not shown.text.startswith("off")


def test_what_both_of_two_neighbours_have_is_shown_once() -> None:
    text = "The gasket is changed every year. It is red."
    shown = texts("How often is the gasket changed?", text, around=lambda _: ("It is old. " + text[:33], ""))
    assert shown[0].count("every year") == 1


@pytest.mark.parametrize(
    "line",
    [
        "2. Changing the gasket ........ 7",
        "Changing the gasket . . . . . . 12",
        "Changing the gasket | The gasket | Next",
        "## Changing the gasket",
        "3.2.1 Changing the gasket",
        "How is the gasket changed?",
    ],
)
def test_headings_contents_menus_and_questions_are_not_quoted(line: str) -> None:
    (shown,) = texts("How is the gasket changed?", f"{line}\n\nThe fitter does it with a knife on the first of May.")
    assert shown == "The fitter does it with a knife on the first of May."


def test_the_value_below_a_term_is_found_by_the_term() -> None:
    least = "min_pressure (number)\n\nSets the least. The default is 2."
    options = f"{least}\n\nmax_pressure (number)\n\nSets the most. The default is 9.5."
    assert texts("What is the default value of max_pressure?", options)[0] == "Sets the most. The default is 9.5."


@pytest.mark.parametrize(
    ("language", "name", "heading", "question", "first", "last"),
    [
        (
            "en",
            "pump-h70.md",
            "Changing the shaft seal",
            "How do I change the shaft seal?",
            "1. Switch",
            "valve V3 again.",
        ),
        ("ja", "ポンプH70.md", "軸シールの交換", "軸シールの交換の手順は", "1. ポンプを止め", "再び開く。"),
        ("ko", "펌프H70.md", "축 씰 교체", "축 씰 교체 절차를 알려 주세요", "1. 펌프를", "다시 연다."),
        ("en", "contract.md", "Deadlines", "List all deadlines of both parties", "- Reports", "end of the agreement."),
        ("ja", "業務委託契約.md", "期限", "両当事者の期限をすべて挙げてください", "- 不具合の報告", "45日以内"),
        ("ko", "용역계약.md", "기한", "양 당사자의 기한을 모두 알려 주세요", "- 결함", "45일 이내"),
    ],
)
def test_a_list_that_is_asked_for_is_shown_as_a_whole(
    language: str, name: str, heading: str, question: str, first: str, last: str
) -> None:
    found = answer(question, section(language, name, heading))
    shown = found.shown[0]
    items = shown.text[shown.start : shown.end]
    assert items.startswith(first)
    assert items.endswith(last)
    assert len(items.split("\n")) in (4, 6)
    lines = found.text.split("\n")[2:]
    assert all(MARKS.search(line) for line in lines), "each line cites what it quotes"


def test_a_list_that_goes_on_in_the_next_passage_is_shown_as_a_whole() -> None:
    shown = texts(
        "What are the steps for changing the gasket?",
        "The gasket is changed in these steps:\n\n1. Stop the pump.\n2. Take the cover off.",
        around=lambda _: ("", "2. Take the cover off.\n3. Put the new gasket on.\n\nIt is red."),
    )
    assert shown[0].split("\n")[1:] == ["1. Stop the pump.", "2. Take the cover off.", "3. Put the new gasket on."]


def test_a_list_that_is_only_related_is_a_line_without_its_marks() -> None:
    steps = passage("1. Go to the gate.\n2. Show your pass.\n3. Go in.")
    found = answer("What is the telephone number of the gate? Which steps?", steps)
    assert found.text.splitlines()[-1].startswith("- Go to the gate. Show your pass. Go in. ")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the telephone number of the gate?", "The gate is open from 6:30 to 19:00."),
        ("How much does the pump cost? What is its price?", "The pump weighs 40 kg."),
        ("守衛のメールアドレスは何ですか", "守衛は正門にいる。守衛は19時に帰る。"),
        ("경비실의 전화번호는 무엇인가요?", "경비실은 정문에 있다. 경비실은 19시에 닫는다."),
        ("食堂の営業時間は", "食堂は本館の2階にある。"),
    ],
)
def test_an_answer_of_another_kind_than_is_asked_for_is_said_to_be_related(question: str, text: str) -> None:
    found = answer(question, passage(text))
    assert not found.found
    assert found.text.startswith(say("related", question_language(question)))
    assert Wanted.of(question).lacks_kind(text)
    assert found.shown, "it is shown below that"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the telephone number?", "Call +47 69 21 00 00."),
        ("内線は何番ですか、電話番号は", "内線4410です。"),
        ("가격은 얼마인가요?", "3만 5천 원이다."),
        ("正門は何時に開きますか", "朝6時30分に開く。"),
        ("What is the price?", "It is €12."),
    ],
)
def test_an_answer_of_the_kind_that_is_asked_for_is_one(question: str, text: str) -> None:
    assert not Wanted.of(question).lacks_kind(text)


def versions(*titles: str) -> Sequence[Passage]:
    return [
        replace(passage(f"The limit for hotels is {title[-2:]}5 EUR a night.", n, title=title), document_id=n)
        for n, title in enumerate(titles, start=1)
    ]


def test_the_year_that_is_asked_for_is_featured_and_else_the_newest() -> None:
    old, new = versions("Travel policy 2023", "Travel policy 2025")
    assert answer("What is the limit for hotels?", old, new).shown[0].citation == 2
    assert answer("What was the limit for hotels in 2023?", new, old).shown[0].citation == 2


def test_two_versions_are_compared_with_their_titles() -> None:
    old, new = versions("Travel policy 2023", "Travel policy 2025")
    found = answer("What changed about the limit for hotels between 2023 and 2025?", new, old)
    assert {each.citation for each in found.shown} == {1, 2}
    assert "Travel policy 2023: " in found.text
    assert "Travel policy 2025: " in found.text


def test_which_questions_want_a_list() -> None:
    assert all(
        Wanted.of(asked).list
        for asked in ("How do I do it?", "List the parts", "手順は", "모두 알려 주세요", "すべて挙げて")
    )
    assert not any(Wanted.of(asked).list for asked in ("When is it?", "いつですか", "언제인가요?"))


def test_no_line_of_a_table_of_contents_and_no_tags_are_quoted() -> None:
    contents = replace(
        passage("The gasket is changed here.\nThe gasket and the seal are changed."), chunk_kind="contents"
    )
    found = answer("How is the gasket changed?", contents, passage(PUMP, 2))
    assert {found.shown[0].citation, *(each.citation for each in found.shown)} == {2}
    assert not answer("How is the gasket changed?", contents).shown
    listed = "1 Safety 3\n1.1 How the gasket is changed 4\n1.2 How the gasket is kept 6\n2 Use 9"
    source = '<gasket changed="yearly" by="hand">\n</gasket>'
    for furniture in (listed, source):
        assert not answer("How is the gasket changed?", passage(furniture)).shown


@pytest.mark.parametrize(
    ("question", "text", "main"),
    [
        (
            "Why is the move not in August?",
            "The move is now in September instead of August. The wiring is late, so that there is no power before.",
            "The wiring is late, so that there is no power before.",
        ),
        (
            "なぜ移転は8月ではないのですか",
            "移転は8月ではなく9月に行う。電気工事の遅れにより延期した。",
            "電気工事の遅れにより延期した。",
        ),
        (
            "축제를 왜 10월로 미뤘나요",
            "축제는 10월 17일에 연다. 원래 9월이었으나 추석 연휴와 겹쳐 미뤘다.",
            "원래 9월이었으나 추석 연휴와 겹쳐 미뤘다.",
        ),
    ],
)
def test_why_is_answered_by_the_reason_behind_what_it_is_the_reason_of(question: str, text: str, main: str) -> None:
    shown = answer(question, passage(text)).shown[0]
    assert (shown.text, shown.text[shown.start : shown.end]) == (text, main)


@pytest.mark.parametrize(
    ("question", "text", "main"),
    [
        (
            "May I work from home in the probation period?",
            "Everybody may work from home for two days. But the probation period is spent in the office.",
            "But the probation period is spent in the office.",
        ),
        (
            "試用期間中でも在宅勤務はできますか",
            "在宅勤務は週3日までできます。ただし試用期間中の者は対象としない。",
            "ただし試用期間中の者は対象としない。",
        ),
        (
            "How many days may I work from home?",
            "Everybody may work from home for two days. But the desk at home is not paid for.",
            "Everybody may work from home for two days.",
        ),
        (
            "駐車場はありませんか",
            "駐車場は東口に30台分あります。駐車場の予約はできません。",
            "駐車場は東口に30台分あります。",
        ),
    ],
)
def test_an_exception_answers_where_it_has_what_is_asked_about(question: str, text: str, main: str) -> None:
    shown = answer(question, passage(text)).shown[0]
    assert shown.text[shown.start : shown.end] == main


def test_a_later_step_below_also_has_a_sign_before_it_where_the_first_ones_are_not_shown() -> None:
    gasket = passage("The gasket of the pump is changed every year by the owner of the pump.")
    for first, sign in ((f"1. Open it. {'It is long. ' * 80}", "- … The"), ("1. Open it.", "- Open it. The")):
        steps = passage(f"{first}\n2. The gasket of the pump is changed in March.\n3. It is done.", 2)
        text = answer("When is the gasket of the pump changed?", gasket, steps).text
        assert sign in text


TWO_THINGS = [
    (
        "How loud is the D460 compared to the D450?",
        "",
        "D450",
        "D460",
        ("Height", "82 cm", "85 cm"),
        ("Noise", "44 dB", "41 dB"),
    ),
    (
        "KR-55とKR-100ではどちらが重いですか",
        "項目",
        "KR-55",
        "KR-100",
        ("容量", "1.0 L", "1.8 L"),
        ("質量", "4.2 kg", "5.6 kg"),
    ),
    ("P7하고 P9 중에 어느 게 더 조용해요?", "항목", "P7", "P9", ("면적", "49 m²", "60 m²"), ("소음", "21 dB", "24 dB")),
]


@pytest.mark.parametrize(("question", "head", "one", "two", "first", "second"), TWO_THINGS)
def test_two_columns_are_compared_in_the_row_that_is_meant(
    question: str, head: str, one: str, two: str, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    rows = ((head, one, two), ("---",) * 3, first, second)
    table = passage("\n".join(f"| {' | '.join(row)} |" for row in rows))
    citations = [Citation(1, table, table.text)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), question_language(question))
    parts = [QuotedPart(("1",), frozenset(ANALYZER.tokens(each)), each) for each in (f"{one} ?", f"{two} ?")]
    assert (
        quote_parts(parts, asked, citations, ANALYZER, lambda terms: dict.fromkeys(terms, 1.0), nothing_around) is None
    )
    found = extract(asked, citations, ANALYZER, match="strong")
    assert found.shown[0].text == f"{second[0]} · {one}: {second[1]} · {two}: {second[2]}"
