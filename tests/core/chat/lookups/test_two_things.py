"""Two things that a question names side by side."""

from __future__ import annotations

import pytest

from braid.core.chat.lookups.names import leads_on, possible_names
from braid.core.chat.lookups.two_things import named_things
from braid.core.text.analyzer import Analyzer


@pytest.mark.parametrize(("question", "names"), [
    ("Which is heavier, the pump H-20 or the pump H-30?", ("pump H-20", "pump H-30")),
    ("Do Oslo and New Delhi have the same holidays?", ("Oslo", "New Delhi")),
    ("Compare sick leave and unpaid leave", ("sick leave", "unpaid leave")),
    ("Compare Cedar and Maple.", ("Cedar", "Maple")),
    ("札幌支店と那覇支店の営業時間は同じですか", ("札幌支店", "那覇支店")),
    ("モデルA-1またはモデルB-2の保証期間", ("モデルA-1", "モデルB-2")),
    ("부산과 대구의 창고 중 어느 쪽이 큰가요?", ("부산", "대구")),
    ("펌프 H-20이랑 펌프 H-30을 비교해 주세요", ("펌프 H-20", "펌프 H-30")),
    ("dpkg와 apt를 비교해 줘", ("dpkg", "apt")),
    ("nginx와 caddy의 차이는?", ("nginx", "caddy")),
])  # fmt: skip
def test_two_things_are_found_with_a_question_for_each(question: str, names: tuple[str, str]) -> None:
    found = named_things(question)
    assert found is not None
    assert found.names == names
    for own, other, alone in zip(names, names[::-1], found.questions, strict=True):
        assert own in alone
        assert other not in alone


@pytest.mark.parametrize(
    "question",
    [
        "How long is the warranty of the pump?",
        "Who reads and writes files?",
        "What are the terms and conditions of the lease?",
        "and",
        "or or or",
        "必要と判断したのは誰ですか",
        "결과 분석은 언제 하나요?",
        "효과 분석은?",
        "",
    ],
)
def test_other_questions_name_no_two_things(question: str) -> None:
    assert named_things(question) is None


@pytest.mark.parametrize(("sentence", "expected"), [
    ("The trials are led by Mateo Rivas in Porto.", ["Mateo Rivas", "Porto"]),
    ("Anna de la Cruz signs the form R-12.", ["Anna de la Cruz", "R-12"]),
    ("When it rains, nothing is delivered.", []),
    ("試験は函館で岸本剛が行う。", ["試験", "函館", "岸本剛"]),
    ("시험은 군산에서 한다.", ["시험은", "군산에서", "한다"]),
])  # fmt: skip
def test_names_are_words_with_capitals_codes_and_words_of_asian_scripts(sentence: str, expected: list[str]) -> None:
    assert [name.text for name in possible_names(sentence, Analyzer())] == expected


IN = {
    "en": "The first request is made by the user. Mateo Rivas leads the trials in Porto, and the rooms are free.",
    "ja": "最初の申請では利用可能なユーザーを管理者が登録する。承認は Mateo Rivas が行い、端末 KX-40 を貸し出す。",
    "zh": "用户首先提交申请，管理员审核通过之后才可以使用系统，所有可用的设备都需要登记。",
    "ko": "처음 신청할 때 사용할 수 있는 사용자를 관리자가 등록한다.",
    "de": "Der Benutzer stellt den Antrag bei der Verwaltung, und die Geräte werden von Mateo Rivas ausgegeben.",
}
ASKED = {
    "en": "Which user is the first to get the available device?",
    "ja": "最初に利用可能なユーザーは誰ですか",
    "ko": "처음 사용할 수 있는 사용자는 누구인가요?",
    "de": "Wer gibt die Geräte an den Benutzer aus?",
    "ru": "Кто выдаёт устройство пользователю?",
}


@pytest.mark.parametrize(("asked", "passage", "name", "expected"), [
    ("en", "en", "Porto", True),
    ("ja", "ja", "ユーザー", True),
    ("ko", "ko", "사용자", True),
    ("de", "de", "Verwaltung", True),  # every noun, as before: its rarity tells
    ("en", "ja", "ユーザー", False),
    ("en", "ja", "利用可能", False),
    ("en", "ja", "Mateo Rivas", True),
    ("en", "ja", "KX-40", True),
    ("en", "ko", "사용자", False),
    ("en", "de", "Verwaltung", False),
    ("en", "de", "Mateo Rivas", True),
    ("de", "en", "Porto", True),
    ("ja", "zh", "用户", False),
    ("ja", "ko", "사용자", False),
    ("ko", "ja", "ユーザー", False),
    ("ja", "en", "Mateo Rivas", True),
    ("ru", "ja", "最初", False),
    ("ru", "en", "Mateo Rivas", True),
])  # fmt: skip
def test_a_common_word_of_another_language_leads_nowhere(asked: str, passage: str, name: str, expected: bool) -> None:
    assert leads_on(name, ASKED[asked], IN[passage]) is expected


def test_a_foreign_name_in_a_passage_of_the_questions_language_leads_on() -> None:
    text = f"{IN['en']} The first device was built by 早川朋子 in the workshop."
    assert leads_on("早川朋子", ASKED["en"], text)
    mixed = "ログイン login の画面 screen では first name と ユーザー user の欄 field を入力 input する system です。"
    assert not leads_on("ユーザー", ASKED["en"], mixed)


@pytest.mark.parametrize(("sentence", "name", "others"), [
    (
        "서문경 님이 장비를 사용하려는 사람에게 포함된 설명서를 보내고 담당자가 승인합니다.",
        "서문경",
        {"사용하려는", "포함된", "승인합니다"},
    ),
    ("KX-40와는 달리 대부분의 장비는 서문경 님이 함께 관리한다.", "서문경", {"와는", "달리", "함께"}),
    ("最初の申請は早川朋子が行い、利用可能な場合に承認する。", "早川朋子", {"最初", "利用可能", "場合"}),
])  # fmt: skip
def test_common_words_and_particles_are_no_names(sentence: str, name: str, others: set[str]) -> None:
    names = [name.text for name in possible_names(sentence, Analyzer())]
    assert name in names
    assert others.isdisjoint(names)
