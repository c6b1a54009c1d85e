"""Finds the files at paths, folders and globs, under the ignore rules of the folders that they are in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from braid.core.errors import InvalidInputError, Reason

_HIDDEN = (".", "~$")
"""How files begin that are not shown; Office writes one that begins with ``~$`` beside each open document."""
_OF_WINDOWS = ("thumbs.db", "desktop.ini")

IGNORE_FILES = (".gitignore", ".braidignore")  # in this order: .braidignore has the last word
GLOB_CHARACTERS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found. ``base`` is the given folder, or the folder of the given file."""

    path: str
    """Absolute; may hold surrogates where the name is not valid UTF-8."""
    base: str
    skipped: str = ""
    """The reason for leaving it out: ``hidden``, ``ignored``, ``linked folder``, ``not a regular file``."""
    problem: str = ""
    """The reason why it cannot be read or listed."""
    is_folder: bool = False
    """Set for a folder with a problem."""


def find_files(
    paths: Sequence[str], *, ignore: Sequence[str] = (), leave_out: Sequence[str] = ()
) -> Iterator[FoundFile]:
    """Yield the files at these paths, sorted within each folder; contents are not read.

    A path is a file, a folder (searched in depth) or a glob (``docs/**/*.md``). ``ignore`` holds gitignore
    patterns, relative to each given folder; a file or folder that is given by name is taken even when it is
    hidden or an ignore file leaves it out. Links to files are followed, links to folders are not, so there
    are no loops. ``leave_out`` are absolute folders that are never entered.

    Raises InvalidInputError, before the first file, when a path does not exist or a pattern is wrong.
    """
    if not paths:
        raise InvalidInputError("no file or folder is given", field="paths")
    always = ignore_spec(ignore)
    starts = [_start(path) for path in paths]
    return (file for start in starts for file in _find(start, always, frozenset(leave_out)))


# ---------------------------------------------------------------- what is given


@dataclass(frozen=True, slots=True)
class _Start:
    """A given path: a file, or a folder with, for a glob, the pattern that its files must match."""

    path: str
    is_folder: bool
    wanted: GitIgnoreSpec | None = None
    depth: int | None = None
    """Depth of folders that the glob can match; None is without limit."""


def _start(given: str) -> _Start:
    if not given:
        raise InvalidInputError("an empty path is given; write . for the current folder", field="paths")
    path = os.path.abspath(given)
    if os.path.isdir(path):
        return _Start(path, is_folder=True)
    if os.path.isfile(path):
        return _Start(path, is_folder=False)
    if os.path.lexists(path):
        what = "a link to nothing" if os.path.islink(path) else "not a regular file or a folder"
        raise InvalidInputError(f"{given!r} is {what}; give a file, a folder or a glob", field="paths")
    if GLOB_CHARACTERS.search(given):
        return _glob_start(given)
    raise InvalidInputError(f"there is no file or folder {given!r}", field="paths")


def _glob_start(given: str) -> _Start:
    parts = given.replace(os.sep, "/").split("/")
    fixed = next(i for i, part in enumerate(parts) if GLOB_CHARACTERS.search(part))
    folder = os.path.abspath("/".join(parts[:fixed]) or ("/" if fixed else "."))
    if not os.path.isdir(folder):
        raise InvalidInputError(f"{given!r} matches nothing: there is no folder {folder!r}", field="paths")
    wanted = parts[fixed:]
    depth = None if "**" in wanted else len(wanted)
    start = _Start(folder, is_folder=True, wanted=ignore_spec(["/" + "/".join(wanted)]), depth=depth)
    if not any(not file.skipped for file in _find(start, ignore_spec([]), frozenset())):
        raise InvalidInputError(f"no file matches {given!r} (hidden and ignored files do not count)", field="paths")
    return start


# ---------------------------------------------------------------- walking


def _find(start: _Start, always: GitIgnoreSpec, leave_out: frozenset[str]) -> Iterator[FoundFile]:
    if start.is_folder:
        return _walk(start, always, leave_out)
    base, name = os.path.split(start.path)
    return iter([FoundFile(start.path, base, skipped="ignored" if always.match_file(name) else "")])


