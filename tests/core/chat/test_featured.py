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
from braid.core.chat.quoting.candidates import Around, Asked, nothing_around
from braid.core.chat.quoting.extractive import Extract, extract
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.wanted import Wanted
from braid.core.chat.texts import say
from braid.core.text.analyzer import Analyzer
from braid.core.text.letters import odd_share
from braid.core.text.scripts import question_language
from braid.core.types import Passage
from tests.core.chat.test_extractive import passage

ANALYZER = Analyzer()


def answer(question: str, *passages: Passage, around: Around = nothing_around) -> Extract:
    """Answer from passages; each term of the question weighs 1."""
    citations = [Citation(number, one, one.text) for number, one in enumerate(passages, start=1)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), question_language(question))
    return extract(asked, citations, ANALYZER, match="strong", around=around)


def texts(question: str, *several: str, around: Around = nothing_around) -> list[str]:
    """Return what is shown of these passages, the featured text first."""
    passages = [passage(text, number) for number, text in enumerate(several, start=1)]
    return [each.text for each in answer(question, *passages, around=around).shown]


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


def headed(text: str, number: int, path: str) -> Passage:
    return passage(text, number, title="Manual", heading_path=path)


@pytest.mark.parametrize(
    ("question", "path", "lead", "other", "words"),
    [
        (
            "Can I open the lid of the pump?",
            "Use > Can the lid of the pump be opened?",
            "Go ahead, two persons suffice.",
            "Use > Transport",
            "Whoever can open the lid of the pump signs the list of the pump.",
        ),
        (
            "遅延アップロードとは何ですか",
            "使い方 > 遅延アップロード",
            "指定した日数の後に処理されます。",
            "使い方 > キュー",
            "遅延アップロードは別の章でも遅延アップロードとして使われます。",
        ),
        (
            "펌프의 밸브는 무엇인가요?",
            "사용 > 펌프의 밸브",
            "물을 막는 부품입니다.",
            "사용 > 운반",
            "펌프의 밸브가 있는 펌프는 밸브를 잠그고 옮깁니다.",
        ),
    ],
)
def test_what_stands_below_the_heading_that_is_asked_for_comes_first(
    question: str, path: str, lead: str, other: str, words: str
) -> None:
    shown = answer(question, headed(words, 1, other), headed(f"{lead} {words}", 2, path)).shown[0]
    assert (shown.citation, shown.text[shown.start : shown.end]) == (2, lead)


def test_the_passage_that_begins_the_section_is_before_those_that_go_on() -> None:
    first = headed("It keeps the water in. It is black.", 2, "Parts > The seal of the pump")
    second = headed("The seal of the pump is black and round.", 1, "Parts > The seal of the pump")
    around = {"2": ("", second.text), "1": (first.text, "")}
    shown = answer("What is the seal of the pump?", second, first, around=lambda one: around[one.chunk_id]).shown[0]
    assert shown.text[shown.start : shown.end] == "It keeps the water in."


def test_the_steps_below_the_heading_that_is_asked_for_come_before_other_lists() -> None:
    steps = headed("1. Close the valve.\n2. Turn the key.", 2, "Use > How to open the lid")
    other = headed("To open the lid of a lid press:\n\n1. Open the lid.\n2. Open the press.", 1, "Parts > Press")
    assert answer("How do I open the lid?", other, steps).shown[0].citation == 2


def test_a_command_is_shown_with_the_sentence_that_leads_to_it() -> None:
    text = "To list all the files of an installed package execute the command\n\ndpkg --listfiles foo\n\nThe end."
    shown = answer("How are the files of an installed package listed?", passage(text)).shown[0]
    assert shown.text.split("\n")[:2] == [text.split("\n")[0], "dpkg --listfiles foo"]


def test_a_heading_with_its_number_or_cut_in_two_is_no_sentence() -> None:
    heading = "What is the difference between this pump and all those of other makers? Why this one?"
    text = "1.5 What is the difference between this pump and all\n\nthose of other makers? Why this one?\n\nIt is red."
    assert [part.kind for part in parts_of(text, ["Manual", heading])] == ["heading", "heading", "sentence"]


