from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from braid.core.datasets import shared_list as list_module
from braid.core.datasets.entry import MAX_FILE_BYTES
from braid.core.datasets.registry import Registry, SharedDataset, render, validate
from braid.core.errors import NotFoundError, RegistryConflictError, RegistryError
from tests.worlds import WAIT_S, logged, new_processes

ONE = {"id": -1, "name": "手引き", "collection_name": "shared_main_db"}
TWO = {"id": -2, "name": "설명서", "collection_name": "shared_main_db"}


def text_of(*entries: object) -> str:
    return json.dumps(entries, ensure_ascii=False)


def entry(**changes: object) -> str:
    return text_of(ONE | changes)


def problem_with(text: str, **kwargs: frozenset[int]) -> str:
    with pytest.raises(RegistryError) as caught:
        validate(text, **kwargs)
    return str(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shared_dbs.json"
    path.write_text(text_of(ONE, TWO), encoding="utf-8")
    return path


def make_old(path: Path) -> None:
    """As if written an hour ago, so that the file counts as settled."""
    hour_ago = path.stat().st_mtime_ns - 3600 * 10**9
    os.utime(path, ns=(hour_ago, hour_ago))


# ---------------------------------------------------------------- validation


def test_a_valid_list_in_the_order_of_the_file() -> None:
    full = TWO | {
        "description": "two\nlines",
        "allowed_groups": ["staff", "総務"],
        "enabled": False,
        "embedding_model": "",
    }
    assert validate(text_of(ONE, full)) == (
        SharedDataset(-1, "手引き", "shared_main_db"),
        SharedDataset(-2, "설명서", "shared_main_db", "two\nlines", ("staff", "総務"), enabled=False),
    )
    assert validate("[]") == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("id", value) for value in (0, 1, True, -1.0, "-1", None, -(2**31) - 1)],
        *[("name", value) for value in ("", "  ", "a" * 201, "two\nlines", "a\x00", "\ud800", 1, None)],
        *[
            ("collection_name", value)
            for value in ("", "main", "shared_", "user_1", "shared_a-", "shared_a b", "shared_日本")
        ],
        *[("collection_name", value) for value in ("shared_a\n", "Shared_a", "shared_" + "a" * 122, 5)],
        *[("description", value) for value in (None, 1, "a" * 2001, "a\x00")],
        *[("allowed_groups", value) for value in ("staff", [""], [" "], [1], None, {"a": 1})],
        *[("enabled", value) for value in (1, "true", None)],
        *[("embedding_model", value) for value in (None, 1, "a" * 201)],
    ],
)
def test_a_wrong_value_is_named_with_entry_field_and_remedy(field: str, value: object) -> None:
    told = problem_with(json.dumps([ONE, TWO | {field: value}]))
    assert told.startswith("line 1: entry 2 (id ")
    assert f"): {field} is " in told
    assert "; it must be " in told


@pytest.mark.parametrize("name", ["shared_a", "shared_A.b-c_9", "shared__1", "shared_" + "a" * 121])
def test_collection_names_that_are_allowed(name: str) -> None:
    assert validate(entry(collection_name=name))[0].collection_name == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "write a list such as"),
        ("null", "write a list such as"),
        ("[1]", "entry 1 is 1; write it as"),
        ("[[]]", "entry 1 is []"),
        (text_of({"id": -1, "name": "x"}), "entry 1 (id -1): collection_name is missing"),
        (text_of({}), "entry 1: id is missing"),
        (entry(colour="red"), "entry 1 (id -1): 'colour' is not a field; use id, name, collection_name,"),
        (text_of(ONE, ONE), "entry 2: id is -1, as in entry 1; give each entry its own"),
        ('[{"id": -1, "id": -2}]', "'id' is in one entry twice"),
        ("", "line 1, column 1: this is not JSON"),
        ('[\n  {"id": -1,}\n]', "line 2, column 13: this is not JSON"),
        ("\ufeff[]", "line 1, column 1: there is a byte order mark"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "1" * 5000 + "]", "a number is too long"),
        ("[NaN]", "entry 1 is nan"),
        (" " * MAX_FILE_BYTES + "[]", "more than 1000000 bytes"),
    ],
)
def test_a_text_that_is_not_a_list_of_entries(text: str, expected: str) -> None:
    assert expected in problem_with(text)


