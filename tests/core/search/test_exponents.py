"""An exponent is found as it is typed: 10^6, 10**6 and 10⁶ are one number."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.core.braid import Braid
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, fill

CONTENTS = {"notes": {"a.md": ("The dish holds 5×10⁶ cells.", "The sieve keeps 30 m² clean.", "Row 10 has seats.")}}


@pytest.mark.parametrize(
    ("query", "found"),
    [("10^6", 0), ("10**6", 0), ("10 ^ 6 cells", 0), ("10⁶", 0), ("m²", 1), ("m2", 1)],
)
def test_an_exponent_is_found_however_it_is_typed(tmp_path: Path, query: str, found: int) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        ids = fill(braid, CONTENTS, {})
        assert braid.indexer.wait(WAIT_S)
        hits = braid.search(query, user_id=1, dataset_ids=[ids["notes"]], mode="keyword").hits
    assert hits[0].passage.text == CONTENTS["notes"]["a.md"][found]
