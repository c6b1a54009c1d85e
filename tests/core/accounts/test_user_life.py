"""Importing users from CSV, and giving datasets to another user, on SQLite and on PostgreSQL."""

from __future__ import annotations

import re
import time

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select, update

from braid.core.accounts import accounts as accounts_module
from braid.core.accounts.accounts import _INITIAL_HASHER as INITIAL_HASHER
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import WebSessions
from braid.core.accounts.transfer import transfer_datasets
from braid.core.accounts.user_import import import_users
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import DatasetRow, UserRow
from tests.worlds import catch_up, document

PASSWORD = "correct horse"


@pytest.fixture
def accounts(ledger: Ledger) -> Accounts:
    made = Accounts(ledger)
    made.create_first("root", PASSWORD)
    return made


def test_a_thousand_users_are_imported_within_a_minute(accounts: Accounts) -> None:
    text = "name,password,groups\n" + "".join(f"user {n},a password {n},all;group {n % 200}\n" for n in range(1000))
    began = time.process_time()
    assert {each.change for each in import_users(accounts, text, dry_run=True)} == {"added"}
    assert len(accounts.all()) == 1
    assert len(import_users(accounts, text)) == 1000
    assert time.process_time() - began < 60
    found = accounts.verify("user 777", "a password 777")
    assert found
    assert found.groups == {"all", "group 177"}
    assert {each.change for each in import_users(accounts, text)} == {"unchanged"}


def test_a_password_from_a_list_is_hashed_in_full_when_it_is_first_used(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.accounts.accounts._HASHER", PasswordHasher())  # as outside of tests
    monkeypatch.setattr("braid.core.accounts.accounts._INITIAL_HASHER", INITIAL_HASHER)
    import_users(accounts, f"name,password\nann,{PASSWORD}\n")
    assert _hash_of(accounts, "ann").startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert accounts.verify("ann", "another password") is None
    assert accounts.verify("ann", PASSWORD)
    assert _hash_of(accounts, "ann").startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert accounts.verify("ann", PASSWORD)


def test_a_password_that_is_changed_while_somebody_signs_in_stays_changed(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_users(accounts, f"name,password\nann,{PASSWORD}\n")
    ann = accounts.named("ann")
    assert ann is not None
    stored = accounts._ledger.database
    with stored.write() as connection:
        connection.execute(update(UserRow).values(password_hash=INITIAL_HASHER.hash(PASSWORD)))
    hasher = accounts_module._HASHER

    class Slow:
        check_needs_rehash, verify = hasher.check_needs_rehash, hasher.verify

        def hash(self, password: str) -> str:
            if password == PASSWORD:
                accounts.set_password(ann.id, "the new password")
            return hasher.hash(password)

    monkeypatch.setattr(accounts_module, "_HASHER", Slow())
    assert accounts.verify("ann", PASSWORD) is None
    assert accounts.verify("ann", "the new password") == ann


def _hash_of(accounts: Accounts, name: str) -> str:
    with accounts._ledger.database.read() as connection:
        return connection.execute(select(UserRow.password_hash).where(UserRow.name == name)).scalar_one()


def test_those_that_there_are_become_like_their_lines(accounts: Accounts) -> None:
    ann = accounts.add("ann", PASSWORD, groups=["lab"])
    WebSessions(accounts._ledger).open(ann.id)
    text = '\ufeffName,Groups,admin,disabled\nann,"lab;staff",yes,\nben,,no,no\nroot,,yes,\n'
    lines = [(each.line, each.name, each.change, each.fields) for each in import_users(accounts, text, dry_run=True)]
    assert lines == [(2, "ann", "changed", ("groups", "admin")), (3, "ben", "added", ()), (4, "root", "unchanged", ())]
    assert accounts.get(ann.id).groups == {"lab"}
    import_users(accounts, text)
    assert accounts.get(ann.id).groups == {"lab", "staff"}
    assert accounts.get(ann.id).is_admin
    assert accounts.verify("ann", PASSWORD)
    import_users(accounts, "name,disabled\nann,yes\n")
    assert accounts.get(ann.id).disabled
    assert accounts.get(ann.id).groups == {"lab", "staff"}
    assert WebSessions(accounts._ledger).of_user(ann.id) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the first line has no column 'name'"),
        ("user,groups\nann,\n", "the first line has the column 'user'"),
        ("name,admin\nann,perhaps\n", "line 2: admin is 'perhaps'; write yes or no"),
        ("name,groups\nann\n", "line 2: it has more or fewer fields"),
        ("name\nann\nann\n", "line 3: 'ann' is in line 2, too"),
        ("name,groups\n,lab\n", "line 2: the name is empty"),
        ("name,password\nann,short\n", "line 2: the password has 5 characters"),
        ("name\nROOT\n", "a user named 'root' exists already"),
        ("name\ncleo\nCleo\n", "a user named 'cleo' exists already"),
        ("name,admin\nnew,no\nroot,no\n", "the last administrator"),
        ('name,groups\nann,"lab\n', ": unexpected end of data"),
    ],
)
def test_a_wrong_list_changes_nothing(accounts: Accounts, text: str, told: str) -> None:
    before = accounts.all()
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        import_users(accounts, text)
    assert accounts.all() == before


def test_what_an_administrator_does_during_an_import_stays(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, hash_password = accounts.add("ann", PASSWORD), accounts.hash_initial_password

    def lock_out_then_hash(password: str) -> str:
        accounts.set_disabled(ann.id, True)
        return hash_password(password)

    monkeypatch.setattr(accounts, "hash_initial_password", lock_out_then_hash)
    import_users(accounts, f"name,password,groups\nann,,staff\nben,{PASSWORD},\n")
    assert (accounts.get(ann.id).groups, accounts.get(ann.id).disabled) == ({"staff"}, True)


def test_a_dataset_goes_to_another_user_with_its_vectors(braid: Braid) -> None:
    ledger = braid.ledger
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    notes, diary = ledger.add_dataset(ann, "Notes").id, ledger.add_dataset(ann, "Diary").id
    ledger.put_document(notes, document("a.md", "The tray of the printer is empty."))
    catch_up(braid)
    with pytest.raises(NotFoundError, match="no dataset 77"):
        transfer_datasets(ledger, ann, ben, [notes, 77])
    with pytest.raises(InvalidInputError, match="this user's already"):
        transfer_datasets(ledger, ann, ann)
    assert transfer_datasets(ledger, ann, ben, [notes]) == [notes]
    assert [each.id for each in ledger.datasets(ann)] == [diary]
    assert ledger.dataset(notes).collection == f"user_{ben}"
    catch_up(braid)
    search = braid.manager.search
    [hit] = search("printer tray", user_id=ben, dataset_ids=[notes]).hits
    assert {leg.leg for leg in hit.legs} == {"dense", "bm25"}
    assert search("printer tray", user_id=ann, dataset_ids=[notes]).hits == ()
    [bm25] = braid.indexer.states([("bm25", f"user_{ann}")])  # as the next search sees it
    assert bm25.pending == 0


def test_what_is_removed_has_no_name_any_more(ledger: Ledger) -> None:
    accounts = Accounts(ledger)
    accounts.create_first("root", PASSWORD)
    ann = accounts.add("ann")
    ledger.add_dataset(ann.id, "Ann's divorce")
    accounts.remove(ann.id)
    with ledger.database.read() as connection:
        assert connection.execute(select(DatasetRow.name)).scalars().all() == [""]
