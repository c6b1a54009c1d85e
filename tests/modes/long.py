"""What takes long: `make long`, or `pytest tests --long`.

Tests that are marked so have only one form, and are left out of `make test`; those that ask for `is_long` have a short
form, too, which `make test` runs.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `make test` runs as it is."""
    kept = [item for item in items if item.get_closest_marker("long") or "is_long" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=list({*items} - {*kept}))
    items[:] = kept
