"""Passages as data, token budgets, units, follow-ups: the pieces of a conversation by themselves."""

from __future__ import annotations

import pytest

from braid.core.chat.asking.follow_up import complete
from braid.core.chat.passage_block import passage_block
from braid.core.models.untrusted_text import as_data
from braid.core.text.analyzer import Analyzer
from braid.core.text.token_budget import cut, estimate_tokens, fitting
from braid.core.text.units import quantities, unify_units
from braid.core.types import Passage


def passage(text: str, title: str = "T") -> Passage:
    return Passage("c", 1, 1, "user_1", "s", title, "txt", "", text, 0, None, None, None, None, None, {})


@pytest.mark.parametrize(
    "text",
    [
        "</passage-12ab>",
        "< / PASSAGE n='2'>",
        "＜/passage＞",
        "<pass\u200bage>",
        "＜\u200d／\u200dpassage>",
        "<|im_end|>",
        "[/INST]",
        "<system>",
        "<start_of_turn>user",
        "<end_of_turn>",
        "<bos>",
        "</eos>",
        "<think>",
        "</think>",
        "<<SYS>>",
        "<</SYS>>",
        "[SYSTEM_PROMPT]",
        "[/AVAILABLE_TOOLS]",
    ],
)
def test_look_alikes_of_delimiters_are_escaped(text: str) -> None:
    assert not as_data(text).startswith(("<", "＜", "["))


def test_what_joins_an_emoji_or_a_word_stays_and_what_hides_goes() -> None:
    joined = "👩\u200d💻 ❤\ufe0f\u200d🔥 می\u200cخواهم क्\u200dष"
    assert as_data(joined) == joined
    assert as_data("<pass\u200dage> a\u200cb \u202edcba\u00ad") == "&lt;passage> ab dcba"


def test_both_brackets_of_a_doubled_mark_are_escaped() -> None:
    assert as_data("<<SYS>>") == "&lt;&lt;SYS>>"


@pytest.mark.parametrize("text", ["if a < b: List<int> <p>", "a << system_load", "[note] [Fe] x[i]", "<strong>"])
def test_other_brackets_stay(text: str) -> None:
    assert as_data(text) == text


def test_a_block_gives_each_passage_its_share_and_drops_the_last_ones() -> None:
    long = " ".join(["A sentence of seven words stands here."] * 200)
    block = passage_block([passage(long), passage("Short."), passage(long)], tokens=600)
    assert block.tokens <= 600
    assert [c.number for c in block.citations] == [1, 2, 3]
    assert block.citations[1].text == "Short."
    assert all(c.text.endswith("here. …") for c in (block.citations[0], block.citations[2]))
    few = passage_block([passage(long)] * 10, tokens=300)
    assert 0 < len(few.citations) < 10
    assert few.tokens <= 300


@pytest.mark.parametrize("text", ["x" * 3_000, "最初の文は終わらず" * 300, "{'a': 1}, " * 400])
def test_a_passage_without_a_sentence_end_is_cut_hard(text: str) -> None:
    block = passage_block([passage(text), passage("Short."), passage(text)], tokens=400)
    assert [citation.number for citation in block.citations] == [1, 2, 3]
    assert estimate_tokens(block.citations[0].text) > 60
    assert block.citations[0].text.endswith("…")
    assert block.tokens <= 400


def test_a_long_title_leaves_the_best_passage_in() -> None:
    first, others = passage("It fell in 1453. " * 50, "題" * 200), [passage("It fell in 1453. " * 50)] * 6
    block = passage_block([first, *others], tokens=950)
    assert block.citations[0].passage is first
    assert block.tokens <= 950


def test_what_is_escaped_stays_within_the_budget() -> None:
    assert passage_block([passage("<s>" * 2_000)], tokens=500).tokens <= 500


def test_no_budget_leaves_no_passage() -> None:
    assert passage_block([passage("Short.")], tokens=-5).citations == ()


@pytest.mark.parametrize(
    "text", ["First one here. Second one here.", "最初の文です。次の文です。", "첫 문장이다. 둘째 문장이다."]
)
def test_texts_are_cut_at_sentence_ends(text: str) -> None:
    shorter = cut(text * 5, estimate_tokens(text * 3))
    assert estimate_tokens(shorter) <= estimate_tokens(text * 3)
    assert shorter.removesuffix(" …")[-1] in ".。"
    assert 8 <= estimate_tokens(fitting("x" * 1000, 10)) <= 10
    assert fitting("", -5) == fitting("x", 0) == fitting("xxx " * 9, -5) == ""
    assert cut("x" * 1000, 10) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25 degrees Celsius", "25 °C"),
        ("80℃ for 2 hrs", "80 °C for 2 h"),
        ("500um and 10 μL", "500 µm and 10 µL"),
        ("5 mg/ml, 30 分間", "5 mg/mL, 30 min"),
        ("0.5 mol/l NaCl", "0.5 M NaCl"),
        ("in 5 months, 3 items", "in 5 months, 3 items"),
        ("the 1990s, 5G, 2 CM wide, 5 mPa, 3 HOURS", "the 1990s, 5G, 2 CM wide, 5 mPa, 3 h"),
    ],
)
def test_units_are_written_in_one_way(text: str, expected: str) -> None:
    assert unify_units(text) == expected


def test_quantities_are_compared_across_units() -> None:
    litre, millilitres, hour = quantities("1 L, 1,000 mL, 1 h")
    assert litre.equals(millilitres)
    assert not litre.equals(hour)
    assert quantities("80 °C")[0].equals(quantities("353.15 K")[0])


def test_a_follow_up_gets_the_names_and_the_rarest_words_of_the_turns_before() -> None:
    idf = {"byzantin": 5.0, "empir": 4.0, "roman": 3.0, "call": 1.0, "cat": 9.0}
    turns = ["Do cats sleep", "why was the Roman empire called the Byzantine Empire"]

    def known(terms: object) -> dict[str, float]:
        return {term: idf[term] for term in idf if term in terms}  # type: ignore[operator]

    found = complete("When did it fall?", turns, Analyzer(), known)
    assert found.context == ("Byzantine", "Roman", "cats")
    assert found.query == "When did it fall? When did it fall? Byzantine Roman cats"
    assert found.readable == "When did it fall? (Byzantine, Roman, cats)"
    alone = complete("When did the eastern Roman empire fall to pieces?", turns, Analyzer(), known)
    assert alone.query == "When did the eastern Roman empire fall to pieces?"


@pytest.mark.parametrize(
    "text",
    [
        "`````` is said & <here>.",
        "<" * 30,
        "Short.",
        "The row is ``````\U0006b3dc\x13ß\x16\\[ \\frac{a_1}{b_2} \\]「注意」 here. " * 4,
    ],
)
def test_a_short_passage_is_whole_also_where_its_signs_are_escaped(text: str) -> None:
    assert passage_block([passage(text)], tokens=5_000).shortened == ()


def test_no_passage_is_cut_where_all_fit() -> None:
    texts = [" ".join(["A sentence of seven words stands here."] * count) for count in (40, 2, 2, 2)]
    tokens = passage_block([passage(text) for text in texts], tokens=5_000).tokens
    assert passage_block([passage(text) for text in texts], tokens=tokens + 20).shortened == ()
    assert passage_block([passage(text) for text in texts], tokens=tokens - 20).shortened == (1,)
