"""Accounts, browser sessions, API tokens, the audit log and usage."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, select, update

from braid.core.accounts.accounts import Accounts, NewAccount
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.credentials import SESSION_DAYS, ApiTokens, WebSessions
from braid.core.accounts.usage import Usage, last_days
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ApiTokenRow, UsageRow, UserRow, WebSessionRow
from tests.databases import on_both_databases
from tests.worlds import eventually

PASSWORD = "correct horse"


@pytest.fixture
def accounts(ledger: Ledger) -> Accounts:
    return Accounts(ledger)


@on_both_databases
def test_the_first_account_is_an_administrator_and_takes_over_the_command_lines_user(
    accounts: Accounts, ledger: Ledger
) -> None:
    local = ledger.add_user("local")
    assert accounts.need_setup()
    first = accounts.create_first("Ana", PASSWORD)
    assert (first.id, first.name, first.is_admin) == (local.id, "Ana", True)
    assert not accounts.need_setup()
    with pytest.raises(InvalidInputError, match="already"):
        accounts.create_first("Eve", PASSWORD)


def test_sign_in_needs_the_right_password_of_an_enabled_account(accounts: Accounts) -> None:
    accounts.create_first("Ana", PASSWORD)
    ben = accounts.add("Ben", PASSWORD + "!")
    accounts.add("no password")
    assert accounts.verify(" Ben ", PASSWORD + "!") == ben
    for name, password in (("Ben", PASSWORD), ("nobody", PASSWORD), ("no password", ""), ("Ben", "x" * 10_000)):
        assert accounts.verify(name, password) is None
    accounts.set_disabled(ben.id, True)
    assert accounts.verify("Ben", PASSWORD + "!") is None


def test_passwords_are_stored_hashed(accounts: Accounts, ledger: Ledger) -> None:
    accounts.create_first("Ana", PASSWORD)
    with ledger.database.read() as connection:
        stored = connection.execute(select(UserRow.password_hash)).scalar_one()
    assert stored.startswith("$argon2id$")
    assert PASSWORD not in stored


@pytest.mark.parametrize("password", ["", "short", "x" * 201])
def test_a_password_has_a_length(accounts: Accounts, password: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        accounts.create_first("Ana", password)
    assert raised.value.field == "password"
    assert accounts.need_setup()


@pytest.mark.parametrize(
    "name",
    ["", "  ", "a\x1fb", "a\nb", "x" * 201, "root\u3164", "\u115f", "a\u1160", "\uffa0", "\u0430lice", "r\u03bfot"],
)
def test_a_name_is_visible(accounts: Accounts, name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        accounts.add(name)
    assert raised.value.field == "name"


@pytest.mark.parametrize("name", ["Иван", "Νίκος", "山田 Taro", "김철수 Kim", "Łukasz Żółć", "straße"])
def test_a_name_is_of_any_alphabet(accounts: Accounts, name: str) -> None:
    assert accounts.add(name).name == name


def test_names_of_earlier_versions_and_of_a_host_app_go_on_working(accounts: Accounts) -> None:
    first, second = accounts.mirror("Ana"), accounts.mirror("\u0410na")  # a Cyrillic A
    assert accounts.mirror("ana").id != first.id
    accounts.set_password(second.id, PASSWORD)
    assert accounts.verify("\u0410na", PASSWORD) is not None
    with pytest.raises(InvalidInputError, match="'Ana' exists"):
        accounts.mirror("Ana")


@on_both_databases
def test_a_name_is_taken_once(accounts: Accounts) -> None:
    ana, ben = accounts.add("Ana"), accounts.add("Ben")
    with pytest.raises(InvalidInputError, match="'Ana' exists"):
        accounts.add("Ana")
    with pytest.raises(InvalidInputError, match="'Ana' exists"):
        accounts.rename(ben.id, "Ana")
    for alike in ("ana", "ANA", "Ａｎａ"):
        with pytest.raises(InvalidInputError, match="'Ana' exists"):
            accounts.add(alike)
        with pytest.raises(InvalidInputError, match="'Ana' exists"):
            accounts.rename(ben.id, alike)
    accounts.rename(ana.id, "ANA")
    accounts.rename(ana.id, "Anna")
    assert [a.name for a in accounts.all()] == ["Anna", "Ben"]


def test_the_last_administrator_stays(accounts: Accounts, ledger: Ledger) -> None:
    ana = accounts.create_first("Ana", PASSWORD)
    dataset = ledger.add_dataset(ana.id, "Ana's")
    accounts.add("key without a lock", is_admin=True)  # nobody can sign in as this one
    for change in (
        lambda: accounts.set_admin(ana.id, False),
        lambda: accounts.set_disabled(ana.id, True),
        lambda: accounts.remove(ana.id),
    ):
        with pytest.raises(InvalidInputError, match="last administrator"):
            change()
    assert accounts.get(ana.id).is_admin
    assert accounts.verify("Ana", PASSWORD) is not None
    assert ledger.datasets(ana.id) == [dataset]


def test_users_of_a_host_app_can_be_removed_though_nobody_has_a_password(accounts: Accounts) -> None:
    accounts.mirror_admin(accounts.add("host's administrator").id, True)
    accounts.remove(accounts.add("Ben").id)
    assert accounts.named("Ben") is None


@on_both_databases
def test_a_removed_user_leaves_nothing_and_the_id_is_never_given_again(accounts: Accounts, ledger: Ledger) -> None:
    accounts.create_first("Ana", PASSWORD)
    ben = accounts.add("Ben", PASSWORD, groups={"lab"})
    dataset = ledger.add_dataset(ben.id, "Ben's")
    secret = WebSessions(ledger).open(ben.id)
    _, key = ApiTokens(ledger).add(ben.id, "script", {"read"})
    accounts.remove(ben.id)
    assert [a.name for a in accounts.all()] == ["Ana"]
    assert [u.name for u in ledger.users()] == ["Ana"]
    assert ledger.user(ben.id) is None
    assert accounts.named("Ben") is None
    assert WebSessions(ledger).find(secret) is None
    assert ApiTokens(ledger).find(key) is None
    with pytest.raises(NotFoundError):
        ledger.dataset(dataset.id)
    with pytest.raises(NotFoundError):
        accounts.set_password(ben.id, PASSWORD)
    again = accounts.add("Ben", PASSWORD)
    assert again.id != ben.id
    assert again.groups == frozenset()


@on_both_databases
def test_a_dry_run_within_another_change_undoes_itself_alone(accounts: Accounts, ledger: Ledger) -> None:
    ann = accounts.add("ann")
    with ledger.database.write():
        assert accounts.change_groups(ann.id, add=["one"]) == {"one"}
        accounts.write_all([NewAccount("eve")], [], dry_run=True)
    assert accounts.get(ann.id).groups == {"one"}
    assert accounts.named("eve") is None


@on_both_databases
def test_groups_that_are_added_and_taken_at_a_time_are_all_in_effect(accounts: Accounts) -> None:
    ann = accounts.add("ann")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: accounts.change_groups(ann.id, add=[name]), [f"group {n}" for n in range(8)]))
    assert accounts.change_groups(ann.id, add=["new"], remove=["group 0", "none"]) == accounts.get(ann.id).groups
    assert accounts.get(ann.id).groups == {"new", *(f"group {n}" for n in range(1, 8))}


@on_both_databases
def test_groups_are_replaced(accounts: Accounts, ledger: Ledger) -> None:
    ana = accounts.add("Ana", groups=["lab", " lab ", "", "office"])
    assert ana.groups == {"lab", "office"}
    accounts.set_groups(ana.id, ["board"])
    assert ledger.user(ana.id).groups == {"board"}


@on_both_databases
def test_preferences_are_merged_and_none_takes_one_back(accounts: Accounts) -> None:
    ana = accounts.add("Ana")
    accounts.set_preferences(ana.id, {"theme": "dark", "alpha": 0.3})
    assert accounts.set_preferences(ana.id, {"theme": None, "mode": "keyword"}) == {"alpha": 0.3, "mode": "keyword"}
    assert accounts.get(ana.id).preferences == {"alpha": 0.3, "mode": "keyword"}
    with pytest.raises(NotFoundError):
        accounts.set_preferences(99, {"theme": "dark"})


# ---------------------------------------------------------------- sessions and tokens


@on_both_databases
def test_a_session_is_found_by_its_secret_until_it_is_ended(accounts: Accounts, ledger: Ledger) -> None:
    ana, ben, sessions = accounts.add("Ana"), accounts.add("Ben"), WebSessions(ledger)
    first, second = sessions.open(ana.id, "Firefox"), sessions.open(ana.id, "Chrome")
    found = sessions.find(first)
    assert found is not None
    assert (found.user_id, found.user_agent) == (ana.id, "Firefox")
    sessions.end(ben.id, found.id)  # not Ben's
    assert sessions.find(first) is not None
    sessions.end(ana.id, found.id)
    assert sessions.find(first) is None
    assert [s.user_agent for s in sessions.of_user(ana.id)] == ["Chrome"]
    sessions.end_all(ana.id)
    assert sessions.find(second) is None


def test_a_session_that_is_not_used_ends(accounts: Accounts, ledger: Ledger) -> None:
    sessions = WebSessions(ledger)
    ana = accounts.add("Ana")
    secret = sessions.open(ana.id)
    with ledger.database.write() as connection:
        connection.execute(update(WebSessionRow).values(seen_at=WebSessionRow.seen_at - SESSION_DAYS * 86_400 - 1))
    assert sessions.find(secret) is None
    sessions.open(ana.id)
    sessions.forget_old(time.time())
    assert len(sessions.of_user(ana.id)) == 1


def test_a_new_password_signs_out_everywhere(accounts: Accounts, ledger: Ledger) -> None:
    ana, sessions = accounts.add("Ana", PASSWORD), WebSessions(ledger)
    secret = sessions.open(ana.id)
    accounts.set_password(ana.id, PASSWORD + "2")
    assert sessions.find(secret) is None


@on_both_databases
def test_a_token_is_stored_hashed_and_found_by_its_key(accounts: Accounts, ledger: Ledger) -> None:
    ana, ben, tokens = accounts.add("Ana"), accounts.add("Ben"), ApiTokens(ledger)
    token, key = tokens.add(ana.id, "script", {"write", "read"}, days=1)
    with ledger.database.read() as connection:
        assert key not in str(connection.execute(select(*ApiTokenRow.__table__.columns)).all())
    found = tokens.find(key)
    assert found is not None
    assert (found.id, found.user_id, found.scopes) == (token.id, ana.id, {"read", "write"})
    assert tokens.find(key + "x") is None
    with pytest.raises(NotFoundError):
        tokens.revoke(ben.id, token.id)
    tokens.revoke(ana.id, token.id)
    assert tokens.find(key) is None


def test_a_token_expires(accounts: Accounts, ledger: Ledger) -> None:
    tokens = ApiTokens(ledger)
    _, key = tokens.add(accounts.add("Ana").id, "script", {"read"}, days=1)
    with ledger.database.write() as connection:
        connection.execute(update(ApiTokenRow).values(expires_at=ApiTokenRow.created_at))
    assert tokens.find(key) is None


@pytest.mark.parametrize(
    ("name", "scopes", "days", "field"),
    [("", ["read"], 1, "name"), ("x", [], 1, "scopes"), ("x", ["root"], 1, "scopes"), ("x", ["read"], 0, "days")],
)
def test_a_wrong_token_is_refused(
    accounts: Accounts, ledger: Ledger, name: str, scopes: list[str], days: int, field: str
) -> None:
    with pytest.raises(InvalidInputError) as raised:
        ApiTokens(ledger).add(accounts.add("Ana").id, name, scopes, days=days)
    assert raised.value.field == field


# ---------------------------------------------------------------- records


@on_both_databases
def test_the_audit_log_shows_the_newest_first(ledger: Ledger) -> None:
    audit = AuditLog(ledger)
    for name in ("one", "two", "three"):
        audit.add("Ana", "user.added", name)
    assert [entry.target for entry in audit.entries(limit=2)] == ["three", "two"]
    assert [entry.target for entry in audit.entries(offset=2)] == ["one"]


@on_both_databases
def test_usage_is_counted_by_day_and_user(accounts: Accounts, ledger: Ledger) -> None:
    ana, ben, usage = accounts.add("Ana"), accounts.add("Ben"), Usage(ledger)
    usage.count(ana.id, "search")
    usage.count(ana.id, "search", 2)
    usage.count(ben.id, "chat")
    today = last_days(1)[0]
    assert usage.daily(days=1) == [(today, "chat", 1), (today, "search", 3)]
    assert usage.by_user(days=7) == [(ana.id, "search", 3), (ben.id, "chat", 1)]


def test_counting_writes_nothing_at_once_and_loses_nothing(accounts: Accounts, ledger: Ledger) -> None:
    ana, usage = accounts.add("Ana"), Usage(ledger, write_every_s=0.05)
    with ledger.database.write():  # as while documents are stored: a count that wrote would wait for its end
        usage.count(ana.id, "search", 2)
        usage.count(99, "search")  # nobody, who was deleted meanwhile
    assert eventually(lambda: _stored(ledger)) == [(ana.id, "search", 2)]
    usage.count(ana.id, "search")
    assert usage.by_user(days=1) == [(ana.id, "search", 3)]


@on_both_databases
def test_processes_that_count_the_same_do_not_wait_for_each_other(accounts: Accounts, ledger: Ledger) -> None:
    users = [accounts.add(f"user {number}").id for number in range(2)]
    counting, other = Usage(ledger), Usage(ledger)
    written: list[int] = []

    def write_first(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
        if "usage_counts" in statement:
            written.append(values["user_id"])

    for usage, order in ((counting, users), (other, users[::-1])):
        for user in order:
            usage.count(user, "search")
        event.listen(ledger.database.engine, "before_cursor_execute", write_first)
        usage.write()
        event.remove(ledger.database.engine, "before_cursor_execute", write_first)
    assert written == users * 2, "in one order: what two processes have locked, each in another, is a deadlock"
    assert _stored(ledger) == [(user, "search", 2) for user in users]


def _stored(ledger: Ledger) -> list[tuple[int, str, int]]:
    with ledger.database.read() as connection:
        rows = connection.execute(select(UsageRow.user_id, UsageRow.kind, UsageRow.count))
        return [(row[0], row[1], row[2]) for row in rows]