def test_retired_ids_are_rejected() -> None:
    told = problem_with(text_of(ONE, TWO), retired_ids=frozenset({-2}))
    assert told == "line 1: entry 2: id is -2, a removed dataset's; give it one that was never used"


def test_one_collection_has_one_embedding_model() -> None:
    told = problem_with(text_of(ONE, TWO | {"embedding_model": "openai:text-embedding-3-small"}))
    assert "entry 2 (id -2): embedding_model is 'openai:text-embedding-3-small', but '' in entry (id -1)" in told
    apart = TWO | {"embedding_model": "openai:text-embedding-3-small", "collection_name": "shared_other"}
    assert len(validate(text_of(ONE, apart))) == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_a_wrong_entry_is_named_with_its_line(indent: int | None) -> None:
    text = "\n\n" + json.dumps([ONE, TWO, ONE | {"id": -3, "name": ""}], indent=indent)
    line = 2 + (1 if indent is None else text.splitlines()[2:].index('    "id": -3,'))
    assert problem_with(text).startswith(f"line {line}: entry 3 (id -3): name is ''")


def test_long_values_are_shortened_in_messages() -> None:
    assert len(problem_with(entry(name="a" * 100_000))) < 300


def test_render_keeps_what_validate_read() -> None:
    entries = validate(text_of(ONE, TWO | {"allowed_groups": ["staff"], "enabled": False}))
    assert validate(render(entries)) == entries
    assert "手引き" in render(entries)


def test_the_shipped_file_is_valid() -> None:
    shipped = Path(__file__).parents[3] / "shared_dbs.json"
    first = validate(shipped.read_text(encoding="utf-8"))[0]
    assert (first.id, first.name, first.collection_name) == (-1, "Braid guide", "shared_main_db")


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
nearly_entries = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            f.name: any_json | st.sampled_from([-1, -2, "x", "shared_a", ["staff"], True])
            for f in fields(SharedDataset)
        },
    ),
    max_size=4,
)


@given(any_json | nearly_entries)
def test_any_json_is_accepted_or_a_registry_error(value: object) -> None:
    try:
        entries = validate(json.dumps(value))
    except RegistryError:
        return
    assert validate(render(entries)) == entries


@given(st.text())
def test_any_text_is_accepted_or_a_registry_error(text: str) -> None:
    try:
        validate(text)
    except RegistryError:
        return


# ---------------------------------------------------------------- reading


def test_entries_of_the_file(path: Path) -> None:
    registry = Registry(path)
    assert [e.id for e in registry.entries()] == [-1, -2]
    assert registry.get(-2) == SharedDataset(-2, "설명서", "shared_main_db")
    assert registry.get(-3) is None
    assert registry.problem() is None


def test_a_file_missing_at_the_start_is_an_empty_registry(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "absent" / "shared_dbs.json")
    assert registry.entries() == ()
    assert registry.problem() is None
    assert registry.add("First", "shared_a").id == -1
    assert [e.name for e in registry.entries()] == ["First"]


def test_a_change_by_someone_else_comes_into_force(path: Path) -> None:
    registry = Registry(path)
    before = registry.version
    assert len(registry.entries()) == 2
    path.write_text(text_of(ONE), encoding="utf-8")
    assert [e.id for e in registry.entries()] == [-1]
    assert registry.version == before + 1


@pytest.mark.parametrize("settled", [True, False])
def test_a_rewrite_of_equal_size_is_noticed(path: Path, settled: bool) -> None:
    if settled:
        make_old(path)
    registry = Registry(path)
    assert registry.entries()[0].name == "手引き"
    path.write_text(text_of(ONE | {"name": "案内書"}, TWO), encoding="utf-8")
    assert registry.entries()[0].name == "案内書"


