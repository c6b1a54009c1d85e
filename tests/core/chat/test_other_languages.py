"""Questions in another language than the documents: looked for in both, by one call of a model or by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.asking.other_languages import other_languages, wordings_in
from braid.core.chat.conversation import Conversation
from braid.core.chat.quoting import match
from braid.core.chat.texts import say
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModels
from braid.core.types import ChunkInput, DocumentInput
from tests.core.chat.scripted import ScriptedModel, models
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up

JAPANESE = "保証期間は納入の日から二年間とする。部品の交換は保証に含まれる。"
ENGLISH = "The canteen is open from eleven to two. The menu of the canteen changes every week."
QUESTION = "How long is the warranty of the press?"
WORDING = "プレス機の保証期間"


@pytest.fixture
def braid(tmp_path: Path) -> Any:
    with ByHand(tmp_path, embedding_model=HashEmbeddings(64)) as opened:
        ann, ben = opened.ledger.add_user("ann").id, opened.ledger.add_user("ben").id
        mixed = opened.ledger.add_dataset(ann, "mixed").id
        english = opened.ledger.add_dataset(ann, "english").id
        his = opened.ledger.add_dataset(ben, "ben").id
        store(opened, mixed, {"lease.md": JAPANESE, "canteen.md": ENGLISH})
        store(opened, english, {f"menu{n}.md": f"{ENGLISH} Menu {n}." for n in range(6)})
        store(opened, his, {"secret.md": f"{JAPANESE}秘密の文書。"})
        catch_up(opened)
        yield opened


def store(braid: Braid, dataset: int, texts: Mapping[str, str]) -> None:
    for source, text in texts.items():
        braid.ledger.put_document(dataset, DocumentInput(source, source, "md", (ChunkInput(text),)))


def ask(braid: Braid, question: str, chat: ChatModels | None = None, **request: Any) -> ChatResult:
    asked = ChatRequest(1, question, **{"dataset_ids": [1, 2], "options": {"k": 3}, **request})
    return Conversation(braid, models=chat or ChatModels()).ask(asked)


def elsewhere(result: ChatResult) -> list[str]:
    return [each.asked for each in result.lookups if each.why == "language"]


def sources(result: ChatResult) -> list[str]:
    return [hit.passage.source for hit in result.search.hits]


# ---------------------------------------------------------------- with a model


def test_the_call_that_writes_the_query_writes_it_in_the_language_of_the_documents(braid: Braid) -> None:
    search, summary = ScriptedModel("fake:s", f"press warranty\n{WORDING}"), ScriptedModel("fake:w", "Two years [4].")
    result = ask(braid, QUESTION, models(search, summary), options={"k": 3, "mode": "keyword"})
    assert len(search.sent) == len(summary.sent) == 1
    assert search.sent[0][0][1].endswith("one further line for each of: Japanese.")
    assert (result.query, elsewhere(result)) == ("press warranty", [WORDING])
    assert "lease.md" in sources(result)
    assert JAPANESE[:10] in summary.sent[0][1][1]
    assert result.bill.searches == 2


def test_the_model_of_the_answers_is_asked_where_it_is_the_only_one(braid: Braid) -> None:
    summary = ScriptedModel("fake:w", f"Press warranty length?\n1. {WORDING}", "Two years [4].")
    result = ask(braid, QUESTION, models(summary=summary))
    assert len(summary.sent) == 2
    assert (result.query, result.query_generator, elsewhere(result)) == (QUESTION, "none", [WORDING])


def test_a_follow_up_is_completed_and_worded_in_one_call(braid: Braid) -> None:
    history = (Turn("user", "Tell me of the press"), Turn("assistant", "It bends steel."))
    summary = ScriptedModel("fake:w", f"How long is the warranty of the press?\n{WORDING}", "Two years [4].")
    result = ask(braid, "And its warranty?", models(summary=summary), history=history)
    assert len(summary.sent) == 2
    assert elsewhere(result) == [WORDING]


@pytest.mark.parametrize("reply", [ModelError("gone"), "press warranty", "press\nwarranty\nlength"])
def test_a_model_without_a_wording_leaves_the_first_search(braid: Braid, reply: Any) -> None:
    result = ask(braid, QUESTION, models(ScriptedModel("fake:s", reply), ScriptedModel("fake:w", "No idea.")))
    assert all(asked == QUESTION or asked == "press warranty" for asked in elsewhere(result)), "by meaning at most"
    assert result.text == "No idea."


def test_in_the_language_of_the_documents_nothing_is_added_to_the_call(braid: Braid) -> None:
    search = ScriptedModel("fake:s", "canteen open")
    result = ask(braid, "When is the canteen open?", models(search, None), dataset_ids=[2])
    assert "further line" not in search.sent[0][0][1]
    assert elsewhere(result) == []


# ---------------------------------------------------------------- without a model


def test_how_something_is_asked_is_no_word_that_the_passages_lack(braid: Braid) -> None:
    """Of ``ruffle とは何ですか`` a passage has all that is asked for, though not the words that ask."""
    store(braid, 1, {"ruffle.md": "ruffle はソースコードを検査して誤りを報告する道具である。"})
    catch_up(braid)
    result = ask(braid, "ruffle とは何ですか", dataset_ids=[1])
    assert elsewhere(result) == []
    assert result.featured is not None
    assert result.featured.text.startswith("ruffle は")


def test_without_a_model_the_nearest_passages_in_the_other_language_are_quoted(braid: Braid) -> None:
    result = ask(braid, QUESTION)
    assert elsewhere(result) == [QUESTION]
    assert sources(result)[3:] == ["lease.md"], "no other one is Japanese, and Ben's is not Ann's"
    assert result.text.startswith(say("in_ja", "en"))
    assert "保証" in result.text


@pytest.mark.parametrize(
    ("unrelated", "foreign", "answered"),
    [(-0.5, 0.0, True), (-0.5, 0.99, False), (0.9, 0.0, False)],  # near, the passage is not, its sentence is not
)
def test_passages_in_another_language_that_are_not_near_are_no_answer(
    braid: Braid, monkeypatch: pytest.MonkeyPatch, unrelated: float, foreign: float, *, answered: bool
) -> None:
    scale = match.CosineScale(unrelated, 0.98, 0.99, foreign)
    monkeypatch.setitem(match.SCALES, HashEmbeddings(64).fingerprint, scale)
    result = ask(braid, QUESTION)
    assert elsewhere(result) == [QUESTION]
    assert result.found is answered
    assert result.text.startswith(say("in_ja" if answered else "not_found", "en"))


@pytest.mark.parametrize(("question", "options"), [
    ("The canteen is open from eleven to two?", {}),  # its words are found
    (QUESTION, {"mode": "keyword"}),  # nobody asks for meaning
])  # fmt: skip
def test_without_need_nothing_is_looked_for_elsewhere(braid: Braid, question: str, options: Mapping[str, Any]) -> None:
    assert elsewhere(ask(braid, question, options={"k": 3, **options})) == []


# ---------------------------------------------------------------- which languages


@pytest.mark.parametrize(("question", "shares", "expected"), [
    (QUESTION, {"en": 0.5, "ja": 0.3, "ko": 0.2}, ("ja", "ko")),
    (QUESTION, {"en": 0.99, "ja": 0.01}, ()),
    (QUESTION, {"de": 1.0}, ("de",)),
    (QUESTION, {"de": 0.5, "en": 0.5}, ()),
    ("Warranty XZ-1", {"de": 1.0}, ()),  # it may be German
    ("保証期間は？", {"zh": 1.0}, ()),  # Han may be both
    ("Halden の規程", {"en": 0.6, "ja": 0.4}, ("en",)),
    ("Halden 규정", {"en": 0.6, "ja": 0.3, "": 0.1}, ("en", "ja")),
    (QUESTION, {"ru": 1.0}, ("ru",)),
    ("Сколько длится гарантия на пресс?", {"en": 0.9, "ru": 0.1}, ("en",)),
    ("Как обновить OpenVPN Connect?", {"de": 1.0}, ("de",)),
    ("보증 기간은?", {"ru": 0.5, "ko": 0.5}, ("ru",)),
    ("Πόσο διαρκεί η εγγύηση;", {"en": 1.0}, ("en",)),
    ("ประกันกี่ปี", {"ja": 0.6, "en": 0.4}, ("ja", "en")),
    ("How large is λ, in μm?", {"en": 1.0}, ()),
])  # fmt: skip
def test_languages_of_the_documents_that_are_not_the_questions(
    question: str, shares: Mapping[str, float], expected: tuple[str, ...]
) -> None:
    assert other_languages(question, shares) == expected


def test_each_wording_is_in_its_language() -> None:
    lines = ["warranty period", "보증 기간", "保証期間"]
    assert wordings_in(("ja", "ko"), lines) == ("保証期間", "보증 기간")
    assert wordings_in(("en", "ja"), lines[:2]) == ("warranty period",)
    assert wordings_in(("ru", "en"), ["warranty period", "гарантийный срок"]) == ("гарантийный срок", "warranty period")
    assert wordings_in(("en",), ["гарантийный срок", "εγγύηση"]) == ()


def test_a_name_in_latin_letters_that_only_the_other_language_has_is_answered_from_it(
    braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where passages in the question's own language have its other words, and are found first."""
    monkeypatch.setitem(match.SCALES, HashEmbeddings(64).fingerprint, match.CosineScale(0.0, 0.1, 0.2, 0.0))
    store(
        braid, 1, {"phony.md": "The phony rule makes aliases for other targets.", "rule.md": "規則とは守るものである。"}
    )
    catch_up(braid)
    result = ask(braid, "phony の規則とは何ですか", dataset_ids=[1])
    assert result.featured is not None
    assert result.featured.text == "The phony rule makes aliases for other targets."
    assert result.text.startswith(say("in_en", "ja"))


