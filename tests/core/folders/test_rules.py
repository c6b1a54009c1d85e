"""Which folders of the server may be kept in sync."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.core.errors import InvalidInputError
from braid.core.folders.rules import FolderRules


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys/kernel", "/dev", "/dev/fd", "/usr/../proc"])
def test_the_systems_own_files_are_refused(data: Path, folder: str) -> None:
    with pytest.raises(InvalidInputError, match="files of the system itself"):
        FolderRules(data).require_public(folder)


def test_a_folder_with_a_settings_file_is_refused(tmp_path: Path, data: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    for folder in (site / "conf", other / "inner"):
        folder.mkdir(parents=True)
    (other / "braid.toml").write_text("")
    rules = FolderRules(data, config_file=site / "conf" / "mine.toml")
    for folder in (site, site / "conf", other):
        with pytest.raises(InvalidInputError, match="settings file"):
            rules.require_public(str(folder))
    rules.require_public(str(other / "inner"))


def test_links_are_resolved(tmp_path: Path, data: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    rules = FolderRules(data, roots=(root,))
    for name, target in (("kernel", "/proc"), ("data", str(data)), ("away", "/usr")):
        (root / name).symlink_to(target)
        with pytest.raises(InvalidInputError, match="folder_roots"):
            rules.require_root(str(root / name))
        with pytest.raises(InvalidInputError):
            rules.require_public(str(root / name))


@pytest.mark.parametrize(
    ("roots", "message"), [((), "is empty"), (("/srv/a", "/srv/b"), "not below '/srv/a', '/srv/b'")]
)
def test_only_below_the_roots(data: Path, roots: tuple[str, ...], message: str) -> None:
    rules = FolderRules(data, roots=tuple(map(Path, roots)))
    for folder in ("/srv", "/srv/ab", "/srv/a/../c", "/"):
        with pytest.raises(InvalidInputError, match=message):
            rules.require_root(folder)
    for folder in roots:
        rules.require_root(folder)
        rules.require_root(f"{folder}/x/y")


def test_without_the_setting_every_folder_may_be_added(data: Path) -> None:
    FolderRules(data).require_root("/srv")


def test_a_folder_that_was_added_before_stays(tmp_path: Path, data: Path) -> None:
    FolderRules(data, roots=(Path("/srv"),)).require_public(str(tmp_path / "documents"))
