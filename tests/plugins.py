"""Packages that bring parts of Braid by entry points, installed as pip does it, for the time of a test."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from braid.core.extras import installed
from braid.core.ingest.formats import format_of_suffix, formats
from braid.core.search.strategies import strategies

DOCS = Path(__file__).parents[1] / "docs"
_CACHES = (installed, formats, format_of_suffix, strategies)


def section_of(page: str, heading: str) -> tuple[str, str, str]:
    """Return the module that a section of a page shows, the name of the module, and its entry points."""
    section = (DOCS / page).read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    module, points = (section.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("python", "toml"))
    [(_, named)] = tomllib.loads(points)["project"]["entry-points"].items()
    lines = "\n".join(f"{name} = {value}" for name, value in named.items())
    return module, next(iter(named.values())).partition(":")[0], lines


@cache
def _site(name: str, module: str, group: str, points: str) -> Path:
    """Install it, and return the folder that has it: once, since pip takes longer than most tests."""
    folder, info = Path(tempfile.mkdtemp(prefix="braid-")), f"{name}-1.0.dist-info"
    atexit.register(shutil.rmtree, folder)
    target = folder / "site"
    target.mkdir()
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", module)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", f"[{group}]\n{points}\n")
        archive.writestr(f"{info}/RECORD", "")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(target), str(wheel)], check=True)
    return target


@contextmanager
def package(name: str, module: str, group: str, points: str) -> Iterator[None]:
    """Have a package of one module with these entry points, also in the processes that are started meanwhile."""
    target = str(_site(name, module, group, points))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(target)
        patch.setenv("PYTHONPATH", target)
        for cache in _CACHES:
            cache.cache_clear()
        try:
            yield
        finally:
            sys.modules.pop(name, None)
    for cache in _CACHES:
        cache.cache_clear()
