"""Zip archives of files: each file that can be read, under its path. Nothing is unpacked to the disk."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Set
from contextvars import ContextVar

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.compound import slack
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, one_line
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.mail import attached
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD

ERRORS = PACKAGE_ERRORS

MAX_FILES = 500
_UTF8_NAME = 0x800
MAX_PARTS = 20
"""Archives that one may hold that holds nothing else, as exports in parts do."""
_ID = re.compile(r" [0-9a-f]{32}(?=[./_]|$)")
"""What Notion puts after the names of pages."""
_UNWANTED = re.compile(r"(?:^|/)(?:__MACOSX/|\.[^/]|~\$|Thumbs\.db$|desktop\.ini$)", re.IGNORECASE)
_FILES_ONLY = 2
_level: ContextVar[int] = ContextVar("level_of_archives", default=0)
"""In how many archives this one is; `_FILES_ONLY` where none may be."""


def read(file: SourceFile) -> ParsedDocument:
    """Return the sections of all files under their paths; those that cannot be read are named in the metadata.

    An archive within an archive is not unpacked, so that none can hold itself, but for those in one that holds nothing
    else.
    """
    level = _level.get()
    if level >= _FILES_ONLY:
        raise file.unreadable(
            "%(name)s is a zip archive within another one; unpack it and add the files in it", code="other_format"
        )
    token = _level.set(_FILES_ONLY)
    try:
        with open_archive(file) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            paths = {entry.filename for entry in entries}
            named = [
                (name, entry)
                for entry in entries
                if not (_UNWANTED.search(name := _name(entry)) or _is_in_another(entry.filename, paths))
            ]
            if len(named) <= MAX_PARTS and all(name.lower().endswith(".zip") for name, _ in named):
                _level.set(level + 1)
            if (count := len(named)) > MAX_FILES:
                raise file.too_large(
                    "%(name)s holds %(files)s files; at most %(most)s are read, so split it",
                    files=count,
                    most=MAX_FILES,
                )
            problems: list[str] = []
            sections = tuple(_sections(file, archive, named, problems))
    finally:
        _level.reset(token)
    if problems and not sections:
        raise file.unreadable(
            "%(name)s holds no file that can be read; unpack it and add one of them to see why", code="other_format"
        )
    metadata = {"attachments": ", ".join(name for name, _ in named), ATTACHMENTS_UNREAD: "; ".join(problems)}
    return ParsedDocument(file.stem, "zip", sections, metadata)


def _sections(
    file: SourceFile, archive: zipfile.ZipFile, named: list[tuple[str, zipfile.ZipInfo]], problems: list[str]
) -> Iterator[Section]:
    users = next((entry for name, entry in named if name == slack.USERS), None)
    names = slack.names_of(archive.read(users)) if users and any(slack.DAY.fullmatch(name) for name, _ in named) else {}
    for name, entry in sorted(named, key=lambda each: each[0]):
        folder, _, base = name.rpartition("/")
        content = archive.read(entry)
        day = slack.DAY.fullmatch(name) if names else None
        if day and (messages := list(slack.messages(content, day["channel"], names))):
            yield from messages
        elif not (names and entry is users):
            yield from attached(file, base, content, folder, problems, number=1)


def _is_in_another(path: str, paths: Set[str]) -> bool:
    """Return whether a table is in an export of Notion a second time, with its rows that the view hides."""
    return path.endswith(".csv") and _ID.search(path) is not None and f"{path.removesuffix('.csv')}_all.csv" in paths


def _name(entry: zipfile.ZipInfo) -> str:
    """Return a file's path as its author wrote it, for people to read: it leads nowhere."""
    name = entry.filename
    if not entry.flag_bits & _UTF8_NAME:
        name = decode(name.encode("cp437", "replace"))  # as `zipfile` has decoded it; others name files in their own
    parts = (one_line(part) for part in name.replace("\\", "/").split("/"))
    return _ID.sub("", "/".join(part for part in parts if part not in ("", ".", "..")))
