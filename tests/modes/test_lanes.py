"""What the lanes run, and in which order."""

from __future__ import annotations

import threading
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.modes import long as long_lane
from tests.modes import mostly_long, quick, shuffle


def test_of_mostly_long_cases_the_first_ones_are_unmarked() -> None:
    first, *others = mostly_long(["a", "b", ("c", 1)])
    assert first == "a"
    assert [case.values for case in others] == [("b",), ("c", 1)]
    assert {mark.name for case in others for mark in case.marks} == {"long"}


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_another_order_keeps_each_test_and_its_module(seed: str) -> None:
    names = [f"test_{module}.py::test_{number}" for module in "abcd" for number in range(5)]
    items = [cast(Any, SimpleNamespace(nodeid=name)) for name in names]
    config = cast(Any, SimpleNamespace(getoption=lambda _: seed))
    shuffle.pytest_collection_modifyitems(config, items)
    shuffled = [item.nodeid for item in items]
    assert shuffled != names
    assert sorted(shuffled) == names
    modules = [name.partition("::")[0] for name in shuffled]
    assert sum(one != other for one, other in pairwise(modules)) == 3


def test_the_long_lane_has_what_is_marked_and_every_drill() -> None:
    hook = SimpleNamespace(pytest_deselected=lambda items: None)

    def item(name: str, *fixtures: str, long: bool = False) -> Any:
        return _Item(name, fixtures, long=long)

    items = [item("plain", "tmp_path"), item("drill", "is_long"), item("marked", long=True)]
    long_lane.pytest_collection_modifyitems(cast(Any, SimpleNamespace(hook=hook)), items)
    assert [each.name for each in items] == ["drill", "marked"]


class _Item:
    def __init__(self, name: str, fixtures: tuple[str, ...], *, long: bool) -> None:
        self.name, self.fixturenames, self._long = name, fixtures, long

    def get_closest_marker(self, name: str) -> object:
        return object() if self._long else None


def test_the_quick_lane_stops_a_test_that_starts_a_process_or_an_indexer() -> None:
    guard, indexer = quick.Guard(), threading.Thread(name="braid-dense")
    guard.hear("subprocess.Popen", ())  # nobody is watched yet
    guard.is_watching = True
    guard.hear("open", ("file",))
    guard.hear("_thread.start_new_thread", (threading.Thread(name="braid-turn").run,))
    for event, arguments in (("subprocess.Popen", ()), ("_thread.start_new_thread", (indexer.run,))):
        with pytest.raises(pytest.skip.Exception, match="make test runs it"):
            guard.hear(event, arguments)