@pytest.mark.parametrize(
    "caption",
    [
        "그림 12.37. 네 개의 안내선",
        "[그림 3] 안내선",
        "Figure 7. The palette",
        "Fig. 3. The palette of the editor.",
        "Table A-2: Makers of palettes",
        "図 3．パレット",
        "図3：構成図",
        "<表 1> 料金",
    ],
)
def test_a_caption_is_told_from_a_sentence(caption: str) -> None:
    before, after = "This stands before it.", "The next one says more."
    assert [part.kind for part in parts_of(f"{before}\n\n{caption}\n\n{after}")] == ["sentence", "caption", "sentence"]


@pytest.mark.parametrize(
    "text",
    [
        "Table 2.2 lists the makers.",
        "図1に構成を示す。",
        "그림 3은 안내선을 보여 줍니다.",
        "Tables and chairs are red.",
    ],
)
def test_a_sentence_that_begins_with_a_figure_is_one(text: str) -> None:
    assert [part.kind for part in parts_of(text)] == ["sentence"]


def test_a_sentence_comes_before_a_caption_of_the_same_words_but_not_where_the_figure_is_named() -> None:
    caption, sentence = (
        "Figure 7. The palette of the editor",
        "A palette keeps colours in lists that one can choose from.",
    )
    passages = f"{caption}\n\n{sentence}"
    assert texts("What is the palette of the editor?", passages)[0] == sentence
    assert texts("What does figure 7 show of the editor?", passages)[0].startswith(caption)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("第1章 在宅勤務\n在宅勤務は週3日までとする。\n第2章 出張\n上限は月3万円とする。", "hshs"),
        ("Remote work\nYou may work from anywhere.\nHolidays\nThere are 28 of them.", "hshs"),
        ("재택근무\n재택근무는 주 3일까지 할 수 있다.", "hs"),
        ("The pump of\nBraid GmbH is red.", "s"),
        ("The pump\nis started by hand.", "s"),
        ("Opening hours\nMon 9-17\nTue 9-17", "s"),
        ("申請は前日までに上長へ行うこととし、その\n承認を得る。", "s"),
    ],
)
def test_a_short_line_right_above_a_sentence_is_its_heading(text: str, kinds: str) -> None:
    assert "".join(part.kind[0] for part in parts_of(text)) == kinds


def test_names_of_files_and_options_are_quoted_after_sentences() -> None:
    code = "files_package-1.0.files.tar.gz /files/package --files=package"
    assert texts("Which files has the package?", code, "The package has two files, a and b.")[0].startswith("The pack")


@pytest.mark.parametrize(
    ("question", "definition", "other"),
    [
        (
            "What is an NMU?",
            "An NMU (Non-Maintainer Upload) is made by somebody else.",
            "Before an NMU think of these:",
        ),
        (
            "What does NMU stand for?",
            "NMU stands for the upload by somebody else.",
            "What is an NMU for others, ask it:",
        ),
        (
            "NMU とは何ですか",
            "NMU とは別の人によるアップロードのことです。",
            "NMU を行う前に NMU について考えてください:",
        ),
        ("NMUって何？", "このアップロードは NMU と呼ばれます。", "NMU の前に NMU の質問について考えてください："),
        ("NMU란 무엇인가요?", "NMU는 다른 사람이 하는 업로드를 말한다.", "NMU를 하기 전에 NMU의 질문을 생각하세요:"),
    ],
)
def test_what_a_thing_is_comes_before_what_leads_to_a_list(question: str, definition: str, other: str) -> None:
    shown = answer(question, passage(f"{other}\n\n- Is it old?\n- Is it red?", 1), passage(definition, 2)).shown[0]
    assert shown.text[shown.start : shown.end] == definition


def test_a_sentence_that_leads_to_a_list_brings_its_list_also_of_questions() -> None:
    asked = "- Does the upload help the maintainer?\n- Was there time enough?\n- Is the change tried?"
    shown = texts("When may the upload be made?", f"Think before the upload may be made:\n\n{asked}\n\nIt is red.")
    assert shown[0].startswith(f"Think before the upload may be made:\n{asked}")
    one = answer("When may the upload be made?", passage(f"Think before the upload may be made:\n\n{asked}")).shown[0]
    assert one.text[one.start : one.end] == f"Think before the upload may be made:\n{asked}", "marked with its list"


