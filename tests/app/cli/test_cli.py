"""The command line: real data directories, and a few real processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from rich.cells import cell_len

import braid
from braid.app.cli.options import FileTypes, Moment
from braid.app.cli.output import print_table
from braid.app.cli.root import cli
from braid.app.terminal import one_line
from braid.config.backup import sources_of
from braid.config.settings import load_settings
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.credentials import ApiTokens
from braid.core.backup.make import make_backup
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import JobStore
from braid.core.ledger.owners.owner import OwnerLock
from braid.core.originals.store import Originals
from braid.core.text.token_budget import estimate_tokens
from braid.core.workers.link import Link
from tests import command_line, samples, scans
from tests.model_server import model_server
from tests.worlds import WAIT_S, eventually, write

REPOSITORY = Path(__file__).parents[3]
NOBODY = "http://127.0.0.1:9/"
"""Where nothing answers: the port of the discard service, which only root may open."""
MANUAL = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")


class CommandLine(command_line.CommandLine):
    """Runs commands over one data directory, in this process or in one of their own."""

    def process(self, *args: object, **options: Any) -> subprocess.Popen[str]:
        """The same in a process of its own, which heeds Ctrl-C also where the tests run in the background."""
        heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
        return subprocess.Popen(
            [sys.executable, "-m", "app", *map(str, args)],
            cwd=REPOSITORY,
            env={**os.environ, **self.env, "BRAID_DATA_DIR": str(self.data_dir), "PYTHONUTF8": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            preexec_fn=heed,
            **options,
        )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, out, err


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def dataset(run: CommandLine) -> int:
    """The id of an empty dataset of the only user."""
    return int(run.json("dataset", "add", "Notes")["id"])


@pytest.fixture
def owned(run: CommandLine) -> Iterator[CommandLine]:
    """A data directory whose indexes another process has, as far as anyone can tell."""
    run.data_dir.mkdir(parents=True)
    lock = OwnerLock(run.data_dir)
    lock.acquire()
    lock.announce(NOBODY)
    yield run
    lock.release()


# ---------------------------------------------------------------- the manual


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield path, command


def section(name: str) -> str:
    parts = re.split(r"^## (.+)$", MANUAL, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name]


@pytest.mark.parametrize(("path", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in commands()])
def test_every_command_and_option_is_in_the_manual_with_an_example(
    path: tuple[str, ...], command: click.Command
) -> None:
    text = section(path[0])
    assert f"python -m app {' '.join(path)}" in text
    if path in (("explain",), ("chat",)):
        assert "[search](#search)" in text
        text += section("search")
    if len(path) > 1:
        table = text[text.index(f"| `{' '.join(path)}` option") :]
        text = table[: table.index("\n\n")]
    documented = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
    options = {name for option in command.params if isinstance(option, click.Option) for name in option.opts}
    assert options - documented == {"--data-dir", "--new-site"}, "which the manual has at its head"


def test_the_manual_has_no_options_that_do_not_exist() -> None:
    known = {name for _, command in commands() for option in command.params for name in option.opts}
    assert set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", MANUAL)) - known == {"--help"}


def test_defaults_in_help_do_not_differ_between_commands() -> None:
    helps: dict[str, set[str]] = {}
    for path, command in commands():
        if path[0] in ("search", "explain", "eval"):
            for option in command.params:
                if isinstance(option, click.Option) and option.name != "as_json":
                    helps.setdefault(str(option.name), set()).add(str(option.help))
    assert {name: texts for name, texts in helps.items() if len(texts) > 1} == {}


# ---------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Missing command. Choose one of audit, backup, chat, conversation, dataset, db"),
        (
            ["user"],
            "Missing command. Choose one of add, admin, disable, enable, export, groups, import, list, password",
        ),
        (["serch"], "No such command 'serch'. (Did you mean one of: 'search'"),
        (["search"], "Missing argument 'TEXT'."),
        (["search", "x", "--mode", "fuzzy"], "'fuzzy' is not one of 'semantic', 'keyword', 'hybrid'"),
        (["search", "x", "--dta"], "No such option"),
        (["search", "x", "--alpha", "1.5"], "1.5 is not in the range 0<=x<=1"),
        (["search", "x", "-k", "0"], "0 is not in the range 1<=x<=1000"),
        (["search", "x", "--since", "5m"], "'5m' is neither a date"),
        (["search", "x", "--since", "2026-02-02", "--until", "2026-02-01"], "is after date_to"),
        (["search", "x", "--user", "nobody"], "there is no user 'nobody'; known users: none"),
        (["search", " "], "the query is empty"),
        (["search", "x", "--strategy", "hyde", "--parameter", "feedback_passages=0"], "from 1 to 50"),
        (["search", "x", "--parameter", "variants"], "'variants' is not of the form NAME=NUMBER, such as variants=4"),
        (["search", "x", "--leg-depth", "1001"], "1001 is not in the range 0<=x<=1000"),
        (["search", "x", "--strategy", "magic"], "strategy is 'magic'; choose one of basic"),
        (["search", "x", "--dataset", "9"], "no dataset with id 9 is open to this user"),
        (["explain", "x", "no-such.md"], "'no-such.md' is neither a chunk id nor the source"),
        (["ingest", "--dataset", "1"], "Missing argument 'PATH…'."),
        (["ingest", "--dataset", "1", "--relative", "docs"], "write --relative=BASE, or put --relative last"),
        (["ingest", "docs"], "Missing option '--dataset'."),
        (["ingest", "docs", "--dataset", "7"], "there is no dataset 7"),
        (["ingest", "docs", "--dataset", "-7"], "there is no shared dataset -7"),
        (["dataset", "add", " "], "must have 1 to 200 characters"),
        (["dataset", "remove", "7"], "there is no dataset 7"),
        (["dataset", "remove", "seven"], "'seven' is not a valid integer"),
        (["dataset", "remove", "--why"], "'--why' is not a valid integer"),
        (["shared-db", "remove", "-7"], "there is no dataset -7"),
        (["shared-db", "add", "x", "--collection", "main"], "collection_name is 'main'; it must be shared_"),
        (["documents", "list", "--dataset", "7"], "there is no dataset 7"),
        (["eval", "no-such-folder"], "no-such-folder"),
        (["search", "x", "--dataset", "every"], "'every' is neither the id of a dataset, such as 1 or -1, nor all"),
        (["search", "x", "--dataset", "all", "--dataset", "1"], "all stands alone"),
        (["serve", "--port", "0"], "0 is not in the range 1<=x<=65535"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(run: CommandLine, args: list[str], message: str) -> None:
    result = run(*args, status=2)
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_wrong_settings_are_one_line(run: CommandLine) -> None:
    run.env["BRAID_K"] = "many"
    assert "k is 'many' (environment variable BRAID_K)" in run("user", "list", status=2).stderr


def test_a_data_directory_that_cannot_be_made_is_one_line(run: CommandLine) -> None:
    run.data_dir.write_text("a file stands in the way")
    result = run("user", "list", status=2)
    assert result.stderr.count("\n") == 1
    assert "exists" in result.stderr


def test_an_app_that_should_search_and_does_not_answer_is_named(owned: CommandLine) -> None:
    result = owned("search", "x", status=2)
    assert f"the app at {NOBODY} does not answer" in result.stderr


def test_the_doctor_says_that_the_process_with_the_indexes_does_not_answer(
    owned: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Link.call.__kwdefaults__, "patience_s", 0.1)
    result = owned("doctor", status=2)
    assert "no process has the indexes of" in result.stderr
    assert result.stderr.count("\n") == 1


# ---------------------------------------------------------------- users and datasets


def test_users(run: CommandLine) -> None:
    assert run.json("user", "list") == []
    assert run.json("user", "add", "ann", "--group", "b", "--group", "a") == {
        "id": 1,
        "name": "ann",
        "groups": ["a", "b"],
    }
    assert "Added user 2, 한국어." in run("user", "add", "한국어").stdout
    assert "a user named 'ann' exists already" in run("user", "add", "ann", status=2).stderr
    assert re.findall(r"1 +ann +a, b", run("user", "list").stdout)


def test_users_who_sign_in_to_the_app(run: CommandLine) -> None:
    run("user", "add", "ann", "--admin", "--password-stdin", answer="correct horse\nsecond line\n")
    run("user", "add", "ben")
    with DataDirectory(run.data_dir) as braid:
        accounts = Accounts(braid.ledger)
        ann, ben = accounts.all()
        assert accounts.verify("ann", "correct horse") == ann
        assert (ann.is_admin, ben.is_admin, ben.has_password) == (True, False, False)
    run("user", "password", "ann", "--password-stdin", answer="battery staple\n")
    run("user", "password", ben.id, "--password-stdin", "--admin", answer="correct horse\n")
    with DataDirectory(run.data_dir) as braid:
        accounts = Accounts(braid.ledger)
        assert accounts.verify("ann", "correct horse") is None
        assert accounts.verify("ann", "battery staple")
        found = accounts.verify("ben", "correct horse")
        assert found
        assert found.is_admin


def test_tokens_are_listed_and_revoked(run: CommandLine) -> None:
    run("user", "add", "ann", "--password-stdin", answer="correct horse\n")
    with DataDirectory(run.data_dir) as braid:
        ann = Accounts(braid.ledger).all()[0].id
        tokens = ApiTokens(braid.ledger)
        first, _, _ = (tokens.add(ann, name, ["read"], days=None)[0].id for name in ("robot", "script", "lost"))
    assert re.findall(rf"{first} +robot +read +\d{{4}}-\d\d-\d\d +never +never", run("user", "tokens", "ann").stdout)
    shown = json.loads(run("user", "tokens", "ann", "--json").stdout)
    assert [(token["name"], token["scopes"]) for token in shown] == [(n, ["read"]) for n in ("lost", "script", "robot")]
    assert "Revoked 1 API token of user 1, ann." in run("user", "revoke", "ann", first).stdout
    assert f"no token {first}" in run("user", "revoke", "ann", first, status=2).stderr
    assert (
        "2 API tokens revoked" in run("user", "password", "ann", "--password-stdin", answer="battery staple\n").stdout
    )
    with DataDirectory(run.data_dir) as braid:
        ApiTokens(braid.ledger).add(ann, "again", ["read"])
    assert "pass --yes" in run("user", "revoke", "ann", answer="", status=2).stderr
    assert "Revoked 1 API token" in run("user", "revoke", "ann", "--yes").stdout
    assert json.loads(run("user", "tokens", "ann", "--json").stdout) == []


def test_passwords_that_are_not_taken(run: CommandLine) -> None:
    assert "8 to 200 are needed" in run("user", "add", "ann", "--password-stdin", answer="short\n", status=2).stderr
    assert "no password on stdin" in run("user", "add", "ann", "--password-stdin", answer="", status=2).stderr
    run("user", "add", "ann")
    assert "--password-stdin" in run("user", "password", "ann", status=2).stderr
    told = run("user", "password", "eve", "--password-stdin", answer="correct horse", status=2).stderr
    assert "there is no user 'eve'" in told


@pytest.mark.parametrize(
    ("users", "asked", "owner"),
    [
        ([], (), "local"),
        (["ann"], (), "ann"),
        (["ann", "ben"], ("--user", "ben"), "ben"),
        (["ann", "ben"], ("--user", "2"), "ben"),
        (["ann", "1"], ("--user", "1"), "1"),  # a name comes before an id
    ],
)
def test_whose_dataset(run: CommandLine, users: list[str], asked: tuple[str, ...], owner: str) -> None:
    for name in users:
        run("user", "add", name)
    added = run.json("dataset", "add", "Notes", *asked)
    names = {user["id"]: user["name"] for user in run.json("user", "list")}
    assert names[added["user_id"]] == owner


def test_with_several_users_one_must_be_named(run: CommandLine) -> None:
    run("user", "add", "ann")
    run("user", "add", "ben")
    assert "There are several users (ann, ben)" in run("dataset", "add", "Notes", status=2).stderr


def test_datasets_of_a_user_and_of_all(run: CommandLine) -> None:
    run("user", "add", "ann", "--group", "staff")
    run("user", "add", "ben")
    run("dataset", "add", "Ann's", "--user", "ann")
    run("dataset", "add", "Ben's", "--user", "ben")
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    run("shared-db", "add", "Salaries", "--collection", "shared_pay", "--group", "staff", "--description", "secret")
    assert [found["id"] for found in run.json("dataset", "list")] == [1, 2, -1, -2]
    assert [found["id"] for found in run.json("dataset", "list", "--user", "ann")] == [1, -1, -2]
    assert [found["id"] for found in run.json("dataset", "list", "--user", "ben")] == [2, -1]
    assert re.findall(r"-1 +Handbook +\(shared\) +0 +0", run("dataset", "list").stdout)
    assert re.findall(r"-2 +Salaries +shared_pay +staff +yes +secret", run("shared-db", "list").stdout)


@pytest.mark.parametrize(
    ("args", "answer", "status", "says", "gone"),
    [
        ((), "y\n", 0, "Removed dataset 1", True),
        ((), "n\n", 1, "Nothing was removed.", False),
        ((), "", 2, "there was no answer; pass --yes", False),
        (("--yes",), None, 0, "Removed dataset 1", True),
    ],
)
def test_removing_asks(
    run: CommandLine, dataset: int, args: tuple[str, ...], answer: str | None, status: int, says: str, gone: bool
) -> None:
    result = run("dataset", "remove", dataset, *args, status=status, answer=answer)
    assert says in result.output
    assert (run.json("dataset", "list") == []) is gone


def test_removing_a_shared_dataset(run: CommandLine, dataset: int) -> None:
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    assert "remove it with: shared-db remove -1" in run("dataset", "remove", -1, status=2).stderr
    assert f"remove it with: dataset remove {dataset}" in run("shared-db", "remove", dataset, status=2).stderr
    assert run.json("shared-db", "remove", -1, "--yes")["name"] == "Handbook"
    assert run.json("shared-db", "list") == []
    assert run.json("shared-db", "add", "Other", "--collection", "shared_handbook")["id"] == -2, "never given again"


def test_removing_a_shared_dataset_whose_entry_was_deleted_by_hand(run: CommandLine) -> None:
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    run("dataset", "list")
    (run.folder / "shared_dbs.json").write_text("[]")
    run("shared-db", "remove", -1, "--yes")
    assert "there is no dataset -1" in run("shared-db", "remove", -1, "--yes", status=2).stderr


def test_a_broken_registry_is_said(run: CommandLine) -> None:
    (run.folder / "shared_dbs.json").write_text("[{]")
    result = run("shared-db", "list", "--json", status=1)
    assert json.loads(result.stdout) == []
    assert "shared_dbs.json" in result.stderr


def test_the_list_of_shared_datasets_is_exported_edited_and_imported(run: CommandLine, tmp_path: Path) -> None:
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    run("shared-db", "add", "Salaries", "--collection", "shared_pay")
    copy = tmp_path / "list.json"
    run("shared-db", "export", copy)
    assert copy.read_text() == (run.folder / "shared_dbs.json").read_text() == run("shared-db", "export", "-").stdout
    assert "exists already" in run("shared-db", "export", copy, status=2).stderr
    assert "this one already" in run("shared-db", "import", copy).stdout
    entries = json.loads(copy.read_text())
    copy.write_text(json.dumps([{**entries[0], "collection_name": "main"}]))
    assert "line 1: entry 1 (id -1): collection_name is 'main'" in run("shared-db", "import", copy, status=2).stderr
    copy.write_text(json.dumps([{**entries[0], "name": "House rules"}], indent=2))
    refused = run("shared-db", "import", copy, answer="n\n", status=1).stderr
    assert re.search(r'-    "name": "Salaries"', refused)
    assert re.search(r'\+    "name": "House rules"', refused)
    assert len(run.json("shared-db", "list")) == 2
    assert "is changed" in run("shared-db", "import", copy, "--yes").stdout
    assert [found["name"] for found in run.json("shared-db", "list")] == ["House rules"]
    assert "shared_dbs.saved" in run("audit").stdout


# ---------------------------------------------------------------- ingest and documents, beside an owner


def test_ingest_beside_the_owner_stores_and_says_who_indexes(owned: CommandLine) -> None:
    dataset = owned.json("dataset", "add", "Notes")["id"]
    files = write(owned.folder / "files", {"a.md": "alpha", "b.pdf": "", ".git/x": "", "c.log": "x"})
    result = owned("ingest", files, "--dataset", dataset, "--relative", "--ignore", "*.log", status=1)
    assert result.stdout == "1 file stored (1 new passage), 0 unchanged, 1 failed, 2 left out (1 hidden, 1 ignored).\n"
    assert f"process {os.getpid()} at {NOBODY}" in result.stderr
    assert "the process that owns the indexes adds them" in result.stderr
    assert "failed: b.pdf: b.pdf is empty" in result.stderr
    report = owned.json("ingest", files / "a.md", "--dataset", dataset, "--relative")
    assert (report["unchanged"], report["indexed"]) == (1, False)


def test_the_owner_finds_what_was_ingested_beside_it(run: CommandLine, embeddings: Any) -> None:
    with Braid(run.data_dir, shared_dbs=run.folder / "shared_dbs.json", embedding_model=embeddings) as braid:
        dataset = run.json("dataset", "add", "Notes")["id"]
        run("ingest", write(run.folder / "files", {"a.md": "zebra"}), "--dataset", dataset, "--relative")
        assert braid.indexer.wait(WAIT_S)
        hits = braid.manager.search("zebra", user_id=1).hits
    assert [hit.passage.source for hit in hits] == ["a.md"]


@pytest.mark.parametrize(
    ("args", "sources"),
    [
        ((), ["{files}/a.md", "{files}/b.py", "{files}/old/c.md"]),
        (("--relative",), ["a.md", "b.py", "old/c.md"]),
        (("--relative=.",), ["files/a.md", "files/b.py", "files/old/c.md"]),
        (("--relative", "--id-prefix", "wiki:"), ["wiki:a.md", "wiki:b.py", "wiki:old/c.md"]),
        (("--relative", "--file-type", "PY,.pdf"), ["b.py"]),
        (("--relative", "--ignore", "old/", "--ignore", "*.py"), ["a.md"]),
        (("--relative", "--since", "1d"), ["a.md", "b.py"]),
    ],
)
def test_ingest_options(
    owned: CommandLine, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], sources: list[str]
) -> None:
    monkeypatch.chdir(owned.folder)
    files = write(owned.folder / "files", {"a.md": "a", "b.py": "b = 1", "old/c.md": "c"})
    os.utime(files / "old/c.md", (1_000_000_000, 1_000_000_000))
    dataset = owned.json("dataset", "add", "Notes")["id"]
    owned("ingest", "files", "--dataset", dataset, *args)
    stored = [document["source"] for document in owned.json("documents", "list", "--dataset", dataset)]
    assert stored == [source.format(files=files) for source in sources]


def test_documents(owned: CommandLine) -> None:
    dataset = owned.json("dataset", "add", "Notes")["id"]
    files = write(owned.folder / "files", {"a.md": "a", "b.md": "", "old/c.md": "c", "old/d.md": "d", "old%/e.md": "e"})
    owned("ingest", files, "--dataset", dataset, "--relative", status=1)
    table = owned("documents", "list", "--dataset", dataset).stdout
    assert re.search(r"^b\.md +b\.md +md +0 +failed: b\.md is empty", table, re.MULTILINE)
    removed = owned.json("documents", "remove", "a.md", "x.md", "--dataset", dataset, status=1)
    assert removed == {"removed": ["a.md"], "missing": ["x.md"]}
    removed = owned.json("documents", "remove", "old/", "--prefix", "--dataset", dataset)
    assert removed["removed"] == ["old/c.md", "old/d.md"]
    assert [d["source"] for d in owned.json("documents", "list", "--dataset", dataset)] == ["b.md", "old%/e.md"]


# ---------------------------------------------------------------- with the indexes


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A data directory with documents in two datasets, indexed by the default model."""
    run = CommandLine(tmp_path_factory.mktemp("filled"))
    run("user", "add", "ann")
    run("dataset", "add", "Manuals")
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    manuals = {
        "reset.md": "# Controller\n\n## Reset\n\nHold the red button for ten seconds to reset the controller.\n",
        "pdf.ja.md": "# 文書\n\n暗号化された PDF は読めません。パスワードを外してください。\n",
        "battery.txt": "The battery lasts for two years.\n",
    }
    os.utime(write(run.folder / "manuals", manuals) / "battery.txt", (1_000_000_000, 1_000_000_000))
    report = run.json("ingest", run.folder / "manuals", "--dataset", 1, "--relative")
    assert (report["put"], report["indexed"]) == (3, True)
    handbook = write(run.folder / "handbook", {"rules.md": "# Rules\n\nDogs are welcome in the office on Fridays.\n"})
    run("ingest", handbook, "--dataset", -1, "--relative")
    return run


