"""Follow-ups without a model: what was quoted before is not the answer to something else, and *And then?* goes on."""

from __future__ import annotations

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.quoting.onward import goes_on
from braid.core.chat.texts import say
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.types import ChunkInput, DocumentInput
from tests.core.chat.scripted import Put
from tests.worlds import WAIT_S

TEXTS = {
    "en": (
        "A hotel may cost up to 140 EUR a night in all cities.",
        "Receipts are handed in within thirty days after the trip. A lost receipt is replaced by a letter.",
        "Two conferences a year may be attended.",
    ),
    "ja": (
        "宿泊費は1泊につき14,000円を上限とする。",
        "領収書は帰着後10日以内に経理部へ提出する。領収書を紛失した場合は、理由書を添えて承認を受ける。",
        "学会には年に二回まで参加できる。",
    ),
    "ko": (
        "숙박비는 하루 십이만 원을 한도로 한다.",
        "영수증은 돌아온 뒤 열흘 안에 제출한다. 영수증을 분실한 경우에는 사유서를 낸다.",
        "학회는 한 해에 두 번까지 참가할 수 있다.",
    ),
}
FIRST = {"en": "What may a hotel cost?", "ja": "宿泊費の上限はいくらですか", "ko": "숙박비 한도는 얼마인가요?"}
OTHER = {"en": "Lost receipts?", "ja": "領収書をなくした場合はどうなりますか", "ko": "영수증은요?"}
MISSING = {"en": "And in a tent?", "ja": "では天幕は？", "ko": "그럼 텐트는요?"}
ONWARD = {"en": "And after that?", "ja": "その後は？", "ko": "그 다음은요?"}
ALL = pytest.mark.parametrize("language", ["en", "ja", "ko"])


class Talk:
    """A conversation about one document of three passages."""

    def __init__(self, braid: Braid, language: str) -> None:
        user = braid.ledger.add_user("bea")
        chunks = tuple(ChunkInput(text, heading_path=str(number)) for number, text in enumerate(TEXTS[language]))
        dataset = braid.ledger.add_dataset(user.id, "rules").id
        braid.ledger.put_document(dataset, DocumentInput("rules.md", "Rules", "md", chunks))
        assert braid.indexer.wait(WAIT_S)
        self._chat, self._user_id = Conversation(braid), user.id
        self._history: tuple[Turn, ...] = ()

    def ask(self, question: str) -> ChatResult:
        result = self._chat.ask(ChatRequest(self._user_id, question, history=self._history))
        self._history += Turn("user", question), Turn("assistant", result.text, marks=result.marks)
        return result


@ALL
def test_a_follow_up_with_a_subject_of_its_own_is_answered_from_where_that_is(braid: Braid, language: str) -> None:
    talk = Talk(braid, language)
    first = talk.ask(FIRST[language])
    assert first.featured is not None
    assert first.featured.text == TEXTS[language][0]
    other = talk.ask(OTHER[language])
    assert other.featured is not None
    assert other.featured.text in TEXTS[language][1]


@ALL
def test_what_was_quoted_before_is_no_answer_to_what_it_does_not_say(braid: Braid, language: str) -> None:
    talk = Talk(braid, language)
    talk.ask(FIRST[language])
    assert not talk.ask(MISSING[language]).found
    again = talk.ask(FIRST[language])
    assert again.featured is not None, "the same question has the same answer"
    assert again.featured.text == TEXTS[language][0]


@ALL
def test_what_comes_next_is_what_follows_the_last_quote_until_the_document_ends(braid: Braid, language: str) -> None:
    talk = Talk(braid, language)
    talk.ask(FIRST[language])
    for text in TEXTS[language][1:]:
        onward = talk.ask(ONWARD[language])
        assert onward.featured is not None
        assert onward.featured.text == text
        assert [each.passage.text for each in onward.citations] == [text]
        assert onward.text.startswith(say("extractive", language))  # type: ignore[arg-type]
    end = talk.ask(ONWARD[language])
    assert (end.found, end.text) == (False, say("not_found", language))  # type: ignore[arg-type]


def test_what_comes_next_may_be_in_the_same_passage(braid: Braid, put: Put) -> None:
    user = braid.ledger.add_user("bea")
    steps = [f"Turn the {name} valve until it clicks and wait." for name in ("red", "blue", "green", "black", "white")]
    put(braid.ledger.add_dataset(user.id, "steps").id, "steps.md", " ".join(steps), title="Steps")
    history = (Turn("user", "Which valve is first?"), Turn("assistant", f"**{steps[0]}** [1]\n{steps[1]} [1]"))
    result = Conversation(braid).ask(ChatRequest(user.id, "What happens next?", history=history))
    assert result.featured is not None
    assert result.featured.text == " ".join(steps[2:])


def test_nothing_comes_next_where_nothing_was_quoted(braid: Braid) -> None:
    talk = Talk(braid, "en")
    talk.ask("quantum chromodynamics lattice")
    history = (Turn("user", "Is it?"), Turn("assistant", "This was not found in the selected datasets."))
    user_id = braid.ledger.users()[0].id
    assert not Conversation(braid).ask(ChatRequest(user_id, "And then?", history=history)).found


@pytest.mark.parametrize(
    "text",
    [
        "And after that?",
        "What happens next?",
        "Then what?",
        "Go on",
        "What comes after that?",
        "その後は？",
        "それから？",
        "続きを教えてください",
        "その次は何ですか",
        "그 다음은요?",
        "그 후에는 어떻게 되나요?",
        "계속해 주세요",
        "다음은 뭐예요?",
    ],
)
def test_questions_for_what_comes_next(text: str) -> None:
    assert goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "And?",
        "What is",
        "And after the meeting?",
        "What happens next year?",
        "Why is that?",
        "次の会議はいつですか",
        "その後の手当はいくらですか",
        "なぜですか",
        "다음 회의는 언제인가요?",
        "그리고",
        "왜요?",
    ],
)
def test_questions_with_a_subject_ask_for_more(text: str) -> None:
    assert not goes_on(text)
