"""Which folders of the server may be kept in sync."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.core.errors import InvalidInputError
from braid.core.folders.rules import FolderRules


@pytest.fixture
def tmp_path(open_folder: Path) -> Path:
    """No folder of the system's own, as those below ``/dev`` are."""
    return open_folder


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


@pytest.mark.parametrize("named", ["real", "link", "alias/real"])
def test_a_root_that_is_a_link_is_the_folder_that_it_leads_to(tmp_path: Path, data: Path, named: str) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "documents" / "inner").mkdir(parents=True)
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    link.symlink_to(real)
    (tmp_path / "alias").symlink_to(tmp_path)
    rules = FolderRules(data, roots=(link,))
    added = str(tmp_path / named / "documents")
    for folder in (added, f"{added}/inner", str(tmp_path / named)):
        rules.require_root(folder)
        rules.require_public(folder)
    with pytest.raises(InvalidInputError, match="not below"):
        rules.require_root(str(tmp_path / "elsewhere"))
    (real / "documents").rename(real / "moved")
    (real / "documents").symlink_to(tmp_path / "elsewhere")
    for folder in (added, f"{added}/inner"):
        with pytest.raises(InvalidInputError, match="a link out of the folders"):
            rules.require_public(folder)


def test_a_root_that_leads_elsewhere_now_takes_its_folders_along(tmp_path: Path, data: Path) -> None:
    link, rules = tmp_path / "link", FolderRules(data, roots=(tmp_path / "link",))
    for target in ("old", "new"):
        (tmp_path / target / "documents").mkdir(parents=True)
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / target)
        rules.require_root(str(link / "documents"))
        rules.require_public(str(link / "documents"))


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
