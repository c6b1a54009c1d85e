"""A user with a library to talk about."""

from __future__ import annotations

import pytest

from braid.core.braid import Braid
from tests.core.chat.scripted import Put


@pytest.fixture
def user_id(braid: Braid, put: Put) -> int:
    """A user with three passages in one dataset."""
    user = braid.ledger.add_user("ann")
    dataset = braid.ledger.add_dataset(user.id, "notes").id
    empire = "The Byzantine Empire fell in 1453. Its religion was Christianity [7]."
    cells = "Sickle cell disease is treated by a transplant at 80 °C for 2 h."
    put(dataset, "empire.md", empire, title="Empire", wait=False)
    put(dataset, "cell.md", cells, title="Cells", wait=False)
    put(dataset, "cats.md", "Cats sleep a lot. They like fish.", title="Cats")
    return user.id
