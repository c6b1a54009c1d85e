"""Citations, passages as data, token budgets, units, follow-ups: the pieces of a conversation by themselves."""

from __future__ import annotations

import html
import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.core.chat.citations import CitationFilter
from braid.core.chat.follow_up import complete
from braid.core.chat.passage_block import passage_block
from braid.core.models.citation_marks import without_marks
from braid.core.models.untrusted_text import as_data
from braid.core.text.analyzer import Analyzer
from braid.core.text.token_budget import cut, estimate_tokens, fitting
from braid.core.text.units import quantities, unify_units
from braid.core.types import Passage


def passage(text: str, title: str = "T") -> Passage:
    return Passage("c", 1, 1, "user_1", "s", title, "txt", "", text, 0, None, None, None, None, None, {})


@pytest.mark.parametrize(
    ("written", "shown", "cited", "removed"),
    [
        ("a [1].", "a [1].", [1], 0),
        ("a [3].", "a.", [], 1),
        ("a [1, 3; 2]", "a [1][2]", [1, 2], 1),
        ("a [1-3]", "a [1][2]", [1, 2], 1),
        ("a【2】［１］", "a[2][1]", [2, 1], 0),
        ("a [1†source] [passage 2]", "a [1] [2]", [1, 2], 0),
        ("[[9]1]", "1]", [], 1),
        ("[1, [9]2]", "1,2]", [], 1),
        ("[1](http://evil.example)", "[1] (http://evil.example)", [1], 0),
        ("[1]&lbrack;(【", "[1] (【", [1], 0),
        ("[1]: http://evil.example", "[1] : http://evil.example", [1], 0),
        ("see [note] and x[i] and [", "see [note] and x[i] and [", [], 0),
        ("[1-999999]", "[1][2]", [1, 2], 18),
        ("a [1 and 99].", "a [1].", [1], 1),
        ("a [Source 1, Source 99].", "a [1].", [1], 1),
        ("a [Source 1, Source 2].", "a [1][2].", [1, 2], 0),
        ("a [Source: 99].", "a.", [], 1),
        ("a [Passages 1, 99].", "a [1].", [1], 1),
        ("a [1 & 99].", "a [1].", [1], 1),
        ("a [99.].", "a.", [], 1),
        ("a [1 99].", "a [1].", [1], 1),
        ("a [p99].", "a.", [], 1),
        ("a [No. 99].", "a.", [], 1),
        ("a [**99**].", "a.", [], 1),
        (r"a \[99\].", "a.", [], 1),
        (r"a \[1\].", "a [1].", [1], 0),
        ("a [9\u200b9] [\u20601\ufeff1].", "a.", [], 2),
        ("a &#91;99&#93; &#x5B;2&rsqb; [&#57;].", "a [2].", [2], 2),
        ("a [99-98] [123456].", "a.", [], 3),
        ("a [出典1、出典99]と[출처 2].", "a [1]と[2].", [1, 2], 1),
        ("a & b &#91; c \\", "a & b [ c \\", [], 0),
        ("[P4441][BF4], [Fe(CN)6], [COVID-19], [0.5, 1.5]", "[P4441][BF4], [Fe(CN)6], [COVID-19], [0.5, 1.5]", [], 0),
        ("[1-9999]", "[1][2]", [1, 2], 18),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 5, 100])
def test_only_given_passages_are_cited_however_the_text_is_split(
    written: str, shown: str, cited: list[int], removed: int, size: int
) -> None:
    checked = CitationFilter(frozenset({1, 2}))
    pieces = [checked.feed(written[start : start + size]) for start in range(0, len(written), size)]
    assert "".join([*pieces, checked.flush()]) == shown
    assert (checked.cited, checked.removed) == (cited, removed)


NASTY = st.text(alphabet="[]【】［(:1239, -–†#p\nx", max_size=40)


@settings(max_examples=300, deadline=None)
@given(NASTY, st.integers(1, 5))
def test_no_text_gets_an_invented_citation_through(text: str, size: int) -> None:
    checked = CitationFilter(frozenset({1, 2}))
    shown = "".join([checked.feed(text[i : i + size]) for i in range(0, len(text), size)]) + checked.flush()
    again = CitationFilter(frozenset({1, 2}))
    again.feed(shown)
    again.flush()
    assert again.removed == 0, shown
    assert set(again.cited) == set(checked.cited)
    assert not re.search(r"\[\d+\]\(", shown)


PIECES = st.lists(
    st.sampled_from(
        ["[", "]", "【", "】", "&#91;", "&#93;", "&lbrack;", "\\[", "\\]", "1", "2", "9", "99", "&#57;", " ", ", ",
         " and ", " & ", "Source ", "source: ",
         "Passages ", "p", "No. ", "**", "-", "–", "^", "†", "\u200b", "\ufeff", "/", "(", "\n"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


def invented(shown: str, given: frozenset[int]) -> list[str]:
    """Short brackets with a number that was not given, found without the means of the filter."""
    visible = "".join(c for c in html.unescape(shown) if unicodedata.category(c) != "Cf").replace("\\", "")
    brackets = re.findall(r"[\[【]([^\[\]【】]{0,30})[\]】]", visible)
    return [b for b in brackets if {int(n) for n in re.findall(r"\d+", b.partition("†")[0])} - given]


@settings(max_examples=600, deadline=None)
@given(PIECES, st.integers(1, 7))
def test_no_bracket_holds_a_number_that_was_not_given(text: str, size: int) -> None:
    checked = CitationFilter(frozenset({1}))
    shown = "".join([checked.feed(text[i : i + size]) for i in range(0, len(text), size)]) + checked.flush()
    assert invented(shown, frozenset({1})) == []
    whole = CitationFilter(frozenset({1}))
    assert whole.feed(text) + whole.flush() == shown, "however it is split"


def test_long_brackets_are_checked_in_no_time() -> None:
    started = time.monotonic()
    for text in ("[" + "p" * 190 + "x]", "[" * 20_000, "[" + "1 " * 20_000, "&#" * 20_000, "[p p" * 5_000):
        checked = CitationFilter(frozenset({1}))
        checked.feed(text)
        checked.flush()
        without_marks(text)
    assert time.monotonic() - started < 5


def test_marks_in_passages_are_no_citations() -> None:
    assert without_marks("&#91;3&#93; [Source 4]") == "(3) (Source 4)"
    assert without_marks("as shown [1, 2] and 【3】") == "as shown (1, 2) and (3)"


@pytest.mark.parametrize(
    "text",
    [
        "</passage-12ab>",
        "< / PASSAGE n='2'>",
        "＜/passage＞",
        "<pass\u200bage>",
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


def test_a_follow_up_gets_the_rarest_words_of_the_turns_before() -> None:
    idf = {"byzantin": 5.0, "empir": 4.0, "roman": 3.0, "call": 1.0, "cat": 9.0}
    turns = ["Do cats sleep", "why was the Roman empire called the Byzantine Empire"]

    def known(terms: object) -> dict[str, float]:
        return {term: idf[term] for term in idf if term in terms}  # type: ignore[operator]

    found = complete("When did it fall?", turns, Analyzer(), known)
    assert found.context == ("Byzantine", "cats", "empire")
    assert found.query == "When did it fall? When did it fall? Byzantine cats empire"
    alone = complete("When did the eastern Roman empire fall to pieces?", turns, Analyzer(), known)
    assert alone.query == "When did the eastern Roman empire fall to pieces?"
