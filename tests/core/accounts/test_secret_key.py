"""The secret of a data directory: one for all who ask first, and there after a power cut."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from braid.core.accounts.secret_key import SECRET_BYTES, secret_key
from tests.chaos.disk import breakable_disk


def test_all_who_ask_first_get_the_same_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        (found,) = set(pool.map(lambda _: secret_key(tmp_path), range(8)))
    assert len(found) == SECRET_BYTES
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_file_that_a_power_cut_left_empty_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    assert len(secret_key(tmp_path)) == SECRET_BYTES


def test_it_is_there_after_a_disk_broke_at_once(tmp_path: Path) -> None:
    with breakable_disk(tmp_path / "data") as disk:
        if disk.refused:
            pytest.skip(f"no disk can be mounted here: {disk.refused}")
        made = secret_key(disk.folder)
        with disk.broken():
            pass
        disk.mend()
        assert (disk.folder / "secret_key").read_bytes() == made
