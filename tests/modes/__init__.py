"""Other ways to run the tests, each a plugin that its option loads: what it changes, it changes for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.proxies import PROXIES

BY_OPTION = {"--through": "through", "--apps": "apps", "--fleet": "fleet", "--shuffle": "shuffle"}
"""Option → the module that is its plugin."""
LANES = {"--quick": "quick", "--long": "long"}


def add_options(parser: pytest.Parser) -> None:
    """Add the options of all modes."""
    parser.addoption("--through", choices=PROXIES, help="let clients of the app come through this proxy, below a path")
    parser.addoption("--apps", type=int, help="let clients of the app ask so many, one after the other")
    parser.addoption("--fleet", action="store_true", help="let what is opened be fleets over PostgreSQL and Milvus")
    parser.addoption("--shuffle", metavar="SEED", help="run modules, and tests within each, in another order")
    parser.addoption("--quick", action="store_true", help="only what needs no other process and no indexer")
    parser.addoption("--long", action="store_true", help="only what takes long, and drills in their long form")


def mostly_long(cases: Iterable[Any], *, short: int = 1) -> list[Any]:
    """The cases of a test, of which all but the first ``short`` are left to `make long`."""
    return [case if number < short else _long(case) for number, case in enumerate(cases)]


def _long(case: Any) -> ParameterSet:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)


def load(config: pytest.Config) -> None:
    """Load the modes that the command asks for."""
    for option, module in {**BY_OPTION, **LANES}.items():
        if config.getoption(option):
            config.pluginmanager.register(import_module(f"{__name__}.{module}"), f"tests-{module}")
