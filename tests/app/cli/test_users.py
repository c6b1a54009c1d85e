"""The life of a user on the command line, each act of which the audit log has."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import update

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.second_factor import SecondFactors
from braid.core.chat.store import ConversationStore
from braid.core.data_directory import DataDirectory
from braid.core.ledger.tables import AuditRow
from tests.authenticator import code_of
from tests.command_line import CommandLine
from tests.fakes import HashEmbeddings
from tests.worlds import document

PASSWORD = "correct horse"


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    run = CommandLine(tmp_path)
    run("user", "add", "root", "--admin", "--password-stdin", answer=f"{PASSWORD}\n")
    run("user", "add", "ann", "--group", "lab")
    return run


def opened(run: CommandLine) -> DataDirectory:
    return DataDirectory(run.data_dir, embedding_model=HashEmbeddings())


def acts(run: CommandLine) -> list[tuple[str, str, str]]:
    """What the log has since the fixture, the newest last."""
    with opened(run) as directory:
        entries = AuditLog(directory.ledger).entries()
    assert {entry.actor for entry in entries} == {"command line"}
    assert all("run by " in entry.detail for entry in entries)
    return [(e.action, e.target, e.detail.partition("run by ")[0].strip(", ")) for e in reversed(entries)][2:]


def test_a_second_factor_is_reset(run: CommandLine) -> None:
    assert "has no second factor" in run("user", "reset-second-factor", "ann", status=2).stderr
    with opened(run) as directory:
        found = directory.ledger.user_named("ann")
        assert found is not None
        factors = SecondFactors(directory.ledger, b"s" * 32)
        factors.begin(found.id)
        assert factors.confirm(found.id, code_of(factors.pending(found.id), time.time()))
    run("user", "reset-second-factor", "ann")
    with opened(run) as directory:
        assert not SecondFactors(directory.ledger, b"").is_on(found.id)
    assert acts(run) == [("second_factor.reset", "ann", "")]


def test_rights_and_groups_change(run: CommandLine) -> None:
    assert run.json("user", "groups", "ann", "--add", "staff", "--remove", "lab")["groups"] == ["staff"]
    assert "not in the group lab" in run("user", "groups", "ann", "--remove", "lab", status=2).stderr
    assert "staff" in run("user", "groups", "ann").stdout
    run("user", "admin", "ann")
    run("user", "admin", "ann", "--off")
    run("user", "disable", "ann")
    run("user", "enable", "ann")
    for act in (("disable", "root"), ("admin", "root", "--off"), ("remove", "root", "--yes")):
        assert "the last administrator" in run("user", *act, status=2).stderr
    run("user", "password", "root", "--password-stdin", "--admin", answer=f"{PASSWORD}!\n")
    assert acts(run) == [
        ("user.groups", "ann", "staff"),
        ("user.made_administrator", "ann", ""),
        ("user.no_administrator", "ann", ""),
        ("user.disabled", "ann", ""),
        ("user.enabled", "ann", ""),
        ("user.password", "root", "0 tokens revoked, made administrator"),
    ]


def test_a_lost_telephone_is_signed_out(run: CommandLine) -> None:
    with opened(run) as directory:
        WebSessions(directory.ledger).open(2, "Mozilla (telephone)")
        ApiTokens(directory.ledger).add(2, "script", ["read"])
    assert run.json("user", "sessions", "ann")[0]["user_agent"] == "Mozilla (telephone)"
    assert "telephone" in run("user", "sessions", "ann").stdout
    assert "signed out of 1 browser. 1 API token revoked" in run("user", "sign-out", "ann", "--tokens").stdout
    assert run.json("user", "sessions", "ann") == run.json("user", "tokens", "ann") == []
    assert acts(run) == [("user.signed_out", "ann", "1 token revoked")]


def test_the_last_day_of_a_user(run: CommandLine, tmp_path: Path) -> None:
    run("dataset", "add", "Notes", "--user", "ann")
    run("dataset", "add", "Diary", "--user", "ann")
    out = tmp_path / "ann.zip"
    assert run.json("user", "export", "ann", "--out", out)["size_bytes"] == out.stat().st_size
    assert out.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(out) as packed:
        assert [json.loads(line)["name"] for line in packed.read("datasets.jsonl").splitlines()] == ["Notes", "Diary"]
    assert "File exists" in run("user", "export", "ann", "--out", out, status=2).stderr
    assert run.json("dataset", "transfer", 1, "root")["user_id"] == 1
    assert "pass --yes" in run("user", "remove", "ann", status=2).stderr
    removed = run.json("user", "remove", "ann", "--transfer-to", "root", "--yes")
    assert removed == {"id": 2, "name": "ann", "datasets": 1, "given_to": 1}
    assert [each["name"] for each in run.json("dataset", "list", "--user", "root")][:2] == ["Notes", "Diary"]
    assert "no user 'ann'" in run("user", "groups", "ann", status=2).stderr
    assert [act for act, *_ in acts(run)] == ["user.exported", "dataset.transferred", "user.removed"]


def test_what_is_taken_from_others_is_recorded(run: CommandLine, tmp_path: Path) -> None:
    with opened(run) as directory:
        ConversationStore(directory.ledger, directory.registry).create(2, "ann asks")
        notes = directory.ledger.add_dataset(2, "Notes").id
        directory.ledger.put_document(notes, document("https://x.example/a", "The tray."))
    run("conversation", "export", 1, "--user", "ann", "--out", tmp_path / "ann.md")
    run("conversation", "delete", 1, "--user", "ann", "--yes")
    run("documents", "remove", "https://x.example/", "--prefix", "--dataset", notes)
    run("dataset", "remove", notes, "--yes")
    assert acts(run) == [
        ("conversation.exported", "1", "of ann"),
        ("conversation.deleted", "1", "of ann"),
        ("documents.removed", f"{notes} Notes", "1 document"),
        ("dataset.removed", f"{notes} Notes", "0 documents"),
    ]


def test_the_log_is_shown_and_exported(run: CommandLine) -> None:
    run("user", "disable", "ann")
    assert [each["target"] for each in run.json("audit", "--action", "user", "--since", "1h")] == ["ann", "ann", "root"]
    assert "user.disabled" in run("audit", "--text", "DISABLED").stdout
    lines = run("audit", "--lines").stdout.splitlines()
    assert [json.loads(line)["action"] for line in lines][-2:] == ["user.disabled", "audit.exported"]
    assert run.json("audit", "--until", "2020-01-01") == []


def test_what_is_too_old_goes_when_it_is_said(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAID_AUDIT_DAYS", "1")
    with opened(run) as directory, directory.ledger.database.write() as connection:
        connection.execute(update(AuditRow).where(AuditRow.target == "ann").values(at=0.0))
    assert run.json("retention")["audit"] == {"days": 1, "count": 1}
    assert "for ever" in run("retention").stdout
    assert run.json("retention", "--delete")["audit"]["count"] == 1
    assert run.json("retention")["audit"]["count"] == 0
    assert [each["action"] for each in run.json("audit")] == ["retention.applied", "user.added"]


def test_users_come_from_a_file(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("name,groups,disabled\nann,lab;staff,\nben,,yes\n", encoding="utf-8-sig")
    planned = run("user", "import", path, "--dry-run").stdout
    assert "changed  ann   groups" in planned
    assert "Would be: 1 added, 1 changed, 0 unchanged." in planned
    assert acts(run) == []
    assert [each["change"] for each in run.json("user", "import", path)] == ["changed", "added"]
    with opened(run) as directory:
        ben = Accounts(directory.ledger).named("ben")
    assert ben is not None
    assert ben.disabled
    path.write_text("name\n", encoding="utf-16")
    assert "is not UTF-8" in run("user", "import", path, status=2).stderr
    assert acts(run) == [("users.imported", "1 added, 1 changed, 0 unchanged", "")]
