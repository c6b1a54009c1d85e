"""Plan: which of the found files are read, and under which sources."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from braid.core.errors import InvalidInputError, Reason
from braid.core.ingest.formats import format_named, format_of_suffix
from braid.core.ingest.scans.program import LANGUAGES
from braid.core.ingest.walk import FoundFile

MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Says which files are read, how their sources are named, and how large chunks are.

    >>> from braid import ingest_paths
    >>> options = IngestOptions(ignore=("*.log",), id_prefix="wiki/", relative=True, chunk_chars=800)
    >>> report = ingest_paths(braid, 1, [str(wiki_dir)], options=options)
    >>> braid.ledger.document(1, "wiki/home.md").chunks
    1
    """

    ignore: tuple[str, ...] = ()
    """gitignore patterns of files to leave out, relative to each given folder."""
    since: float | None = None
    """Read only files modified at or after this time, seconds since the epoch."""
    file_types: frozenset[str] = frozenset()
    """Read only these formats (``pdf``, ``md`` …); empty: all."""
    id_prefix: str = ""
    """The beginning of every source."""
    relative: bool = False
    """Sources relative to ``relative_to``, or to the folder given; otherwise absolute paths."""
    relative_to: str = ""
    max_file_bytes: int = 100 * MEBIBYTE
    chunk_chars: int = 1200
    chunk_overlap_chars: int = 150
    scan_languages: tuple[str, ...] = LANGUAGES
    """Languages of scanned pages, as Tesseract names them; they are read where it is installed."""

    def __post_init__(self) -> None:
        given: object = self.file_types
        if isinstance(given, str):
            raise InvalidInputError(
                f"file_types is {given!r}; give a set of names, such as {{'pdf', 'md'}}", field="file_types"
            )
        named = {name: format_named(name) for name in self.file_types}
        object.__setattr__(self, "file_types", frozenset(form.file_type if form else n for n, form in named.items()))


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to read as ``source``, or the problem that makes it fail."""

    path: str
    source: str
    problem: str = ""
    recorded: bool = True
    """Whether a failure leaves a row in the ledger: not for a folder, nor for another file's source."""


def plan_files(found: Iterable[FoundFile], options: IngestOptions) -> tuple[list[PlannedFile], Counter[str]]:
    """Return the files to read, each source once, and the number of files left out for each reason.

    A file that was found twice is planned once. Of two files with the same source the second has a problem. Raises
    InvalidInputError for a file that is not below ``relative_to``.
    """
    planned: dict[str, PlannedFile] = {}
    clashes: list[PlannedFile] = []
    skips: Counter[str] = Counter()
    for file in found:
        why = file.skipped or ("" if file.problem else _why_not(file.path, options))
        if why:
            skips[why] += 1
            continue
        source = _source(file, options)
        first = planned.get(source)
        if first is None:
            problem = file.problem or _name_problem(file.path)
            planned[source] = PlannedFile(file.path, source, problem, recorded=not file.is_folder)
        elif first.path != file.path:
            both = f"{escape(first.path)} and {escape(file.path)}"
            problem = Reason("%(names)s have the same source; ingest them with different prefixes", names=both)
            clashes.append(PlannedFile(file.path, source, problem, recorded=False))
    return [*planned.values(), *clashes], skips


def _why_not(path: str, options: IngestOptions) -> str:
    if options.file_types and file_type_of(path) not in options.file_types:
        return "another file type"
    return "not modified since" if options.since is not None and _is_older(path, options.since) else ""


def file_type_of(name: str) -> str:
    """Return the format of a file name, ``md`` for ``notes.markdown``; for an unknown suffix that without its dot."""
    suffix = os.path.splitext(f"_{os.path.basename(name)}")[1].lower()
    form = format_of_suffix().get(suffix)
    return form.file_type if form else suffix.removeprefix(".")


def _is_older(path: str, time: float) -> bool:
    try:
        return os.stat(path).st_mtime < time
    except OSError:  # reading the file reports the reason
        return False


def _source(file: FoundFile, options: IngestOptions) -> str:
    path = file.path
    if options.relative:
        base = os.path.abspath(options.relative_to) if options.relative_to else file.base
        path = os.path.relpath(file.path, base)
        if path.startswith(os.pardir + os.sep):
            message = f"{escape(file.path)} is not below {escape(base)}; give a folder around it"
            raise InvalidInputError(message, field="relative")
    return source_name(path.replace(os.sep, "/"), prefix=options.id_prefix)


def escape(path: str) -> str:
    """Return the path as text that can be stored and printed, with escapes for bytes that are not UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _name_problem(path: str) -> str:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return Reason("%(name)s has a name that is not valid UTF-8; rename it", name=escape(os.path.basename(path)))
    return ""


def source_name(name: str, *, prefix: str = "") -> str:
    """Normalize a source: NFC, because macOS decomposes file names, with escapes for what is not text.

    Raises InvalidInputError for a blank source.
    """
    source = escape(prefix + name)
    if not source.strip():
        raise InvalidInputError("the source is empty; give the document's path or URL", field="source")
    return unicodedata.normalize("NFC", source)
