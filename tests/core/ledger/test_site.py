"""The site that a ledger is of: another ledger, folder or bucket than the site's is refused, and nothing is deleted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from braid.core.background.background import Background
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import FilesUnavailableError, OtherSiteError
from braid.core.ingest.incoming import Incoming
from braid.core.ledger.owners.site import FILE, SETTING, claim_of
from braid.core.originals.store import Originals
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, document, older_than, write

ORIGINAL = "originals/ab/" + "ab" * 32
UPLOAD = "uploads/" + "0" * 32


def opened(path: Path, **options: object) -> DataDirectory:
    return DataDirectory(path, embedding_model=HashEmbeddings(), **options)  # type: ignore[arg-type]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The data directory of a site with a user and files."""
    with opened(tmp_path / "data") as directory:
        add_notes(directory.ledger)
    return write(tmp_path / "data", {ORIGINAL: "original", UPLOAD: "waits"})


def files(data_dir: Path) -> list[bool]:
    return [(data_dir / name).is_file() for name in (ORIGINAL, UPLOAD)]


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_missing_or_empty_ledger_is_no_new_site(site: Path, lost: str) -> None:
    (site / "ledger.db").rename(site / "aside")
    if lost == "empty":
        (site / "ledger.db").touch()
    with pytest.raises(
        OtherSiteError, match=r"ledger\.db is new, but the data directory .* originals \(1\) and uploads"
    ):
        opened(site)
    assert files(site) == [True, True]
    assert (site / "ledger.db").exists() == (lost == "empty"), "nothing is made"
    (site / "aside").replace(site / "ledger.db")
    opened(site).close()


def test_files_without_an_id_beside_a_new_ledger_are_of_a_site(tmp_path: Path) -> None:
    write(tmp_path / "old", {ORIGINAL: "of a site that an earlier version made"})
    with pytest.raises(OtherSiteError, match="is of a site already"):
        opened(tmp_path / "old")
    write(tmp_path / "indexed", {"indexes/bm25/user_1/meta.json": "{}"})
    with pytest.raises(OtherSiteError, match="with indexes"):
        opened(tmp_path / "indexed")


def test_the_ledger_of_a_database_that_is_not_set_is_missed(
    site: Path, tmp_path: Path, new_postgres_url: Callable[[], str]
) -> None:
    """As when a unit loses the variable with the database."""
    data_dir, url = tmp_path / "of_postgresql", new_postgres_url()
    with opened(data_dir, database_url=url) as directory:
        add_notes(directory.ledger)
    write(data_dir, {ORIGINAL: "original"})
    with pytest.raises(OtherSiteError, match="database_url"):
        opened(data_dir)
    with pytest.raises(OtherSiteError, match="is of the site"):
        opened(site, database_url=url)
    opened(data_dir, database_url=url).close()
    assert not (data_dir / "ledger.db").exists()


def test_a_new_site_is_what_is_meant_once(site: Path) -> None:
    (site / "ledger.db").unlink()
    with opened(site, new_site=True) as directory:
        made = directory.claim.site
    with opened(site) as directory:
        assert directory.claim.site == made
    assert files(site) == [True, True]


def test_a_directory_of_an_earlier_version_gets_an_id(site: Path) -> None:
    with opened(site) as directory, directory.ledger.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM app_settings WHERE name = ?", (SETTING,))
    (site / FILE).unlink()
    with opened(site) as directory:
        assert json.loads((site / FILE).read_text())["site"] == claim_of(directory.ledger.database).site != ""


def test_a_ledger_of_an_earlier_version_comes_back_into_its_directory(site: Path) -> None:
    before = json.loads((site / FILE).read_text())
    with opened(site) as directory, directory.ledger.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM app_settings WHERE name = ?", (SETTING,))
    with opened(site) as directory:
        assert directory.claim.site == before["site"]


def test_a_note_that_a_power_cut_has_cut_is_written_again(site: Path) -> None:
    (site / FILE).write_bytes(b"")
    with opened(site) as directory:
        assert json.loads((site / FILE).read_text())["site"] == directory.claim.site


def test_the_ledger_of_another_site_is_refused(site: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other") as other:
        add_notes(other.ledger)
        theirs = other.claim.site
    shutil.copy(tmp_path / "other" / "ledger.db", site / "ledger.db")
    with pytest.raises(OtherSiteError, match=rf"is of the site {theirs[:8]}, but the data directory") as refused:
        opened(site)
    assert "--new-site" in str(refused.value)
    with opened(site, new_site=True) as directory:
        assert directory.claim.site == theirs, "a ledger keeps its id"


def test_processes_that_open_a_new_directory_at_once_make_one_id(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        directories = list(pool.map(opened, [tmp_path / "data"] * 4))
    sites = {directory.claim.site for directory in directories}
    for directory in directories:
        directory.close()
    assert len(sites) == 1
    assert json.loads((tmp_path / "data" / FILE).read_text())["site"] in sites


# ---------------------------------------------------------------- the bucket


def searched(path: Path, files_url: str, **options: object) -> Braid:
    return Braid(path, files_url=files_url, embedding_model=HashEmbeddings(), **options)  # type: ignore[arg-type]


def keep(directory: DataDirectory, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    incoming = Incoming.from_file(path, "a.txt")
    stored = directory.ledger.put_document(1, document("a.txt", "text", content_hash=incoming.content_hash))
    Originals(directory).keep(stored.document_id, incoming)


def test_the_bucket_of_another_site_is_neither_tidied_nor_used(tmp_path: Path, files_url: str) -> None:
    with searched(tmp_path / "production", files_url) as production:
        add_notes(production.ledger)
        keep(production, b"a file", tmp_path)
        before = list(production.bucket.below("originals/"))  # type: ignore[union-attr]
        with pytest.raises(OtherSiteError, match=r"is new, but the bucket 's3://.*' is of a site"):
            searched(tmp_path / "staging", files_url)
        with opened(tmp_path / "command", files_url=files_url) as command:
            with pytest.raises(FilesUnavailableError, match="the bucket is of another site"):
                Originals(command).sweep(older_than(-3600))
            with pytest.raises(OtherSiteError):
                command.require_site()
        assert list(production.bucket.below("originals/")) == before  # type: ignore[union-attr]
        assert len(before) == 1


def test_a_bucket_with_files_and_no_id_is_no_new_sites(tmp_path: Path, files_url: str) -> None:
    with searched(tmp_path / "old", files_url) as old:
        add_notes(old.ledger)
        keep(old, b"a file", tmp_path)
        old.bucket.claim = None  # type: ignore[union-attr]
        old.bucket.remove("site_id")  # type: ignore[union-attr]
    with pytest.raises(OtherSiteError, match="is of a site already, with files"):
        searched(tmp_path / "new", files_url)
    with searched(tmp_path / "old", files_url) as old:
        assert old.bucket is not None
        assert old.bucket.find("site_id") is not None


def test_whose_bucket_was_taken_over_tidies_it_no_more(
    tmp_path: Path, files_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with searched(tmp_path / "production", files_url) as production:
        add_notes(production.ledger)
        with searched(tmp_path / "copy", files_url, new_site=True):
            pass
        background = Background(production)
        with closing(background):
            background._try_to_tidy()
    assert "event=not_tidied" in caplog.text
    assert "but the bucket" in caplog.text
