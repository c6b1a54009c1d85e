"""How much of other projects' test files is read: ``python -m benchmarks.corpora FOLDER…``, per type of file.

A file may have its expected text beside it, or anywhere in the folders, under its own name and another suffix
(``report.docx.md``) or, in the same folder, in place of its suffix (``report.md``): Markdown, plain text, or JSON of
docling or unstructured. Of its sentences (lines, and cells of tables), the share is shown that comes in order: the
longest run of them whose places in what was read go up. Letters and digits alone are compared; a text that an expected
table repeats in the cells of a merged one counts once.

``garbled`` are files whose text is full of characters that nobody writes, or has not a third of the expected sentences.
What changed since the last run is printed at the end; ``--results`` is where the runs are kept.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import signal
import sys
import time
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, arguments, show
from braid.core.errors import BraidError
from braid.core.ingest.formats import FORMATS
from braid.core.ingest.readers import ParsedDocument, read_document

MAX_BYTES, TIMEOUT_S = 200_000_000, 120
MIN_SENTENCE_CHARS, MAX_PLACES = 8, 20
GARBLED_SHARE, LEAST_EXPECTED = 0.01, 1 / 3
NEARLY_ALL = 0.97
MAX_REASONS = 5
_EXPECTED = (".md", ".txt", ".json")
_SUFFIXES = frozenset(suffix for form in FORMATS if form.reader != "source.code" for suffix in form.suffixes)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n|\|")
_MARKUP = re.compile(r"\[[ xX]\]|!\[[^\]]*\]\([^)]*\)|(?<=\])\([^)]*\)|<!--.*?-->|<[^>]{1,200}>", re.DOTALL)
_NUMBERS = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    type: str
    status: str
    """``read``, ``garbled``, ``refused`` or ``crash``."""
    reason: str = ""
    in_order: float | None = None
    """Share of the expected sentences; None where there is no expected text."""
    chars: int = 0
    seconds: float = field(default=0.0, compare=False)


def main() -> int:
    """Read the files, print the tables, and keep the results. Returns 1 if a reader has crashed."""
    args = arguments(__doc__ or "", add=_add_arguments)
    outcomes = {}
    for folder in args.folders:
        known = _expected_files(folder)
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and _is_wanted(each, args.types)):
            outcomes[str(path.relative_to(folder.parent))] = _outcome(path, known)
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    last = _last(args.results)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps({name: asdict(each) for name, each in outcomes.items()}, indent=1))
    tables = [_by_type(outcomes), _reasons(outcomes), _changes(last, outcomes)]
    if args.worst:
        tables.append(_worst(outcomes, args.worst))
    show(
        {name: asdict(each) for name, each in outcomes.items()}, [each for each in tables if each[2]], as_json=args.json
    )
    return int(any(each.status == "crash" for each in outcomes.values()))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, help="folders with files, of any depth")
    parser.add_argument("--types", nargs="*", default=[], help="only files with these suffixes: docx xlsx")
    parser.add_argument("--worst", type=int, default=0, help="list so many files with the fewest sentences in order")
    parser.add_argument("--results", type=Path, default=ROOT / ".artifacts" / "corpora.json", help="of the last run")


def _is_wanted(path: Path, types: Sequence[str]) -> bool:
    suffix = path.suffix.lower()
    return suffix in _SUFFIXES and (not types or suffix[1:] in types)


def _expected_files(folder: Path) -> dict[str, Path]:
    """Return name of a file → its expected text, for names such as ``report.docx.md``; the shortest path of several."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*"), key=lambda each: (len(each.parts), each.suffix != ".md", str(each))):
        if path.suffix in _EXPECTED and Path(path.stem).suffix.lower() in _SUFFIXES:
            found.setdefault(path.stem, path)
    return found


def _expected(path: Path, known: Mapping[str, Path]) -> str | None:
    beside = (path.with_suffix(suffix) for suffix in _EXPECTED if suffix != path.suffix)
    own = known.get(path.name) or next((each for each in beside if each.is_file()), None)
    if own is None or (path.suffix in _EXPECTED and known.get(path.name) is None):
        return None
    text = own.read_text("utf-8", "replace")
    return text if own.suffix != ".json" else _text_of_json(text)


