"""How much of other projects' test files is read: ``python -m benchmarks.corpora FOLDER…``, per type of file.

A file may have its expected text beside it, or anywhere in the folders, under its own name and another suffix
(``report.docx.md``) or, in the same folder or one of expected texts beside it, in place of its suffix (``report.md``,
where no other file has that name): Markdown, plain text, or JSON of docling or unstructured. Of its sentences (lines,
and cells of tables), the share is shown that comes in order: the longest run of them whose places in what was read go
up. Letters and digits alone are compared. What the writer of the expected text added is no part of it: a text that a
table repeats in the cells of a merged one, formulas as LaTeX (the text around them is compared), who wrote a comment
and when, the kind of a chart, and midnight after a date.

``rightly`` are files refused for what they are: empty, without text, encrypted, cut off, of another format than they
say, pictures or letters without meaning when no machine reads them, or what needs a program that is missing. One that
is said to have no text is looked into without the reader: with letters in it, it is refused ``wrongly``, as all others
are. ``garbled`` are files whose text is full of characters that nobody writes, and does not say so of itself, or has
not a third of the expected sentences.
What changed since the last run is printed at the end; ``--results`` is where the runs are kept.
"""

from __future__ import annotations

import argparse
import glob
import html
import io
import json
import re
import signal
import sys
import time
import unicodedata
import zipfile
import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]

from benchmarks.common import ROOT, arguments, show
from braid.core.errors import BraidError, UnreadableCode, UnreadableDocumentError
from braid.core.ingest.formats import FORMATS
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.metadata.gaps import GARBLED_PAGES

MAX_BYTES, TIMEOUT_S = 200_000_000, 120
MIN_SENTENCE_CHARS, MAX_PLACES = 8, 200
GARBLED_SHARE, LEAST_EXPECTED = 0.01, 1 / 3
NEARLY_ALL = 0.97
MAX_REASONS = 5
MIN_LETTERS = 20
"""Letters of a file that is said to have none, from which that is wrong."""
_RIGHTLY: frozenset[UnreadableCode] = frozenset(
    {"empty", "no_text", "scanned", "garbled", "encrypted", "cut_off", "other_format", "too_large", "not_here"}
)
_WITHOUT_TEXT = frozenset({"no_text", "scanned"})
_STATUSES = ("read", "rightly", "wrongly", "garbled", "crash")
_PART = re.compile(
    r"word/(document|footnotes|endnotes|comments)|xl/(sharedStrings|worksheets|charts|comments)|ppt/(slides|notesSlides|"
    r"charts|comments)|Contents/section|content\.xml$|.*\.x?html?$"
)
_TEXT_NODE = re.compile(rb"<(?:\w{1,20}:)?(?:t|p|h|span|text)\b[^>]{0,2000}>([^<]+)")
_EXPECTED = (".md", ".txt", ".json")
_OF_EXPECTED = re.compile("ground|truth|expect|gold")
"""Names of folders with expected texts, which may be beside that with the files."""
_SUFFIXES = frozenset(suffix for form in FORMATS if form.reader != "source.code" for suffix in form.suffixes)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n|\|")
_MARKUP = re.compile(r"\[[ xX]\]|!\[[^\]]*\]\([^)]*\)|(?<=\])\([^)]*\)|<!--.*?-->|<[^>]{1,200}>", re.DOTALL)
_ADDED = re.compile(
    r"\[author: [^\]]{0,200}\]:|^[ ]*(?:Bar|Line|Pie|Scatter|Area|Other) chart[ ]*$|(?<=\d{4}-\d\d-\d\d) 00:00:00",
    re.MULTILINE,
)
"""What docling writes of itself: authors and times of comments, kinds of charts, midnight."""
_FORMULA = re.compile(r"\$\$.{1,2000}?\$\$|\$(?=[^$\n]{0,500}[\\^_=])[^$\n]{1,500}\$", re.DOTALL)
_NUMBERS = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    type: str
    status: str
    """``read``, ``rightly`` or ``wrongly`` (refused), ``garbled``, or ``crash``."""
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
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and is_wanted(each, args.types)):
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


def is_wanted(path: Path, types: Sequence[str]) -> bool:
    """Return whether a file is a document, and of one of the types if some are named."""
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
    own = known.get(path.name) or _beside(path)
    if own is None:
        return None
    text = own.read_text("utf-8", "replace")
    return text if own.suffix != ".json" else _text_of_json(text)


