"""The tests in another order: `pytest tests/core --shuffle 7`. None may need what another one did before it."""

from __future__ import annotations

from random import Random

import pytest


@pytest.hookimpl(tryfirst=True)  # afterwards pytest puts tests together that share what is expensive
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the modules, and the tests within each."""
    random = Random(config.getoption("--shuffle"))
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    shuffled = list(modules.values())
    random.shuffle(shuffled)
    for each in shuffled:
        random.shuffle(each)
    items[:] = [item for each in shuffled for item in each]


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to run them in this order again."""
    return f"in the order of --shuffle {config.getoption('--shuffle')}"