@pytest.mark.parametrize(
    "other", ["The doors of the building close at eight in the evening.", "The PC room closes at eight in the evening."]
)
def test_a_name_that_ones_own_language_lacks_leads_to_no_passage_that_is_less_near(braid: Braid, other: str) -> None:
    """Whether the other language has the name or not: the right passage may write it in its own letters."""
    right = "パソコンの持ち出しの申請の期限は三日前とする。"
    store(braid, 1, {"laptop.md": right, "other.md": other})
    catch_up(braid)
    result = ask(braid, "PC の持ち出しの申請の期限は？", dataset_ids=[1])
    assert elsewhere(result) == ["PC の持ち出しの申請の期限は？"]
    assert result.featured is not None
    assert (result.featured.text, "other.md" in sources(result)) == (right, True)
    assert result.text.startswith(say("extractive", "ja"))


def test_a_code_that_ones_own_language_has_leads_to_no_passage_in_another(braid: Braid) -> None:
    """Whatever words the question has beside it."""
    own = "그림 91은 저수지 R91입니다."
    dataset = braid.ledger.add_dataset(1, "reports").id
    store(braid, dataset, {"ko.md": own, "en.md": "The inlet of gallery 345 was cleaned by two people in 25 hours."})
    catch_up(braid)
    question = "R91 곁에서 작년 봄부터 가을까지 조사원들이 새로 찾아낸 특이한 식물은 무엇인가요?"
    result = ask(braid, question, dataset_ids=[dataset])
    assert "gallery 345" not in result.text


def test_a_passage_of_letters_without_meaning_is_no_answer_in_another_language(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(1, "scans").id
    garbled = "m e n u o f t h e p o r t a l b’ ’ b ’ ’\n\nThe portal opens at nine in the morning."
    store(braid, dataset, {"lease.md": JAPANESE, "garbled.md": garbled})
    catch_up(braid)
    assert "portal opens" not in ask(braid, "社員食堂の今日のメニューは何ですか", dataset_ids=[dataset]).text