def test_a_list_that_has_the_words_between_its_items_comes_after_a_sentence_that_is_nearer() -> None:
    question = "Which steps do you do when the keeper is away?"
    notes = "- A keeper has a lamp.\n- Birds go away.\n- Count the steps, which are steep."
    spread = passage(f"Some notes:\n\n{notes}", 1)
    asked = passage("The keeper is away in autumn. Ring the bell then, and light the fire.", 2)
    citations = [Citation(number, one, one.text) for number, one in enumerate((spread, asked), start=1)]
    wanted = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), question_language(question))

    def first(near: str, others: float = 0.0) -> int:
        def nearness(texts: Sequence[str]) -> list[float]:
            return [1.0 if near in text else others for text in texts]

        return extract(wanted, citations, ANALYZER, match="strong", nearness=nearness).shown[0].citation

    assert (first("keeper is away"), first("keeper is away", 0.65), first("lamp")) == (2, 2, 1)


def test_a_list_too_long_to_be_shown_is_shown_as_far_as_it_goes() -> None:
    items = "\n".join(f"- Was the part number {n} of the machine tried before?" for n in range(40))
    shown = texts("When may the upload be made?", f"Think before the upload may be made:\n\n{items}")
    assert 400 < len(shown[0]) <= 600
    assert shown[0].endswith("before?")


@pytest.mark.parametrize("question", ["What is the order of the types?", "What is it?", "何とは何ですか", "은?"])
def test_questions_for_something_else_want_no_definition(question: str) -> None:
    assert Wanted.of(question).definition is None


@pytest.mark.parametrize(
    ("question", "text", "main"),
    [
        (
            "What does the operation of the press need?",
            "The press stands in hall 2. Its operation needs a key.",
            "Its operation needs a key.",
        ),
        (
            "自習室の利用には何が必要ですか",
            "自習室は図書館の二階にあり、座席は全部で四十八席です。その利用には座席券が必要で、開館時に受付で配られます。",
            "その利用には座席券が必要で、開館時に受付で配られます。",
        ),
        (
            "스터디룸은 몇 명이 예약해야 하나요?",
            "스터디룸은 도서관 삼 층의 동쪽에 있습니다. 이곳은 네 명 이상이 예약해야 쓸 수 있습니다.",
            "이곳은 네 명 이상이 예약해야 쓸 수 있습니다.",
        ),
    ],
)
def test_a_sentence_that_points_back_has_what_it_points_to(question: str, text: str, main: str) -> None:
    """It answers though its noun is in the sentence before, which is shown with it."""
    shown = answer(question, passage(text)).shown[0]
    assert (shown.text, shown.text[shown.start : shown.end]) == (text, main)


def test_what_is_shown_begins_with_a_sentence_that_is_understood() -> None:
    before = "The valve has a spring. It is made of steel. This was chosen for its strength."
    text = f"{before} The spring of the valve is changed every second year by the service."
    for question in ("When is the spring of the valve changed?", "What was chosen for its strength?"):
        assert texts(question, text)[0].startswith("The valve has a spring.")
    long = "The valve " + "is very old and " * 35 + "has a spring."
    shown = texts(
        "When is the spring of the valve changed?",
        f"{long} It is red, as all the other ones are. The spring is changed every year.",
    )
    assert shown[0] == "The spring is changed every year.", "what it points to does not fit"


def test_a_further_passage_is_quoted_with_what_it_points_back_to() -> None:
    one = "The rotor of the pump turns to the left, seen by the driver."
    other = "The rotor has two blades. These turn at the pump to the left side of the shop."
    found = answer("Where does the rotor of the pump turn to?", passage(one, 1), passage(other, 2))
    assert found.shown[0].text == one
    assert f"- {other}" in found.text


@pytest.mark.parametrize(
    ("question", "texts_found", "first"),
    [
        ("What is a gudgeon?", ("A gudgeon stands in hall 4.", "A gudgeon is a socket for a pin."), 1),
        ("What is Ninja?", ("Ninja is under a second.", "Ninja is yet another build system."), 1),
        ("What are dowels?", ("Dowels are stored in a box.", "Dowels are pins of wood."), 1),
        ("NMU とは", ("NMU では、連絡は必要である。", "NMU は、メンテナ以外が行うアップロードのことです。"), 1),
    ],
)
def test_a_sentence_that_defines_comes_before_one_that_tells_something_else(
    question: str, texts_found: tuple[str, ...], first: int
) -> None:
    assert texts(question, *texts_found)[0] == texts_found[first]


