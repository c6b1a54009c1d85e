"""Which tests run on SQLite and on PostgreSQL: those of statements that are not the same on both. All others run on
SQLite.
"""

from __future__ import annotations

import pytest

DATABASES = ("sqlite", "postgresql")
on_both_databases = pytest.mark.parametrize("shared_ledger", DATABASES, indirect=True)
"""For a test that asks for ``ledger``."""


def all_on_both_databases(metafunc: pytest.Metafunc) -> None:
    """Run each test of a file on both, which names this ``pytest_generate_tests``."""
    for fixture in ("shared_ledger", "database_url"):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, DATABASES, indirect=True)
