"""Backups, moves and what comes with them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from braid.app.cli.root import cli
from braid.config.backup import sources_of
from braid.config.settings import load_settings
from braid.core.accounts.audit import AuditLog
from braid.core.backup.make import make_backup
from braid.core.data_directory import DataDirectory
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import JobStore
from braid.core.ledger.owners.site import has_ledger
from braid.core.originals.store import Originals
from tests import samples, scans
from tests.app.cli.processes import CommandLine
from tests.worlds import write


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


# what a command that only reads or changes a site has as its arguments; the files that some name are those of the test
NAMES = {"FILE": "a.csv", "FILE.csv": "a.csv", "FOLDER": ".", "PATH…": "a.csv", "DIR": "new"}
MAKES = {"serve", "worker", "mcp", "ingest", "watch", "user add", "user import", "dataset add"}
MAKES |= {"shared-db add", "shared-db import"}
NO_SITE = {"eval", "tune", "models", "restore", "chroma-path", "qrels export"}


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name)), command


READERS = [(name, command) for name, command in commands(cli) if name not in MAKES | NO_SITE]


@pytest.mark.parametrize(("name", "command"), READERS, ids=[name for name, _ in READERS])
def test_a_command_that_only_reads_or_changes_a_site_makes_none(
    run: CommandLine, name: str, command: click.Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.folder)
    (run.folder / "a.csv").write_text("name\nann\n")
    given = [
        *(NAMES.get(each.metavar or "", "1") for each in command.params if isinstance(each, click.Argument)),
        *(
            part
            for each in command.params
            if isinstance(each, click.Option) and each.required
            for part in (each.opts[0], "1")
        ),
    ]
    extra = {"move": ["--to", "moved"], "user password": ["--password-stdin"], "dataset unshare": ["--user", "ann"]}
    said = run(*name.split(), *extra.get(name, []), *given, status=2, answer="correct horse\n").stderr
    assert str(run.data_dir) in said, said
    assert not run.data_dir.exists()


@pytest.mark.parametrize("line", ["mcp --read-only", "watch . --dataset 1 --dry-run", "user import a.csv --dry-run"])
def test_a_command_that_is_told_to_change_nothing_makes_no_site(
    run: CommandLine, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.folder)
    (run.folder / "a.csv").write_text("name\nann\n")
    assert "this command makes none" in run(*line.split(), status=2).stderr
    assert not run.data_dir.exists()


def test_a_site_that_is_not_there_is_named_with_what_names_it(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_postgres_url: Callable[[], str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def doctor() -> str:
        done = CliRunner().invoke(cli, ["doctor", "--quiet"], env=run.env)
        assert done.exit_code == 2, done.output
        return done.stderr

    assert f"at {tmp_path / 'data'} (setting data_dir, default)" in doctor()
    run.env["BRAID_DATA_DIR"] = str(tmp_path / "typo")
    assert f"at {tmp_path / 'typo'} (setting data_dir, environment variable BRAID_DATA_DIR)" in doctor()
    del run.env["BRAID_DATA_DIR"]
    (tmp_path / "braid.toml").write_text('data_dir = "elsewhere"\n')
    assert f"at {tmp_path / 'elsewhere'} (setting data_dir, {tmp_path / 'braid.toml'})" in doctor()
    run.env["BRAID_DATABASE_URL"] = url = new_postgres_url()
    assert "no tables of Braid in the database (setting database_url, environment variable" in doctor()
    assert not has_ledger(url)
    assert [path.name for path in tmp_path.iterdir()] == ["braid.toml"]


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
    run("backup", tmp_path / "backup.zip", status=1)
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
    made = run.json("backup", tmp_path / "backups", status=1)
    assert re.fullmatch(r"braid-\d{8}-\d{6}\.zip", Path(made["file"]).name)
    assert (made["rows"]["users"], made["with_keys"], made["uploads"]) == (1, False, 0)
    with DataDirectory(run.data_dir) as directory:
        act = AuditLog(directory.ledger).entries(limit=1)[0]
        assert (act.actor, act.action, act.target) == ("command line", "backup.made", made["file"])
    checked = run("backup", "--verify", made["file"])
    assert "The backup is whole" in checked.stdout
    assert "0 documents, 0 passages, 1 user, 0 waiting uploads." in checked.stdout
    assert "not in it: secret_key" in checked.stderr
    assert "not in it: documents: the ledger has none" in checked.stderr
    assert "exists already" in run("backup", made["file"], status=2).stderr
    assert "makes none" in run("backup", "--verify", "--with-keys", made["file"], status=2).stderr
    assert "is not empty" in run("restore", made["file"], run.data_dir, status=2).stderr
    told = run("restore", made["file"], tmp_path / "new").stdout
    assert f"BRAID_CONFIG={tmp_path / 'new' / 'braid.toml'} python -m app serve" in told
    text = (tmp_path / "new" / "braid.toml").read_text()
    assert "very-secret" not in text
    assert "# search_model_api_key: left out" in text
    assert "# metrics_tokens: left out" in text
    run(
        "ingest",
        write(tmp_path / "notes", {"a.md": "The tray."}),
        "--dataset",
        run.json("dataset", "add", "Notes")["id"],
    )
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
