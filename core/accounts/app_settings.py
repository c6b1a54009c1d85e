"""Settings that administrators make on the pages; they override the file and the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import delete, select, update

from braid.core.json_form import read_json, stored_json
from braid.core.ledger.database import execute
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.prepared import ADD_APP_SETTING, APP_SETTING, SET_APP_SETTING
from braid.core.ledger.tables import AppSettingRow


class AppSettings:
    """The ledger's JSON values by name. Values are not validated here; callers do that.

    What one process sets, the next `get` of any other returns.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or the default when none is set."""
        rows = self._database.remembered_rows(APP_SETTING, name=name)
        return read_json(rows[0][0]) if rows else default

    def set(self, name: str, value: Any) -> None:
        """Set the value; None resets it to the default."""
        with self._database.write() as connection:
            if value is None:
                connection.execute(delete(AppSettingRow).where(AppSettingRow.name == name))
            else:
                execute(connection, SET_APP_SETTING, name=name, value=stored_json(value))

    def change(self, name: str, default: Any, act: Callable[[Any], Any]) -> None:
        """Set what ``act`` makes of the value; who changes it at the same time, in any process, waits.

        Nothing is changed when ``act`` raises.
        """
        row = AppSettingRow.name == name
        with self._database.write() as connection:
            execute(connection, ADD_APP_SETTING, name=name, value=stored_json(default))
            text = connection.execute(select(AppSettingRow.value).where(row).with_for_update()).scalar_one()
            connection.execute(update(AppSettingRow).where(row).values(value=stored_json(act(read_json(text)))))
