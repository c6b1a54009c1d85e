"""The command line over real data directories: wrong use, users, datasets and documents."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from tests.app.cli.processes import NOBODY, CommandLine
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, document, write

# ---------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Missing command. Choose one of audit, backup, chat, chroma-path, conversation, dataset, db"),
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
    DataDirectory(run.data_dir).close()
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


def test_what_is_not_indexed_while_another_process_does_nothing_is_named(owned: CommandLine) -> None:
    with DataDirectory(owned.data_dir, embedding_model=HashEmbeddings()) as directory:
        directory.ledger.put_document(add_notes(directory.ledger), document("a.md", "the tray"))
    result = owned("search", "tray", "--mode", "keyword", status=1)
    assert "1 passages of user_1 are not in the bm25 index yet" in result.output


def test_the_doctor_says_what_another_process_has_not_indexed(owned: CommandLine) -> None:
    with DataDirectory(owned.data_dir, embedding_model=HashEmbeddings()) as directory:
        directory.ledger.put_document(add_notes(directory.ledger), document("a.md", "the tray"))
    result = owned("doctor", "--wait", "0", status=4)
    assert "1 passages of user_1 are not in the bm25 index yet" in result.stdout


# ---------------------------------------------------------------- users and datasets


def test_users(run: CommandLine) -> None:
    DataDirectory(run.data_dir).close()
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


def test_what_was_removed_is_restored_unless_it_is_gone_for_good(
    run: CommandLine, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run("dataset", "remove", dataset, "--yes").stdout
    assert told.endswith(f"It can be restored for 30 days: dataset restore {dataset}\n")
    assert run("dataset", "restore", dataset).stdout.startswith(f"Restored dataset {dataset}, ")
    assert [each["id"] for each in run.json("dataset", "list")] == [dataset]
    assert "there is no deleted dataset" in run("dataset", "restore", dataset, status=2).stderr
    run("dataset", "remove", dataset, "--yes")
    run("dataset", "add", "Another")
    monkeypatch.setenv("BRAID_MAX_USER_DATASETS", "1")
    assert "you have 1 datasets, which is the limit" in run("dataset", "restore", dataset, status=2).stderr
    monkeypatch.delenv("BRAID_MAX_USER_DATASETS")
    run("dataset", "restore", dataset)
    assert "restored" not in run("dataset", "remove", dataset, "--permanently", "--yes").stdout
    assert "there is no deleted dataset" in run("dataset", "restore", dataset, status=2).stderr


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
    DataDirectory(run.data_dir).close()
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
    gone = owned.json("documents", "removed", "--dataset", dataset)
    assert [each["source"] for each in gone] == ["old/c.md", "old/d.md", "a.md"]
    back = owned.json("documents", "restore", "a.md", "x.md", "--dataset", dataset, status=1)
    assert back == {"restored": ["a.md"], "missing": ["x.md"]}
    owned("documents", "remove", "a.md", "--permanently", "--dataset", dataset)
    assert "no removed document 'a.md'" in owned("documents", "restore", "a.md", "--dataset", dataset, status=1).stderr
