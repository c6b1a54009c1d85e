"""The keys of metadata that datasets have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from braid.core.datasets.metadata_keys import MAX_KEYS, metadata_keys
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from tests.worlds import add_notes, document


def test_the_first_keys_of_all_datasets_and_no_more_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may store documents may give each 200 keys of its own; pages that offer keys must not read them all."""
    read = list[int]()
    remembered_rows = Database.remembered_rows

    def counted(database: Database, statement: str, **parameters: Any) -> tuple[Any, ...]:
        rows = remembered_rows(database, statement, **parameters)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Database, "remembered_rows", counted)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    notes, others = add_notes(ledger), add_notes(ledger, "bob")
    names = [f"key{number:03}" for number in range(300)]
    for number in range(3):
        metadata = dict.fromkeys(names[100 * number : 100 * number + 100], "x")
        ledger.put_document(notes, document(f"d{number}", "a pump", metadata=metadata))
    ledger.put_document(others, document("e", "a pump", metadata={"aaa": 1, "key050": True}))
    assert list(metadata_keys(ledger.database, [notes])) == names[:MAX_KEYS]
    assert read[-1] == MAX_KEYS
    both = metadata_keys(ledger.database, [notes, others])
    assert list(both) == ["aaa", *names[: MAX_KEYS - 1]]
    assert both["key050"] == ("flag", "text")
    ledger.close()
