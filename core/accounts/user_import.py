"""Imports users and their groups from CSV: all lines or none, after a look at what would change."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from braid.core.accounts.accounts import HASHES_AT_ONCE, Account, AccountChange, Accounts, NewAccount
from braid.core.errors import InvalidInputError

COLUMNS = ("name", "password", "groups", "admin", "disabled")
MAX_LINES = 10_000
SHOWN_ERRORS = 5
_FLAGS = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}

Change = Literal["added", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class ImportedUser:
    """The outcome of one line of an import. ``fields`` are the fields that it changes."""

    line: int
    name: str
    change: Change
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wanted:
    line: int
    name: str
    password: str = field(default="", repr=False)
    groups: frozenset[str] | None = None
    """None, as in the following two, where the file has no such column."""
    admin: bool | None = None
    disabled: bool | None = None

    @property
    def given(self) -> dict[str, frozenset[str] | bool]:
        """The fields that the file has a column for."""
        fields: dict[str, frozenset[str] | bool | None] = {
            "groups": self.groups,
            "admin": self.admin,
            "disabled": self.disabled,
        }
        return {name: value for name, value in fields.items() if value is not None}


def import_users(
    accounts: Accounts,
    text: str,
    *,
    dry_run: bool = False,
    then: Callable[[Mapping[Change, int]], None] = lambda counts: None,
) -> list[ImportedUser]:
    """Add the users of the lines, and make those that there are like their lines; return what changes for each.

    The first line names the columns: ``name``, and of ``password``, ``groups`` (separated by semicolons), ``admin`` and
    ``disabled`` (``yes`` or ``no``) those that are to be set. A password is for a new user only. Users who are not in
    the file stay as they are. Raises InvalidInputError with the lines that are wrong, or when no administrator would
    be left; then nothing has changed. With ``dry_run`` nothing changes either way. ``then`` is called with the number
    of users that each change has, in the same transaction, for the audit log.
    """
    wanted = list(_lines(text))
    known = {account.name: account for account in accounts.all()}
    done = [_compare(each, known.get(each.name)) for each in wanted]
    hashes = {} if dry_run else _hashes(accounts, [each for each in wanted if each.name not in known])
    new = [
        NewAccount(
            each.name, each.groups or frozenset(), bool(each.admin), bool(each.disabled), hashes.get(each.name, "")
        )
        for each in wanted
        if each.name not in known
    ]
    changes = [
        AccountChange(known[each.name].id, each.groups, each.admin, each.disabled)
        for each, result in zip(wanted, done, strict=True)
        if result.change == "changed"
    ]
    counts = Counter(each.change for each in done)
    accounts.write_all(new, changes, dry_run=dry_run, then=lambda: then(counts))
    return done


def _lines(text: str) -> Iterator[_Wanted]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    columns = [name.strip().lower() for name in reader.fieldnames or ()]
    if unknown := [name for name in columns if name not in COLUMNS] or "name" not in columns:
        shown = f"has the column {unknown[0][:40]!r}" if isinstance(unknown, list) else "has no column 'name'"
        raise InvalidInputError(f"the first line {shown}; it names columns of {', '.join(COLUMNS)}", field="csv")
    reader.fieldnames = columns
    wrong: list[str] = []
    names: dict[str, int] = {}
    try:
        for row in reader:
            if reader.line_num > MAX_LINES + 1:
                raise InvalidInputError(f"there are more than {MAX_LINES:,} lines; split the file", field="csv")
            try:
                each = _line(reader.line_num, row)
                if each.name in names:
                    raise ValueError(f"{each.name[:40]!r} is in line {names[each.name]}, too")
                names[each.name] = each.line
                yield each
            except ValueError as error:
                wrong.append(f"line {reader.line_num}: {error}")
    except csv.Error as error:
        wrong.append(f"line {reader.line_num}: {error}")
    if wrong:
        more = f"; and {len(wrong) - SHOWN_ERRORS} more" if len(wrong) > SHOWN_ERRORS else ""
        raise InvalidInputError(f"{'; '.join(wrong[:SHOWN_ERRORS])}{more}", field="csv")


def _line(number: int, row: Mapping[str, str | None]) -> _Wanted:
    if None in row or None in row.values():
        raise ValueError("it has more or fewer fields than the first line")
    values = {name: (value or "").strip() for name, value in row.items()}
    groups = None
    if "groups" in values:
        groups = frozenset(name for name in map(str.strip, values["groups"].split(";")) if name)
    admin, disabled = _flag(values, "admin"), _flag(values, "disabled")
    if not values["name"]:
        raise ValueError("the name is empty")
    return _Wanted(number, values["name"], values.get("password", ""), groups, admin, disabled)


def _flag(values: Mapping[str, str], name: str) -> bool | None:
    if name not in values:
        return None
    if values[name].lower() not in _FLAGS:
        raise ValueError(f"{name} is {values[name][:20]!r}; write yes or no")
    return _FLAGS[values[name].lower()]


def _compare(wanted: _Wanted, account: Account | None) -> ImportedUser:
    if account is None:
        fields = tuple(name for name, value in wanted.given.items() if value)
        return ImportedUser(wanted.line, wanted.name, "added", fields + (("password",) if wanted.password else ()))
    now = {"groups": account.groups, "admin": account.is_admin, "disabled": account.disabled}
    fields = tuple(name for name, value in wanted.given.items() if now[name] != value)
    return ImportedUser(wanted.line, wanted.name, "changed" if fields else "unchanged", fields)


def _hashes(accounts: Accounts, new: Sequence[_Wanted]) -> dict[str, str]:
    """Return name → hash of the passwords, several at a time: 1,000 take 26 s of processor time."""
    given = [each for each in new if each.password]

    def hash_one(each: _Wanted) -> str:
        try:
            return accounts.hash_initial_password(each.password)
        except InvalidInputError as error:
            raise InvalidInputError(f"line {each.line}: {error}", field="csv") from None

    with ThreadPoolExecutor(HASHES_AT_ONCE) as pool:
        return dict(zip((each.name for each in given), pool.map(hash_one, given), strict=True))
