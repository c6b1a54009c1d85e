"""A new data directory is its user's alone; of an old one that others may enter they are warned."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from braid.app.cli.root import cli
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in
from tests.worlds import catch_up

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions are of another kind there")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_directory_is_for_its_user_alone_and_the_umask_stays(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with DataDirectory(tmp_path / "data"):
            assert mode_of(tmp_path / "data") == 0o700
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "data_dir is ''; name a directory"),
        (None, "data_dir is None; name a directory"),
        (b"data", "name a directory"),
        ("~/data", "~ is a shell's word; write '/"),
        ("a\0b", "which is no directory: "),
        ("file", "which is no directory: "),
        ("file/data", "which is no directory: "),
        ("x" * 300, "a data_dir of 300 characters is too long"),
    ],
)
def test_what_no_directory_is_called_by_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a note")
    with pytest.raises(InvalidInputError, match=re.escape(said)) as caught:
        DataDirectory(path)
    assert caught.value.field == "data_dir"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_what_commands_write_is_for_their_user_alone(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o755)
    (tmp_path / "note.md").write_text("The cat sat on the mat")
    before = os.umask(0o022)
    try:
        for command in (["dataset", "add", "Notes"], ["ingest", str(tmp_path / "note.md"), "--dataset", "1"]):
            result = CliRunner().invoke(cli, ["--data-dir", str(data_dir), *command])
            assert result.exit_code == 0, result.output
        with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
            catch_up(braid, "bm25")
        assert os.umask(0o022) == 0o022, "the caller of a command keeps its own"
    finally:
        os.umask(before)
    assert mode_of(data_dir / "ledger.db") == 0o600


def test_an_open_directory_is_named_with_the_command_that_closes_it(open_folder: Path) -> None:
    data_dir = open_folder / "the data"
    data_dir.mkdir(mode=0o755)
    with DataDirectory(data_dir) as directory:
        exposure = directory.exposure()
        assert str(data_dir) in exposure
        subprocess.run(shlex.split(exposure.partition("close it: ")[2]), check=True)
        assert directory.exposure() == ""
    assert mode_of(data_dir) == 0o700


def test_a_directory_in_a_closed_one_is_closed(open_folder: Path) -> None:
    data_dir = open_folder / "data"
    data_dir.mkdir(mode=0o755)
    open_folder.chmod(0o750)
    with DataDirectory(data_dir) as directory:
        assert directory.exposure() == ""


def test_the_doctor_warns_of_an_open_directory(open_folder: Path) -> None:
    data_dir = open_folder / "data"
    data_dir.mkdir(mode=0o755)
    assert CliRunner().invoke(cli, ["--data-dir", str(data_dir), "user", "add", "ann"]).exit_code == 0
    result = CliRunner().invoke(cli, ["--data-dir", str(data_dir), "doctor"])
    assert result.exit_code == 0, result.output
    assert result.stdout == "Ledger and indexes agree.\n"
    assert f"chmod 700 {data_dir}" in result.stderr
    data_dir.chmod(0o700)
    assert "chmod" not in CliRunner().invoke(cli, ["--data-dir", str(data_dir), "doctor"]).stderr


def test_the_overview_warns_of_an_open_directory(open_folder: Path) -> None:
    data_dir = open_folder / "data"
    data_dir.mkdir(mode=0o755)
    with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
        client = sign_in(make_app(braid))
        page = client.get("/admin/").text
        assert "Other users of this computer can access the data folder." in page
        assert f"chmod 700 {data_dir}" in page
        data_dir.chmod(0o700)
        assert "Other users of this computer" not in client.get("/admin/").text


def test_a_directory_whose_shared_datasets_are_known_is_opened_while_somebody_writes(tmp_path: Path) -> None:
    with DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as first:
        first.registry.add("Handbook", "shared_handbook")
        first.mirror_registry()
        with (
            first.ledger.database.write(),  # until the block ends
            DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as other,
        ):
            assert [entry.name for entry in other.registry.entries()] == ["Handbook"]
        first.registry.add("Manual", "shared_manual")
        with DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as other:
            assert other.ledger.mirrored() == {-1: ("Handbook", "shared_handbook"), -2: ("Manual", "shared_manual")}
