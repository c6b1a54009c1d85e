"""Answers without a language model: which sentences and cells are quoted, and what is said about the match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from benchmarks.office import QUESTIONS, TABLES
from braid.core.chat.asking.follow_up import content_words
from braid.core.chat.citations import Citation
from braid.core.chat.marks import shown
from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.extractive import extract
from braid.core.chat.quoting.match import CosineScale, Match, is_weak, match_of
from braid.core.chat.quoting.tables import split_tables
from braid.core.chat.quoting.wanted import Wanted, is_question, without_asking
from braid.core.chat.texts import Language, say
from braid.core.chat.turn_search import without_aside
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import question_language
from braid.core.types import Degraded, Hit, LegScore, Passage, Query, SearchResult

ANALYZER = Analyzer()
SHEET = """Department | Q1 | Q2 | Q3
Engineering | 52,000 EUR | 58,500 EUR | 61,000 EUR
Sales | 31,000 EUR | 30,400 EUR | 33,700 EUR"""


def passage(text: str, number: int = 1, **values: str) -> Passage:
    place = {"title": "", "heading_path": "", "file_type": "md", "source": f"{number}.md"} | values
    return Passage(
        chunk_id=str(number),
        document_id=number,
        dataset_id=1,
        collection="user_1",
        text=text,
        position=0,
        page=None,
        page_end=None,
        line=None,
        line_end=None,
        date=None,
        metadata={},
        **place,
    )


def quotes(
    question: str, *texts: str, match: Match = "strong", weights: Mapping[str, float] | None = None
) -> list[str]:
    """Return the lines that say or quote something; each term weighs 1 unless weights are given."""
    citations = [Citation(number, passage(text, number), text) for number, text in enumerate(texts, start=1)]
    asked = Asked(question, weights or dict.fromkeys(ANALYZER.tokens(question), 1.0), "en")
    text = shown(extract(asked, citations, ANALYZER, match=match).text)[0].replace("**", "")
    lines = text.split("\n")
    return [line for line in lines if line not in ("", say("also", "en"))] or [""]


GUIDE = replace(passage("About Braid."), dataset_id=-1)

# ---------------------------------------------------------------- tables


def test_a_cell_is_quoted_with_the_names_of_its_row_and_column() -> None:
    first = quotes("What is the budget of Engineering in Q3?", SHEET)[1]
    assert first == "Engineering · Q3: 61,000 EUR [1]"


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_every_table_question_of_the_office_is_answered_by_a_cell(language: str) -> None:
    for table in TABLES[language].values():
        text = "\n".join(" | ".join(row) for row in table)
        cells = {cell for row in table[1:] for cell in row[1:]}
        for question, answer in QUESTIONS[language]:
            if any(row[0] in question for row in table[1:]) and answer in cells:
                first = quotes(question, text)[1]
                assert f": {answer} [1]" in first, (question, first)
                assert "|" not in first


def test_a_row_without_a_named_column_is_quoted_as_a_whole() -> None:
    assert quotes("Tell me about Sales", SHEET)[1] == "Sales · Q1: 31,000 EUR · Q2: 30,400 EUR · Q3: 33,700 EUR [1]"


def test_the_row_that_is_named_is_quoted_and_not_one_with_the_same_number() -> None:
    sheet = "name | started | loans\nPerson 39 | 2023-04-23 | 41.5\nPerson 41 | 2023-04-25 | 43.5"
    assert quotes("When did Person 41 start?", sheet)[1] == "Person 41 · started: 2023-04-25 [1]"


def test_a_cell_may_have_the_number_that_its_row_is_named_by() -> None:
    sheet = "ポンプ | 点検回数 | 費用\nポンプP81 | 81回 | 81万円\nポンプP83 | 83回 | 83万円"
    assert quotes("ポンプP83の点検の費用はいくらですか。", sheet)[1] == "ポンプP83 · 費用: 83万円 [1]"


def test_tables_of_markdown_and_of_parts_without_header() -> None:
    markdown = "Rates.\n\n| Country | Full day |\n| --- | ---: |\n| **Japan** | 6,500 JPY |\n\nAsk the office."
    prose, rows = split_tables(markdown)
    assert [row.text for row in rows] == ["Japan · Full day: 6,500 JPY"]
    assert prose.split() == ["Rates.", "Ask", "the", "office."]
    _, alike = split_tables("Germany | 28 EUR | 14 EUR\nFrance | 32 EUR | 16 EUR")
    assert [row.text for row in alike] == ["Germany · 28 EUR · 14 EUR", "France · 32 EUR · 16 EUR"]
    assert split_tables("a | b in one line of prose")[1] == []
    assert split_tables("| a\\|b | 1 |\n| c | 2 |")[1][0].cells == ("a|b", "1")


# ---------------------------------------------------------------- sentences


def test_a_sentence_that_only_repeats_the_question_loses() -> None:
    echo = "How are the two rankings fused? The two rankings are fused. "
    answer = "Each of the rankings is turned into scores, and the fused list has their sum per passage."
    assert answer in quotes("How are the two rankings fused?", echo + answer)[1]


def test_a_question_about_a_number_gets_the_sentence_with_the_number() -> None:
    text = "The gasket of the pump is changed by the fitter. The pump has run since 2019. It needs a gasket."
    assert "2019" in quotes("Since when does the pump run?", text)[1]
    assert "fitter" in quotes("Who changes the gasket of the pump?", text)[1]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How much is it?", True),
        ("What does it mean?", False),
        ("申請はいつまでですか", True),
        ("料金はいくらですか", True),
        ("何席ありますか", True),
        ("これは何ですか", False),
        ("これは何という花ですか", False),
        ("요금은 얼마인가요?", True),
        ("며칠인가요?", True),
        ("누가 합니까?", False),
    ],
)
def test_which_questions_want_a_number(question: str, wanted: bool) -> None:
    assert Wanted.of(question).number is wanted


def test_numbers_and_questions_in_a_sentence() -> None:
    assert Wanted.of("in Q3?").has_number("61,000 EUR")
    assert not Wanted.of("What about Q3?").has_number("in Q3")
    assert all(Wanted.of("How many?").has_number(text) for text in ("사흘까지", "三人", "six gems"))
    assert all(map(is_question, ("どうしますか。", "How?", "언제인가요?")))
    assert not is_question("It is so.")


def test_what_adds_little_is_not_quoted() -> None:
    lines = quotes(
        "Where is the gasket of the coolant pump?", "The gasket of the coolant pump is in hall 4.", "A pump pumps."
    )
    assert len(lines) == 2


# ---------------------------------------------------------------- how good the match is


def found(*cosines: float, degraded: Sequence[Degraded] = (), query: str = "q") -> SearchResult:
    hits = tuple(
        Hit(passage("text", n), 1.0, (LegScore("dense", n, cosine, 0.5, query),))
        for n, cosine in enumerate(cosines, start=1)
    )
    return SearchResult(Query("q"), "basic", "none", ("q",), hits, ("user_1",), tuple(degraded))


SCALE = CosineScale(0.80, 0.85, 0.86)


def test_absence_needs_both_legs() -> None:
    assert match_of(found(0.82, 0.84), SCALE, 0.2) == "absent"
    assert match_of(found(0.82, 0.90), SCALE, 0.2) == "strong", "one passage is near by meaning"
    assert match_of(found(0.82), SCALE, 0.5) == "weak", "half of the words are there"
    assert match_of(found(0.82), SCALE, 0.9) == "strong"


def test_absence_is_not_claimed_where_the_dense_leg_says_nothing() -> None:
    for search, scale in (
        (found(0.82), None),
        (found(), SCALE),
        (found(0.82, degraded=[Degraded("dense", "user_1", "249 passages are not in the dense index yet")]), SCALE),
    ):
        assert match_of(search, scale, 0.0) == "weak"
        assert match_of(search, scale, 0.7) == "strong"


def test_what_each_match_says() -> None:
    assert quotes("pump", "The pump is in hall 4.", match="weak")[0] == say("weak", "en")
    assert quotes("pump", "The pump is in hall 4.", match="absent") == [""], "the answer says it"


PRICES = "製品の価格表です。最新の価格は営業にお問い合わせください。\n\n| Model | JPY |\n|---|---|\n| NT-210 | 45,000 |"


@pytest.mark.parametrize(
    ("question", "language", "heading", "texts", "quoted", "lead"),
    [
        ("What is the phone number?", "en", "Phone number", ["+81 3 1234 5678"], "+81 3 1234 5678", "extractive"),
        ("電話番号は？", "ja", "電話番号", ["03-1234-5678", "平日に受け付けます。"], "03-1234-5678", "extractive"),
        ("電話番号は？", "ja", "", ["03-1234-5678"], "03-1234-5678", "extractive"),
        ("NT-210のJPYは？", "ja", "", [PRICES], "45,000", "extractive"),
        ("NT-210 の仕様は？", "ja", "仕様", ["NT-210 A4 USB LAN"], "NT-210 A4 USB LAN", "extractive"),
        ("How heavy is the press?", "en", "", ["プレス機の重さは 45 キログラムです。"], "45", "in_ja"),
        ("Сколько весит изделие?", "en", "", ["The weight of the product is 45 kilograms."], "45", "in_en"),
        ("製品の重さは？", "ja", "", ["The weight of the product is 45 kilograms."], "45", "in_en"),
    ],
)
def test_what_is_in_the_language_of_the_question_is_not_said_to_be_in_another(
    question: str, language: Language, heading: str, texts: Sequence[str], quoted: str, lead: str
) -> None:
    """A number has no language, and a line of a table or a list of names has that of its passage and heading."""
    passages = [passage(text, number, heading_path=heading) for number, text in enumerate(texts, start=1)]
    citations = [Citation(number, each, each.text) for number, each in enumerate(passages, start=1)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), language)
    found = extract(asked, citations, ANALYZER, match="strong")
    assert found.text.startswith(say(lead, language))
    assert quoted in found.shown[0].text


def test_a_number_alone_is_only_a_weak_match_where_absence_is_not_known() -> None:
    assert quotes("What is the phone number?", "+81 3 1234 5678", match="absent")[0] == say("weak", "en")


@pytest.mark.parametrize(
    ("question", "near", "match", "found"),
    [
        ("Where is the pump for the lye?", 0.03, "weak", True),
        ("Where is the pump for the lye?", 0.005, "weak", False),
        ("Which canteen sells bread in May?", 0.03, "weak", False),
        ("Which canteen sells bread in May?", 0.07, "weak", True),
        ("Which canteen sells bread in May?", 0.01, "strong", False),
        ("Which canteen sells bread in May?", 0.05, "strong", True),
        ("Where is the pump?", 0.01, "strong", True),
        ("洗液のポンプはどこですか", 0.01, "strong", False),
        ("洗液のポンプはどこですか", 0.03, "strong", True),
    ],
)
def test_what_is_neither_near_nor_has_the_words_of_the_question_is_only_related(
    question: str, near: float, match: Match, *, found: bool
) -> None:
    """Nor is what is not near in another language than the question, whose words it cannot have."""
    citations = [Citation(1, passage(text := "The pump is in hall 4 of the works.", 1), text)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), "en")
    answer = extract(asked, citations, ANALYZER, match=match, nearness=lambda several: [near] * len(several))
    is_related = not found and question.isascii()
    assert (answer.found, answer.text.startswith(say("related", "en"))) == (found, is_related)
    is_shown = found or question.isascii()  # the closest passage, but not one in another language
    assert (text[:11] in answer.text) == is_shown


def test_where_nothing_is_known_of_the_meaning_words_alone_choose() -> None:
    citations = [Citation(1, passage(text := "The pump is in hall 4 of the works.", 1), text)]
    asked = Asked("Which canteen?", dict.fromkeys(ANALYZER.tokens("Which canteen?"), 1.0), "en")
    assert extract(asked, citations, ANALYZER, match="strong", nearness=lambda several: [0.0] * len(several)).found


def test_what_is_about_something_else_is_not_padded_with() -> None:
    texts = ("The pump of the lye is in hall 4.", "The lye of the pump is warm.", "Maps have pump filters.")
    near = {texts[0]: 0.1, texts[1]: 0.08, texts[2]: 0.001}
    citations = [Citation(number, passage(text, number), text) for number, text in enumerate(texts, start=1)]
    question = "Where is the pump of the lye?"
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), "en")
    answer = extract(asked, citations, ANALYZER, match="strong", nearness=lambda several: [near[x] for x in several])
    assert [each.citation for each in answer.shown] == [1, 2]


def test_the_kind_of_an_answer_counts_only_for_what_is_about_the_question() -> None:
    """Seven of ten words of the question, and no date, are more than three of them with one."""
    about = "A request for work at home goes from the team to the lead in writing."
    other = "The team of the hall will freeze its home page on 14 November, in writing."
    question = "When does a request for work at home go to the lead of the team?"
    assert quotes(question, other, about)[1].startswith(about)


def test_a_hit_is_weak_where_both_legs_say_so() -> None:
    near, far = found(0.87, 0.83).hits
    assert (is_weak(near, SCALE, 0.1), is_weak(far, SCALE, 0.1), is_weak(far, None, 0.1)) == (False, True, False)
    both = Hit(far.passage, 1.0, (*far.legs, LegScore("bm25", 1, 3.0, 0.5, "q")))
    assert is_weak(both, SCALE, 0.1), "a common word is all that it has of the question"
    assert not is_weak(both, SCALE, 0.7), "it has most of the question's words"
    by_words = Hit(far.passage, 1.0, (LegScore("bm25", 1, 3.0, 0.5, "q"),))
    assert (is_weak(by_words, SCALE, 0.1), is_weak(by_words, SCALE, 0.7)) == (True, False)


# ---------------------------------------------------------------- datasets that stand aside


def test_passages_of_a_dataset_aside_go_unless_they_are_much_better() -> None:
    def result(own: float, guide: float) -> SearchResult:
        first, second = found(own, guide).hits
        return SearchResult(Query("q"), "basic", "none", (), (first, replace(second, passage=GUIDE)), ())

    def datasets(search: SearchResult) -> list[int]:
        return [hit.passage.dataset_id for hit in without_aside(search, [-1]).hits]

    assert datasets(result(0.86, 0.86)) == [1]
    assert datasets(result(0.82, 0.90)) == [1, -1]
    assert datasets(replace(result(0.86, 0.86), hits=result(0.86, 0.86).hits[1:])) == [-1], "there is nothing else"
    assert without_aside(result(0.86, 0.86), []) == result(0.86, 0.86)


# ---------------------------------------------------------------- the rarest words of a question

RARE = 5.0


def asked_of(question: str, rarest: Sequence[str]) -> Asked:
    """Return a question whose ``rarest`` words weigh more than the others."""
    rare = set(ANALYZER.tokens(" ".join(rarest)))
    words = content_words(without_asking(question), ANALYZER)
    weights = {term: RARE if term in rare else 1.0 for terms in words.values() for term in terms}
    return Asked(question, weights, question_language(question), words=words)


def rare_quotes(
    question: str, rarest: Sequence[str], *passages: Passage, match: Match = "strong", near: float = 0.05
) -> list[str]:
    """Return the lines of an answer to a question whose ``rarest`` words weigh more than the others."""
    citations = [Citation(number, each, each.text) for number, each in enumerate(passages, start=1)]
    asked = asked_of(question, rarest)
    answer = extract(asked, citations, ANALYZER, match=match, nearness=lambda several: [near] * len(several))
    return [line for line in shown(answer.text)[0].replace("**", "").split("\n") if line]


@pytest.mark.parametrize(
    ("question", "rarest", "text"),
    [
        ("What was decided about fireworks?", ["fireworks"], "No fireworks this year."),
        ("What was decided about the firworks?", ["firworks"], "No fireworks this year."),
        ("猫を飼えますか", ["猫"], "犬と猫の飼育は認めない。"),
        ("고양이 키워도 되나요?", ["고양이"], "개와 고양이의 사육."),
        ("불꽃노리 하나요", ["불꽃노리"], "불꽃놀이는 하지 않는다."),
    ],
)
def test_what_is_claimed_to_be_absent_shows_the_passage_with_its_rarest_word(
    question: str, rarest: Sequence[str], text: str
) -> None:
    """Also inflected, or with a slip in it; and no other passage."""
    language = question_language(question)
    other = {"en": "The budget is set.", "ja": "予算は決まった。", "ko": "예산을 정했다."}[language]
    lines = rare_quotes(question, rarest, passage(other, 1), passage(text, 2), match="absent")
    assert lines == [say("related", language), f"- {text} [2]"]
    assert rare_quotes(question, rarest, passage(other, 1), match="absent") == []


def test_the_closest_passages_can_be_read_and_are_in_the_language_of_the_question() -> None:
    question, rarest = "What is the phone number of Hamburg?", ["Hamburg"]
    debris = passage("b’’b’’Sb’’ b’’b’’Sb’’…hamburg-password-(crypted)", 1)
    korean = passage("Hamburg 사무소는 항구 옆의 건물에 있으며 누구나 찾아올 수 있다.", 2)
    without = passage("A hotel may cost more on a day of the fair.", 3)
    assert rare_quotes(question, rarest, debris, korean, without) == []
    near = passage("The office in Hamburg is beside the harbour.", 4)
    assert rare_quotes(question, rarest, debris, near)[1:] == [f"- {near.text} [2]"]


@pytest.mark.parametrize(
    ("question", "rarest", "text"),
    [
        ("Can Solvarin be given to dogs?", ["Solvarin", "dogs"], "Solvarin lowers fever and pain in adults."),
        ("ネムリナ錠は犬に飲ませますか", ["ネムリナ", "犬"], "ネムリナ錠は寝る直前に飲みます。"),
        ("코프린 시럽을 강아지에게 먹이나요?", ["코프린", "강아지"], "코프린 시럽은 기침과 가래를 줄입니다."),
        ("해담 자전거는 눈길에서도 달리나요?", ["해담", "눈길"], "해담 자전거는 흙길과 모랫길을 달립니다."),
        ("How much is the winter ticket?", ["ticket", "winter"], "A ticket costs £12."),
        ("야간 주차 요금은 얼마인가요?", ["주차", "야간"], "주차 요금은 한 시간에 2,000원입니다."),
        ("団体の入館料はいくらですか", ["入館料", "団体"], "入館料は500円です。"),
    ],
)
def test_a_quote_of_a_document_that_lacks_a_rare_noun_of_the_question_is_weak(
    question: str, rarest: Sequence[str], text: str
) -> None:
    language = question_language(question)
    assert rare_quotes(question, rarest, passage(text), near=0.08)[0] == say("weak", language)
    assert rare_quotes(question, rarest[:1], passage(text))[0] == say("extractive", language)


def test_a_weak_match_with_the_rarest_word_and_the_kind_of_answer_is_not_weak() -> None:
    question, rarest = "How much does the trip cost in all?", ["trip"]
    assert rare_quotes(question, rarest, passage("The trip costs £145."), match="weak")[0] == say("extractive", "en")
    assert rare_quotes(question, rarest, passage("The room costs £145."), match="weak")[0] == say("weak", "en")


@pytest.mark.parametrize(
    ("question", "rarest", "text", "near"),
    [
        ("Is there room for horses on the ferry?", ["ferry", "horses"], "The ferry carries bicycles.", 0.02),
        ("Is there a harbour for yachts?", ["harbour", "yachts"], "The mill was sold in spring.", 0.05),
        ("おにぎりに合うお茶は？", ["おにぎり", "お茶"], "おにぎりは塩を振って握る。", 0.03),
        ("나루 카페에서 강아지를 맡아 주나요?", ["나루", "강아지"], "나루 카페는 평일에 문을 엽니다.", 0.03),
        ("How much is the deposit for the tent?", ["deposit", "tent"], "The tent has two doors.", 0.07),
        ("合宿の保険料はいくらですか", ["合宿", "保険料"], "合宿は7月3日に山の家で始まる。", 0.07),
        ("캠프의 보험료는 얼마예요?", ["캠프", "보험료"], "캠프는 7월 3일에 시작해요.", 0.07),
    ],
)
def test_what_a_document_lacks_is_not_found_where_the_sentence_is_not_like_the_question(
    question: str, rarest: Sequence[str], text: str, near: float
) -> None:
    """A number that is asked for needs more likeness than other things."""
    language = question_language(question)
    found = rare_quotes(question, rarest, passage(text), near=near)
    assert found[:1] in ([say("related", language)], [])
    assert rare_quotes(question, rarest, passage(text), near=0.12)[0] == say("weak", language)


@pytest.mark.parametrize(
    ("question", "rarest", "text"),
    [
        ("What do we do if the lift stops?", ["lift", "stops"], "When the lift is stuck, press the red button."),
        ("切符をなくしたらどうしますか", ["切符", "どう"], "切符を失った人は窓口に申し出る。"),
        ("우산을 두고 왔는데 어떡해요", ["우산", "두고"], "놓고 간 우산은 사무실에 맡깁니다."),
    ],
)
def test_a_sentence_that_is_near_itself_is_not_claimed_to_be_absent(
    question: str, rarest: Sequence[str], text: str
) -> None:
    language = question_language(question)
    near, far = (rare_quotes(question, rarest, passage(text), match="absent", near=near)[0] for near in (0.1, 0.02))
    assert near in (say("weak", language), say("extractive", language))
    assert far == say("related", language)


@pytest.mark.parametrize(
    ("question", "text", "same"),
    [
        ("Who led the fair in 2021?", "Ann led the fair in 2024.", "Ann led the fair in 2021."),
        ("6月の来館者は何人ですか", "5月の来館者は820人だった。", "6月の来館者は820人だった。"),
        ("６月の来館者は何人ですか", "5月の来館者は820人だった。", "6月の来館者は820人だった。"),
        ("6월 방문객은 몇 명이에요?", "5월 방문객은 820명이었다.", "6월 방문객은 820명이었다."),
        ("3인실은 얼마예요?", "2인실은 하루 9만원이다.", "3인실은 하루 9만원이다."),
        ("3年生の授業料はいくらですか", "1年生の授業料は5万円です。", "3年生の授業料は5万円です。"),
        ("How heavy is the TR-40?", "The TR-30 weighs 9 kg.", "The TR-40 weighs 9 kg."),
    ],
)
def test_what_is_of_another_year_month_room_or_model_is_a_weak_match(question: str, text: str, same: str) -> None:
    language = question_language(question)
    model = "The TR-40 and the TR-30 are pumps." if "TR" in question else ""
    assert rare_quotes(question, [question[:4]], passage(f"{text} {model}"), near=0.2)[0] == say("weak", language)
    assert rare_quotes(question, [question[:4]], passage(f"{same} {model}"), near=0.2)[0] != say("weak", language)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What did a seat cost in 2021?", "From 2019 to 2024 a seat cost 9 EUR."),
        ("What is the parking fee in 2024?", "Since 2019 the parking fee is 5 EUR a day."),
        ("2025年の園長は誰ですか", "2018年から園長は原田です。"),
        ("2025년 식물원 원장은 누구인가요?", "2018년부터 원장은 김하나입니다."),
        ("6月は植物園が開いていますか", "植物園は4〜10月に開いています。"),
        ("3학년도 수영 교실에 갈 수 있나요?", "1학년부터 6학년까지 갈 수 있다."),
        ("2024年の入園料はいくらですか", "入園料は2000円です。"),
        ("2024년 식물원 입장료는 얼마예요?", "입장료는 2000원이다."),
        ("2026年の予約の電話番号は", "03-2034-1234です。"),
        ("Is there a room for 10 in 2026?", "Room for 1950 people."),
        ("When is the 2024 report due?", "The report is due on 31 March 2025."),
        ("5月分の家賃はいつ払いますか", "家賃は12月31日に払う。"),
        ("Is a coffee under GBP5?", "A coffee is GBP3."),
        ("A seat for 2024?", "A seat for 2024 people."),
        ("1月12日の会議は何時ですか", "1月の会議は9時に開く。"),
    ],
)
def test_a_number_with_a_bound_an_amount_and_a_date_that_is_asked_for_are_no_others(question: str, text: str) -> None:
    assert not asked_of(question, []).names_another(text, text)


def test_a_year_that_the_document_has_elsewhere_is_no_other() -> None:
    asked = asked_of("What did a seat cost in 2021?", ["seat"])
    assert asked.names_another("A seat cost 9 EUR in 2024.", "")
    assert not asked.names_another("A seat cost 9 EUR in 2024.", "Prices of 2021")


@pytest.mark.parametrize("question", ["Where Do I Replace A Lost Badge?", "Hello. Refunds possible?"])
def test_capital_letters_make_nothing_a_name(question: str) -> None:
    text = passage("A lost badge is replaced at the desk. A refund is possible.")
    assert rare_quotes(question, [], text, near=0.1)[0] != say("related", "en")


def test_a_code_is_not_answered_by_another_code() -> None:
    table = "Code | Meaning\nE-11 | The sensor is broken\nE-12 | The lid is open"
    assert rare_quotes("What does error E-09 mean?", ["E-09", "error"], passage(table, title="Error codes"))[0] == say(
        "related", "en"
    )
    assert rare_quotes("What does error E-11 mean?", ["E-11"], passage(table))[0] == say("extractive", "en")


def test_a_row_of_which_only_the_column_is_asked_for_is_no_answer() -> None:
    table = "サービス | 料金\nカット | 4,400円\nカラー | 7,150円"
    assert rare_quotes("ネイルの料金はいくらですか", ["ネイル"], passage(table)) == []
    found = rare_quotes("カラーの料金はいくらですか", ["カラー"], passage(table))
    assert found == [say("extractive", "ja"), "カラー · 料金: 7,150円 [1]"]


def test_a_name_draws_the_quote_to_the_document_that_has_it() -> None:
    changes = passage("取引先を50件から100件に増やしました。", 1)
    minutes = passage("中野が取引先への案内を作る。", 2)
    found = rare_quotes("取引先への案内は誰が作りますか", ["案内"], changes, minutes)
    assert found[1] == "中野が取引先への案内を作る。 [2]"


def test_of_two_documents_with_a_code_the_one_in_the_language_of_the_question_comes_first() -> None:
    korean = passage("코드 | 원인 | 조치\nE-204 | 먼지 센서 오염 | 렌즈를 닦는다\nE-205 | 팬 고장 | 수리를 맡긴다", 1)
    english = passage("Code | Meaning\nE-204 | The water does not drain\nE-205 | The lid is open", 2)
    found = rare_quotes("What does error E-204 mean?", ["E-204"], korean, english)
    assert found[:2] == [say("extractive", "en"), "E-204 · Meaning: The water does not drain [2]"]


def test_other_documents_without_the_rarest_word_are_no_filler() -> None:
    question = "And what is paid without a receipt?"
    texts = ("Without a receipt, 10 EUR are paid.", "It is paid and given without a warranty.", "A receipt is kept.")
    found = rare_quotes(question, ["receipt"], *(passage(text, at) for at, text in enumerate(texts, start=1)))
    assert not any("warranty" in line for line in found)


def test_an_adverb_before_what_is_asked_for_makes_no_answer_weak() -> None:
    question, text = "How much is a newly bought ticket?", "A bought ticket costs £12."
    assert rare_quotes(question, ["newly", "ticket"], passage(text))[0] == say("extractive", "en")


@pytest.mark.parametrize(
    ("question", "rarest", "other", "text"),
    [
        ("Is the attic cleaned every day?", "attic", "The hall is cleaned every day.", "They leave out the attic."),
        ("다락도 청소해 주나요?", "다락", "복도와 계단은 매일 청소해 드린다.", "창고와 다락은 포함하지 않는다."),
    ],
)  # fmt: skip
def test_of_sentences_about_as_good_the_one_with_a_rare_noun_is_quoted(
    question: str, rarest: str, other: str, text: str
) -> None:
    both = passage(f"{other}\n\n{text}")
    near = {other: 0.047, text: 0.031 if question.isascii() else 0.027}

    def featured(asked: Asked) -> str:
        found = extract(
            asked,
            [Citation(1, both, both.text)],
            ANALYZER,
            match="strong",
            nearness=lambda texts: [near[each] for each in texts],
        )
        return found.shown[0].text[found.shown[0].start : found.shown[0].end]

    assert featured(asked_of(question, [rarest])) == text
    assert featured(replace(asked_of(question, [rarest]), words={})) == other, "nothing tells its rarest words"
