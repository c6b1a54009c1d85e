"""What a part of a document can be asked about, in English, Japanese and Korean."""

from __future__ import annotations

import pytest

from braid.core.chat.asking.askable import askables, heading_of

HEADINGS = [
    ("What is debuild?", ("question", "What is debuild?")),
    ("What is this FAQ?", None),
    ("Who pays for the taxi?", ("question", "Who pays for the taxi?")),
    ("有給休暇は何日ですか", ("question", "有給休暇は何日ですか")),
    ("누가 무엇을 읽을 수 있나", ("question", "누가 무엇을 읽을 수 있나")),
    ("What a dataset is", ("definition", "a dataset")),
    ("データセットとは", ("definition", "データセット")),
    ("데이터셋이란", ("definition", "데이터셋")),
    ("4.1 How to reset the pump", ("steps", "reset the pump")),
    ("Step 2: Generate template files", ("steps", "generate template files")),
    ("Step 4: Building the package", ("topic", "Building the package")),
    ("公開鍵を交換する", ("steps", "公開鍵を交換する")),
    ("データセットを共有するには", ("steps", "データセットを共有する")),
    ("インストールの手順", ("way", "インストールの手順")),
    ("誰が何を読めるか", ("way", "誰が何を読めるか")),
    ("파일 추가하기", ("steps", "파일 추가하려면")),
    ("씰을 넣기", ("steps", "씰을 넣으려면")),
    ("설치 방법", ("way", "설치 방법")),
    ("When a pump fails", ("case", "when a pump fails")),
    ("何も見つからない", ("case", "何も見つからないとき")),
    ("読み込めないとき", ("case", "読み込めないとき")),
    ("화면이 열리지 않을 때", ("case", "화면이 열리지 않을 때")),
    ("같은 파일을 다시 추가하면", ("outcome", "같은 파일을 다시 추가하면")),
    ("第3章 休暇", ("topic", "休暇")),
    ("3 つのモード", ("topic", "3 つのモード")),
    ("Chapter 2. Hotels", ("topic", "Hotels")),
    ("さあ、はじめよう", None),
    ("1초면 검색되고, 곧 완전해집니다", None),
    ("How a mode decides what you see", None),
    ("Contents", None),
    ("目 次", None),
    ("목차", None),
    ("Sheet1", None),
]


@pytest.mark.parametrize(("heading", "expected"), HEADINGS)
def test_headings(heading: str, expected: tuple[str, str] | None) -> None:
    found = askables(f"Manual > {heading}", "")
    assert [(each.kind, each.what) for each in found] == ([expected] if expected else [])


SENTENCES = [
    ("", "A virtual package is a generic name.", "definition", "a virtual package", ""),
    ("", "NMU is an upload by someone else.", "definition", "NMU", ""),
    ("", "A sticker costs 12 euros a year.", "price", "a sticker", ""),
    ("", "The warranty lasts 24 months.", "length", "the warranty", "last"),
    ("", "The retention period is 30 days.", "value", "the retention period", ""),
    ("Trips", "The limit is 90 EUR.", "value", "the limit for Trips", ""),
    ("", "遅延アップロードとは、後から公開されるアップロードのことです。", "definition", "遅延アップロード", ""),
    ("", "宿泊費は1泊1万2千円です。", "price", "宿泊費", ""),
    ("宿泊費", "上限は月3万円です。", "price", "宿泊費の上限", ""),
    ("", "勤務規程\n在宅勤務は週3日までとします。", "amount", "在宅勤務", "日まで"),
    ("", "가상 패키지란 여러 패키지가 제공하는 이름을 말합니다.", "definition", "가상 패키지", ""),
    ("", "숙박비는 1박에 90,000원입니다.", "price", "숙박비", ""),
    ("출장비", "한도는 월 300,000원까지입니다.", "price", "출장비 한도", ""),
    ("", "신청은 7일 이내에 합니다.", "amount", "신청", "일이내"),
]


@pytest.mark.parametrize(("heading", "text", "kind", "what", "more"), SENTENCES)
def test_sentences_that_say_what_or_how_much(heading: str, text: str, kind: str, what: str, more: str) -> None:
    first = askables(heading, text)[0]
    assert (first.kind, first.what, first.more) == (kind, what, more)
    assert first.said in text


@pytest.mark.parametrize(
    "text",
    [
        "This is a short text about nothing.",
        "There is a way to do it.",
        "The limit is 90 EUR.",
        "これは例です。上限は月3万円です。",
        "이것은 예입니다. 한도는 300,000원입니다.",
        "交通費は月末締めで翌月10日に支給します。",
    ],
)
def test_what_points_elsewhere_is_no_subject_of_a_question(text: str) -> None:
    assert askables("", text) == []


