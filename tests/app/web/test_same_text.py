"""What a model wrote is what is stored, shown, exported and sent, and what a passage says is what a prompt and a quote
have: see `tests.one_text`. What is copied in a browser: `tests.browser.test_copied_text`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from braid.app.web.markdown import answer_html
from braid.core.chat.marks import marked
from tests.core.chat.test_extractive import passage
from tests.fakes import HashEmbeddings
from tests.one_text import AT_ONCE, MARK, TEXT, TEXTS, Desk, Speaker, answered, one_pass, seen
from tests.test_growth import grows
from tests.worlds import ByHand

SHORT, LONG = 250, 10_000
BURDEN_S = 0.1
"""Processor time below which what is done with an answer of `tests.test_growth.LONG_CHARS` is no burden."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with ByHand(tmp_path_factory.mktemp("desk") / "data", embedding_model=HashEmbeddings()) as braid:
        yield Desk(braid)


def many(number: int) -> settings:
    return settings(
        max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )


@pytest.mark.timeout(LONG)
def test_a_text_is_one_wherever_it_goes(desk: Desk, is_long: bool) -> None:
    @many((LONG if is_long else SHORT) // AT_ONCE)
    @example([("\ud83d\ude00 and half \ud83d", 1), ("a\r\n```\r\nx[1]\r\n```\r\nb\x00c", 1)])
    @example([("a\r1. \u2028", 4)])
    @example([("[^1]{3} in `[^1]` and\n[^1]: no note", 3), ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", 5)])
    @given(TEXTS)
    def check(texts: list[tuple[str, int]]) -> None:
        desk.check(texts)

    check()
    assert desk.read_letter_by_letter > SHORT / 2


@pytest.mark.timeout(LONG)
def test_no_text_takes_more_than_its_length(is_long: bool) -> None:
    """Each is repeated to some thousand characters."""

    @many(LONG if is_long else SHORT // 10)
    @given(TEXT.filter(str.strip))
    def check(said: str) -> None:
        assert not grows(one_pass, said, burden_s=BURDEN_S)

    check()


# ---------------------------------------------------------------- formulas

IN_FORMULAS = (
    "x_1",
    "*",
    "^2",
    "{a}",
    " ",
    "\\frac",
    "<",
    "b",
    ">",
    "&",
    "_",
    "[1]",
    "|",
    "語",
    "- ",
    "+ ",
    "\\\\",
    "#",
)
FORMULA = st.lists(st.sampled_from(IN_FORMULAS), max_size=9).map("".join)
AROUND = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"))


@settings(max_examples=300, deadline=None)
@given(FORMULA, st.sampled_from(AROUND))
def test_a_formula_is_shown_to_the_letter(inner: str, around: tuple[str, str]) -> None:
    formula = f"{around[0]}{inner.strip() or 'x'}{around[1]}"
    result, _ = answered(Speaker(said=f"It is {formula} {MARK}.", size=7), passage("It is so."))
    assert f"It is {formula} [1]." in seen(answer_html(marked(result.text, result.marks)))


@settings(max_examples=300, deadline=None)
@example("a\n- b\n+ c\n> d\n# e\n1. f", AROUND[1], "> ")
@given(
    st.lists(FORMULA, min_size=1, max_size=4).map("\n".join), st.sampled_from(AROUND[1:3]), st.sampled_from(["", "> "])
)
def test_the_lines_of_a_formula_are_shown_to_the_letter(inner: str, around: tuple[str, str], before: str) -> None:
    lines = [around[0], *(line.strip() or "x" for line in inner.split("\n")), around[1]]
    written = "".join(f"{before}{line}\n" for line in ("It is", *lines, "so."))
    result, _ = answered(Speaker(said=f"{written}\n\n{MARK}", size=7), passage("It is so."))
    shown = seen(answer_html(marked(result.text, result.marks)))
    assert [line.strip() for line in shown.split("\n") if line.strip()] == ["It is", *lines, "so.", "[1]"]


@pytest.mark.parametrize("text", ["It costs $1,200 to **$3,450** and *5$*.", "From $5 *to* $6.", "$HOME and *$PATH*"])
def test_prices_are_no_formulas(text: str) -> None:
    assert seen(answer_html(text)).strip() == text.replace("*", "")