def found(result: dict[str, Any]) -> list[str]:
    return [hit["passage"]["source"] for hit in result["hits"]]


@pytest.mark.parametrize(
    ("text", "args", "first"),
    [
        ("how do I reset the controller", (), "reset.md"),
        ("PDF のパスワード", ("--mode", "keyword"), "pdf.ja.md"),
        ("pets at work", ("--mode", "semantic", "--dataset", "1", "--dataset", "-1"), "rules.md"),
        ("pets at work", ("--mode", "semantic", "--dataset", "all"), "rules.md"),
        ("dogs", ("--dataset", "-1", "--fusion", "weighted", "--alpha", "0.2", "--pooling", "none"), "rules.md"),
        ("reset", ("--file-type", "txt"), "battery.txt"),
        ("reset", ("--file-type", "jira"), None),  # a label that no document has
        ("battery", ("--source-prefix", "re"), "reset.md"),
        ("battery", ("--since", "1d", "--mode", "keyword"), None),
        ("reset", ("--until", "2001-12-31"), "battery.txt"),
        ("reset", ("--filter", "file_type=txt"), "battery.txt"),
        ("reset", ("--filter", "!author", "--filter", '{"source": {"$in": ["battery.txt"]}}'), "battery.txt"),
        ("battery", ("--filter", "file_type!=txt", "--mode", "keyword"), None),
        ("reset", ("--filter", "year>=2024"), None),
        ("reset", ("--chunk-kind", "function", "--chunk-kind", "method"), None),
    ],
)
def test_search(filled: CommandLine, text: str, args: tuple[str, ...], first: str | None) -> None:
    result = filled.json("search", text, *args)
    assert found(result)[:1] == ([first] if first else [])
    assert result["degraded"] == []


