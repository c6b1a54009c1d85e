"""Answers that are checked while they are written: what is said of a sentence then is what is said at the end."""

from __future__ import annotations

import random

import pytest

from braid.core.chat.citations import Citation
from braid.core.chat.marks import cited_in, mark
from braid.core.chat.support.check import Checker, check_answer
from braid.core.chat.support.findings import Support
from braid.core.chat.support.following import MAX_WAITING_CHARS, Following
from braid.core.text.analyzer import Analyzer
from tests.core.chat.test_extractive import passage

PUMP, MOTOR = (
    Citation(number, passage(text), text)
    for number, text in enumerate(
        ("The pump is blue. It weighs twelve kilograms. The warranty is 30 days.", "The motor weighs 30 kg."), start=1
    )
)
ONE, TWO = mark(1), mark(2)
ANSWER = f"""## The pump

The pump is blue {ONE}. It weighs 15 kilograms. The warranty is 35 days. {ONE}{TWO} It is e.g. 3.5 m long {ONE}.

Nothing here is taken from anywhere. Is that so?
- the motor weighs 31 kg {TWO}
- the motor is loud at night

```
pump = 12. And it is blue.
```
보증 기간은 35일입니다 {ONE}. 保証期間は35日です{ONE}。最後の文です。"""


def follow(answer: str, pieces: list[str]) -> list[Support]:
    following, seen, found = Following(Analyzer()), "", list[Support]()
    for piece in pieces:
        seen += piece
        found += following.feed(piece, [{1: PUMP, 2: MOTOR}[number] for number in cited_in(seen)])
    assert seen == answer
    return found


def cut(text: str, seed: int) -> list[str]:
    drawn, pieces = random.Random(seed), list[str]()
    while text:
        size = drawn.choice([1, 1, 2, 5, 20, 80])
        pieces.append(text[:size])
        text = text[size:]
    return pieces


@pytest.mark.parametrize("seed", range(20))
def test_however_an_answer_is_cut_its_sentences_are_those_of_the_whole(seed: int) -> None:
    whole = check_answer(ANSWER, (PUMP, MOTOR), Analyzer())
    found = follow(ANSWER, cut(ANSWER, seed))
    assert tuple(found) == whole[: len(found)]
    assert len(found) >= len(whole) - 1, "all but the last are known"
    assert {"differs", "uncited", "not_found"} <= {each.verdict for each in found}


def test_a_sentence_is_known_as_soon_as_the_next_one_begins() -> None:
    following = Following(Analyzer())
    assert list(following.feed(f"The warranty is 35 days {ONE}. ", [PUMP])) == []
    [one] = following.feed("It", [PUMP])
    assert (one.verdict, one.findings[0].there) == ("differs", "30 days")


def test_a_sentence_without_a_source_waits_for_one_of_its_paragraph() -> None:
    following = Following(Analyzer())
    assert list(following.feed("The pump is blue. It weighs much. Who", [])) == []
    found = list(following.feed(f" knows {ONE}. The", [PUMP]))
    assert [each.verdict for each in found] == ["stands", "uncited", "open"]
    assert list(following.feed(" end of it. Nobody", [])) == []
    assert [each.verdict for each in following.feed(" said so.\n\nThe", [])] == ["uncited", "uncited"]


def test_a_text_without_end_is_followed_for_a_while() -> None:
    following = Following(Analyzer())
    text = "no end of it, " * (MAX_WAITING_CHARS // 10)
    assert list(following.feed(text, [])) == []
    assert list(following.feed(f"The warranty is 35 days {ONE}. It is. It is.", [PUMP])) == []


def test_what_stands_in_a_passage_that_is_cited_later_is_known_at_the_end() -> None:
    answer = f"The motor weighs 30 kg {ONE}. The motor is grey {TWO}. The end."
    found = follow(answer, [answer])
    whole = list(Checker({1: PUMP.text, 2: MOTOR.text}, Analyzer()).sentences(answer))
    assert (whole[0].verdict, len(found)) == ("elsewhere", 2)
    first = follow(answer, [answer[:40], answer[40:]])[0]
    assert first.verdict in ("differs", "not_found", "open")
