"""An answer that grows is sent once, not again with each of its words."""

from __future__ import annotations

import json

import pytest

from braid.app.web.event_stream import event
from braid.app.web.markdown import answer_html
from braid.app.web.turn_progress import AnswerSoFar
from braid.core.chat.marks import mark

PARAGRAPH = f"The pump **must** be switched off 😀 before the filter `P-10` is changed {mark(1)}.\n\n"
SHAPES = {
    "paragraphs": PARAGRAPH,
    "one paragraph": PARAGRAPH.strip() + " ",
    "one list": f"- {PARAGRAPH.strip()}\n",
    "one table": f"| part | {PARAGRAPH.strip()} |\n",
    "one block of code": f"{PARAGRAPH.strip()}\n",
}
BEGINNINGS = {"one table": "| part | what |\n|---|---|\n", "one block of code": "```\n"}
ANSWER_CHARS, STEPS = 20_000, 50


class Script:
    """What the page's script keeps: a string of UTF-16 units."""

    def __init__(self) -> None:
        self.html = b""

    def take(self, sent: str) -> str:
        values = json.loads(sent.partition("data: ")[2])
        self.html = self.html[: 2 * values["keep"]] + values["html"].encode("utf-16-le")
        return self.html.decode("utf-16-le")


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_of_20_kb_costs_about_its_length(shape: str) -> None:
    text = (BEGINNINGS.get(shape, "") + SHAPES[shape] * 300)[:ANSWER_CHARS]
    answer, script = AnswerSoFar(), Script()
    cost = whole = 0
    for end in range(ANSWER_CHARS // STEPS, ANSWER_CHARS + 1, ANSWER_CHARS // STEPS):
        html = str(answer_html(text[:end]))
        sent = answer.event(text[:end])
        assert script.take(sent) == html
        cost += len(sent.encode())
        whole += len(event("text", {"html": html}).encode())
    assert cost < 2 * len(html.encode()), "about its length"
    assert whole > 10 * cost, "what it would cost to send all of it each time"


def test_what_came_earlier_may_change_and_an_answer_may_be_withdrawn() -> None:
    answer, script = AnswerSoFar(), Script()
    lists = ("## Part\n\n- a", "## Part\n\n- a\n\n- b\n\n# Title")
    for text in ("Is **this", "Is **this** bold", *lists, "", "😀", "😁😀"):
        assert script.take(answer.event(text)) == str(answer_html(text))