def test_one_result_per_document(filled: CommandLine) -> None:
    assert found(filled.json("search", "the controller", "--group-by", "document")) == list(
        dict.fromkeys(found(filled.json("search", "the controller", "-k", 10)))
    )


def test_parameters_and_depths_of_a_search(filled: CommandLine) -> None:
    options = ("--strategy", "hyde", "--parameter", "feedback_passages=5", "--leg-depth", 100, "--reranker-depth", 10)
    query = filled.json("search", "reset", *options)["query"]
    assert query["parameters"] == {"feedback_passages": 5, "feedback_weight": 0.2}
    assert (query["leg_depth"], query["reranker_depth"]) == (100, 10)


def test_search_for_people(filled: CommandLine) -> None:
    result = filled("search", "reset the controller", "-k", 1)
    heading, source, place, score, text, *_ = result.stdout.splitlines()
    assert heading == "[1] Controller › Controller > Reset"
    assert re.fullmatch(r" {4}reset\.md, lines? \d+(–\d+)?", source)
    assert re.fullmatch(r" {4}dataset 1, chunk [0-9a-f]{32}", place)
    assert re.fullmatch(r" {4}score \d\.\d{4} = dense #1 \(0\.\d+\) \d\.\d+ \+ bm25 #1 \(\d\.\d+\) \d\.\d+", score)
    assert text.strip().startswith("Hold the red button")
    assert "1 of k=1, hybrid, basic" in result.stderr
    assert re.search(
        r"\d from dataset -1, \d from dataset 1|\d from dataset 1, \d from dataset -1",
        filled("search", "dogs reset", "--dataset", "all").stderr,
    )


