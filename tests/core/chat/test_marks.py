"""Citation marks: which parts of an answer are citations, and that everything else stays as it was written."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from braid.core.chat.marks import CitationFilter, cited_in, literal, mark, marked, renumbered, shown, without_marks

OWN = "p-7f3a:"


def answer(written: str, *, numbers: int = 7, names: dict[str, int] | None = None) -> tuple[str, list[int], int]:
    """The text shown for what a model wrote, ``⟦1⟧`` being the mark it was given, the numbers cited, and how many were
    removed."""
    checked = CitationFilter(frozenset(range(1, numbers + 1)), OWN, names=names or {})
    text, _ = shown(checked.read(as_asked(written)))
    return text, checked.cited, checked.removed


def as_asked(written: str) -> str:
    return written.replace("⟦", f"[{OWN}").replace("⟧", "]")


def in_pieces(written: str, size: int, **options: bool) -> tuple[str, list[int]]:
    checked = CitationFilter(frozenset({1, 2}), OWN, **options)
    pieces = [checked.feed(written[start : start + size]) for start in range(0, len(written), size)]
    return "".join([*pieces, checked.flush()]), checked.cited


@pytest.mark.parametrize(
    "said",
    [
        "```python\nrow = table[0][7]\nlimits = [1, 2, 3]\n```\n",
        "Use `^[0-9]{4}$` for years ",
        "Set `Listen [::1]:8080` and argv[1] or a[0][2] ",
        "The leading case is [2019] UKSC 5 ",
        "At [00:12:30] the chair closed the meeting ",
        "The dose lies in [5, 10] mg ",
        'Set "ports": [8080, 8443] ',
        "Fill in box [4] of the form ",
        "As it says in [1], see (2) and note¹. ",
        "【1】電源を切る。【2】ふたを開ける。【9】確認する。",
        "〔1〕電源を切る。〔2〕ふたを開ける。",
        "表[1]の値、図［2］、제[3]조 ",
        "Zeilen [3–7] ",
        "It was so [9]. And [3]. ",
        "- [1] first\n- [2] second\n\n",
        r"\\(x[1]\\), \\[2\\] and \\[ a \\] &#91;3&#93; ",
        "m², 10³ and <sup>2</sup> ",
        "~~~\n[1]\n~~~\n> ```\n> a[1] [2]\n> ```\n",
    ],
)
def test_of_an_answer_with_the_marks_asked_for_everything_else_stays_to_the_letter(said: str) -> None:
    assert answer(f"{said}⟦1⟧.") == (f"{said}[1].", [1], 0)


@pytest.mark.parametrize(
    ("written", "text", "cited"),
    [
        ("a ⟦1⟧⟦2⟧.", "a [1][2].", [1, 2]),
        ("a ⟦1, 2⟧ b", "a [1][2] b", [1, 2]),
        (f"a (p-7f3a:2) b 【{OWN}1】", "a [2] b [1]", [2, 1]),
        (f"a {OWN}3", "a [3]", [3]),
        ("a ⟦9⟧.", "a.", []),
        ("```\nx = 1  # ⟦1⟧\n```", "```\nx = 1  # [1]\n```", [1]),
        ("⟦1⟧(https://evil.example)", "[1] (https://evil.example)", [1]),
        ("⟦1⟧: https://evil.example", "[1] : https://evil.example", [1]),
        ("- ⟦1⟧⟦2⟧: https://evil.example", "- [1][2] : https://evil.example", [1, 2]),
        ("- **Key** ⟦1⟧: a value", "- **Key** [1]: a value", [1]),
        (f"二年〔{OWN}1〕。", "二年[1]。", [1]),
        (f"a [{OWN}1-3] b [{OWN}4–{OWN}5].", "a [1][2][3] b [4][5].", [1, 2, 3, 4, 5]),
        ("a [p‑7f3a:1], b [P-7F3A: 2], c 【p-7f3a：3】.", "a [1], b [2], c [3].", [1, 2, 3]),
        (f"a [[{OWN}1]] b \\[{OWN}2\\] c [^{OWN}3] d [source {OWN}4].", "a [1] b [2] c [3] d [4].", [1, 2, 3, 4]),
        (f"a [{OWN}1†l. 5]. b [{OWN}1000]. c [{OWN}2", "a [1]. b. c [2]", [1, 2]),
        (f"a [{OWN}1 says so]. [see {OWN}2, handbook.md]", "a [[1] says so]. [see [2], handbook.md]", [1, 2]),
        ("of another request [p-0000:1]", "of another request [p-0000:1]", []),
    ],
)
def test_the_marks_asked_for_count_wherever_they_are(written: str, text: str, cited: list[int]) -> None:
    assert answer(written)[:2] == (text, cited)


@pytest.mark.parametrize(
    ("written", "text", "cited", "removed"),
    [
        ("a [1].", "a [1].", [1], 0),
        ("二年【2】。です［1］。", "二年[2]。です[1]。", [2, 1], 0),
        ("a [1][2], b [1, 2].", "a [1][2], b [1][2].", [1, 2], 0),
        ("a [1-3].", "a [1][2][3].", [1, 2, 3], 0),
        ("a [^1] and b [Source 2, Source 3].", "a [1] and b [2][3].", [1, 2, 3], 0),
        ("a [1†source] [passage 2]", "a [1] [2]", [1, 2], 0),
        ("two years¹. three years<sup>2</sup>.", "two years[1]. three years[2].", [1, 2], 0),
        ("a (source 1). ２年です（出典：2）。 2년이다 (출처: 3).", "a [1]. ２年です[2]。 2년이다 [3].", [1, 2, 3], 0),
        ("a [citation:1], b [cite: 2, 3].", "a [1], b [2][3].", [1, 2, 3], 0),
        ("二年〔1〕。三年［引用2］。（根拠3）", "二年[1]。三年[2]。[3]", [1, 2, 3], 0),
        ("2년이다 [인용 1]. 3년이다 (근거: 2).", "2년이다 [1]. 3년이다 [2].", [1, 2], 0),
        ("see [handbook.md]. [handbook.md](x)", "see [2]. [handbook.md](x)", [2], 0),
        ("It is so. [1] Then more.", "It is so. [1] Then more.", [1], 0),
        ("**It is so** [1]\n| a | b [2] |", "**It is so** [1]\n| a | b [2] |", [1, 2], 0),
        ("a [9].", "a.", [], 1),
        ("a [1] [9].", "a [1].", [1], 1),
        ("a [1], [2] and [3]; [4].", "a [1], [2] and [3]; [4].", [1, 2, 3, 4], 0),
        ("二年[1]、[2]。2년이다 [3] 및 [4].", "二年[1]、[2]。2년이다 [3] 및 [4].", [1, 2, 3, 4], 0),
        (
            "a [[1]]. two years[^2]. three years¹,². four years¹².",
            "a [1]. two years[2]. three years[1],[2]. four years[1][2].",
            [1, 2],
            0,
        ),
        ("見よ【handbook.md】。(source: handbook.md) （出典：handbook.md）", "見よ[2]。[2] [2]", [2], 0),
        ("a [Source: handbook.md, notes.txt].", "a [2][3].", [2, 3], 0),
        (
            "of the table [1]. At the last step [2]. Im letzten Abschnitt [3].",
            "of the table [1]. At the last step [2]. Im letzten Abschnitt [3].",
            [1, 2, 3],
            0,
        ),
        ("As described in [1]. それは発表[2]。", "As described in [1]. それは発表[2]。", [1, 2], 0),
    ],
)
def test_other_forms_count_at_the_end_of_a_clause(written: str, text: str, cited: list[int], removed: int) -> None:
    assert answer(written, names={"handbook.md": 2, "notes.txt": 3}) == (text, cited, removed)


@pytest.mark.parametrize(
    "said",
    [
        "argv[1] is read, limits = [1, 2], box [1] of it",
        "`code [1]` and\n```\na [1].\n```\n",
        "The years [2019], [1, 2030] and [12:30].",
        "1. [1] first\n2. [2] second",
        "[1](https://example.org) and m², x¹.",
        "図[1]に示す。【1】電源を切る。",
        "P4441 [BF4], [Fe(CN)6], [COVID-19], [0.5, 1.5]",
        "The dose lies in [5, 10]. The value is in [0, 1], a [1, 9], Zeilen [3-9].",
        "It lies in [2, 5]. The values are [1, 2]. Das Intervall [1; 3], Zeilen [3–7], pages [3-7].",
        "区間[1, 5]。範囲は［1, 5］。구간 [1, 5]. 값은 [1, 2].",
        "Press [1] or [2] to go on: ボタン[1]と[2]を押す。버튼 [1] 및 [2]를 누른다.",
        "Fill in box [4]. See Figure [1]. 図[1]。그림 [1].",
        r"\(f [1], g\) and \[ a [1]. \] and $f [1], g$ and $$ a [1]. $$",
        "`unclosed\n```\na [1].\n```\n",
        "See [other.md, handbook.md], [handbook.md, p. 3] or (handbook.md). In litres⁹.",
    ],
)
def test_what_cannot_be_a_citation_stays_though_no_mark_was_written_as_asked(said: str) -> None:
    assert answer(said, names={"handbook.md": 2}) == (said, [], 0)


TEXT = st.lists(
    st.sampled_from(
        ["[", "]", "[1]", "[2, 3]", "[[1]]", "[1], [2]", "$$", "$", "\\[", "\\)", "【1】", "〔1〕", "［2］", "(1)",
         "(source 1)", "¹", "m²", "`", "```", "\n", "\n\n",
         "~~~", "\\",
         "\\(", "\\]", "$x_1$", "**", "argv[1]", "a[0][1]", "[text](https://a.example)", "&#91;", "<sup>1</sup>", "<b>",
         "| a | b |", "word ", "語", "말", "。", ".", ",", " ", "\t", "😀", "p-", "p-7f3a", "é", "- ", "1. ", "\x00",
         "\U00100001"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(TEXT, st.integers(1, 9))
def test_out_is_in_but_for_the_marks_that_were_meant(said: str, size: int) -> None:
    written = f"{said} [{OWN}1]. {said} [{OWN}2]"
    expected = f"{literal(said)} {mark(1)}. {literal(said)} {mark(2)}"
    checked = CitationFilter(frozenset({1, 2}), OWN)
    assert checked.read(written) == expected
    assert in_pieces(written, size, loose=False)[0] == expected


@settings(max_examples=800, deadline=None)
@example("```[```word [1]", 1)
@example(" ```\t[```word [1]", 2)
@example("[【1】【1】【1】]\n\n", 1)
@example("\\`word [1]", 1)
@example("\\\\`word [1]` [1]", 1)
@example("word \\[1]", 1)
@example("`\n\n word [1]", 1)
@example("【1】[1][\n\n[", 1)
@given(TEXT, st.integers(1, 9))
def test_however_an_answer_is_split_it_reads_the_same(said: str, size: int) -> None:
    assert in_pieces(said, size)[1] == in_pieces(said, len(said) or 1)[1]


def test_a_name_with_brackets_of_its_own_is_known_however_it_comes() -> None:
    for size in (1, 3, 100):
        checked = CitationFilter(frozenset({1, 2}), OWN, names={"report (1).pdf": 2})
        said = "It is so [report (1).pdf]."
        pieces = [checked.feed(said[start : start + size]) for start in range(0, len(said), size)]
        assert "".join([*pieces, checked.flush()]) == f"It is so {mark(2)}."


@settings(max_examples=500, deadline=None)
@given(TEXT)
def test_a_shown_text_and_its_places_make_the_marked_text_again(said: str) -> None:
    text = f"{literal(said)}{mark(1)}{literal(said)}{mark(12)}"
    assert marked(*shown(text)) == text
    assert cited_in(text) == (1, 12)
    assert cited_in(renumbered(text, lambda number: number + 1)) == (2, 13)
    assert MARKS_GONE not in without_marks(text)


MARKS_GONE = mark(1)


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "[1 ",
        " ",
        "\t",
        "`",
        "p-",
        "<sup>",
        "\n",
        "[1]",
        "\\",
        "a\n```",
        "1,",
        "(source ",
        "【",
        "¹",
        "[p-7f3a:1",
        "~",
    ],
)
def test_any_text_is_read_in_linear_steps(unit: str) -> None:
    """The text that is held back between two pieces, which is read again, never grows."""
    checked = CitationFilter(frozenset({1}), OWN)
    longest = 0
    for _ in range(400):
        checked.feed(unit * 10)
        longest = max(longest, len(checked._held))
    assert longest <= 4_000