def test_a_cell_of_a_table_is_asked_for_by_its_row_and_column() -> None:
    found = askables("", "| 이름 | 담당 부서 |\n|---|---|\n| 김하늘 | 회계팀 |\n| 2024 | 총무팀 |")
    assert [(each.kind, each.what, each.more, each.said) for each in found] == [
        ("cell", "김하늘", "담당 부서", "회계팀")
    ]
    assert askables("", "| evince | 3.22.1-3+deb9u2 |\n|---|---|\n| gedit | ok |") == []


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("country", "mirror1.example.org"),
        ("Size (min)", "Desktop"),
        ("Owner", "no desktop"),
        ("램(최소)", "데스크톱"),
        ("메모리", "데스크톱 없음"),
        ("容量", "デスクトップなし"),
        ("担当", "その他"),
    ],
)
def test_a_row_that_names_no_thing_or_a_column_with_a_remark_is_not_asked_for(column: str, row: str) -> None:
    assert askables("", f"| Name | {column} |\n|---|---|\n| {row} | Japan |") == []


@pytest.mark.parametrize(
    "text",
    [
        "出張者は、帰着後10日以内に領収書を経理部へ提出する。",
        "従業員は1日5,000円を受け取る。",
        "출장자는 10일 이내에 영수증을 제출한다.",
        "회원은 50,000원을 냅니다.",
    ],
)
def test_who_does_something_costs_nothing_and_lasts_no_days(text: str) -> None:
    assert askables("", text) == []


def test_a_heading_in_latin_letters_is_a_name_only_in_a_text_of_another_language() -> None:
    english, other = "Trips under four hours are made by train.", "印刷には CUPS を使います。"
    assert [(each.what, each.language) for each in askables("Booking", english)] == [("Booking", "en")]
    assert [(each.what, each.language) for each in askables("CUPS", other)] == [("CUPS", "")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Guide > License", "You may copy it."),
        ("Changelog > 1.2 Pumps", "A pump is a machine."),
        ("索引 > あ行", "アップロード"),
        ("변경 이력 > 1.2", "펌프를 바꿨습니다."),
        ("Guide > Osamu", "Permission is hereby granted, free of charge, to any person."),
        ("表紙", "無断転載を禁じます。"),
    ],
)
def test_licences_changelogs_and_indexes_are_not_asked_about(path: str, text: str) -> None:
    assert askables(path, text) == []


def test_a_number_that_counts_is_none_of_a_heading() -> None:
    assert [heading_of(each) for each in ("3 modes", "2.1 Hotels", "제3장 휴가", "3가지 방법")] == [
        "3 modes",
        "Hotels",
        "휴가",
        "3가지 방법",
    ]


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "Note:",
            "Notes on usage",
            "Important notes",
            "Example 3",
            "Step 1",
            "SYNOPSIS",
            "README.md",
            "setup.py",
            "→ Next",
        ),
        *(
            "get_user_name()",
            "--verbose",
            "$ make install",
            "Foo::bar",
            "/etc/passwd",
            "https://example.org/a",
            "E4711",
            *("Installation()", "f(x)", "apt-get(8)", "open(path)", "max(a,b)", "Point(x=1,y=2)", "Path(__file__)"),
            *("./run", "~/notes/a", "src/main/", "C:\\Users\\ann"),
        ),
        *("目的", "総則", "附則", "목적", "부칙", "Purpose", "General provisions"),
        *(
            "데비안 GNU/리눅스를 설치하기 전에",
            "설치한 뒤에",
            "하드웨어 호환성 검사하려면",
            "그러나 Knoppix",
            "설치 화면에서",
        ),
        *("回数", "第3章 申請", "手続き", "上限", "횟수", "신청", "기한"),
        *("注意：", "注意事項", "メモ", "名前", "その1", "주의 사항", "참고:", "이름", "단계 2"),
    ],
)
def test_a_heading_that_nobody_would_ask_about_makes_no_question(heading: str) -> None:
    assert [each for each in askables(heading, "Nothing more is told.") if each.kind == "topic"] == []


@pytest.mark.parametrize(
    "heading",
    [
        *("TCP/IP networks", "Notes of the board", "注意の払い方", "이름 변경", "Node.js"),
        *("휴가(연차)", "有給休暇(年次)", "Leave(paid)", "Holiday(s)", "VPN(IPsec)", "Budget(2024)"),
        *("育児/介護/休業", "출장/숙박/식비", "and/or/not", "Sales/Marketing/HR"),
    ],
)
def test_a_heading_with_such_words_in_it_does(heading: str) -> None:
    assert askables(heading, "Nothing more is told.")
