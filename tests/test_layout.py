"""The layout of the repository: rooms that say what they are for, and one name for each module."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worlds import WAIT_S

ROOT = Path(__file__).parent.parent
ROOMS = sorted(
    {path.parent for top in ("core", "app") for path in (ROOT / top).rglob("*.py") if path.parent != ROOT / top}
    - {ROOT / "core/ledger/migrations", ROOT / "core/ledger/migrations/versions"}
)
NAMES = [room.relative_to(ROOT).as_posix() for room in ROOMS]


@pytest.mark.parametrize("room", NAMES)
def test_a_room_says_what_it_is_for_what_it_may_import_and_how_one_comes_in(room: str) -> None:
    said = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8")))
    assert said is not None
    assert "\nMay import: " in said
    assert "\nWay in: " in said


@pytest.mark.parametrize("room", ["core", "app", *NAMES])
def test_a_room_is_small_enough_to_be_looked_over(room: str) -> None:
    assert len(list((ROOT / room).glob("*.py"))) <= 22


def test_no_module_is_imported_under_two_names() -> None:
    code = (
        "import runpy, sys\n"
        "sys.argv = ['app', '--help']\n"
        "try:\n    runpy.run_module('app', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "import braid.app.factory, braid.app.cli.doctor, os\n"
        "files = {}\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if getattr(module, '__file__', None):\n"
        "        files.setdefault(os.path.realpath(module.__file__), set()).add(id(module))\n"
        f"ours = {{f: ids for f, ids in files.items() if f.startswith({str(ROOT)!r}) and '.venv' not in f}}\n"
        "assert len(ours) > 150, len(ours)\n"
        "print([f for f, ids in ours.items() if len(ids) > 1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_the_picture_of_the_rooms_shows_the_imports() -> None:
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
    assert spec is not None
    assert spec.loader is not None
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    assert rooms.page_with_picture() == rooms.PAGE.read_text(encoding="utf-8"), "run python docs/rooms.py"


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:app|core)/[\w/]+\.py)`", text))
    assert len(named) > 10
    assert {name for name in named if not (ROOT / "tests" / name).exists()} == set()


def test_the_files_that_the_docs_name_are_there() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    path = re.compile(r"(?<![\w/.])((?:core|app|config|tests|benchmarks)/[\w/]+\.(?:py|toml|md))")
    named = {
        f"{page.name}: {name}"
        for page in pages
        if page.name != "security.md"  # its paths begin below tests/
        for name in path.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert named == set()