def _text_of_json(text: str) -> str | None:
    """Return the texts of a file of docling (``texts``) or unstructured (a list of elements); None for another one."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    elements = value.get("texts") if isinstance(value, dict) else value
    if not isinstance(elements, list):
        return None
    texts = [each["text"] for each in elements if isinstance(each, dict) and isinstance(each.get("text"), str)]
    return "\n".join(texts) or None


def _outcome(path: Path, known: Mapping[str, Path]) -> Outcome:
    kind = path.suffix.lower()[1:]
    started = time.perf_counter()
    try:
        with _time_limit():
            parsed = read_document(path.name, path.read_bytes(), max_bytes=MAX_BYTES)
    except BraidError as error:
        return Outcome(
            kind, "refused", str(error).removeprefix(path.name).strip(), seconds=time.perf_counter() - started
        )
    except Exception as error:  # what no reader foresees is what this looks for
        reason = f"{type(error).__name__}: {error}"
        return Outcome(kind, "crash", reason, seconds=time.perf_counter() - started)
    seconds = time.perf_counter() - started
    read = _whole(parsed)
    expected = _expected(path, known)
    sentences = [] if expected is None else _sentences(expected)
    share = share_in_order(sentences, read) if sentences else None
    garbled = _is_garbled(read) or (share is not None and share < LEAST_EXPECTED)
    return Outcome(kind, "garbled" if garbled else "read", "", share, len(read), seconds)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"took more than {TIMEOUT_S} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIMEOUT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _whole(parsed: ParsedDocument) -> str:
    """Return a document as it is stored, with its headings and the headers of its tables where they begin."""
    parts = [parsed.title]
    path = header = ""
    for section in parsed.sections:
        if section.heading_path != path:
            parts.append(section.heading_path.replace(" > ", "\n"))
            header = ""
        if section.header and section.header != header:
            parts.append(section.header)
        path, header = section.heading_path, section.header
        parts.append(section.text)
    return "\n".join(parts)


def _is_garbled(text: str) -> bool:
    counts = Counter(map(unicodedata.category, text))
    odd = counts["Co"] + counts["Cn"] + text.count("\ufffd")
    return odd > GARBLED_SHARE * max(1, len(text))


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).lower() if char.isalnum())


def _sentences(text: str) -> list[str]:
    pieces = _SENTENCE_END.split(html.unescape(_MARKUP.sub(" ", _without_repetition(text))))
    return [piece for piece in pieces if len(_letters(piece)) >= MIN_SENTENCE_CHARS]


def _without_repetition(text: str) -> str:
    """Leave out the cells of tables that repeat the one at their left or above, as merged ones do."""
    lines, above = [], list[str]()
    for line in text.split("\n"):
        if not line.startswith("|"):
            above = []
            lines.append(line)
            continue
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        kept = [
            "" if cell in (*cells[max(0, at - 1) : at], *above[at : at + 1]) else cell for at, cell in enumerate(cells)
        ]
        lines.append(" | ".join(kept))
        above = cells if any(cell.strip("-: ") for cell in cells) else above
    return "\n".join(lines)


def share_in_order(sentences: Sequence[str], read: str) -> float:
    """Return the share of sentences whose places in a text go up, at most: 1.0 where all are there and in order.

    >>> share_in_order(["The first.", "The second.", "The third.", "The last."], "The second, the first; the third.")
    0.5
    """
    text = _letters(read)
    ends: list[int] = []  # the lowest place at which a run of each length may end
    for sentence in map(_letters, sentences):
        for place in sorted(_places(sentence, text), reverse=True):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends) / len(sentences)


def _places(sentence: str, text: str) -> list[int]:
    found: list[int] = []
    place = text.find(sentence)
    while place >= 0 and len(found) < MAX_PLACES:
        found.append(place)
        place = text.find(sentence, place + 1)
    return found


def _last(path: Path) -> dict[str, Outcome]:
    if not path.is_file():
        return {}
    return {name: Outcome(**each) for name, each in json.loads(path.read_text()).items()}


Table = tuple[str, list[str], list[list[object]]]


def _by_type(outcomes: Mapping[str, Outcome]) -> Table:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes.values():
        groups[each.type].append(each)
    rows: list[list[object]] = [[kind, *_row(group)] for kind, group in sorted(groups.items())]
    rows.append(["all", *_row(outcomes.values())])
    columns = ["type", "files", "read", "refused", "garbled", "crash", "expected", f">= {NEARLY_ALL:.0%}", "in order"]
    return "Files", [*columns, "ms"], rows


def _row(group: Iterable[Outcome]) -> list[object]:
    group = list(group)
    counts = Counter(each.status for each in group)
    shares = [each.in_order for each in group if each.in_order is not None]
    mean = f"{sum(shares) / len(shares):.1%}" if shares else ""
    good = sum(share >= NEARLY_ALL for share in shares)
    milliseconds = f"{1000 * sum(each.seconds for each in group) / max(1, len(group)):,.0f}"
    statuses = [counts[status] for status in ("read", "refused", "garbled", "crash")]
    return [len(group), *statuses, len(shares) or "", good if shares else "", mean, milliseconds]


def _reasons(outcomes: Mapping[str, Outcome]) -> Table:
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, each in outcomes.items():
        if each.reason:
            reasons[each.type, _NUMBERS.sub("N", each.reason)[:90]].append(name)
    rows = [
        [kind, len(names), reason, ", ".join(Path(name).name for name in names[:MAX_REASONS])]
        for (kind, reason), names in sorted(reasons.items(), key=lambda each: (each[0][0], -len(each[1])))
    ]
    return "Not read", ["type", "files", "reason", "such as"], rows


def _changes(last: Mapping[str, Outcome], outcomes: Mapping[str, Outcome]) -> Table:
    rows: list[list[object]] = [
        [name, _shown(last[name]), _shown(each)]
        for name, each in outcomes.items()
        if name in last and _shown(last[name]) != _shown(each)
    ]
    return "Changed since the last run", ["file", "before", "now"], rows


def _shown(outcome: Outcome) -> str:
    if outcome.reason:
        return f"{outcome.status}: {outcome.reason[:60]}"
    share = "" if outcome.in_order is None else f", {outcome.in_order:.1%} in order"
    return f"{outcome.status}, {outcome.chars:,} characters{share}"


def _worst(outcomes: Mapping[str, Outcome], count: int) -> Table:
    shares = sorted((each.in_order, name) for name, each in outcomes.items() if each.in_order is not None)
    return "Fewest sentences in order", ["file", "share"], [[name, f"{share:.1%}"] for share, name in shares[:count]]


if __name__ == "__main__":
    sys.exit(main())
