"""The list of shared datasets in the ledger: what one process changes there, the next question of any other finds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from braid.core.datasets import shared_list
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.datasets.shared_list import ListInLedger
from braid.core.errors import RegistryConflictError, RegistryError
from braid.core.ledger.ledger import Ledger
from tests.databases import on_both_databases
from tests.worlds import WAIT_S, logged

HANDBOOK = '[{"id": -1, "name": "Handbook", "collection_name": "shared_main"}]\n'


def taken_over(ledger: Ledger, path: Path) -> list[Registry]:
    """The registries of two processes, which have the list of the file, or an empty one, in the ledger."""
    ListInLedger(ledger.database).take_over(path, has_shared=False)
    return [registry_of(ledger, path) for _ in range(2)]


def registry_of(ledger: Ledger, path: Path) -> Registry:
    return Registry(path, retired_ids=ledger.retired_shared_ids, kept_in=ListInLedger(ledger.database))


def names(registry: Registry) -> list[str]:
    return [entry.name for entry in registry.entries()]


def test_a_file_is_taken_over_once(ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "shared_dbs.json"
    path.write_text(HANDBOOK)
    one, other = taken_over(ledger, path)
    assert f"{path} is read no more" in caplog.text
    assert not one.is_file
    path.write_text("[]")
    assert names(one) == names(registry_of(ledger, path)) == ["Handbook"]
    another = tmp_path / "of-another-machine.json"
    another.write_text('[{"id": -2, "name": "Other", "collection_name": "shared_other"}]')
    ListInLedger(ledger.database).take_over(another, has_shared=True)
    assert f"{another}, which has another one, is not read: `python -m app shared-db import FILE`" in caplog.text
    caplog.clear()
    for same in (HANDBOOK.strip(), None):
        another.write_text(same) if same else another.unlink()
        ListInLedger(ledger.database).take_over(another, has_shared=True)
    assert not logged(caplog, "braid.core.datasets")
    assert names(other) == ["Handbook"]
    assert one.text()[0] == HANDBOOK


def test_without_a_file_it_is_empty_and_a_ledger_with_shared_datasets_says_so(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ListInLedger(ledger.database).take_over(tmp_path / "nowhere.json", has_shared=True)
    assert "nobody can read them until `python -m app shared-db import FILE`" in caplog.text
    registry = registry_of(ledger, tmp_path / "nowhere.json")
    assert (names(registry), registry.problem()) == ([], None)


def test_an_empty_list_that_nobody_has_edited_gives_way_to_the_first_file(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    without, path = tmp_path / "nowhere.json", tmp_path / "shared_dbs.json"
    one, other = taken_over(ledger, without)
    path.write_text(HANDBOOK)
    assert names(one) == []
    for _ in range(2):
        taken_over(ledger, path)
        taken_over(ledger, without)
    assert names(one) == names(other) == ["Handbook"]
    assert "is not read" not in caplog.text
    one.remove(-1)
    taken_over(ledger, path)
    assert names(other) == [], "administrators have emptied it"


@pytest.mark.parametrize("shared_ledger", ["postgresql"], indirect=True)
def test_a_list_that_another_process_holds_is_said_to_be_locked(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = taken_over(ledger, tmp_path / "none")
    monkeypatch.setattr(shared_list, "LOCK_TIMEOUT_S", 0.05)
    locked = pytest.raises(RegistryError, match=r"shared datasets has been locked by another process for 0\.05 s")
    with ListInLedger(ledger.database).alone(), ThreadPoolExecutor(1) as other_process, locked:
        other_process.submit(one.add, "Handbook", "shared_main").result(WAIT_S)
    assert one.add("Handbook", "shared_main").id == -1


@on_both_databases
def test_what_one_changes_the_other_has_at_once(ledger: Ledger, tmp_path: Path) -> None:
    one, other = taken_over(ledger, tmp_path / "none")
    entry = one.add("Salaries", "shared_pay")
    user = ledger.add_user("ann")
    ledger.register_shared(entry.id, entry.name, entry.collection_name)
    assert resolve_scope(ledger, other, user_id=user.id, dataset_ids=[-1]).collections
    before = other.version
    one.update(-1, allowed_groups=["board"])
    revoked = resolve_scope(ledger, other, user_id=user.id, dataset_ids=[-1])
    assert (revoked.collections, revoked.unresolved_dataset_ids) == ((), (-1,))
    assert other.version == before + 1
    one.remove(-1)
    assert other.get(-1) is None


def test_of_two_who_edit_the_text_the_second_is_told(ledger: Ledger, tmp_path: Path) -> None:
    one, other = taken_over(ledger, tmp_path / "none")
    _, read = other.text()
    one.add("Handbook", "shared_main")
    with pytest.raises(RegistryConflictError, match="the list of shared datasets was changed by somebody else"):
        other.replace_text("[]", of=read)
    assert names(other) == ["Handbook"]
    other.replace_text("[]", of=other.text()[1])
    assert names(one) == []


def test_an_invalid_list_is_checked_as_a_file_is(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "shared_dbs.json"
    path.write_bytes(b'[{"id": -1, "name": "\xff\x00"')
    one, other = taken_over(ledger, path)
    for registry in (one, other):
        assert registry.entries() == ()
        assert str(registry.problem()).startswith("the list of shared datasets: line 1, column ")
    with pytest.raises(RegistryError, match="line 1"):
        one.add("Handbook", "shared_main")
    with pytest.raises(RegistryError, match="entry 1"):
        one.replace_text('[{"id": 5}]')
    one.replace_text(HANDBOOK)
    assert (names(other), other.problem()) == (["Handbook"], None)


def test_a_list_that_is_gone_stays_in_effect_until_it_is_saved_again(ledger: Ledger, tmp_path: Path) -> None:
    one, other = taken_over(ledger, tmp_path / "none")
    one.add("Handbook", "shared_main")
    with ledger.database.write() as connection:
        connection.execute(text("DELETE FROM shared_list"))
    assert names(one) == ["Handbook"]
    assert "it was deleted from the ledger; save the list again" in str(one.problem())
    with pytest.raises(RegistryError, match="save the list again"):
        one.add("Other", "shared_main")
    one.replace_text(HANDBOOK)
    assert (names(other), other.problem()) == (["Handbook"], None)


@on_both_databases
def test_who_edit_at_the_same_time_lose_nothing(ledger: Ledger, tmp_path: Path) -> None:
    registries, ready = taken_over(ledger, tmp_path / "none"), threading.Barrier(6)

    def add(number: int) -> None:
        ready.wait()
        for part in range(3):
            registries[number % 2].add(f"{number} {part}", "shared_main")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(6)))
    for registry in registries:
        assert sorted(names(registry)) == sorted(f"{number} {part}" for number in range(6) for part in range(3))
        assert sorted(entry.id for entry in registry.entries()) == list(range(-18, 0))


@on_both_databases
def test_a_change_that_is_rolled_back_hides_no_later_one(ledger: Ledger, tmp_path: Path) -> None:
    one, other = taken_over(ledger, tmp_path / "none")
    one.add("Salaries", "shared_pay", allowed_groups=["board"])
    with suppress(SystemExit), ledger.database.write():
        one.update(-1, allowed_groups=["guests"])
        raise SystemExit("rolled back")
    other.update(-1, allowed_groups=["auditors"])
    assert one.entries() == other.entries()
