"""`dataset share` and `dataset unshare`: who may read and change a dataset, from the command line."""

from __future__ import annotations

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def people(run: CommandLine) -> CommandLine:
    """Ann, who owns the dataset 1, and Ben, who is in the group lab."""
    run("user", "add", "ann")
    run("user", "add", "ben", "--group", "lab")
    run("dataset", "add", "Notes", "--user", "ann")
    return run


def listed(run: CommandLine, user: str) -> list[str]:
    """The names of the datasets that the user may search."""
    return [str(each["name"]) for each in run.json("dataset", "list", "--user", user)]


def test_a_dataset_is_shared_listed_and_taken_back(people: CommandLine) -> None:
    assert listed(people, "ben") == []
    assert people.json("dataset", "share", 1, "--user", "ben") == [{"kind": "user", "name": "ben", "may_write": False}]
    assert listed(people, "ben") == ["Notes"]
    people("dataset", "share", 1, "--group", "lab", "--write")
    assert [(each["name"], each["may_write"]) for each in people.json("dataset", "share", 1)] == [
        ("ben", False),
        ("lab", True),
    ]
    assert "no longer shared with the user ben" in people("dataset", "unshare", 1, "--user", "ben").stdout
    assert listed(people, "ben") == ["Notes"], "by the group"
    people("dataset", "unshare", 1, "--group", "lab")
    assert listed(people, "ben") == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("share", 1, "--user", "nobody"), "there is nobody named 'nobody'"),
        (("share", 1, "--group", "board"), "there is no group named 'board'"),
        (("share", 1, "--write"), "--write needs --user or --group"),
        (("share", 1, "--user", "ben", "--group", "lab"), "Name one"),
        (("share", 9, "--user", "ben"), "there is no dataset 9"),
        (("unshare", 1), "Name one"),
        (("unshare", 1, "--user", "ben"), "is not shared with the user 'ben'"),
    ],
)
def test_what_cannot_be_shared_is_said(people: CommandLine, args: tuple[object, ...], told: str) -> None:
    failed = people("dataset", *args, status=2)
    assert told in failed.stderr
