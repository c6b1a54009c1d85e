"""Backups, moves and what comes with them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from braid.config.backup import sources_of
from braid.config.settings import load_settings
from braid.core.accounts.audit import AuditLog
from braid.core.backup.make import make_backup
from braid.core.data_directory import DataDirectory
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import JobStore
from braid.core.originals.store import Originals
from tests import samples, scans
from tests.app.cli.processes import CommandLine


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