def test_chat_answers_and_continues(filled: CommandLine) -> None:
    first = filled("chat", "how do I reset the controller")
    assert "Hold the red button" in first.stdout
    assert "[1] Controller" in first.stdout
    assert "conversation 1" in first.stderr
    answer = filled.json("chat", "how do I do it?", "--continue", 1)
    assert answer["conversation"] == 1
    assert "controller" in answer["query"]
    assert answer["query_generator"] == "feedback"
    assert "there is no conversation 9" in filled("chat", "it", "--continue", 9, status=2).stderr


def test_chat_asks_the_model_within_the_setting(run: CommandLine, dataset: int, tmp_path: Path) -> None:
    parts = {name: [f"Controller {name} has part {n} behind its cover." for n in range(75)] for name in "abcd"}
    files = write(tmp_path / "in", {f"{name}.txt": " ".join(texts) for name, texts in parts.items()})
    run("ingest", files, "--dataset", dataset)
    with model_server("Behind the cover [1].") as server:
        run.env |= {
            "BRAID_SUMMARY_MODEL": "openai:good",
            "BRAID_SUMMARY_MODEL_BASE_URL": server.url,
            "BRAID_ANSWER_PROMPT_TOKENS": "1000",
        }
        result = run("chat", "where is part 7 of the controller", "-k", 40)
        assert "Behind the cover [1]." in result.stdout
        note = r"note: the last \d+ of \d+ passages do not fit .* answer_prompt_tokens \(1000\)"
        assert re.search(note, result.stderr)
        assert sum(estimate_tokens(text) for _, text in server.calls[0].messages) <= 1_000