@pytest.mark.parametrize(
    "garbled",
    [
        "b’ ’ b ’ ’지b’ ’ b ’ ’정b’ ’ b ’ ’할b’ ’ b ’ ’수b’ ’ . . .",
        "#d- i apt -setup/ loca l0/key str ing http : / / l o c a l . s e r v e r",
        "LS0tLS1CRUdJTiBQR1AgUFVCTElDIEtFWSBCTE9DSy0tLS0tCi4uLgo=",
    ],
)
def test_letters_without_meaning_are_no_sentence(garbled: str) -> None:
    assert [part.kind for part in parts_of(f"The pump is checked.\n\n{garbled}")] == ["sentence", "furniture"]


def test_single_letters_within_a_sentence_are_words() -> None:
    assert [part.kind for part in parts_of("Plan B needs a cook, a car, a map and a key to C.")] == ["sentence"]
    assert odd_share("l i s t l i n e w i l l b e a d d e d") > 0.9


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


def follow_up(question: str, topic: str, earlier: str, last: str, *passages: Passage) -> Extract:
    """Answer a follow-up about one word, with the words of the question before, behind the answer to that."""
    citations = [Citation(number, one, one.text) for number, one in enumerate(passages, start=1)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(f"{topic} {earlier}"), 1.0), question_language(question))
    terms = ANALYZER.tokens(topic)
    own = {terms[0]: frozenset(terms)}
    return extract(asked.going_on(question, own, [last], ANALYZER), citations, ANALYZER, match="strong")


TRIPS = [
    (
        "And in Tokyo?",
        "Tokyo",
        "hotel cost",
        "A hotel may cost up to 140 EUR a night.",
        "Meals are refunded in Tokyo alone.",
        "mirror1 is in Tokyo and has 2 Gbit.",
    ),
    (
        "大阪では？",
        "大阪",
        "宿泊費 上限",
        "宿泊費は1泊につき11,000円を上限とする。",
        "大阪では日当を支給しない。",
        "大阪のミラーは2Gbitです。",
    ),
    (
        "부산은요?",
        "부산",
        "숙박비 한도",
        "숙박비는 1박에 11만 원을 한도로 한다.",
        "부산에서는 일당을 주지 않는다.",
        "부산 미러는 2Gbit입니다.",
    ),
]


@pytest.mark.parametrize(("question", "topic", "earlier", "last", "more", "other"), TRIPS)
def test_a_follow_up_is_answered_by_the_document_of_the_last_answer_where_that_has_its_word(
    question: str, topic: str, earlier: str, last: str, more: str, other: str
) -> None:
    policy = passage(f"{last} {more}", 1)
    found = follow_up(question, topic, earlier, f"Quoted: {last} [1]", passage(other, 2), policy)
    assert found.shown[0].text[found.shown[0].start : found.shown[0].end] == more
    assert (found.found, found.is_weak) == (True, False)


@pytest.mark.parametrize(("question", "topic", "earlier", "last", "more", "other"), TRIPS)
def test_a_follow_up_of_which_that_document_has_no_word_is_at_most_weakly_answered(
    question: str, topic: str, earlier: str, last: str, more: str, other: str
) -> None:
    found = follow_up(question, topic, earlier, f"Quoted: {last} [1]", passage(other, 2), passage(last, 1))
    assert not found.found or found.is_weak
    assert last in found.shown[0].text, "what has the word alone, and none of the first question's, comes behind it"


def test_a_follow_up_that_another_document_answers_is_answered_by_it_and_said_to_be_weak() -> None:
    last, other = "The pump costs 140 EUR.", "The drill costs 90 EUR."
    found = follow_up("And the drill?", "drill", "costs", f"{last} [1]", passage(last, 1), passage(other, 2))
    assert (found.shown[0].text, found.is_weak) == (other, True)


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


def test_a_follow_up_about_another_year_is_answered_by_the_version_of_that_year() -> None:
    last, other = "The limit is 90 EUR.", "The limit is 125 EUR."
    old, new = passage(last, 1, title="Travel policy 2023"), passage(other, 2, title="Travel policy 2025")
    found = follow_up("And in 2025?", "2025", "limit", f"{last} [1]", old, new)
    assert (found.shown[0].text, found.found, found.is_weak) == (other, True, False)


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
