"""Apps that serve MCP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from braid.core.braid import Braid
from tests.app.mcp.sessions import Served, serving_notes
from tests.web import make_app


@pytest.fixture
def served(braid: Braid) -> Iterator[Served]:
    with serving_notes(make_app(braid), braid) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(shelf: Braid) -> Iterator[Served]:
    """One for all tests that neither write nor count."""
    with serving_notes(make_app(shelf), shelf) as found:
        yield found
