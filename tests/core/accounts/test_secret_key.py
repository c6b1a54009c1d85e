"""The secret of a data directory: one for all who ask first, and there after a power cut."""

from __future__ import annotations

import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.credentials import WebSessions
from braid.core.accounts.secret_key import MARK, SECRET_BYTES, secret_key, site_secret, unused_file
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from tests.chaos.disk import breakable_disk
from tests.worlds import logged


def test_all_who_ask_first_get_the_same_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        (found,) = set(pool.map(lambda _: secret_key(tmp_path), range(8)))
    assert len(found) == SECRET_BYTES
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_file_that_a_power_cut_left_empty_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    assert len(secret_key(tmp_path)) == SECRET_BYTES


@pytest.mark.parametrize("size", [1, SECRET_BYTES - 1])
def test_one_that_was_cut_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "secret_key").write_bytes(b"x" * size)
    with pytest.raises(InvalidInputError, match=rf"has {size} of 32 bytes: the file was cut\. Put it back"):
        secret_key(tmp_path)


@pytest.mark.parametrize("lost", ["the file", "and an earlier version had made it", "another file"])
def test_another_secret_than_the_site_had_is_said(
    tmp_path: Path, ledger: Ledger, caplog: pytest.LogCaptureFixture, lost: str
) -> None:
    ann = ledger.add_user("ann")
    first = site_secret(tmp_path, ledger)
    WebSessions(ledger).open(ann.id)
    assert site_secret(tmp_path, ledger) == first
    assert not logged(caplog, "braid.core.accounts.secret_key"), "a new site, and the same secret again"
    (tmp_path / "secret_key").unlink()
    if "earlier" in lost:
        AppSettings(ledger).set(MARK, None)
    elif lost == "another file":
        (tmp_path / "secret_key").write_bytes(b"y" * SECRET_BYTES)
    assert site_secret(tmp_path, ledger) != first
    assert caplog.text.count("event=secret_key_replaced") == 1
    assert ledger.noticed.secret_key_replaced
    site_secret(tmp_path, ledger)
    assert caplog.text.count("event=secret_key_replaced") == 1


def test_one_that_is_given_takes_the_place_of_the_file(tmp_path: Path) -> None:
    given = "of-all-processes-of-the-site-0123"
    assert secret_key(tmp_path, given) == given.encode()
    assert unused_file(tmp_path, given) == ""
    assert not list(tmp_path.iterdir())
    of_file = secret_key(tmp_path)
    said = unused_file(tmp_path, given)
    assert "everybody signs in again" in said
    assert given not in said
    command = said.partition('BRAID_SECRET_KEY="')[2].partition('";')[0]
    kept = subprocess.run(["bash", "-c", f'printf %s "{command}"'], capture_output=True, text=True, check=True).stdout
    assert secret_key(tmp_path, kept) == of_file
    assert unused_file(tmp_path, kept) == ""


@pytest.mark.usefixtures("waits_for_the_disk")
def test_it_is_there_after_a_disk_broke_at_once(tmp_path: Path) -> None:
    with breakable_disk(tmp_path / "data") as disk:
        if disk.refused:
            pytest.skip(f"no disk can be mounted here: {disk.refused}")
        made = secret_key(disk.folder)
        with disk.broken():
            pass
        disk.mend()
        assert (disk.folder / "secret_key").read_bytes() == made
