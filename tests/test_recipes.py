"""The recipes in docs/recipes do what they say: their code is run, and what it prints is what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from braid.app.openai_api import openai_api
from braid.app.openai_api.models import PREFIX
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from braid.core.types import ALL
from tests.model_server import model_server
from tests.modes import mostly_long
from tests.served import Served

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "docs" / "recipes"
RUN_S = 100
TWICE = "import sys; [exec(compile(sys.argv[1], 'recipe', 'exec'), {'__name__': '__main__'}) for _ in range(2)]"
"""In one process: loading the libraries takes most of the time."""
IN_PYTHON = (
    "plain-python",
    "flask-host-app",
    "from-ensemble-retriever",
    "langchain-chain",
    "langchain-chroma",
    "langchain-retriever",
    "own-data",
    "langgraph-agent",
    "flask-login",
)

OF_APPS = {"open-webui": "bash", "dify": "bash", "librechat": "yaml"}
"""Recipes for apps that are not run here: what they send is, and their configuration is read."""


def block(recipe: str, language: str) -> str:
    """The only block in this language."""
    text = (RECIPES / f"{recipe}.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found)


def run(command: list[str], folder: Path, **variables: str) -> str:
    """What the command prints; warnings of libraries do not count."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    environment = {**inherited, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_recipe_is_run_here() -> None:
    others = {"own-embeddings", "mcp-client", "http-with-curl", *OF_APPS}
    in_browser = {"web-component"}  # in browser/test_embedded.py
    of_workers = {"gunicorn", "fastapi", "django", "remote"}  # in test_worker_recipes.py
    assert {path.stem for path in RECIPES.glob("*.md")} == {*IN_PYTHON, *others, *in_browser, *of_workers}


def test_what_the_docs_import_is_in_the_reference() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (public,) = re.findall(r"^PUBLIC := (.*)$", makefile, re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    imported = {name for text in texts for name in re.findall(r"^from (braid\S*) import", text, re.MULTILINE)}
    assert "braid" in imported
    assert imported <= set(public.split())


@pytest.mark.parametrize("recipe", mostly_long(IN_PYTHON, short=2))
def test_in_python_and_then_again(recipe: str, tmp_path: Path) -> None:
    assert run([sys.executable, "-c", TWICE, block(recipe, "python")], tmp_path) == 2 * block(recipe, "text")


@pytest.mark.long
def test_own_embeddings(tmp_path: Path) -> None:
    with model_server() as server:
        variables = {"EMBEDDINGS_URL": server.url, "EMBEDDINGS_KEY": "secret-key"}
        printed = run([sys.executable, "-c", TWICE, block("own-embeddings", "python")], tmp_path, **variables)
    assert printed == 2 * block("own-embeddings", "text")
    assert {call.key for call in server.embedding_calls} == {"secret-key"}


@pytest.mark.long
def test_an_mcp_client(tmp_path: Path) -> None:
    configuration = block("mcp-client", "json").replace("/path/to/data", str(tmp_path / "data"))
    (tmp_path / "mcp.json").write_text(configuration)
    installed = tmp_path / "bin" / "braid"
    installed.parent.mkdir()
    installed.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m app "$@"\n')
    installed.chmod(0o755)
    path = f"{installed.parent}{os.pathsep}{os.environ['PATH']}"
    with DataDirectory(tmp_path / "data") as braid:
        braid.ledger.add_user("ann")
    printed = run([sys.executable, "-c", block("mcp-client", "python")], tmp_path, PATH=path)
    assert printed == block("mcp-client", "text")


def test_http_with_curl(tmp_path: Path) -> None:
    with Served(tmp_path / "data", fake_model=True) as server:
        with DataDirectory(server.data_dir) as braid:
            admin = next(account for account in Accounts(braid.ledger).all() if account.is_admin)
            _, token = ApiTokens(braid.ledger).add(admin.id, "recipe", ["read", "write"])
        variables = {"BRAID": f"http://127.0.0.1:{server.port}/api/v1", "BRAID_TOKEN": token}
        printed = run(["bash", "-euo", "pipefail", "-c", block("http-with-curl", "bash")], tmp_path, **variables)
        variables = {"BRAID_URL": f"http://127.0.0.1:{server.port}", "BRAID_TOKEN": token}
        for recipe in ("open-webui", "dify"):
            app = run(["bash", "-euo", "pipefail", "-c", block(recipe, "bash")], tmp_path, **variables)
            assert app == block(recipe, "text")
    assert printed == block("http-with-curl", "text")


def test_the_configuration_of_librechat_names_an_address_and_models_that_there_are() -> None:
    configuration = block("librechat", "yaml")
    (address,) = re.findall(r'baseURL: "http://braid:8000(.*)"', configuration)
    (models,) = re.findall(r"default: \[(.*)\]", configuration)
    assert address == openai_api.url_prefix
    assert [name.strip('"') for name in models.split(", ")] == [PREFIX + ALL]