def test_a_rewrite_within_one_tick_of_the_clock_is_noticed(path: Path) -> None:
    registry = Registry(path)
    before = path.stat()
    registry.entries()
    path.write_text(text_of(ONE | {"name": "案内書"}, TWO), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert registry.entries()[0].name == "案内書"


def test_a_settled_file_is_not_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_old(path)
    registry = Registry(path)
    registry.entries()
    reads = []
    monkeypatch.setattr(list_module, "_read", reads.append)
    assert len(registry.entries()) == 2
    assert not reads


def test_reformatting_is_no_change(path: Path) -> None:
    registry = Registry(path)
    before = registry.version
    path.write_text(render(registry.entries()), encoding="utf-8")
    assert registry.version == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'[{"id": 0, "name": "x", "collection_name": "shared_a"}]', "entry 1 (id 0): id is 0"),
        (b"[\n  {", "line 2, column 4: this is not JSON"),
        ("[\n手".encode() + b"\xff]", "line 2, column 2: byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbf[]", "line 1, column 1: there is a byte order mark"),
        (b"", "line 1, column 1"),
        (b" " * 2 * MAX_FILE_BYTES, "more than 1000000 bytes"),
    ],
)
def test_the_last_good_version_stays_while_the_file_is_broken(
    path: Path, caplog: pytest.LogCaptureFixture, content: bytes, expected: str
) -> None:
    registry = Registry(path)
    good, version = registry.entries(), registry.version
    path.write_bytes(content)
    for _ in range(3):
        assert registry.entries() == good
        problem = registry.problem()
        assert problem is not None
        assert problem.startswith("shared_dbs.json: ")
        assert expected in problem
        assert "the last valid version stays in effect" in problem
    assert len(logged(caplog, "braid.core.datasets")) == 1
    path.write_text(text_of(ONE), encoding="utf-8")
    assert registry.problem() is None
    assert [e.id for e in registry.entries()] == [-1]
    assert registry.version == version + 1


def test_each_distinct_problem_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(path)
    registry.entries()
    for broken in ("[", "{}", "{}\n"):
        path.write_text(broken)
        registry.entries()
    assert len(logged(caplog, "braid.core.datasets")) == 2


