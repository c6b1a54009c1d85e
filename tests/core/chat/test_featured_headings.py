"""The words of an answer: headings, captions, commands and definitions beside sentences."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.extractive import extract
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.wanted import Wanted
from braid.core.text.letters import odd_share
from braid.core.text.scripts import question_language
from braid.core.types import Passage
from tests.core.chat.featured import ANALYZER, answer, texts
from tests.core.chat.test_extractive import passage


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
