"""Users of somebody else's app."""

from __future__ import annotations

import re

import pytest
from flask import Flask, Request, current_app
from flask_wtf import CSRFProtect

from braid.app.auth.access import rule
from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from tests.web import PASSWORD, site_of


@pytest.fixture
def visitor() -> dict[str, HostUser | None]:
    """Who the host app says is there, under ``now``."""
    return {"now": None}


@pytest.fixture
def host_app(shelf: Braid, visitor: dict[str, HostUser | None]) -> Flask:
    """An app with pages, a form, an error page and users of its own."""
    host = Flask("host")
    host.secret_key = "the host's own"
    host.testing = True
    register_braid(host, lambda: visitor["now"], braid=shelf)
    host.add_url_rule("/", view_func=lambda: "the host's page", endpoint="front")
    host.add_url_rule("/order", view_func=lambda: "ordered", endpoint="order", methods=["POST"])
    host.register_error_handler(404, lambda error: ("the host's own 404", 404))
    return host


def test_the_hosts_pages_stay_as_they_are(host_app: Flask) -> None:
    client = host_app.test_client()
    page = client.get("/?lang=ja", headers={"Host": "shop.example"})
    assert page.text == "the host's page"
    assert set(page.headers.keys()) == {"Content-Type", "Content-Length"}
    assert client.get("/nothing").text == "the host's own 404"
    assert client.post("/order").text == "ordered"
    assert "Content-Security-Policy" not in client.get("/nothing").headers


def test_braid_is_under_its_prefix_with_its_headers(host_app: Flask, visitor: dict[str, HostUser | None]) -> None:
    visitor["now"] = HostUser("ann")
    page = host_app.test_client().get("/braid/search")
    assert page.status_code == 200
    assert "Content-Security-Policy" in page.headers
    addresses = re.findall(r'(?:href|src|action|data-url)="(/[^"]*)"', page.text)
    assert addresses
    assert [address for address in addresses if not address.startswith("/braid/")] == []
    assert "/logout" not in page.text


def test_nobody_is_refused_and_not_led_to_a_sign_in_of_braids(host_app: Flask) -> None:
    client = host_app.test_client()
    assert client.get("/braid/search").status_code == 401
    assert client.get("/braid/login").status_code == 404
    assert client.get("/braid/setup").status_code == 404


def test_the_hosts_users_are_told_apart(host_app: Flask, visitor: dict[str, HostUser | None], shelf: Braid) -> None:
    client = host_app.test_client()
    for name in ("ann", "bob", "ann"):
        visitor["now"] = HostUser(name)
        assert client.get("/braid/search").status_code == 200
    ann, bob = shelf.ledger.user_named("ann"), shelf.ledger.user_named("bob")
    assert ann is not None
    assert bob is not None
    dataset = shelf.ledger.add_dataset(ann.id, "Ann's diary")
    visitor["now"] = HostUser("ann")
    assert "Ann&#39;s diary" in client.get("/braid/search").text
    visitor["now"] = HostUser("bob")
    assert "Ann&#39;s diary" not in client.get(f"/braid/search?q=x&d={dataset.id}").text


def test_the_hosts_groups_and_administrators_are_mirrored(host_app: Flask, visitor: dict[str, HostUser | None]) -> None:
    client, accounts = host_app.test_client(), site_of(host_app).accounts
    visitor["now"] = HostUser("carol", frozenset({"lab"}), is_admin=True)
    assert client.get("/braid/metrics").status_code == 200
    carol = accounts.named("carol")
    assert carol is not None
    assert carol.groups == {"lab"}
    visitor["now"] = HostUser("carol")
    assert client.get("/braid/metrics").status_code == 403
    carol = accounts.named("carol")
    assert carol is not None
    assert carol.groups == frozenset()


def test_who_is_disabled_stays_out_of_a_host_app(host_app: Flask, visitor: dict[str, HostUser | None]) -> None:
    client, accounts = host_app.test_client(), site_of(host_app).accounts
    visitor["now"] = HostUser("dora")
    assert client.get("/braid/search").status_code == 200
    dora = accounts.named("dora")
    assert dora is not None
    if accounts.need_setup():
        accounts.add("the boss", PASSWORD, is_admin=True)  # there must be one who can sign in
    assert dora.state == "active", "there is no other sign-in"
    accounts.set_disabled(dora.id, True)
    assert client.get("/braid/search").status_code == 401


class RequestOfFlask30(Request):
    """Has the app's limit alone, as Flask 3.0 has it."""

    max_content_length = property(lambda self: current_app.config["MAX_CONTENT_LENGTH"])  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Request, RequestOfFlask30])
def test_a_form_has_a_limit_in_a_host_app_too(
    host_app: Flask, visitor: dict[str, HostUser | None], kind: type[Request]
) -> None:
    visitor["now"] = HostUser("ann")
    host_app.request_class = kind
    assert host_app.test_client().get("/braid/search").status_code == 200
    assert host_app.config["MAX_CONTENT_LENGTH"] is None
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    large = head + b"x" * 3 * 2**20 + b"\r\n--b--\r\n"
    sent = host_app.test_client().post("/braid/settings", data=large, content_type="multipart/form-data; boundary=b")
    assert sent.status_code == 413


def test_a_hosts_own_protection_and_ours_get_on(shelf: Braid) -> None:
    host = Flask("host")
    host.secret_key = "the host's own"
    CSRFProtect(host)
    register_braid(host, lambda: HostUser("ann"), braid=shelf)
    host.add_url_rule("/order", view_func=lambda: "ordered", endpoint="order", methods=["POST"])
    client = host.test_client()
    assert client.post("/order").status_code == 400
    assert client.get("/braid/search").status_code == 200


def test_a_host_without_a_secret_key_is_told_so(shelf: Braid) -> None:
    with pytest.raises(InvalidInputError, match="secret_key"):
        register_braid(Flask("host"), lambda: None, braid=shelf)


def test_a_rule_says_what_scope_its_route_needs() -> None:
    stated = rule("user", "write")(lambda: "")
    assert stated.braid_rule == ("user", "write")  # type: ignore[attr-defined]
