"""Second factors: the codes of RFC 6238, none of them twice, and recovery codes."""

from __future__ import annotations

import base64

import pytest
from sqlalchemy import select, update

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import WebSessions
from braid.core.accounts.second_factor import STEP_S, SecondFactors, address_of
from braid.core.accounts.secret_key import encrypt
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import SecondFactorRow
from tests.authenticator import code_of
from tests.databases import on_both_databases

SECRET = b"s" * 32
RFC_KEY = b"12345678901234567890"
RFC_CODES = {59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"}
"""Appendix B of the RFC, its last six digits: seconds since the epoch → code."""


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def factors(ledger: Ledger, clock: Clock) -> SecondFactors:
    Accounts(ledger).add("ann", "correct horse")
    return SecondFactors(ledger, SECRET, clock=clock)


def turned_on(factors: SecondFactors, clock: Clock) -> tuple[str, list[str]]:
    """The secret, and the recovery codes; the code of this time is used."""
    factors.begin(1)
    secret = factors.pending(1)
    return secret, factors.confirm(1, code_of(secret, clock.now))


@pytest.mark.parametrize(("at", "code"), RFC_CODES.items())
def test_codes_are_those_of_the_rfc(ledger: Ledger, factors: SecondFactors, clock: Clock, at: int, code: str) -> None:
    turned_on(factors, clock)
    stored = encrypt(SECRET, "second factor 1", RFC_KEY.hex())
    with ledger.database.write() as connection:
        connection.execute(update(SecondFactorRow).values(secret=stored, used_step=0))
    clock.now = at
    assert factors.accept(1, code) == "code"


@on_both_databases
def test_a_code_counts_once_and_beside_its_time(factors: SecondFactors, clock: Clock) -> None:
    secret, _ = turned_on(factors, clock)
    assert factors.accept(1, code_of(secret, clock.now)) is None, "it has turned it on"
    clock.now += 10 * STEP_S
    assert factors.accept(1, code_of(secret, clock.now - 2 * STEP_S)) is None
    assert factors.accept(1, code_of(secret, clock.now + 2 * STEP_S)) is None
    late, early = code_of(secret, clock.now - STEP_S), code_of(secret, clock.now + STEP_S)
    assert factors.accept(1, f" {late[:3]} {late[3:]}\n") == "code"
    assert factors.accept(1, late) is None
    assert factors.accept(1, early) == "code"
    assert factors.accept(1, code_of(secret, clock.now)) is None, "an earlier one is worthless then"


@pytest.mark.parametrize("wrong", ["", "12345", "1234567", "abcdef", "１２３", "-12345", "\x00" * 6, "9" * 10_000])
def test_what_is_no_code_is_not_accepted(factors: SecondFactors, clock: Clock, wrong: str) -> None:
    turned_on(factors, clock)
    clock.now += 10 * STEP_S
    assert factors.accept(1, wrong) is None


def test_full_width_digits_are_digits(factors: SecondFactors, clock: Clock) -> None:
    secret, _ = turned_on(factors, clock)
    clock.now += 10 * STEP_S
    wide = code_of(secret, clock.now).translate({ord("0") + digit: ord("０") + digit for digit in range(10)})
    assert factors.accept(1, wide) == "code"


@on_both_databases
def test_a_recovery_code_counts_once(factors: SecondFactors, clock: Clock, ledger: Ledger) -> None:
    _, codes = turned_on(factors, clock)
    assert len(set(codes)) == factors.codes_left(1) == 10
    assert factors.accept(1, codes[3].lower().replace("-", " ")) == "recovery"
    assert factors.accept(1, codes[3]) is None
    assert factors.codes_left(1) == 9
    newer = factors.new_codes(1)
    assert factors.accept(1, codes[4]) is None
    assert factors.accept(1, newer[0]) == "recovery"
    with ledger.database.read() as connection:
        [row] = connection.execute(select(*SecondFactorRow.__table__.columns)).all()
    assert not any(code.replace("-", "") in str(row) for code in newer)


def test_it_is_off_until_a_code_was_shown(factors: SecondFactors, clock: Clock) -> None:
    assert not factors.is_on(1)
    assert factors.pending(1) == ""
    factors.begin(1)
    first = factors.pending(1)
    assert not factors.is_on(1)
    assert factors.accept(1, code_of(first, clock.now)) is None
    factors.begin(1)
    second = factors.pending(1)
    assert first != second
    assert factors.confirm(1, code_of(first, clock.now)) == []
    assert factors.confirm(1, code_of(second, clock.now))
    assert factors.is_on(1)
    factors.begin(1)
    assert factors.pending(1) == "", "nobody replaces one that is on"
    assert factors.confirm(1, code_of(second, clock.now + STEP_S)) == []
    assert factors.is_on(1)


def test_the_secret_is_encrypted_for_its_user(ledger: Ledger, factors: SecondFactors, clock: Clock) -> None:
    secret, codes = turned_on(factors, clock)
    Accounts(ledger).add("eve", "correct horse")
    with ledger.database.write() as connection:
        [row] = connection.execute(select(*SecondFactorRow.__table__.columns)).all()
        connection.execute(SecondFactorRow.__table__.insert().values(**{**row._mapping, "user_id": 2}))
    assert base64.b32decode(secret).hex() not in row.secret
    clock.now += 10 * STEP_S
    assert factors.accept(2, code_of(secret, clock.now)) is None
    replaced = SecondFactors(ledger, b"t" * 32, clock=clock)
    assert replaced.accept(1, code_of(secret, clock.now)) is None
    assert replaced.accept(1, codes[0]) == "recovery", "with another secret of the site, recovery codes still count"


def test_a_reset_signs_out(ledger: Ledger, factors: SecondFactors, clock: Clock) -> None:
    assert not factors.reset(1)
    turned_on(factors, clock)
    WebSessions(ledger).open(1)
    assert factors.reset(1)
    assert not factors.is_on(1)
    assert WebSessions(ledger).of_user(1) == []


def test_authenticator_apps_are_told_whose_it_is(factors: SecondFactors, clock: Clock) -> None:
    secret, _ = turned_on(factors, clock)
    assert address_of(secret, "김 아무개") == (
        f"otpauth://totp/Braid:%EA%B9%80%20%EC%95%84%EB%AC%B4%EA%B0%9C?digits=6&secret={secret}&algorithm=SHA1"
        "&issuer=Braid&period=30"
    )
