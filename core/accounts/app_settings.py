"""Settings that administrators make on the pages; they override the file and the environment."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import delete, insert, select

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import AppSettingRow


class AppSettings:
    """The ledger's JSON values by name. Values are not validated here; callers do that."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or the default when none is set."""
        with self._database.read() as connection:
            statement = select(AppSettingRow.value).where(AppSettingRow.name == name)
            text = connection.execute(statement).scalar_one_or_none()
        return default if text is None else json.loads(text)

    def set(self, name: str, value: Any) -> None:
        """Set the value; None resets it to the default."""
        with self._database.write() as connection:
            connection.execute(delete(AppSettingRow).where(AppSettingRow.name == name))
            if value is not None:
                connection.execute(insert(AppSettingRow).values(name=name, value=json.dumps(value)))
