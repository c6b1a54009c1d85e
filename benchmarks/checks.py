"""How well sentences are checked against what they cite: what is found of altered ones, and false alarms on true.

Near-literal sentences are made from the test collections by a fixed seed; half of the documents were tuned on, the
other half (``--later``) is for a last look. Paraphrases are public pairs whose second sentence follows from the first;
they are read from a folder (``--pairs``) under their publishers' file names, and skipped where they are not there.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.check_pairs import KINDS, Pair, entailed, has_other_facts, near_literal, of_kinds, translations
from benchmarks.common import EVAL, arguments, need, note, show
from braid.core.chat.marks import mark
from braid.core.chat.support.check import Checker
from braid.core.chat.support.findings import Support
from braid.core.text.analyzer import Analyzer

LANGUAGES = ("en", "ja", "ko")
ANALYZER = Analyzer()


def judge(pair: Pair) -> list[Support]:
    """What is said of a pair's sentence, which cites the passage."""
    checker = Checker({1: pair.passage}, ANALYZER)
    return list(checker.sentences(f"{pair.sentence.rstrip('.。')} {mark(1)}."))


def verdict(pair: Pair) -> str:
    """The gravest verdict of a pair's sentences."""
    found = {each.verdict for each in judge(pair) if each.cited}
    return next((one for one in ("differs", "not_found", "open", "stands") if one in found), "open")


def attribution(pairs: Sequence[Pair]) -> float:
    """The share of near-literal sentences for which the sentence they were made from is named first."""
    right = total = 0
    for pair in pairs:
        source = next((each.sources[0] for each in judge(pair) if each.sources), None)
        at = pair.passage.find(pair.origin)
        if at >= 0:
            total += 1
            right += source is not None and source.start < at + len(pair.origin) and at < source.end
    return right / max(1, total)


def milliseconds(pairs: Sequence[Pair]) -> float:
    """Processor time per sentence, its passages read once."""
    checkers = [(Checker({1: pair.passage}, ANALYZER), f"{pair.sentence.rstrip('.。')} {mark(1)}.") for pair in pairs]
    started = time.process_time()
    count = sum(len(list(checker.sentences(text))) for checker, text in checkers)
    return 1_000 * (time.process_time() - started) / max(1, count)


def options(parser: argparse.ArgumentParser) -> None:
    """What the benchmark adds to the command line."""
    parser.add_argument("--seed", type=int, default=28)
    parser.add_argument("--later", action="store_true", help="look at the half that was not tuned on")
    parser.add_argument("--pairs", type=Path, default=EVAL / "pairs", help="folder with public pairs")
    parser.add_argument("--list", action="store_true", help="print what was wrong, too")


def _wrong(pair: Pair, said: str) -> None:
    if said == "differs":
        found = [(one.kind, one.said, one.there) for each in judge(pair) for one in each.findings if one.differs]
        there = (pair.origin or pair.passage)[:300]
        note(f"FALSE {pair.language} {pair.kind}: {pair.sentence!r}\n   there: {there!r}\n   {found}")


def main() -> None:
    """Measure and print."""
    args = arguments(__doc__ or "", add=options)
    need(EVAL)
    figures: dict[str, Any] = {}
    literal: list[Sequence[Any]] = []
    for language in LANGUAGES:
        pairs = near_literal(language, seed=args.seed, later=args.later)
        by_kind = {kind: [pair for pair in pairs if pair.kind == kind] for kind in ("true", *KINDS)}
        said = {kind: Counter(map(verdict, found)) for kind, found in by_kind.items()}
        if args.list:
            for pair in by_kind["true"]:
                _wrong(pair, verdict(pair))
            for kind in KINDS:
                for pair in by_kind[kind]:
                    if verdict(pair) != "differs":
                        note(
                            f"MISSED {language} {kind} ({verdict(pair)}): {pair.sentence!r}\n   there: {pair.origin!r}"
                        )
        recall = {kind: said[kind]["differs"] / max(1, len(by_kind[kind])) for kind in KINDS}
        row = {
            "true": len(by_kind["true"]),
            "flagged": said["true"]["differs"],
            "not found": said["true"]["not_found"],
            "altered": sum(len(by_kind[kind]) for kind in KINDS),
            **recall,
            "sentence named": attribution([*by_kind["true"], *(pair for kind in KINDS for pair in by_kind[kind])]),
            "ms": milliseconds(pairs),
        }
        figures[language] = row
        literal.append([language, *row.values()])
    paraphrases: list[Sequence[Any]] = []
    for name, found in entailed(args.pairs, later=args.later):
        if isinstance(found, str):
            paraphrases.append([name, "skipped: " + found, "", "", ""])
            continue
        paraphrases.append(_row(name, found, args.list))
        if name.startswith("MRPC"):
            alike = [pair for pair in found if not has_other_facts(pair)]
            paraphrases.append(_row(f"{name}, no other figures", alike, False))
    across = list(translations(later=args.later))
    crossed = [
        _row(kind, [pair for pair in across if pair.kind == kind][:400], args.list)
        for kind in sorted({pair.kind for pair in across})
    ]
    by_hand = [(pair.kind.partition(", "), verdict(pair)) for pair in of_kinds()]
    kinds = [
        [
            kind,
            *_counted([said for (one, _, form), said in by_hand if one == kind and form == "true"]),
            *_counted([said for (one, _, form), said in by_hand if one == kind and form == "altered"]),
        ]
        for kind in dict.fromkeys(kind for (kind, _, _), _ in by_hand)
    ]
    columns = ("true", "differs", "share", "a number or date not found")
    figures |= {"paraphrases": paraphrases, "across": crossed, "kinds": kinds}
    show(
        figures,
        [
            ("Near-literal sentences: true ones said to differ, and the share found of altered ones",
             ("", *figures["en"]), literal),
            ("True paraphrases", ("set", *columns), paraphrases),
            ("A sentence in another language than its passage", ("languages", *columns), crossed),
            ("Sentences by hand", ("kind", "true", "said to differ", "altered", "found"), kinds),
        ],
        as_json=args.json,
    )  # fmt: skip


def _counted(said: Sequence[str]) -> tuple[int, int]:
    return len(said), said.count("differs")


def _row(name: str, pairs: Sequence[Pair], is_listed: bool) -> list[Any]:
    said = [verdict(pair) for pair in pairs]
    if is_listed:
        for pair, one in zip(pairs, said, strict=True):
            _wrong(pair, one)
    differs = said.count("differs")
    return [name, len(pairs), differs, differs / max(1, len(pairs)), said.count("not_found") / max(1, len(pairs))]


if __name__ == "__main__":
    main()