def test_a_file_broken_at_the_start(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text("{")
    registry = Registry(path)
    assert registry.entries() == ()
    assert "no shared dataset is offered" in str(registry.problem())
    caplog.set_level(logging.INFO)
    path.write_text(text_of(ONE), encoding="utf-8")
    assert registry.problem() is None
    assert caplog.messages[-1] == "shared_dbs.json is in effect again"


def test_a_file_deleted_later(path: Path) -> None:
    registry = Registry(path)
    good, content = registry.entries(), path.read_bytes()
    path.unlink()
    assert registry.entries() == good
    assert "the file was deleted" in str(registry.problem())
    with pytest.raises(RegistryError, match="the file was deleted; put it back"):
        registry.add("Third", "shared_a")
    path.write_bytes(content)
    assert registry.problem() is None
    assert registry.add("Third", "shared_a").id == -3


def test_a_path_that_cannot_be_read(path: Path) -> None:
    registry = Registry(path)
    good = registry.entries()
    path.unlink()
    path.mkdir()
    assert registry.entries() == good
    assert "cannot be read: Is a directory" in str(registry.problem())
    with pytest.raises(RegistryError, match="cannot be read: Is a directory"):
        registry.remove(-1)


def test_retired_ids_are_asked_for_at_each_validation(path: Path) -> None:
    retired: set[int] = set()
    registry = Registry(path, retired_ids=lambda: retired)
    assert len(registry.entries()) == 2
    retired.add(-9)
    path.write_text(text_of(ONE, TWO | {"id": -9}), encoding="utf-8")
    assert "entry 2: id is -9, a removed dataset's" in str(registry.problem())
    retired.clear()
    path.write_text(text_of(ONE, TWO | {"id": -9}) + "\n", encoding="utf-8")
    assert registry.problem() is None


# ---------------------------------------------------------------- changing


def test_add_takes_the_id_below_all_others(path: Path) -> None:
    registry = Registry(path, retired_ids=lambda: {-5})
    added = registry.add("Law", "shared_law", description="d", allowed_groups=["staff"], embedding_model="m")
    assert added == SharedDataset(-6, "Law", "shared_law", "d", ("staff",), embedding_model="m")
    assert registry.get(-6) == added
    assert Registry(path).get(-6) == added


def test_a_removed_id_is_not_given_again(path: Path) -> None:
    registry = Registry(path)
    added = registry.add("Third", "shared_a")
    assert registry.remove(added.id) == added
    assert registry.get(added.id) is None
    assert registry.add("Fourth", "shared_a").id == added.id - 1


def test_an_invalid_change_leaves_the_file_as_it_was(path: Path) -> None:
    registry = Registry(path)
    before, version = path.read_bytes(), registry.version
    changes: list[Callable[[], object]] = [
        lambda: registry.add("", "shared_a"),
        lambda: registry.add("x", "main"),
        lambda: registry.add("x", "shared_a", allowed_groups="staff"),
        lambda: registry.add("x", "shared_main_db", embedding_model="other"),
        lambda: registry.update(-1, name=5),
        lambda: registry.update(-1, colour="red"),
        lambda: registry.replace_text("["),
        lambda: registry.replace_text(text_of(ONE, ONE)),
    ]
    for change in changes:
        with pytest.raises(RegistryError):
            change()
    assert path.read_bytes() == before
    assert registry.version == version
    assert registry.problem() is None


def test_update(path: Path) -> None:
    registry = Registry(path)
    updated = registry.update(-2, name="Manual", enabled=False, allowed_groups=("staff",))
    assert updated == SharedDataset(-2, "Manual", "shared_main_db", "", ("staff",), enabled=False)
    assert registry.entries()[1] == updated
    assert registry.update(-2, enabled=True).enabled


def test_the_id_cannot_change(path: Path) -> None:
    with pytest.raises(RegistryError, match="the id of shared dataset -1 cannot change"):
        Registry(path).update(-1, id=-7)


def test_unknown_ids(path: Path) -> None:
    registry = Registry(path)
    with pytest.raises(NotFoundError, match=r"no shared dataset -9; the ids are \[-1, -2\]"):
        registry.update(-9, name="x")
    with pytest.raises(NotFoundError):
        registry.remove(-9)


def test_retiring_an_id_before_removing_its_entry_works(path: Path) -> None:
    retired: set[int] = set()
    registry = Registry(path, retired_ids=lambda: retired)
    registry.entries()
    Registry(path).add("By another process", "shared_a")
    retired.add(-1)
    assert registry.remove(-1).id == -1
    assert [e.id for e in registry.entries()] == [-2, -3]


def test_replace_text_writes_the_text_as_it_is_and_mends_a_broken_file(path: Path) -> None:
    registry = Registry(path)
    registry.entries()
    path.write_text("[")
    with pytest.raises(RegistryError, match="line 1, column 2"):
        registry.add("x", "shared_a")
    assert path.read_text() == "["
    registry.replace_text("\n" + text_of(ONE) + "\r\n")
    assert path.read_bytes().decode() == "\n" + text_of(ONE) + "\r\n"
    assert registry.problem() is None
    path.unlink()
    registry.replace_text(text_of(TWO))
    assert [e.id for e in registry.entries()] == [-2]


def test_replace_text_does_not_write_over_what_it_did_not_see(path: Path) -> None:
    registry = Registry(path)
    seen, fingerprint = registry.text()
    registry.update(-1, name="somebody else's")
    with pytest.raises(RegistryConflictError, match="changed by somebody else"):
        registry.replace_text(seen, of=fingerprint)
    assert registry.entries()[0].name == "somebody else's"
    registry.replace_text(seen, of=registry.text()[1])
    assert registry.entries()[0].name == ONE["name"]
    path.unlink()
    assert registry.text() == ("", "")
    registry.replace_text(seen, of="")
    assert registry.text() == (seen, fingerprint)


def test_the_text_of_a_broken_file_can_be_read(path: Path) -> None:
    path.write_bytes(b'[{"id": \xff')
    assert Registry(path).text()[0] == '[{"id": \ufffd'


def test_a_change_keeps_what_others_wrote(path: Path) -> None:
    registry = Registry(path)
    registry.entries()
    path.write_text(text_of(ONE, TWO, TWO | {"id": -3, "name": "by hand"}), encoding="utf-8")
    registry.update(-1, name="first")
    assert [e.name for e in registry.entries()] == ["first", "설명서", "by hand"]


def test_the_file_keeps_its_permissions_and_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    path.chmod(0o640)
    link = tmp_path / "linked.json"
    link.symlink_to(path)
    Registry(link).remove(-1)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [e.id for e in Registry(path).entries()] == [-2]


def test_the_file_is_written_where_neither_folders_open_nor_open_files_change(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: os.open refuses a folder, and Python below 3.13 has no os.fchmod there."""

    def open_file(name: str | Path, *arguments: Any, **options: Any) -> int:
        if os.path.isdir(name):
            raise PermissionError(13, "Permission denied", str(name))
        return opened(name, *arguments, **options)

    opened = os.open
    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.delattr(os, "fchmod")
    Registry(path).remove(-1)
    assert [entry.id for entry in Registry(path).entries()] == [-2]


@pytest.mark.parametrize("step", ["fsync", "chmod"])
def test_a_write_that_fails_changes_nothing_and_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    registry = Registry(path)
    before, good = path.read_bytes(), registry.entries()
    with monkeypatch.context() as patched:
        patched.setattr(list_module.os, step, fail)
        with pytest.raises(RegistryError, match="cannot be written: No space left on device"):
            registry.remove(-1)
    assert path.read_bytes() == before
    assert registry.entries() == good
    assert not list(path.parent.glob("*.tmp"))
    assert registry.remove(-1).id == -1


def test_a_temporary_file_left_by_a_crash_is_written_over(path: Path) -> None:
    left = path.with_name(f".{path.name}.tmp")
    left.write_text("[ half a file")
    Registry(path).remove(-1)
    assert not left.exists()
    assert len(Registry(path).entries()) == 1


def test_a_lock_held_too_long_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_module, "LOCK_TIMEOUT_S", 0.05)
    with (
        FileLock(path.with_name(f".{path.name}.lock")),
        pytest.raises(RegistryError, match=r"locked by another process for 0\.05 s; try again"),
    ):
        Registry(path).remove(-1)


def add_ten(path: Path, writer: int) -> None:
    """Run in a process of its own."""
    registry = Registry(path)
    for number in range(10):
        registry.add(f"{writer}.{number}", "shared_a")


def test_adds_from_four_processes_are_all_kept(path: Path) -> None:
    processes: Any = new_processes()
    writers = [processes.Process(target=add_ten, args=(path, writer)) for writer in range(4)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(WAIT_S)
    assert [process.exitcode for process in writers] == [0, 0, 0, 0]
    entries = Registry(path).entries()
    assert {e.id for e in entries} == set(range(-42, 0))
    assert {e.name for e in entries[2:]} == {f"{writer}.{number}" for writer in range(4) for number in range(10)}


def test_threads_of_one_registry_read_and_write_together(path: Path) -> None:
    registry = Registry(path)
    writers = [
        threading.Thread(target=lambda n=n: [registry.add(f"{n}.{i}", "shared_a") for i in range(5)]) for n in range(4)
    ]
    for thread in writers:
        thread.start()
    seen = []
    while any(thread.is_alive() for thread in writers):
        seen.append(len(registry.entries()))
        assert registry.problem() is None
    assert seen == sorted(seen)
    assert [e.id for e in registry.entries()] == list(range(-1, -23, -1))


def test_collection_names_that_differ_only_in_case_are_rejected() -> None:
    with pytest.raises(RegistryError, match=r"entry 2 \(id -2\).*'shared_A'.*upper and lower case"):
        validate(
            '[{"id": -1, "name": "a", "collection_name": "shared_a"},'
            ' {"id": -2, "name": "b", "collection_name": "shared_A"}]'
        )
