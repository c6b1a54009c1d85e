"""A dataset in an empty ledger."""

from __future__ import annotations

import pytest

from braid.core.ledger.ledger import Ledger
from tests.worlds import add_notes


@pytest.fixture
def dataset(ledger: Ledger) -> int:
    return add_notes(ledger)
