"""What a type checker says of programs that use Braid: options are known by name and by value."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from braid.app.api.search_options import SearchOptionsGiven as ApiOptions
from braid.app.cli.root import cli
from braid.app.mcp.server import make_server
from braid.core.options import ABOUT, QueryOptions, RetrieverOptions, SearchOptions
from braid.core.remote import NAMES, OPTIONS

ROOT = Path(__file__).parent.parent
FOLLOWED = (
    "braid",
    *(f"braid.core.{name}" for name in ("braid", "data_directory", "options", "retriever_manager", "types")),
)
"""Modules whose types the programs need; the rest is left out, which spares a minute."""
CONFIG = "[mypy]\nstrict = True\nfollow_imports = skip\ndisallow_subclassing_any = False\n" + "".join(
    f"[mypy-{name}]\nfollow_imports = silent\n" for name in FOLLOWED
)
GOOD = """
from pathlib import Path
from braid import Braid, EmbeddingOptions, Filters, IndexOptions

with Braid("data", shared_dbs="shared.json", index_options=IndexOptions(languages=["en", "de"])) as braid:
    result = braid.search("pump", user_id=1, dataset_ids=[1], mode="keyword", k=3, strategy="hyde")
    result = braid.search("pump", user_id=1, filters={"year": {"$gte": 2024}})
    retriever = braid.get_retriever("basic", user_id=1, dataset_ids=(1, -1), k=3, with_scores=True, on_degraded="raise")
    other = braid.get_retriever(user_id=1, filters=Filters(source_prefix="a/"), search_kwargs={"k": 3})
with Braid(Path("data"), index_options=IndexOptions(follow=["bm25"])) as braid:
    pass
"""
BAD = """
from braid import Braid

def ask(braid: Braid) -> None:
    braid.search("pump", user_id=1, kk=3)
    braid.search("pump", user_id=1, mode="semntic")
    braid.search("pump", user_id="ann")
    braid.search("pump", user_id=1, with_scores=True)
    braid.get_retriever(user_id=1, kk=3)
    braid.get_retriever(user_id=1, mode="semntic")
    braid.get_retriever(user_id=1, on_degraded="shout")
    braid.manager.search("pump", user_id=1, k="three")
"""


def check(program: str, folder: Path) -> str:
    """What mypy says."""
    (folder / "mypy.ini").write_text(CONFIG)
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py"]
    done = subprocess.run(
        command, cwd=folder, env={"MYPYPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, timeout=300
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where mypy keeps what it knows from one program to the next."""
    return tmp_path_factory.mktemp("mypy")


def test_texts_as_paths_and_lists_are_right(folder: Path) -> None:
    assert check(GOOD, folder) == "Success: no issues found in 1 source file\n"


def test_a_wrong_name_or_value_of_an_option_is_seen(folder: Path) -> None:
    said = check(BAD, folder)
    calls = [number for number, line in enumerate(BAD.splitlines(), 1) if line.startswith("    braid.")]
    assert sorted({int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line}) == calls, said


def test_the_keywords_are_the_fields_of_the_options() -> None:
    hints = get_type_hints(SearchOptions)
    hints["filters"] |= Mapping[str, Any]  # as a plain object, too
    for name in ("filters", "reranker", "parameters"):
        hints[name] |= None  # as nothing
    assert hints.items() <= get_type_hints(QueryOptions).items()
    assert get_type_hints(QueryOptions).keys() == {name for name in hints if not name.startswith("_")}
    assert get_type_hints(RetrieverOptions).keys() > get_type_hints(QueryOptions).keys()


# ---------------------------------------------------------------- what the interfaces take

HERE_ALONE = {"dense_weight", "pooling", "engine"}
"""Options that the API does not take: the site chooses, or they are for comparisons."""


def test_the_api_and_the_remote_client_take_every_option() -> None:
    names = {option.name for option in fields(SearchOptions)}
    assert names - HERE_ALONE == OPTIONS
    assert {NAMES.get(name, name) for name in OPTIONS} <= ApiOptions.model_fields.keys()
    assert ApiOptions.model_fields.keys().isdisjoint(HERE_ALONE)


def test_the_command_line_takes_every_option() -> None:
    taken = {name for option in cli.commands["search"].params if (name := option.name)}  # type: ignore[attr-defined]
    filters = {"file_types", "source_prefix", "where", "since", "until", "chunk_kinds"}
    assert filters <= taken
    assert {option.name for option in fields(SearchOptions)} - {"filters"} <= taken


def test_a_tool_takes_the_options_that_are_for_tools() -> None:
    tools = {tool.name: tool for tool in asyncio.run(make_server(lambda _: None, read_only=True).list_tools())}  # type: ignore[arg-type,return-value]
    taken = tools["search"].input_schema["properties"]
    for name in (name for name, told in ABOUT.items() if told.in_tools):
        assert taken[name]["description"] == ABOUT[name].help


def test_what_is_said_of_an_option_is_one_sentence() -> None:
    for told in ABOUT.values():
        assert told.help[0].isupper() or told.help.startswith("`")
        assert not told.help.endswith(".")
