"""Changes of the shared datasets: the file, its mirror, the indexer and the audit log."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy.exc import OperationalError

from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.audit import AuditLog
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.datasets.shared_changes import SharedDatasets
from braid.core.errors import InvalidInputError, NotFoundError, RegistryConflictError, RegistryError
from braid.core.ledger import database
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, document

HANDBOOK: dict[str, object] = {"id": -1, "name": "Handbook", "collection_name": "shared_lab"}
MINUTES: dict[str, object] = {
    "id": -2,
    "name": "Minutes",
    "collection_name": "shared_board",
    "allowed_groups": ["board"],
}


class Directory(DataDirectory):
    """Counts how often the indexer would be woken."""

    woken = 0

    def wake(self) -> None:
        self.woken += 1


class Memory(AppSettings):
    """Has somebody do ``meanwhile`` once, just after the list was compared with what is noted."""

    meanwhile: Callable[[], object] | None = None

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name, default)
        self._interrupt()
        return found

    def change(self, name: str, default: Any, act: Callable[[Any], Any]) -> None:
        super().change(name, default, act)
        self._interrupt()

    def _interrupt(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()


class Office:
    """A data directory, and what its shared datasets called."""

    is_stopping = False

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.acts: list[tuple[str, str, str, str]] = []
        self.memory = Memory(directory.ledger)
        self.shared = SharedDatasets(directory, lambda *act: self.audit(*act), self.memory)

    def audit(self, *act: str) -> None:
        """Keep a line of the audit log, unless the process is stopped before."""
        if self.is_stopping:
            raise SystemExit("killed between the change and its line")
        self.acts.append(cast(tuple[str, str, str, str], act))

    def edit(self, *entries: dict[str, object]) -> None:
        """Write the file as somebody with an editor does, and have it looked at."""
        self.write(*entries)
        self.shared.note_changes()

    def write(self, *entries: dict[str, object]) -> None:
        """Write the file as somebody with an editor does."""
        self.directory.registry.path.write_text(json.dumps(entries), encoding="utf-8")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Directory(tmp_path, embedding_model=HashEmbeddings()) as directory:
        yield Office(directory)


@contextmanager
def impatient(office: Office) -> Iterator[Office]:
    """Open the directory of the office in another process, which fails at once where it would wait for a writer."""
    with pytest.MonkeyPatch.context() as opening:
        opening.setattr(database, "SQLITE_BUSY_TIMEOUT_S", 0)
        other = Directory(office.directory.data_dir, embedding_model=HashEmbeddings())
    with other:
        yield Office(other)


def test_an_added_dataset_is_in_the_file_the_ledger_and_the_audit_log(office: Office) -> None:
    added = office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab", "board"])
    assert office.directory.registry.get(added.id) == added
    assert office.directory.ledger.dataset(added.id).name == "Handbook"
    assert office.directory.woken == 1
    assert office.acts == [("ann", "shared_db.added", "-1 Handbook", "shared_lab; lab, board")]


def test_an_update_names_what_changed(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    office.shared.update(-1, by="ben", name="Guide", allowed_groups=("lab",))
    stored = office.directory.ledger.dataset(-1)
    assert stored.name == "Guide"
    assert office.acts[-1] == (
        "ben",
        "shared_db.changed",
        "-1 Guide",
        "name: Handbook → Guide; allowed_groups: everyone → lab",
    )
    assert office.directory.woken == 2


def test_switching_off_and_on_is_recorded(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    assert not office.shared.switch(-1, enabled=False, by="ann").enabled
    assert office.shared.switch(-1, enabled=True, by="ann").enabled
    assert [action for _, action, _, _ in office.acts[1:]] == ["shared_db.disabled", "shared_db.enabled"]


def test_removing_deletes_the_entry_and_the_dataset(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    assert office.shared.remove(-1, by="ann").name == "Handbook"
    assert not office.directory.registry.entries()
    with pytest.raises(NotFoundError):
        office.directory.ledger.dataset(-1)
    assert office.acts[-1] == ("ann", "shared_db.removed", "-1 Handbook", "0 documents, 0 passages")


def test_a_replaced_text_is_mirrored_and_its_lines_are_counted(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    text, fingerprint = office.directory.registry.text()
    office.shared.replace_text(text.replace("Handbook", "Guide"), expected_fingerprint=fingerprint, by="ann")
    assert office.directory.ledger.dataset(-1).name == "Guide"
    assert office.acts[-1] == ("ann", "shared_dbs.saved", "shared_dbs.json", "+1 -1 lines")


def test_a_refused_change_is_neither_announced_nor_recorded(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    with pytest.raises(RegistryError):
        office.shared.add("Handbook", "user_1", by="ann")
    with pytest.raises(InvalidInputError, match="embedding_model is 'nonsense'"):
        office.shared.update(-1, by="ann", embedding_model="nonsense")
    with pytest.raises(NotFoundError):
        office.shared.switch(-7, enabled=True, by="ann")
    with pytest.raises(NotFoundError):
        office.shared.remove(-7, by="ann")
    with pytest.raises(RegistryConflictError):
        office.shared.replace_text("[]", expected_fingerprint="of another text", by="ann")
    assert (office.directory.woken, len(office.acts)) == (1, 1)


def test_what_is_changed_in_the_file_itself_is_told_once(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    office.acts.clear()
    office.edit(HANDBOOK | {"allowed_groups": ["lab", "guests"]})
    office.shared.note_changes()
    changed = ("shared_dbs.json", "shared_db.changed", "-1 Handbook", "allowed_groups: lab → lab, guests")
    assert office.acts == [changed]
    office.edit(MINUTES)
    assert office.acts[1:] == [
        ("shared_dbs.json", "shared_db.added", "-2 Minutes", "shared_board; board"),
        ("shared_dbs.json", "shared_db.unlisted", "-1 Handbook", ""),
    ]


def test_what_the_file_changed_before_is_told_first_and_as_the_files(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    office.write(HANDBOOK)
    office.acts.clear()
    office.shared.switch(-1, enabled=False, by="ann")
    office.shared.note_changes()
    assert [(who, what) for who, what, *_ in office.acts] == [
        ("shared_dbs.json", "shared_db.changed"),
        ("ann", "shared_db.disabled"),
    ]


def test_a_list_that_is_not_in_effect_changes_nothing(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    office.acts.clear()
    office.directory.registry.path.write_text("[{", encoding="utf-8")
    office.directory.mirror_registry()
    office.shared.note_changes()
    assert office.acts == []


def test_readers_that_are_changed_in_the_lists_text_are_told_by_who_saved_it(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    text, of = office.directory.registry.text()
    office.shared.replace_text(text.replace('"lab"', '"lab", "guests"'), expected_fingerprint=of, by="ben")
    changed = ("ben", "shared_db.changed", "-1 Handbook", "allowed_groups: lab → lab, guests")
    assert changed in office.acts


def test_what_is_edited_while_a_change_waits_is_told_as_the_files(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    office.acts.clear()
    office.memory.meanwhile = lambda: office.write(HANDBOOK | {"allowed_groups": ["lab"]}, MINUTES)
    office.shared.switch(-1, enabled=False, by="ann")
    office.shared.note_changes()
    assert office.acts == [
        ("ann", "shared_db.disabled", "-1 Handbook", ""),
        ("shared_dbs.json", "shared_db.added", "-2 Minutes", "shared_board; board"),
    ]


def test_a_change_whose_line_was_not_written_is_told_later(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    office.acts.clear()
    office.is_stopping = True
    with pytest.raises(SystemExit):
        office.shared.update(-1, by="eve", allowed_groups=("lab", "guests"))
    office.is_stopping = False
    office.shared.note_changes()
    changed = ("shared_dbs.json", "shared_db.changed", "-1 Handbook", "allowed_groups: lab → lab, guests")
    assert office.acts == [changed]


def test_a_removal_whose_line_was_not_written_is_undone_in_the_ledger(office: Office) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann")
    office.acts.clear()
    office.is_stopping = True
    with pytest.raises(SystemExit):
        office.shared.remove(-1, by="eve")
    office.is_stopping = False
    office.shared.note_changes()
    assert office.acts == [("shared_dbs.json", "shared_db.unlisted", "-1 Handbook", "")]
    assert office.directory.ledger.dataset(-1).name == "Handbook"


def test_what_was_mirrored_in_a_transaction_that_is_rolled_back_is_mirrored_later(office: Office) -> None:
    office.write(HANDBOOK)
    with suppress(SystemExit), office.directory.ledger.database.write():
        office.directory.mirror_registry()
        raise SystemExit("rolled back")
    office.directory.mirror_registry()
    assert office.directory.ledger.dataset(-1).name == "Handbook"


def test_a_process_that_looks_while_the_text_is_saved_does_not_tell_it_as_the_files(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
    text, of = office.directory.registry.text()
    save = office.directory.registry.replace_text
    with impatient(office) as other:

        def saved_and_seen(*args: Any, **kwargs: Any) -> None:
            save(*args, **kwargs)
            with suppress(OperationalError):  # the other one would wait
                other.shared.note_changes()

        monkeypatch.setattr(office.directory.registry, "replace_text", saved_and_seen)
        office.shared.replace_text(text.replace('"lab"', '"lab", "guests"'), expected_fingerprint=of, by="ben")
        other.shared.note_changes()
    assert other.acts == []
    assert office.acts[1:] == [
        ("ben", "shared_db.changed", "-1 Handbook", "allowed_groups: lab → lab, guests"),
        ("ben", "shared_dbs.saved", "shared_dbs.json", "+1 -1 lines"),
    ]


def open_braid(path: Path, **options: Any) -> Braid:
    return Braid(path, embedding_model=HashEmbeddings(), index_options=IndexOptions(**options))


def test_a_request_after_an_edit_neither_waits_for_a_writer_nor_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SQLITE_BUSY_TIMEOUT_S", 0)  # who would wait fails
    with open_braid(tmp_path, follow=()) as braid, closing(sqlite3.connect(tmp_path / "ledger.db")) as writer:
        shared = SharedDatasets(braid, AuditLog(braid.ledger).add, AppSettings(braid.ledger))
        shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])
        braid.when_list_changed = shared.note_changes
        braid.registry.path.write_text(json.dumps([HANDBOOK | {"allowed_groups": ["guests"]}]), encoding="utf-8")
        writer.execute("BEGIN IMMEDIATE")
        assert braid.dataset(-1).name == "Handbook"
        entry = braid.registry.get(-1)
    assert entry is not None
    assert entry.allowed_groups == ("guests",)


def test_what_was_edited_is_told_by_the_threads_that_index_as_soon_as_it_can_be_written(tmp_path: Path) -> None:
    told, is_free = threading.Event(), threading.Event()
    with open_braid(tmp_path) as braid:
        audit = AuditLog(braid.ledger)
        shared = SharedDatasets(braid, audit.add, AppSettings(braid.ledger))
        shared.add("Handbook", "shared_lab", by="ann", allowed_groups=["lab"])

        def note_changes() -> None:
            if not is_free.is_set():
                raise OperationalError("INSERT", None, sqlite3.OperationalError("database is locked"))
            shared.note_changes()
            told.set()

        braid.when_list_changed = note_changes
        braid.registry.path.write_text(json.dumps([HANDBOOK | {"allowed_groups": ["guests"]}]), encoding="utf-8")
        braid.ledger.put_document(-1, document("pump.txt", "The pump needs four bar."))
        assert braid.indexer.wait(WAIT_S), "what cannot be told yet keeps nothing from being indexed"
        is_free.set()
        assert told.wait(WAIT_S)
        newest, *_ = audit.entries()
    assert (newest.actor, newest.detail) == ("shared_dbs.json", "allowed_groups: lab → guests")
