"""No work on outside text that grows with the square of its length: every expression, and every pass over a text."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from types import ModuleType

import pytest

import braid.app
import braid.core
from braid.app.openai_api.footnotes import with_footnotes, without_footnotes
from braid.app.web.markdown import answer_html
from braid.core.chat.asking.follow_up import complete
from braid.core.chat.links import check_links
from braid.core.chat.marks import CitationFilter
from braid.core.chat.quoting.extractive import quotable
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.tables import split_tables
from braid.core.chat.support import facts
from braid.core.chat.support.check import MAX_LOOKS, check
from braid.core.chat.support.findings import Support
from braid.core.chat.support.following import Following
from braid.core.chat.support.reading import facts_of
from braid.core.chat.whole.changes import Read, compare_documents
from braid.core.chat.whole.pairs import pair_meant
from braid.core.ingest.headings import with_headings
from braid.core.ingest.readers import ParsedDocument, Section
from braid.core.metadata.versions import recognized
from braid.core.models.pieces import WholeText, whole
from braid.core.models.reasoning import without_reasoning
from braid.core.models.replies import parse_queries
from braid.core.models.untrusted_text import as_data
from braid.core.text.analyzer import Analyzer
from braid.core.text.moments import UnclearPeriodError
from braid.core.text.periods import period_in
from braid.core.text.sentences import sentences
from braid.core.text.token_budget import both_ends, fitting
from braid.core.text.units import unify_units
from braid.core.types import Hit
from tests.core.chat.featured import answer
from tests.core.chat.test_extractive import passage

UNITS = (
    *(
        " ",
        "\t",
        "\n",
        " \n",
        "[",
        "]",
        "[]",
        "[1",
        "[1]",
        "](",
        "(",
        ")",
        "<",
        "<a ",
        "<s ",
        ">",
        "`",
        "``\n",
        "~",
        "*",
        "**a",
    ),
    *(
        "_",
        "_a",
        "&",
        "&#",
        "&#1",
        "\\",
        "|",
        "| ",
        "|-",
        "-",
        "- ",
        "--",
        "=",
        ":",
        "#",
        '"',
        "'",
        "1",
        "1,",
        "1.",
        "1 ",
    ),
    *(
        "12:",
        "a",
        "a ",
        "a.",
        "A",
        "aA",
        "é",
        "漢",
        "漢。",
        "あ",
        "一",
        "가",
        "가 ",
        "。",
        "、",
        "「",
        "（",
        "\u3000",
        "😀",
    ),
    *("{", "}", "{#", "/", "//", "http://", "@", "a@", "%", "$", "€1", "10 mg ", "more than 1", "p-", "p-7f3a:1"),
    *(";", "\x00", "!", "![", "\r"),
)
SHORT_CHARS, LONG_CHARS = 500, 8_000
"""Also looked at with three times as many, so that a step between the two, such as a limit, is no growth."""
BURDEN_S = 0.015
"""Processor time below which a text of `LONG_CHARS` is no burden: the square of that many steps takes ten
times as much."""
QUADRATIC = 64.0
"""Between the 16 times of linear work and the 256 times of quadratic work, as far from one as from the other."""


def seconds(work: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    work(text)
    return time.thread_time() - started


def grows(
    work: Callable[[str], object],
    unit: str,
    end: str = "",
    seconds: Callable[[Callable[[str], object], str], float] = seconds,
    burden_s: float = BURDEN_S,
) -> bool:
    """Whether the work on sixteen times the text takes far more than sixteen times as long, with short and with longer
    texts, at the quickest of some runs: whatever else the machine does only slows them down.
    """

    def text(chars: int) -> str:
        return unit * (chars // len(unit)) + end

    chars, short = SHORT_CHARS, seconds(work, text(SHORT_CHARS))
    taken = short
    while taken * (LONG_CHARS / chars) < burden_s:  # on the longest text, too, if it is linear
        quadratic = taken * (LONG_CHARS / chars) ** 2
        if quadratic < burden_s:  # and if it is quadratic
            return False
        # long enough for a run to show the same of linear work
        chars = min(LONG_CHARS, round(1.25 * chars * quadratic / burden_s))
        taken = seconds(work, text(chars))
    first = seconds(work, text(LONG_CHARS))
    if first < burden_s:
        return False
    short = min(short, *(seconds(work, text(SHORT_CHARS)) for _ in range(2)))
    if first <= QUADRATIC * short or any(seconds(work, text(LONG_CHARS)) <= QUADRATIC * short for _ in range(2)):
        return False
    short = min(seconds(work, text(3 * SHORT_CHARS)) for _ in range(3))
    return seconds(work, text(3 * LONG_CHARS)) > QUADRATIC * short


def modules() -> Iterator[ModuleType]:
    for top in (braid.core, braid.app):
        for found in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
            if "migrations" not in found.name and not found.name.endswith("__main__") and "worker" not in found.name:
                yield importlib.import_module(found.name)


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset, set)) and depth < 4:
        for each in value:
            yield from patterns_in(each, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for each in (*value.keys(), *value.values()):
            yield from patterns_in(each, depth + 1)


def expressions() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                found.setdefault(pattern.pattern + str(pattern.flags), pattern)
                NAMES.setdefault(pattern.pattern, f"{module.__name__}.{name}")
    return found


NAMES: dict[str, str] = {}
METHODS = ("search", "match", "fullmatch")
ANY_METHODS = ("search", "fullmatch")
"""For an expression whose method is not found; a search begins with what a match does."""


def calls(source: str) -> dict[str, set[str]]:
    """Names in a source text with the methods of expressions that are called on them, on one of many by its key, or on
    each of many in the loop over them.
    """
    found: dict[str, set[str]] = {}
    method_of_name = r"\b(\w+)(?:\[[\w.]+\])?\.(search|match|fullmatch|finditer|findall|sub|split)\b"
    for name, method in re.findall(method_of_name, source):
        found.setdefault(name, set()).add(method if method in METHODS else "search")
    for each, many in re.findall(r"\bfor (?:\w+, )*(\w+) in ([A-Z_]+)(?![\w.])", source):
        if each in found:
            found.setdefault(many, set()).update(found[each])
    return found


def test_how_an_expression_is_called_is_found() -> None:
    source = (
        "_A.sub(x, y)\n_B[key].match(x)\nfor of, each in _C:\n    each.fullmatch(x)\nfor found in _D.finditer(x): found"
    )
    found = calls(source)
    assert {name: found[name] for name in ("_A", "_B", "_C", "_D")} == {
        "_A": {"search"},
        "_B": {"match"},
        "_C": {"fullmatch"},
        "_D": {"search"},
    }


def test_no_expression_takes_quadratic_time() -> None:
    """Each is searched for in, and matched with, texts of one hostile part repeated."""
    found = expressions()
    assert len(found) > 200, "they are found at all"
    called = {module.__name__: calls(inspect.getsource(module)) for module in modules()}
    slow = {
        f"{NAMES[pattern.pattern]} on {unit!r} by {how}"
        for pattern in found.values()
        for module, _, name in [NAMES[pattern.pattern].rpartition(".")]
        for how in called[module].get(name, ANY_METHODS)
        for unit in UNITS
        if grows(getattr(pattern, how), unit, "x")
    }
    assert slow == set()


ANALYZER = Analyzer()


def weigh_nothing(terms: Collection[str]) -> dict[str, float]:
    return dict.fromkeys(terms, 1.0)


def periods(text: str) -> object:
    with suppress(UnclearPeriodError):
        return period_in(text, {2025})
    return None


def followed(text: str) -> Iterator[Support]:
    """What is said of a text that comes in small pieces."""
    following = Following(ANALYZER)
    for start in range(0, len(text), 40):
        yield from following.feed(text[start : start + 40], [])


def of(text: str) -> Read:
    """A document of two passages."""
    passages = (passage(each, number) for number, each in enumerate((text, "The pump is closed."), start=1))
    return Read("Rules", tuple(Hit(each, 0.0, ()) for each in passages), 2)


PASSES: dict[str, Callable[[str], object]] = {
    "links": check_links,
    "citations": lambda text: CitationFilter(frozenset({1, 2}), "p-7f3a:").read(text),
    "citations, a character at a time": lambda text: [
        *map(CitationFilter(frozenset({1, 2}), "p-7f3a:").feed, text[:2_000])
    ],
    "markdown": answer_html,
    "quotes": quotable,
    "tables": split_tables,
    "reasoning": without_reasoning,
    "replies": lambda text: parse_queries(text, question="q", limit=5),
    "as data": as_data,
    "a stream's characters": lambda text: [*map(WholeText().feed, text[:2_000])],
    "an answer and its page": lambda text: answer_html(check_links(CitationFilter(frozenset({1})).read(whole(text)))),
    "footnotes": lambda text: without_footnotes(with_footnotes(text, None)[0]),
    "words": ANALYZER.tokens,
    "sentences": lambda text: list(sentences(text)),
    "fitting": lambda text: fitting(text, 50),
    "both ends": lambda text: both_ends(text, 50),
    "units": unify_units,
    "facts": facts_of,
    "checked answers": lambda text: check(f"{text} [1].", ["The pump was sold for 30 EUR in May 2024."]),
    "checked answers, as they are written": lambda text: [*followed(text)],
    "checked passages": lambda text: check("The pump was not sold for 30 EUR [1].", [text]),
    "parts of a passage": parts_of,
    "numbered headings": lambda text: with_headings(ParsedDocument("", "txt", (Section(text),))),
    "questions and what answers them": lambda text: answer(text, *(passage(text[:4_000], n) for n in range(1, 3))),
    "questions and many sentences": lambda text: answer(
        text, *(passage("The pump is closed.", n, title=f"Rules {n} of 2024") for n in range(1, len(text) // 100))
    ),
    "follow-ups": lambda text: complete("And the second one?", [text], ANALYZER, weigh_nothing, answered=text),
    "what a follow-up goes on from": lambda text: complete("And it?", [text, text], ANALYZER, weigh_nothing),
    "periods": periods,
    "versions": recognized,
    "what differs between documents": lambda text: compare_documents(of(f"{text} old"), of(f"{text} new"), ANALYZER),
    "which documents are compared": lambda text: pair_meant(
        f"What changed in {text}?", [passage("", n, title=f"{text} {n}") for n in (2024, 2025)], weigh_nothing, ANALYZER
    ),
    "answers of what they cite": lambda text: check(f"{text} [1].", [text]),
}


@pytest.mark.parametrize("name", PASSES)
def test_no_pass_over_a_text_takes_quadratic_time(name: str) -> None:
    assert {unit for unit in UNITS if grows(PASSES[name], unit, "x")} == set()


def test_numbers_are_not_each_compared_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sentences an answer and a passage have, each with twenty numbers."""

    def numbers(first: int, end: str = "") -> str:
        given = (" EUR, ".join(str(first + 20 * n + m) for m in range(20)) for n in range(100))
        return " ".join(f"It has {each} EUR{end}." for each in given)

    compared = Counter[str]()
    monkeypatch.setattr(facts, "_same_number", lambda *_: compared.update(["pairs"]))
    check(numbers(1_000, " [1]"), [numbers(50_000)])
    assert 0 < compared["pairs"] < 3 * MAX_LOOKS, "2,000 numbers beside 2,000 make four million pairs"


def test_a_quadratic_expression_is_noticed() -> None:
    assert grows(re.compile(r"\s*x").fullmatch, " ") is False
    assert grows(re.compile(r" ++$").search, " ", "x", burden_s=BURDEN_S / 20)  # each step of it is quick


def test_quadratic_work_is_told_from_linear_work() -> None:
    assert grows(len, "a", seconds=lambda work, text: 1e-9 * len(text) ** 2)
    assert not grows(len, "a", seconds=lambda work, text: 1e-4 * len(text))
    assert not grows(len, "a", seconds=lambda work, text: 1e-5 * len(text) ** 1.2)
    assert grows(len, "a", seconds=lambda work, text: 1e-3 + 1e-5 * len(text) + 1e-7 * len(text) ** 2)
    assert grows(len, "a", seconds=lambda work, text: 1e-6 * len(text) + 1e-7 * max(0, len(text) - 2_000) ** 2)
