"""Users whom a proxy signs in and names in a header: who is believed, who they become, and what is refused."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from braid.app.opening import FIRST_DATASET
from braid.config.settings import Settings, load_settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.ledger.tables import UserRow
from tests.app.auth.sign_in_forms import from_address, log_in
from tests.served import Served
from tests.web import PASSWORD, acts, add_user, bearer, csrf_token, fresh_app, make_app, site_of

PROXY, STRANGER = "10.0.3.7", "10.0.9.9"
SETTINGS = Settings(
    sign_in_header="Remote-User",
    sign_in_proxies=("10.0.3.0/24", "2001:db8::7"),
    sign_in_groups_header="Remote-Groups",
    sign_in_admin_group="braid-admins",
    sign_out_url="https://auth.example.org/logout",
)


@pytest.fixture
def app(shelf: Braid) -> Flask:
    return make_app(shelf, SETTINGS)


def visitor(app: Flask, name: str | bytes, groups: str = "", *, address: str = PROXY) -> FlaskClient:
    """A browser whose requests the proxy hands on."""
    client = from_address(app, address)
    encoded = name if isinstance(name, bytes) else name.encode()
    client.environ_base["HTTP_REMOTE_USER"] = encoded.decode("latin-1")
    client.environ_base["HTTP_REMOTE_GROUPS"] = groups.encode().decode("latin-1")
    return client


def test_who_comes_for_the_first_time_has_an_account_with_a_dataset(app: Flask, shelf: Braid) -> None:
    client = visitor(app, "山田 花子")
    page = client.get("/account")
    assert page.status_code == 200
    assert "山田 花子" in page.text
    found = shelf.ledger.user_named("山田 花子")
    assert found is not None
    assert [each.name for each in shelf.ledger.datasets(found.id)] == [FIRST_DATASET]
    assert ("user.added", "山田 花子") in {(each.action, each.target) for each in acts(app)}
    assert client.get("/login").status_code == 302, "there is nothing to sign in to"


def test_there_is_no_session_to_end_and_no_password_to_change(app: Flask) -> None:
    page = visitor(app, "ann").get("/account").text
    assert '<a id="sign-out" href="https://auth.example.org/logout"' in page
    assert 'action="/logout"' not in page
    assert 'name="old"' not in page


def test_an_account_that_has_the_name_is_theirs(app: Flask, shelf: Braid) -> None:
    account = add_user(app, "bob")
    shelf.ledger.add_dataset(account.id, "Bob's diary")
    assert "Bob&#39;s diary" in visitor(app, "bob").get("/datasets").text
    assert "Bob&#39;s diary" not in visitor(app, "carol").get("/datasets").text


@pytest.mark.parametrize("separator", [",", ", ", "|"])
def test_groups_and_administrators_follow_the_proxy(app: Flask, separator: str) -> None:
    here = site_of(app)
    groups = separator.join(("engineers", "braid-admins"))
    assert visitor(app, "ann", groups).get("/admin/").status_code == 200
    found = here.accounts.named("ann")
    assert found is not None
    assert (found.groups, found.is_admin) == ({"engineers", "braid-admins"}, True)
    assert visitor(app, "ann", "engineers").get("/admin/").status_code == 403, "at the very next request"
    assert visitor(app, "ann").get("/account").status_code == 200
    assert here.accounts.get(found.id).groups == frozenset()


def test_groups_of_braid_stay_where_the_proxy_names_none(shelf: Braid) -> None:
    app = make_app(shelf, Settings(sign_in_header="Remote-User", sign_in_proxies=("10.0.3.7",)))
    account = add_user(app, "eve", groups=("engineers",))
    site_of(app).accounts.set_admin(account.id, True)
    assert visitor(app, "eve", "others").get("/admin/").status_code == 200
    assert site_of(app).accounts.get(account.id).groups == {"engineers"}


@pytest.mark.parametrize("path", ["/", "/login", "/account", "/api/v1/datasets", "/admin/", "/v1/models"])
def test_a_header_of_anybody_else_is_refused(app: Flask, shelf: Braid, path: str) -> None:
    users = [each.name for each in shelf.ledger.users()]
    refused = visitor(app, "forged", "braid-admins", address=STRANGER).get(path)
    assert refused.status_code == 403
    assert "sign_in_proxies" in refused.text
    assert visitor(app, "", "braid-admins", address=STRANGER).get(path).status_code == 403
    assert [each.name for each in shelf.ledger.users()] == users


def test_a_forwarded_address_makes_nobody_a_proxy(shelf: Braid) -> None:
    app = make_app(shelf, Settings(sign_in_header="Remote-User", sign_in_proxies=(PROXY,), trusted_proxies=1))
    stranger = visitor(app, "ann", address=STRANGER)
    assert stranger.get("/account", headers={"X-Forwarded-For": PROXY}).status_code == 403
    forwarded = visitor(app, "ann").get("/account", headers={"X-Forwarded-For": "203.0.113.5"})
    assert forwarded.status_code == 200, "the proxy is the computer that the connection comes from"


def test_the_first_administrator_is_not_set_up_by_a_header(braid: Braid) -> None:
    app = fresh_app(braid, Settings(sign_in_header="Remote-User", sign_in_proxies=("127.0.0.1",)))
    assert visitor(app, "ann", address="127.0.0.1").get("/setup").status_code == 403
    assert visitor(app, "ann", address=STRANGER).get("/setup").status_code == 403
    assert from_address(app, "127.0.0.1").get("/setup").status_code == 200, "without the header, on this computer"


@pytest.mark.parametrize("name", [b"\xff\xfe", "x" * 400, "a\x07b", "ann,admin"])
def test_a_name_that_cannot_be_one_is_refused(app: Flask, name: str | bytes) -> None:
    assert visitor(app, name).get("/account").status_code in (400, 403)


def test_a_thousand_groups_are_refused(app: Flask) -> None:
    assert visitor(app, "ann", ",".join(f"g{n}" for n in range(1000))).get("/account").status_code == 403


def test_a_suspended_account_stays_out(app: Flask) -> None:
    account = add_user(app, "mallory")
    site_of(app).accounts.set_disabled(account.id, True)
    refused = visitor(app, "mallory").get("/account")
    assert refused.status_code == 403
    assert "suspended" in refused.text


def test_without_the_header_braid_signs_in_by_itself(app: Flask) -> None:
    account = add_user(app, "dora")
    site_of(app).accounts.set_password(account.id, PASSWORD)
    client = from_address(app, PROXY)
    assert client.get("/account").status_code == 302
    assert log_in(client, "dora")[0] == 302
    assert client.get("/account").status_code == 200


def test_the_header_counts_and_not_an_older_session(app: Flask) -> None:
    account = add_user(app, "fay")
    site_of(app).accounts.set_password(account.id, PASSWORD)
    client = from_address(app, PROXY)
    log_in(client, "fay")
    client.environ_base["HTTP_REMOTE_USER"] = "ann"
    assert "<h1>ann</h1>" in client.get("/account").text


def test_forged_forms_are_refused_and_tokens_work(app: Flask) -> None:
    client = visitor(app, "ann")
    assert client.post("/account/tokens", data={"name": "x", "scope": "read"}).status_code == 400
    form = {"name": "x", "scope": "read", "csrf_token": csrf_token(client)}
    assert client.post("/account/tokens", data=form).status_code == 201
    ann = site_of(app).accounts.named("ann")
    assert ann is not None
    program = from_address(app, STRANGER)
    assert program.get("/api/v1/datasets", headers=bearer(app, ann, "read")).status_code == 200
    basic = {"Authorization": "Basic YW5uOng="}
    assert client.get("/account", headers=basic).status_code == 200, "some proxies hand on what they were given"


def test_two_first_requests_at_once_make_one_account(app: Flask, shelf: Braid) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: visitor(app, "new").get("/account").status_code, range(8)))
    assert answers == [200] * 8
    assert len([each for each in shelf.ledger.users() if each.name == "new"]) == 1


def test_over_http_a_name_with_an_underscore_or_given_twice_is_nobody(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("proxy") / "data"
    signing = {"SIGN_IN_HEADER": "Remote-User", "SIGN_IN_GROUPS_HEADER": "Remote-Groups"}
    with Served(data, fake_model=True, SIGN_IN_PROXIES="127.0.0.1", **signing) as served:
        address = f"http://127.0.0.1:{served.port}/account"
        assert httpx.get(address, headers={"Remote-User": "ann"}).status_code == 200
        assert httpx.get(address, headers={"Remote_User": "ann"}).status_code == 302
        for name in ("Remote-User", "Remote-Groups"):
            both = [("Remote-User", "ann"), ("Remote-Groups", "staff"), (name, "braid-admins")]
            refused = httpx.get(address, headers=both)
            assert refused.status_code == 400
            assert "given twice" in refused.text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sign_in_header": "Remote-User"}, "sign_in_proxies is empty"),
        ({"sign_in_proxies": ["127.0.0.1"]}, "sign_in_header is empty"),
        ({"sign_in_groups_header": "Remote-Groups"}, "sign_in_header is empty"),
        ({"sign_out_url": "/out"}, "sign_in_header is empty"),
        ({"sign_in_header": "Remote_User", "sign_in_proxies": ["127.0.0.1"]}, "the name of a header"),
        ({"sign_in_header": "Remote-User", "sign_in_proxies": ["10.0.0.300"]}, "addresses or networks"),
        ({"sign_in_header": "Remote-User", "sign_in_proxies": ["::1"], "sign_out_url": "//x.org"}, "a path or a URL"),
    ],
)
def test_settings_without_effect_are_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        load_settings({}, **given)


def test_who_comes_by_the_proxy_is_active_and_was_here_today(app: Flask) -> None:
    accounts, began = site_of(app).accounts, time.time()
    user_id = accounts.add("hal").id
    assert accounts.get(user_id).state == "new"
    assert visitor(app, "hal").get("/account").status_code == 200
    came = accounts.get(user_id)
    assert came.state == "active"
    assert came.signed_in_at is not None
    assert came.signed_in_at >= began - 1
    visitor(app, "hal").get("/account")
    assert accounts.get(user_id).signed_in_at == came.signed_in_at, "once a day"
    with site_of(app).braid.ledger.database.write() as connection:
        connection.execute(update(UserRow).where(UserRow.id == user_id).values(signed_in_at=came.signed_in_at - 90_000))
    visitor(app, "hal").get("/account")
    assert accounts.get(user_id).signed_in_at >= came.signed_in_at  # type: ignore[operator]
    accounts.set_disabled(accounts.add("jon").id, True)
    assert visitor(app, "jon").get("/account").status_code == 403
    assert accounts.named("jon").signed_in_at is None  # type: ignore[union-attr]