def _beside(path: Path) -> Path | None:
    """Return the expected text that has the file's name but for the suffix, where it is that of no other file."""
    others = (each for each in path.parent.glob(f"{glob.escape(path.stem)}.*") if each.suffix not in _EXPECTED)
    if path.suffix in _EXPECTED or _OF_EXPECTED.search(path.parent.name.lower()) or len(list(others)) > 1:
        return None
    aside = (each for each in sorted(path.parent.parent.iterdir()) if _OF_EXPECTED.search(each.name.lower()))
    in_place = (path.with_suffix(suffix) for suffix in (".md", ".json"))
    named = (*in_place, *((folder / path.name).with_suffix(".md") for folder in aside))
    return next((each for each in named if each.is_file()), None)


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
        reason = str(error).removeprefix(path.name).strip()
        status = "rightly" if _is_right(error, path.read_bytes()) else "wrongly"
        return Outcome(kind, status, reason, seconds=time.perf_counter() - started)
    except Exception as error:  # what no reader foresees is what this looks for
        reason = f"{type(error).__name__}: {error}"
        return Outcome(kind, "crash", reason, seconds=time.perf_counter() - started)
    seconds = time.perf_counter() - started
    read = _whole(parsed)
    expected = _expected(path, known)
    sentences = [] if expected is None else _sentences(expected)
    share = share_in_order(sentences, read) if sentences else None
    is_said = bool(parsed.metadata.get(GARBLED_PAGES))
    garbled = (_is_garbled(read) and not is_said) or (share is not None and share < LEAST_EXPECTED)
    return Outcome(kind, "garbled" if garbled else "read", "", share, len(read), seconds)


def _is_right(error: BraidError, content: bytes) -> bool:
    """Return whether a refusal is for what the file is, as far as its bytes tell."""
    code = error.code if isinstance(error, UnreadableDocumentError) else "fault"
    return code in _RIGHTLY and (code not in _WITHOUT_TEXT or letters_within(content) < MIN_LETTERS)


def letters_within(content: bytes) -> int:
    """Return how many letters a PDF has, or the parts with text of a zip archive, by other means than the readers."""
    if content[:1024].lstrip().startswith(b"%PDF-"):
        with suppress(pypdfium2.PdfiumError):
            pages = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(content)]
            return sum(char.isalpha() for page in pages for char in page)
    found = 0
    with suppress(zipfile.BadZipFile, NotImplementedError, zlib.error), zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in filter(_PART.match, archive.namelist()):
            texts = _TEXT_NODE.findall(archive.read(name))
            found += sum(char.isalpha() for text in texts for char in text.decode("utf-8", "replace"))
    return found


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


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, in one form and in lower case."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).lower() if char.isalnum())


def _sentences(text: str) -> list[str]:
    text = _ADDED.sub("", _FORMULA.sub("\n", _without_repetition(text)))
    pieces = _SENTENCE_END.split(html.unescape(_MARKUP.sub(" ", text)))
    return [piece for piece in pieces if len(letters_of(piece)) >= MIN_SENTENCE_CHARS]


def _without_repetition(text: str) -> str:
    """Leave out the cells of tables that repeat the one at their left or above, as merged ones do."""
    lines, above = [], list[str]()
    for line in text.split("\n"):
        if not line.startswith("|"):
            above = []
            lines.append(line)
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
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
    text = letters_of(read)
    ends: list[int] = []  # the lowest place at which a run of each length may end
    for sentence in map(letters_of, sentences):
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
    columns = ["type", "files", *_STATUSES, "expected", f">= {NEARLY_ALL:.0%}", "in order"]
    return "Files", [*columns, "ms"], rows


def _row(group: Iterable[Outcome]) -> list[object]:
    group = list(group)
    counts = Counter(each.status for each in group)
    shares = [each.in_order for each in group if each.in_order is not None]
    mean = f"{sum(shares) / len(shares):.1%}" if shares else ""
    good = sum(share >= NEARLY_ALL for share in shares)
    milliseconds = f"{1000 * sum(each.seconds for each in group) / max(1, len(group)):,.0f}"
    statuses = [counts[status] for status in _STATUSES]
    return [len(group), *statuses, len(shares) or "", good if shares else "", mean, milliseconds]


def _reasons(outcomes: Mapping[str, Outcome]) -> Table:
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, each in outcomes.items():
        if each.reason:
            reasons[each.type, each.status, _NUMBERS.sub("N", each.reason)[:90]].append(name)
    rows = [
        [kind, len(names), status, reason, ", ".join(Path(name).name for name in names[:MAX_REASONS])]
        for (kind, status, reason), names in sorted(reasons.items(), key=lambda each: (each[0][:2], -len(each[1])))
    ]
    return "Not read", ["type", "files", "refused", "reason", "such as"], rows


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
