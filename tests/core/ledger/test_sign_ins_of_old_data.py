"""When users signed in and were invited is known after an upgrade, from the audit log and the browsers."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from braid.core.ledger.database import make_engine
from braid.core.ledger.schema import bring_up_to_date, create_tables
from tests.databases import all_on_both_databases as pytest_generate_tests

__all__ = ["pytest_generate_tests"]

USERS = {"ann": 100.0, "ben": 100.0, "cho": 100.0, "dan": 100.0}
"""When each was added; "dan" is the second of that name."""
ACTS = (
    (110.0, "user.signed_in", "ann"),
    (120.0, "user.signed_in", "ann"),
    (105.0, "user.invited", "ben"),
    (90.0, "user.signed_in", "dan"),
    (91.0, "user.invited", "dan"),
)


@pytest.mark.usefixtures("migrating")
def test_they_are_filled_and_a_name_used_again_inherits_nothing(database_url: str) -> None:
    engine = make_engine(database_url)
    with engine.begin() as connection:
        create_tables(connection, "0028")

        def insert(table: str, **row: Any) -> None:
            values = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"), row)

        for number, (name, created_at) in enumerate(USERS.items(), 1):
            insert("users", id=number, name=name, created_at=created_at)
        for at, action, target in ACTS:
            insert("audit_log", at=at, actor="admin", action=action, target=target, detail="")
        for user_id, created_at in ((1, 115.0), (3, 130.0), (3, 125.0)):
            token = f"{user_id} {created_at}"
            insert(
                "web_sessions", user_id=user_id, token_hash=token, user_agent="", created_at=created_at, seen_at=200.0
            )
    bring_up_to_date(engine)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT name, signed_in_at, invited_at FROM users ORDER BY id")).all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [
        ("ann", 120.0, None),
        ("ben", None, 105.0),
        ("cho", 130.0, None),
        ("dan", None, None),
    ]