def test_nothing_found_is_no_error(filled: CommandLine) -> None:
    assert filled("search", "xylophone", "--mode", "keyword").stdout == "Nothing was found.\n"


def test_unknown_datasets_among_known_ones_are_said(filled: CommandLine) -> None:
    result = filled("search", "reset", "--dataset", 1, "--dataset", 99, "--json", status=1)
    assert found(json.loads(result.stdout))
    assert "error: dataset 99 is not open to this user" in result.stderr


def test_explain(filled: CommandLine) -> None:
    by_source = filled.json("explain", "reset the controller", "reset.md")
    assert (by_source["found"], by_source["rank"]) == (True, 1)
    assert filled.json("explain", "reset the controller", by_source["chunk_id"]) == by_source
    text = filled("explain", "reset the controller", "battery.txt", "-k", 1).stdout
    assert text.startswith("Not in the result (cut by k).")
    assert filled.json("explain", "reset", "rules.md", "--dataset", -1)["found"] is True
    assert "neither a chunk id nor the source" in filled("explain", "reset", "rules.md", status=2).stderr


def test_doctor(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.app.cli.progress.SECONDS_BETWEEN_LINES", 0)
    whole = filled("doctor")
    assert whole.stdout == "Ledger and indexes agree.\n"
    assert re.search(r"^Collections: 1 of \d$", whole.stderr, re.MULTILINE), "in a pipe, too"
    with closing(sqlite3.connect(filled.data_dir / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE datasets SET documents = 99 WHERE id = 1")
    assert [finding["problem"] for finding in filled.json("doctor", status=1)["left"]] == ["counter"]
    assert re.search(r"counter .*99 documents", filled("doctor", status=1).stdout)
    assert "After the repair, 0 differences left." in filled("doctor", "--repair").stdout
    assert filled.json("doctor") == {"findings": [], "left": []}
    quiet = filled("doctor", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_without_an_embedding_model_keywords_work_and_the_rest_is_said(
    run: CommandLine, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.app.cli.progress.PATIENCE_S", 0.2)
    run.env["BRAID_EMBEDDING_MODEL"] = "nobody:nothing"
    files = write(run.folder / "files", {"a.md": "zebra"})
    result = run("ingest", files, "--dataset", dataset, "--relative", "--json", status=1)
    assert (json.loads(result.stdout)["put"], json.loads(result.stdout)["indexed"]) == (1, False)
    assert "stored, but not completely indexed (Embedding: the embedding model 'nobody:nothing'" in result.stderr
    result = run("search", "zebra", "--json")
    assert found(json.loads(result.stdout)) == ["a.md"]
    assert result.stderr.startswith("degraded: dense")
    assert run("search", "xylophone", status=1).stdout == "Nothing was found.\n"


def test_eval(run: CommandLine, tmp_path: Path) -> None:
    judged = tmp_path / "tiny"
    texts = {"d1": "zebra stripes", "d2": "violin strings"}
    corpus = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
    queries = [json.dumps({"_id": f"q{key}", "text": text.split()[0]}) for key, text in texts.items()]
    qrels = ["query-id\tcorpus-id\tscore", *(f"q{key}\t{key}\t1" for key in texts)]
    write(
        judged, {"corpus.jsonl": "\n".join(corpus), "queries.jsonl": "\n".join(queries), "qrels.tsv": "\n".join(qrels)}
    )
    report = run.json("eval", judged, "--mode", "keyword", "--plot", tmp_path / "plot.png")
    assert report["sets"]["tiny"]["ndcg@10"] == report["all"]["ndcg@10"] == 1.0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    table = run("eval", judged, "--mode", "keyword", "--each").stdout
    assert re.search(r"^tiny +1\.000", table, re.MULTILINE)


# ---------------------------------------------------------------- processes


def test_help_answers(run: CommandLine) -> None:
    status, out, err = finished(run.process("--help"))
    assert (status, err) == (0, "")
    assert "ingest" in out


def test_what_reads_the_ledger_alone_loads_nothing_heavy(run: CommandLine, dataset: int) -> None:
    heavy = ("numpy", "chromadb", "faiss", "tantivy", "langchain_core", "onnxruntime", "flask", "alembic", "httpx")
    commands = (
        "user list",
        "user tokens 1",
        "dataset list --user 1",
        "shared-db list",
        "db status",
        "retention",
        "audit",
    )
    code = f"""
import sys
from braid.app.cli.root import cli
for command in {commands!r}:
    try:
        cli.main(["--data-dir", sys.argv[1], *command.split()])
    except SystemExit as ended:
        assert not ended.code, command
print([name for name in {heavy!r} if name in sys.modules])
"""
    told = subprocess.check_output([sys.executable, "-c", code, str(run.data_dir)], cwd=REPOSITORY, text=True)
    assert told.splitlines()[-1] == "[]"


def test_help_loads_little() -> None:
    heavy = ("langchain_core", "chromadb", "tantivy", "sqlalchemy", "numpy", "flask", "rich")
    code = f"import sys; import braid.app.cli.root; print(len(sys.modules), [m for m in {heavy!r} if m in sys.modules])"
    told = subprocess.check_output([sys.executable, "-c", code], cwd=REPOSITORY, text=True)
    loaded, found = told.strip().split(" ", 1)
    assert found == "[]"
    assert int(loaded) < 300, "about 200, most of them Python's own and click's"


def test_the_data_directory_before_and_after_the_command(run: CommandLine, tmp_path: Path) -> None:
    run.json("user", "add", "ann", "--data-dir", tmp_path / "x")
    assert not run.data_dir.exists()
    run.data_dir = tmp_path / "x"
    assert [user["name"] for user in run.json("user", "list")] == ["ann"]
    assert run.json("user", "--data-dir", tmp_path / "y", "list") == []


def test_a_real_search_prints_json_alone(filled: CommandLine) -> None:
    status, out, err = finished(filled.process("search", "reset", "--json"))
    assert status == 0
    assert found(json.loads(out))[0] == "reset.md"
    assert err == ""


def test_a_failure_is_json_too_for_who_asked_for_json(run: CommandLine) -> None:
    run.json("user", "add", "ann")
    for arguments, kind, words in (
        (("search", "pump", "--dataset", 7, "--json"), "NotFoundError", "no dataset with id 7 is open to this user"),
        (("search", "pump", "--json", "--depth", "9"), "NoSuchOption", "No such option '--depth'"),
    ):
        status, out, err = finished(run.process(*arguments))
        error = json.loads(out)["error"]
        assert (status, error["status"], error["type"]) == (2, 2, kind)
        assert words in error["message"]
        assert error["message"] in err


def test_a_search_without_any_dataset_says_so(run: CommandLine) -> None:
    status, out, err = finished(run.process("search", "pump", "--json"))
    assert status == 0
    assert json.loads(out)["hits"] == []
    assert any("no dataset to search" in note for note in json.loads(out)["notes"])
    assert "note: this user has no dataset to search: add one (dataset add NAME)" in err
    run.json("dataset", "add", "Notes")
    assert json.loads(finished(run.process("search", "pump", "--json"))[1])["notes"] == []


def test_the_version_is_printed(run: CommandLine) -> None:
    assert finished(run.process("--version")) == (0, f"braid {braid.__version__}\n", "")


def test_wrong_use_of_a_real_process(run: CommandLine) -> None:
    status, out, err = finished(run.process("ingest", "docs"))
    assert (status, out) == (2, "")
    assert err == "error: Missing option '--dataset'. (python -m app ingest --help)\n"


def test_a_reader_that_goes_away_hears_no_complaint(run: CommandLine) -> None:
    with run.process("--help") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_control_c_while_embedding_loses_nothing(run: CommandLine, dataset: int) -> None:
    files = write(run.folder / "many", {f"{n}.txt": f"Note {n}. A sentence about things." for n in range(30)})
    with model_server() as server:
        server.embeddings.delay_s = WAIT_S  # nothing is embedded before the process is told to end
        run.env |= {
            "BRAID_EMBEDDING_MODEL": "openai:text-embedding-3-small",
            "BRAID_EMBEDDING_BASE_URL": server.url,
            "BRAID_EMBEDDING_API_KEY": "none",
        }
        with run.process("ingest", files, "--dataset", dataset, "--relative") as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("30 files stored")
            eventually(lambda: server.embedding_calls)
            process.send_signal(signal.SIGINT)
            server.embeddings.delay_s = 0.0  # the batch that runs is waited for
            _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "everything is stored; indexing and embedding continue at the next start" in err
    assert "Traceback" not in err
    assert run.json("dataset", "list")[0]["documents"] == 30


# ---------------------------------------------------------------- values and tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", datetime(2026, 1, 31)),
        ("2026-01-31T18:30", datetime(2026, 1, 31, 18, 30)),
        ("2026-01-31 18:30:05", datetime(2026, 1, 31, 18, 30, 5)),
        ("2026-01-31T18:30+00:00", datetime.fromisoformat("2026-01-31T18:30+00:00")),
    ],
)
def test_dates(text: str, expected: datetime) -> None:
    assert Moment().convert(text, None, None) == expected.timestamp()


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90min", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("1.5d", timedelta(hours=36)),
        ("2w", timedelta(days=14)),
    ],
)
def test_durations(text: str, ago: timedelta) -> None:
    assert Moment().convert(text, None, None) == pytest.approx(time.time() - ago.total_seconds(), abs=5)


def test_a_date_may_mean_its_end() -> None:
    end = Moment(end_of_day=True)
    assert end.convert("2026-01-31", None, None) == pytest.approx(datetime(2026, 2, 1).timestamp(), abs=0.001)
    assert end.convert("2026-01-31T18:00", None, None) == datetime(2026, 1, 31, 18).timestamp()


@pytest.mark.parametrize("text", ["5m", "yesterday", "", "7 days", "-3d", "2026-13-01", "9999999d", "0001-01-01x"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(click.BadParameter, match="neither a date"):
        Moment().convert(text, None, None)


def test_file_types() -> None:
    assert FileTypes().convert("PDF, .md,,htm,markdown", None, None) == {"pdf", "md", "html"}


@pytest.mark.parametrize("text", ["pfd", "pdf,exe", "", ","])
def test_what_is_no_file_type(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is none of txt, md, html"):
        FileTypes().convert(text, None, None)


def test_tables_in_a_pipe_are_aligned_and_uncut(capsys: pytest.CaptureFixture[str]) -> None:
    long = "長い" * 200
    print_table(
        ("name", "size"), [("日本語の文書", 1), ("한국어", 10_000), (long, 5), ("[red]x[/red]", 7)], right=("size",)
    )
    lines = capsys.readouterr().out.splitlines()
    assert len({cell_len(line) for line in lines}) == 1, "right-aligned, so all lines end in one column"
    assert lines[3].startswith(long)
    assert lines[4].startswith("[red]x[/red]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\n b\tc", "a b c"), ("\x1b[31mred", "�[31mred"), ("caf\udce9", "caf?"), ("a\u202eb", "a�b")],
)
def test_what_would_steer_the_terminal_is_shown_harmless(text: str, shown: str) -> None:
    assert one_line(text) == shown


# ---------------------------------------------------------------- backups


def test_a_directory_is_moved_and_the_settings_of_the_new_place_are_said(
    run: CommandLine, tmp_path: Path, migrating: None
) -> None:
    run("user", "add", "ann")
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    assert "is not empty" in run("move", "--to", tmp_path, status=2).stderr
    assert (
        "Milvus at 127.0.0.1:1 cannot be reached"
        in run("move", "--to", tmp_path / "new", "--milvus", "http://127.0.0.1:1", status=2).stderr
    )
    assert not (tmp_path / "new").exists()
    new = tmp_path / "new"
    told = run("move", "--to", new).stdout
    assert re.search(r"^users +1 +[0-9a-f]{32}$", told, re.MULTILINE)
    assert f'  data_dir = "{new}"' in told
    assert f'  shared_dbs = "{new}/shared_dbs.json"' in told
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    there = CommandLine(tmp_path)
    there.data_dir, there.env = new, {"BRAID_SHARED_DBS": str(new / "shared_dbs.json")}
    form = there.json("move", "--to", url)
    assert (form["tables"]["users"]["rows"], form["files"], form["set"]) == (1, 0, {"database_url": url})
    there.env |= {"BRAID_DATABASE_URL": url}
    assert [user["name"] for user in there.json("user", "list")] == ["ann"]
    [act] = there.json("audit", "--action", "directory.moved")[:1]
    assert (act["target"], "run by" in act["detail"]) == (url, True)


def test_scanned_pages_are_counted_and_queued_where_they_can_be_read(
    run: CommandLine, dataset: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "half.pdf").write_bytes(samples.pdf([["The contract begins today"], [], []], drawn=(2, 3)))
    run("ingest", tmp_path / "half.pdf", "--dataset", dataset)
    assert run("scans", "status").stdout.startswith(
        "2 scanned pages of 1 document wait to be read\nNot read here: sudo apt"
    )
    told = run.json("scans", "status")
    assert (told["pages"], told["documents"], "tesseract-ocr-jpn" in told["remedy"]) == (2, 1, True)
    assert told["remedy"] in run("scans", "read", status=1).stderr

    monkeypatch.setenv("PATH", str(scans.install_fake(tmp_path / "program", ["Signed in Kobe"])))
    assert run.json("scans", "status")["remedy"] == ""
    assert run.json("scans", "read") == {"queued": 0, "without_file": 1}
    assert "The files of 1 document are not kept; add them again" in run("scans", "read").stdout
    with DataDirectory(run.data_dir) as directory:
        [document] = directory.ledger.documents(dataset)
        Originals(directory).keep(document.id, Incoming.from_file(tmp_path / "half.pdf", document.source))
    assert run("scans", "read").stdout == "1 document queued\n"
    assert run.json("scans", "read")["queued"] == 0, "it is queued already"
    with DataDirectory(run.data_dir) as directory:
        [job] = JobStore(directory.ledger).of_dataset(dataset, kinds=("scan",), states=("queued",))
        assert job.payload["document_id"] == document.id
        assert [entry for entry in AuditLog(directory.ledger).all() if entry.action == "scans.queued"]


def test_a_ledger_that_is_lost_ends_every_command_with_2(run: CommandLine) -> None:
    run("user", "add", "ann")
    (run.data_dir / "ledger.db").unlink()
    for command in (("user", "list"), ("serve",), ("search", "pump"), ("doctor",)):
        said = run(*command, status=2).stderr
        assert "ledger.db is new, but the data directory" in said
        assert "--new-site" in said
    assert not (run.data_dir / "ledger.db").exists()
    assert "ann" not in run("user", "list", "--new-site").stdout
    run("user", "add", "bob")


def test_what_is_restored_has_no_service_of_the_site_that_was_backed_up(run: CommandLine, tmp_path: Path) -> None:
    run("user", "add", "ann")
    services = {
        "files_url": "s3://production/files",
        "milvus_url": "http://milvus:19530",
        "chroma_url": "http://chroma:8000",
        "otlp_endpoint": "http://collector:4318",
        "summary_model_base_url": "http://models:8000/v1",
        "embedding_base_url": "http://models:8001/v1",
    }
    models = {"summary_model": "openai:qwen", "embedding_model": "openai:bge-m3", "search_model": "openai:own"}
    with DataDirectory(run.data_dir) as directory:
        was = directory.claim.site
        settings = replace(load_settings({}), data_dir=run.data_dir, **services, **models)
        made = make_backup(replace(sources_of(settings), files_url=""), tmp_path / "backup.zip")
    told = run("restore", tmp_path / "backup.zip", tmp_path / "new").stdout
    assert "It is a site of its own" in told
    text = (tmp_path / "new" / "braid.toml").read_text()
    for name in ("files_url", "milvus_url", "chroma_url", "otlp_endpoint", "summary_model_base_url", "summary_model"):
        assert re.search(rf"^# {name} = .*  # belonged to the site that was backed up$", text, re.MULTILINE)
    found = load_settings({}, tmp_path / "new" / "braid.toml")
    assert [getattr(found, name) for name in services if name != "embedding_base_url"] == [""] * 5
    assert found.embedding_base_url.endswith(".invalid"), "texts go to no other server, and none is embedded again"
    assert (found.embedding_model, found.summary_model, found.search_model) == ("openai:bge-m3", "", "openai:own")
    with DataDirectory(found.data_dir, shared_dbs=found.shared_dbs) as restored:
        assert (restored.claim.copy_of, made.database) == (was, "sqlite")
        assert restored.claim.site not in (was, "")


def test_a_restored_ledger_in_postgresql_is_named_by_the_command_that_is_printed(
    run: CommandLine, tmp_path: Path, new_postgres_url: Callable[[], str]
) -> None:
    run.env["BRAID_DATABASE_URL"] = new_postgres_url()
    run("user", "add", "ann")
    run("backup", tmp_path / "backup.zip")
    run.env["BRAID_DATABASE_URL"] = there = new_postgres_url()
    told = run("restore", tmp_path / "backup.zip", tmp_path / "new").stdout
    command = next(line for line in told.splitlines() if line.startswith("Start it: "))
    words = shlex.split(command.removeprefix("Start it: "))
    assert words[0] == f"BRAID_DATABASE_URL={there}"
    assert words[1] == f"BRAID_CONFIG={tmp_path / 'new' / 'braid.toml'}"
    run.data_dir = tmp_path / "new"
    run.env = {"BRAID_CONFIG": str(tmp_path / "new" / "braid.toml")}
    refused = run("user", "list", status=2).stderr
    assert "set-BRAID_DATABASE_URL-to-the-database-that-was-restored" in refused
    assert not (tmp_path / "new" / "ledger.db").exists()
    run.env["BRAID_DATABASE_URL"] = there
    assert "ann" in run("user", "list").stdout


def test_a_backup_is_made_checked_and_restored(run: CommandLine, tmp_path: Path) -> None:
    run("user", "add", "ann")
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    (tmp_path / "backups").mkdir()
    run.env |= {
        "BRAID_SEARCH_MODEL_API_KEY": "sk-very-secret",
        "BRAID_K": "7",
        "BRAID_METRICS_TOKENS": "a-very-secret" * 2,
    }
    made = run.json("backup", tmp_path / "backups")
    assert re.fullmatch(r"braid-\d{8}-\d{6}\.zip", Path(made["file"]).name)
    assert (made["rows"]["users"], made["with_keys"], made["uploads"]) == (1, False, 0)
    with DataDirectory(run.data_dir) as directory:
        act = AuditLog(directory.ledger).entries(limit=1)[0]
        assert (act.actor, act.action, act.target) == ("command line", "backup.made", made["file"])
    checked = run("backup", "--verify", made["file"])
    assert "The backup is whole" in checked.stdout
    assert "0 documents, 0 passages, 1 user, 0 waiting uploads." in checked.stdout
    assert "not in it: secret_key" in checked.stderr
    assert "exists already" in run("backup", made["file"], status=2).stderr
    assert "makes none" in run("backup", "--verify", "--with-keys", made["file"], status=2).stderr
    assert "is not empty" in run("restore", made["file"], run.data_dir, status=2).stderr
    told = run("restore", made["file"], tmp_path / "new").stdout
    assert f"BRAID_CONFIG={tmp_path / 'new' / 'braid.toml'} python -m app serve" in told
    text = (tmp_path / "new" / "braid.toml").read_text()
    assert "very-secret" not in text
    assert "# search_model_api_key: left out" in text
    assert "# metrics_tokens: left out" in text
    with_keys = run.json("backup", tmp_path / "keys.zip", "--with-keys")
    run("restore", with_keys["file"], tmp_path / "keys")
    settings = load_settings({}, tmp_path / "keys" / "braid.toml")
    assert (settings.search_model_api_key, settings.k) == ("sk-very-secret", 7)
    assert settings.data_dir.resolve() == tmp_path / "keys"
    with DataDirectory(settings.data_dir, shared_dbs=settings.shared_dbs) as restored:
        assert [user.name for user in restored.ledger.users()] == ["ann"]
        assert [entry.name for entry in restored.registry.entries()] == ["Handbook"]
        act = AuditLog(restored.ledger).entries(limit=1)[0]
        assert (act.actor, act.action, act.target) == ("command line", "backup.restored", with_keys["file"])
        assert act.detail.startswith("the state of ")
