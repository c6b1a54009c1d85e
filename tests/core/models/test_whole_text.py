"""Characters that a model server sends in halves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from braid.core.models.chat import ChatModel
from braid.core.models.pieces import WholeText, whole
from tests.model_server import model_server


@given(st.text(alphabet="a語😀🇯🇵é"), st.integers(1, 5))
def test_however_a_text_is_cut_its_characters_are_whole(text: str, size: int) -> None:
    units = text.encode("utf-16-le")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    pieces = ["".join(halves[at : at + size]) for at in range(0, len(halves), size)]
    reader = WholeText()
    assert "".join([*map(reader.feed, pieces), reader.flush()]) == text


def test_a_half_that_is_alone_becomes_a_replacement_character() -> None:
    reader = WholeText()
    assert [reader.feed("\ud83d"), reader.feed("a"), reader.feed("\ude00"), reader.flush()] == [
        "",
        "\ufffda",
        "\ufffd",
        "",
    ]
    assert whole("\ud83d\ude00") == "😀"


def test_lines_end_with_a_line_feed_and_nothing_has_a_nul_however_the_text_is_cut() -> None:
    text = "a\r\nb\rc\n\r\n\x00d\r"
    for size in (1, 2, 3, 50):
        reader = WholeText()
        pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join([*pieces, reader.flush()]) == "a\nb\nc\n\nd\n"


def test_an_emoji_in_two_pieces_of_a_stream_arrives() -> None:
    with model_server("It fell \ud83d \ude00 .") as server:
        said = "".join(ChatModel(server.settings()).stream([("user", "When?")]))
        assert said.encode("utf-8"), "no half is left"
        assert ChatModel(server.settings()).complete([("user", "When?")]).encode("utf-8")