def _walk(start: _Start, always: GitIgnoreSpec, leave_out: frozenset[str]) -> Iterator[FoundFile]:
    given = _Rules(start.path, always)
    folders = [(start.path, _outer_rules(start.path))]
    while folders:
        folder, rules = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
            rules = _rules_of(folder, rules)
        except OSError as error:
            problem: str = Reason("the folder is left out, it cannot be read: %(error)s", error=error.strerror)
            if error.filename != folder:
                problem = Reason(
                    "the folder is left out, its %(name)s cannot be read: %(error)s",
                    name=os.path.basename(error.filename),
                    error=error.strerror,
                )
            yield FoundFile(folder, start.path, problem=problem, is_folder=True)
            continue
        inner = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not _is_wanted(start, entry.path, is_folder):
                continue
            why = _why_not(entry, is_folder, given, rules)
            if why or not is_folder:
                problem = "" if why else _link_problem(entry)
                yield FoundFile(entry.path, start.path, skipped=why, problem=problem)
            elif entry.path not in leave_out:
                inner.append((entry.path, rules))
        folders.extend(reversed(inner))


def _is_wanted(start: _Start, path: str, is_folder: bool) -> bool:
    """Return whether a glob matches the path, or may match something below it."""
    if start.wanted is None:
        return True
    relative = _below(path, start.path)
    if start.wanted.match_file(relative + "/" if is_folder else relative):
        return True
    return is_folder and (start.depth is None or relative.count("/") + 1 < start.depth)


def _why_not(entry: os.DirEntry[str], is_folder: bool, given: _Rules, rules: _Rules | None) -> str:
    if entry.name.startswith(_HIDDEN) or entry.name.lower() in _OF_WINDOWS:
        return "hidden"
    left_out = given.match(entry.path, is_folder)
    if left_out or (left_out is None and _is_ignored(entry.path, is_folder, rules)):
        return "ignored"
    if not is_folder and os.path.isdir(entry.path):
        return "linked folder"
    if not is_folder and not entry.is_symlink() and not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    return ""


def _link_problem(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink() and not os.path.isfile(entry.path):
        return Reason("the link leads to nothing, to itself or to something that is not a regular file")
    return ""


# ---------------------------------------------------------------- ignore rules


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder, and as ``outer`` those of the folders around it."""

    folder: str
    spec: GitIgnoreSpec
    outer: _Rules | None = None

    def match(self, path: str, is_folder: bool) -> bool | None:
        """Return whether to leave the path out; False: a ``!`` pattern keeps it; None: no pattern matches."""
        relative = _below(path, self.folder)
        return self.spec.check_file(relative + "/" if is_folder else relative).include


def _is_ignored(path: str, is_folder: bool, rules: _Rules | None) -> bool:
    while rules is not None:
        ignored = rules.match(path, is_folder)
        if ignored is not None:
            return ignored
        rules = rules.outer
    return False


def _rules_of(folder: str, outer: _Rules | None) -> _Rules | None:
    lines = [line for name in IGNORE_FILES for line in _lines(os.path.join(folder, name))]
    return _Rules(folder, _lenient_spec(lines), outer) if lines else outer


def _outer_rules(folder: str) -> _Rules | None:
    """Return the rules of the folders around a given one, up to the top of its git repository.

    None when they would leave out the given folder itself: the user named it.
    """
    around: list[str] = []
    inner = folder
    while not os.path.lexists(os.path.join(inner, ".git")):
        parent = os.path.dirname(inner)
        if parent == inner:
            return None
        around.append(parent)
        inner = parent
    rules: _Rules | None = None
    for parent in reversed(around):
        try:
            rules = _rules_of(parent, rules)
        except OSError as error:
            message = f"{error.filename!r} cannot be read: {error.strerror}"
            raise InvalidInputError(message, field="paths") from error
    return None if _is_ignored(folder, True, rules) else rules


def _lines(path: str) -> list[str]:
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.read().splitlines()


def ignore_spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    """Return what matches gitignore patterns. Raises InvalidInputError for what is none."""
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error) as error:
        given = ", ".join(patterns)
        raise InvalidInputError(f"{given!r} is not a gitignore pattern: {error}", field="ignore") from error


def _lenient_spec(lines: Sequence[str]) -> GitIgnoreSpec:
    """Return the patterns of an ignore file. Lines that are no pattern are skipped, as git does."""
    kept: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            continue
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)


def _below(path: str, folder: str) -> str:
    return path[len(os.path.join(folder, "")) :].replace(os.sep, "/")
