"""Apps that are connected: what is stored, what ends when, and what two requests at once get."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.connected_apps import (
    CODE_S,
    GRANT_DAYS,
    UNUSED_S,
    ConnectedApps,
    Consent,
    Grant,
    IssuedTokens,
    RegisteredApp,
    ReusedError,
)
from braid.core.accounts.credentials import DAY_S, ApiTokens
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from tests.databases import on_both_databases

BACK = "https://app.example.org/back"


def registered(apps: ConnectedApps, name: str = "Claude") -> RegisteredApp:
    return apps.register(name, [BACK], "none")[0]


def consent(user_id: int, app: RegisteredApp, *dataset_ids: int) -> Consent:
    return Consent(user_id, app.id, BACK, "https://here/mcp", "challenge", ["read"], dataset_ids or (1,))


def connect(apps: ConnectedApps, user_id: int, app: RegisteredApp | None = None) -> tuple[Grant, IssuedTokens]:
    code = apps.consent(consent(user_id, app or registered(apps)))
    grant = apps.grant_of_code(code)
    assert grant is not None
    return grant, apps.redeem(grant, code, grant.scopes)


@pytest.fixture
def user_id(ledger: Ledger) -> int:
    return ledger.add_user("ann").id


@on_both_databases
def test_one_of_several_requests_with_a_code_gets_tokens_and_none_keeps_them(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger)
    code = apps.consent(consent(user_id, registered(apps)))
    grant = apps.grant_of_code(code)
    assert grant is not None

    def redeem(_number: int) -> IssuedTokens | None:
        try:
            return apps.redeem(grant, code, ["read"])
        except ReusedError:
            return None

    with ThreadPoolExecutor(4) as threads:
        given = [each for each in threads.map(redeem, range(4)) if each]
    assert len(given) == 1
    assert ApiTokens(ledger).find(given[0].access_token) is None
    assert apps.of_user(user_id) == []


@on_both_databases
def test_one_of_several_requests_with_a_refresh_token_gets_tokens(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger)
    grant, issued = connect(apps, user_id)

    def refresh(_number: int) -> IssuedTokens | None:
        try:
            return apps.refresh(grant, issued.refresh_token, ["read"])
        except ReusedError:
            return None

    with ThreadPoolExecutor(4) as threads:
        given = [each for each in threads.map(refresh, range(4)) if each]
    assert len(given) == 1
    assert apps.grant_of_refresh_token(given[0].refresh_token) is None


@on_both_databases
def test_the_end_of_a_grant_is_the_end_of_its_tokens(ledger: Ledger, user_id: int) -> None:
    apps, tokens = ConnectedApps(ledger), ApiTokens(ledger)
    grant, issued = connect(apps, user_id)
    found = tokens.find(issued.access_token)
    assert found is not None
    assert (found.user_id, found.name, found.scopes, found.dataset_ids) == (user_id, "Claude", {"read"}, {1})
    assert apps.of_user(user_id)[0].used_at == pytest.approx(time.time(), abs=60)
    with pytest.raises(NotFoundError):
        apps.disconnect(ledger.add_user("bob").id, grant.id)
    assert apps.disconnect(user_id, grant.id).app == "Claude"
    assert tokens.find(issued.access_token) is None
    with pytest.raises(NotFoundError):
        apps.disconnect(user_id, grant.id)


def test_apps_are_no_tokens_that_the_user_has_made(ledger: Ledger, user_id: int) -> None:
    apps, tokens = ConnectedApps(ledger), ApiTokens(ledger, most=1)
    connect(apps, user_id)
    tokens.add(user_id, "mine", ["read"])
    assert [each.name for each in tokens.of_user(user_id)] == ["mine"]


@pytest.mark.parametrize("how", ["tokens revoked", "password", "removed"])
def test_what_ends_all_tokens_ends_the_apps(ledger: Ledger, user_id: int, how: str) -> None:
    apps, tokens, accounts = ConnectedApps(ledger), ApiTokens(ledger), Accounts(ledger)
    _, issued = connect(apps, user_id)
    tokens.add(user_id, "mine", ["read"])
    if how == "tokens revoked":
        assert tokens.revoke_all(user_id) == 1
    elif how == "password":
        accounts.set_password(user_id, "another password", revoke_tokens=False)
        assert tokens.find(issued.access_token) is not None
        accounts.set_password(user_id, "another password")
    else:
        accounts.remove(user_id)
    assert tokens.find(issued.access_token) is None
    assert apps.of_user(user_id) == []
    assert apps.grant_of_refresh_token(issued.refresh_token) is None


def test_a_consent_takes_the_place_of_the_one_before(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger)
    app = registered(apps)
    _, issued = connect(apps, user_id, app)
    connect(apps, ledger.add_user("bob").id, app)
    again, _ = connect(apps, user_id, app)
    assert [each.id for each in apps.of_user(user_id)] == [again.id]
    assert ApiTokens(ledger).find(issued.access_token) is None


def test_a_user_connects_so_many_apps(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger, most_apps=2)
    connect(apps, user_id)
    grant, _ = connect(apps, user_id)
    with pytest.raises(InvalidInputError, match="you have connected 2 apps"):
        apps.consent(consent(user_id, registered(apps)))
    apps.disconnect(user_id, grant.id)
    connect(apps, user_id)


@on_both_databases
def test_registrations_that_nobody_uses_are_few_and_go(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger, most_unused=3)
    used = registered(apps, "used")
    connect(apps, user_id, used)
    names = [registered(apps, f"flood {number}") for number in range(5)]
    assert [apps.app(each.id) is not None for each in names] == [False, False, True, True, True]
    assert apps.app(used.id) is not None
    apps.forget_old(time.time())
    assert apps.app(names[-1].id) is not None
    apps.forget_old(time.time() + UNUSED_S + 1)
    assert apps.app(names[-1].id) is None
    assert apps.app(used.id) is not None
    apps.forget_old(time.time() + GRANT_DAYS * DAY_S + 1)
    assert apps.of_user(user_id) == []
    assert apps.app(used.id) is None, "its only grant is over"
    assert apps.app("' or 1=1") is None


def test_a_code_that_is_not_redeemed_is_forgotten(ledger: Ledger, user_id: int) -> None:
    apps = ConnectedApps(ledger)
    code = apps.consent(consent(user_id, registered(apps)))
    assert apps.of_user(user_id) == [], "it has nothing yet"
    apps.forget_old(time.time() + CODE_S + 1)
    assert apps.grant_of_code(code) is None


def test_a_secret_is_known_by_its_hash(ledger: Ledger) -> None:
    apps = ConnectedApps(ledger)
    app, secret = apps.register("Claude", [BACK], "client_secret_post")
    assert app.has_secret(secret)
    assert not app.has_secret(secret + "x")
    assert not registered(apps).has_secret("")
