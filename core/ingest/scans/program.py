"""Tesseract, the program that reads scanned pages: whether it is installed, for which languages, and how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

ASK_S = 20.0
"""Longest time that the program may take to say which languages it has."""
PAGE_S = 180.0
"""Longest time that a page is read."""
LANGUAGES = ("eng", "jpn", "kor")
"""The languages of scanned pages unless the settings say others, as Tesseract names them."""
ORIENTATION = "osd"
"""The data with which Tesseract finds how a page is turned."""
_VERTICAL = {"jpn": "jpn_vert", "kor": "kor_vert"}

_found: dict[tuple[str, float], frozenset[str]] = {}


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The installed program."""

    path: str
    installed: frozenset[str]
    """The languages, and other data, that it has."""

    def languages(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Return those of the languages that are installed, in the order given."""
        return tuple(language for language in wanted if language in self.installed)

    def vertical(self, language: str) -> str:
        """Return the data for lines from top to bottom in this language; empty where there is none."""
        found = _VERTICAL.get(language, "")
        return found if found in self.installed else ""


def find_tesseract() -> Tesseract | None:
    """Return the program that the path leads to; None when it is not installed or does not start.

    It is asked for its languages once, and again when one was added or the program was replaced.
    """
    path = shutil.which("tesseract")
    if path is None:
        return None
    key = (path, _changed(path))
    if key not in _found:
        installed = _installed(path)
        if not installed:  # it may start the next time
            return None
        _found[key] = installed
    return Tesseract(path, _found[key])


def install_command(languages: Sequence[str] = LANGUAGES) -> str:
    """Return the command that installs Tesseract with these languages on this system.

    >>> install_command(["eng"]) in ("sudo apt-get install tesseract-ocr", "brew install tesseract tesseract-lang")
    True
    """
    if sys.platform == "darwin":
        return "brew install tesseract tesseract-lang"
    data = [name for each in languages if each != "eng" for name in (each, _VERTICAL.get(each)) if name]
    packages = ["tesseract-ocr", *(f"tesseract-ocr-{name.replace('_', '-')}" for name in data)]
    return f"sudo apt-get install {' '.join(packages)}"


def _changed(path: str) -> float:
    """Return when the program or, with Debian's packages, its data was last changed."""
    folders = (path, os.environ.get("TESSDATA_PREFIX", ""), "/usr/share/tesseract-ocr/5/tessdata")
    return max(os.stat(each).st_mtime for each in folders if each and os.path.exists(each))


def _installed(path: str) -> frozenset[str]:
    try:
        asked = subprocess.run([path, "--list-langs"], capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(line.strip() for line in asked.stdout.splitlines()[1:] if line.strip())
