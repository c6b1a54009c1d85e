"""Thoughts of a model are not part of what it says, wherever they stand and however they are cut into pieces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.core.chat.answer_stream import Written, write
from braid.core.chat.marks import CitationFilter
from braid.core.chat.marks import shown as plain
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel
from braid.core.models.reasoning import without_reasoning
from tests.model_server import model_server

WHOLE = [
    ("It fell.", "It fell."),
    ("<think>hm</think>It fell.", "It fell."),
    ("It <thinking>a\nb</thinking>fell.", "It fell."),
    ("It fell.<THINK>x</Think>", "It fell."),
    ("< think >x</ think >It < fell <b>.", "It < fell <b>."),
    ("<think>a</think>It <think>b</think>fell<think>c</think>.", "It fell."),
    ("hm, perhaps 1453?</think>It fell.", "It fell."),
    ("<think>a <think>b</think> c</think>It fell.", "It fell."),
    ("It fell.<think>for ever", "It fell."),
    ("<think>for ever", ""),
    ("if a <thin b", "if a <thin b"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "said"), WHOLE)
def test_a_whole_text(text: str, said: str) -> None:
    assert without_reasoning(text) == said


def written(pieces: list[str]) -> tuple[Written, str, list[str]]:
    """What comes of the pieces, what is shown in the end, and all that was ever shown."""
    shown: list[str] = []
    ever: list[str] = []

    def show(text: str, _: object) -> None:
        shown.append(text)
        ever.append(text)

    result = write(pieces, lambda: CitationFilter(frozenset({1, 2})), show, lambda _: shown.clear())
    return replace(result, text=plain(result.text)[0]), plain("".join(shown))[0], ever


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize(
    "text",
    [
        "<think>Is it [2]?</think>It fell in 1453 [1].",
        "It fell in 1453 <think>or [2]?</think>[1].",
        "It <thinking>hm</thinking>fell in 1453 [1<think>2</think>].<think>good</think>",
        "\n<think>x</think>\n\nIt fell in 1453 [1].\n",
    ],
)
def test_no_piece_of_a_thought_is_shown_however_it_comes(text: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    result, shown, _ = written(pieces)
    assert result == Written("It fell in 1453 [1].", True, (1,))
    assert shown.strip() == result.text


@pytest.mark.parametrize("size", [1, 4, 100])
def test_what_turns_out_to_be_a_thought_is_withdrawn(size: int) -> None:
    text = "Perhaps [2] or [9]. </think>It fell [1]."
    result, shown, ever = written([text[start : start + size] for start in range(0, len(text), size)])
    assert (result.text, shown) == ("It fell [1].", "It fell [1].")
    assert (result.cited, result.removed) == ((1,), 0)
    assert ("Perhaps" in "".join(ever)) == (size < len(text))


def test_a_thought_without_an_end_takes_the_rest() -> None:
    result, shown, _ = written(["It fell [1]. <th", "ink>or did", " it [2]"])
    assert (result.text, shown.rstrip(), result.cut) == ("It fell [1].", "It fell [1].", True)
    with pytest.raises(ModelError, match="stopped within a thought"):
        written(["<think>for", " ever"])
    with pytest.raises(ModelError, match="empty answer"):
        written(["<think>hm</think>", " "])


@pytest.mark.parametrize("pieces", [["<think>hm</think>NOT_FOUND"], ["NOT_<think>", "hm</think>FOUND."]])
def test_not_found_is_understood_around_thoughts(pieces: list[str]) -> None:
    result, shown, _ = written(pieces)
    assert (result.found, shown) == (False, "")


def test_a_completed_answer_has_no_thoughts() -> None:
    with model_server("<think>Purpose: none of these</think>Purpose: cats") as server:
        assert ChatModel(server.settings()).complete([("user", "rewrite")]) == "Purpose: cats"
