"""Braid in a host's app: its name, its errors, the host's sign-in, home and brand, and its jobs."""

from __future__ import annotations

import io
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Blueprint, Flask
from flask.testing import FlaskClient

from braid.app.factory import register_braid
from braid.app.host import Brand, Host, HostUser
from braid.app.site import Site
from braid.core.braid import Braid
from braid.core.datasets.assistants import Assistant
from braid.core.errors import InvalidInputError
from tests.web import csrf_token
from tests.worlds import WAIT_S, document, eventually

ANN = HostUser("ann")


def make_host(**config: Any) -> Flask:
    host = Flask("host")
    host.secret_key = "the host's own"
    host.testing = True
    host.config.update(config)
    return host


def test_mounted_twice_each_links_to_itself(shelf: Braid) -> None:
    host = make_host()
    register_braid(host, lambda: ANN, braid=shelf)
    register_braid(host, lambda: HostUser("bob"), braid=shelf, name="docs", url_prefix="/docs")
    client = host.test_client()
    for prefix, other in (("/braid", "/docs/"), ("/docs", "/braid/")):
        for page in ("/search?q=pump", "/chat", "/datasets", "/settings"):
            shown = client.get(prefix + page)
            assert shown.status_code == 200
            assert f'href="{prefix}/' in shown.text
            assert f'"{other}' not in shown.text
            assert 'aria-current="page"' in shown.text
        assert client.get(f"{prefix}/api/v1/me").status_code == 200
    assert client.get("/docs/api/v1/me").json["name"] == "bob"  # type: ignore[index]
    token = csrf_token(client, "/docs/datasets")
    made = client.post("/docs/datasets", data={"name": "Bob's notes", "csrf_token": token})
    assert made.status_code in (302, 303)
    assert str(made.location).startswith("/docs/")


def test_beside_a_blueprint_of_the_same_name(shelf: Braid) -> None:
    host = make_host()
    theirs = Blueprint("braid", "theirs", url_prefix="/hair")

    @theirs.get("/search", endpoint="search")
    def cut() -> str:
        return "a hair braid"

    host.register_blueprint(theirs)
    with pytest.raises(InvalidInputError, match=r"blueprint or extension 'braid' already.*name='braid_search'"):
        register_braid(host, lambda: ANN, braid=shelf)
    register_braid(host, lambda: ANN, braid=shelf, name="braid_search")
    client = host.test_client()
    assert client.get("/hair/search").text == "a hair braid"
    assert 'href="/braid/chat"' in client.get("/braid/search").text


def test_a_name_or_prefix_that_is_taken_or_wrong_says_the_remedy(shelf: Braid) -> None:
    host = make_host()
    with pytest.raises(InvalidInputError, match=r"url_prefix is 'braid'; begin it with a slash.*'/braid'"):
        register_braid(host, lambda: ANN, braid=shelf, url_prefix="braid")
    with pytest.raises(InvalidInputError, match=r"name is 'a.b'"):
        register_braid(host, lambda: ANN, braid=shelf, name="a.b")
    register_braid(host, lambda: ANN, braid=shelf)
    with pytest.raises(InvalidInputError, match=r"mounted as 'braid' already.*name='braid_2', url_prefix='/braid-2'"):
        register_braid(host, lambda: ANN, braid=shelf, url_prefix="/other")
    with pytest.raises(InvalidInputError, match="below '/braid' already"):
        register_braid(host, lambda: ANN, braid=shelf, name="other")


def test_a_current_user_of_another_kind_is_named(shelf: Braid) -> None:
    host = make_host()
    register_braid(host, lambda: {"name": "ann"}, braid=shelf)  # type: ignore[arg-type, return-value]
    page = host.test_client().get("/braid/search")
    assert page.status_code == 500
    assert "current_user returned a dict; it must return braid.HostUser(name)" in page.text
    with pytest.raises(InvalidInputError, match="current_user is"):
        register_braid(make_host(), ANN, braid=shelf)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": None}, {"name": "ann", "groups": "lab"}])
def test_a_host_user_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="HostUser's"):
        HostUser(**wrong)
    assert HostUser("ann", groups=["lab"]).groups == {"lab"}


def test_below_the_prefix_what_is_unknown_is_braids(shelf: Braid) -> None:
    host = make_host()
    host.register_error_handler(404, lambda error: ("the host's own 404", 404))
    register_braid(host, lambda: ANN, braid=shelf)
    client = host.test_client()
    page = client.get("/braid/nothing")
    assert page.status_code == 404
    assert "Page not found" in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert client.get("/braid/api/v1/nothing").json["status"] == 404  # type: ignore[index]
    assert client.get("/braid/chat/?d=1").location == "/braid/chat?d=1"
    assert client.get("/nothing").text == "the host's own 404"
    assert client.get("/braidery").text == "the host's own 404"
    wrong_method = client.delete("/braid/api/v1/search", headers={"X-CSRFToken": csrf_token(client, "/braid/search")})
    assert wrong_method.status_code == 405
    assert "POST" in wrong_method.headers["Allow"]


def test_jobs_run_without_being_started_and_starting_again_is_harmless(shelf: Braid) -> None:
    host = make_host()
    site = register_braid(host, lambda: ANN, braid=shelf)
    other = register_braid(make_host(), lambda: ANN, braid=shelf)
    site.start_jobs()
    other.start_jobs()
    client = host.test_client()
    headers = {"X-CSRFToken": csrf_token(client, "/braid/search")}
    dataset = client.post("/braid/api/v1/datasets", json={"name": "Uploads"}, headers=headers).json["id"]  # type: ignore[index]

    def upload(name: str) -> None:
        sent = {"file": (io.BytesIO(b"The pump runs at 12 bar."), name)}
        made = client.post(f"/braid/api/v1/datasets/{dataset}/documents", data=sent, headers=headers)
        assert made.status_code == 202, made.text
        eventually(lambda: shelf.ledger.document(dataset, name) is not None)

    upload("pump.txt")
    site.close()
    site.close()
    upload("valve.txt")  # the other site of this Braid goes on


def test_closing_braid_ends_the_jobs(braid: Braid) -> None:
    site = register_braid(make_host(), lambda: ANN, braid=braid)
    assert not site.closed
    braid.close()
    assert site.closed


def test_visitors_are_led_to_the_hosts_sign_in_and_back(shelf: Braid) -> None:
    host = make_host()
    register_braid(host, lambda: None, braid=shelf, login_url="/login?from=braid")
    client = host.test_client()
    led = client.get("/braid/search?q=a%26b&lang=ja")
    assert led.status_code == 302
    there = urlsplit(str(led.location))
    assert there.path == "/login"
    assert parse_qs(there.query) == {"from": ["braid"], "next": ["/braid/search?q=a%26b&lang=ja"]}
    refused = client.post("/braid/datasets")
    assert refused.status_code == 401
    assert 'href="/login?from=braid&amp;next=%2Fbraid%2F"' in refused.text
    assert client.get("/braid/api/v1/me").status_code == 401


def test_without_a_sign_in_there_is_no_link_in_a_circle(shelf: Braid) -> None:
    host = make_host()
    register_braid(host, lambda: None, braid=shelf, home_url="/")
    page = host.test_client().get("/braid/search")
    assert page.status_code == 401
    assert '/braid/search"' not in page.text
    assert 'class="home" href="/"' in page.text


def test_a_disabled_account_is_not_led_in_a_circle(shelf: Braid) -> None:
    host = make_host()
    site = register_braid(host, lambda: HostUser("dora"), braid=shelf, login_url="/login")
    client = host.test_client()
    assert client.get("/braid/search").status_code == 200
    dora = site.accounts.named("dora")
    assert dora is not None
    site.accounts.add("the boss", "correct horse", is_admin=True)
    site.accounts.set_disabled(dora.id, True)
    assert client.get("/braid/search").status_code == 401


@pytest.mark.parametrize("page", ["//evil.example/x", "/\\evil.example", "https://evil.example", "\t//evil.example"])
def test_what_leads_back_is_a_path_of_this_server(page: str) -> None:
    back = parse_qs(urlsplit(Host(lambda: None, "/login").sign_in_url(page)).query)["next"][0]
    assert back.startswith("/")
    assert not back.startswith(("//", "/\\"))


@pytest.mark.parametrize("field", ["login_url", "home_url"])
@pytest.mark.parametrize("wrong", ["javascript:alert(1)", "//evil.example", "login"])
def test_addresses_that_cannot_be_links_are_refused(shelf: Braid, field: str, wrong: str) -> None:
    with pytest.raises(InvalidInputError, match=field):
        register_braid(make_host(), lambda: None, braid=shelf, **{field: wrong})  # type: ignore[arg-type]


def test_the_pages_lead_back_to_the_host(shelf: Braid) -> None:
    host = make_host()
    brand = Brand("The <shop>", logo_url="/static/shop.svg", theme="dark")
    register_braid(host, lambda: HostUser("eva"), braid=shelf, home_url="/front", brand=brand)
    page = host.test_client().get("/braid/search").text
    assert '<a class="brand" href="/front">' in page
    assert 'src="/static/shop.svg"' in page
    assert "The &lt;shop&gt;" in page
    assert 'data-theme="dark"' in page
    with pytest.raises(InvalidInputError, match="logo_url"):
        Brand("x", logo_url="https://cdn.example/logo.svg")


# ---------------------------------------------------------------- tokens and MCP


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "Host": "shop.example"}


def make_token(client: FlaskClient, **form: Any) -> str:
    """Make a token on the page, as its user does; the key."""
    sent = {"csrf_token": csrf_token(client, "/braid/account"), "name": "agent", "scope": ["read"], "days": "30"}
    page = client.post("/braid/account/tokens", data={**sent, **form})
    found = re.search(r'class="key">(braid_[^<]+)<', page.text)
    assert found, (page.status_code, page.text)
    return found[1]


def document_page(site: Site, source: str) -> str:
    """The address of a document's page, as the host's users have it."""
    [dataset] = (each for each in site.braid.ledger.all_datasets() if site.braid.ledger.document(each.id, source))
    found = site.braid.ledger.document(dataset.id, source)
    assert found is not None
    return f"http://shop.example/braid/datasets/{dataset.id}/documents/{found.id}"


def tool(client: FlaskClient, key: str, name: str, *, _at: str = "/braid/mcp", **arguments: Any) -> Any:
    """Call a tool as an MCP client does; the result."""
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    answer = client.post(_at, json=call, headers={**MCP_HEADERS, "Authorization": f"Bearer {key}"})
    assert answer.status_code == 200, answer.text
    return answer.json["result"]  # type: ignore[index]


@pytest.fixture
def fresh(shelf: Braid) -> tuple[FlaskClient, Site]:
    """A browser whose user the host has just seen signing in."""
    host = make_host()
    site = register_braid(host, lambda: HostUser("tom", is_admin=True, fresh=True), braid=shelf, login_url="/login")
    return host.test_client(), site


def test_a_hosts_user_makes_a_token_and_an_agent_searches_with_it(fresh: tuple[FlaskClient, Site]) -> None:
    client, site = fresh
    key = make_token(client, scope=["read", "write"])
    agent = client.application.test_client()
    begun = agent.post("/braid/mcp", json=INITIALIZE, headers={**MCP_HEADERS, "Authorization": f"Bearer {key}"})
    assert begun.json["result"]["serverInfo"]["name"] == "braid"  # type: ignore[index]
    put = tool(agent, key, "put_document", text="The pump runs at 12 bar.", filepath="pump.md")
    assert put["structuredContent"]["status"] == "success", put
    site.braid.indexer.wait(WAIT_S)
    found = tool(agent, key, "search", query="pump")
    assert found["structuredContent"]["results"][0]["filepath"] == "pump.md"
    again = tool(agent, key, "search", query="pump", _at="/braid/mcp/connector")["structuredContent"]["results"]
    assert [(each["title"], each["url"]) for each in again] == [("pump", document_page(site, "pump.md"))]
    assert tool(agent, key, "fetch", id=again[0]["id"], _at="/braid/mcp/connector")["structuredContent"]["text"]
    reader = make_token(client)
    assert tool(agent, reader, "put_document", text="x", filepath="x.md")["isError"]


def test_an_assistant_of_a_hosts_user_has_a_server_of_its_own(shelf: Braid) -> None:
    host = make_host()
    site = register_braid(host, lambda: None, braid=shelf)
    uma, vic = site.accounts.add("uma"), site.accounts.add("vic")
    names = ("Valves", "Taps")
    ids = [shelf.ledger.add_dataset(uma.id, name).id for name in names]
    for id_, name in zip(ids, names, strict=True):
        shelf.ledger.put_document(id_, document(f"{id_}.md", f"The valve {id_} is blue.", title=name))
    assert shelf.indexer.wait(WAIT_S)
    at = f"/braid/mcp/assistants/{site.assistants.add(uma.id, Assistant('Valves', (ids[0],))).id}"
    agent, keys = host.test_client(), [site.tokens.add(each.id, "agent", ["read"])[1] for each in (uma, vic)]
    found = tool(agent, keys[0], "search", query="valve", _at=at)["structuredContent"]["results"]
    assert [each["title"] for each in found] == ["Valves"]
    refused = agent.post(at, json=INITIALIZE, headers={**MCP_HEADERS, "Authorization": f"Bearer {keys[1]}"})
    assert refused.status_code == 404
    shelf.remove_dataset(ids[0])
    closed = agent.post(at, json=INITIALIZE, headers={**MCP_HEADERS, "Authorization": f"Bearer {keys[0]}"})
    assert closed.status_code == 403


def test_calls_at_once_in_a_host_share_one_server_each_with_its_own_user(shelf: Braid) -> None:
    host = make_host()
    site = register_braid(host, lambda: None, braid=shelf)
    keys = {}
    for name in ("ida", "jon"):
        account = site.accounts.add(name)
        shelf.ledger.add_dataset(account.id, f"Notes of {name}")
        keys[name] = site.tokens.add(account.id, "agent", ["read"])[1]

    def listed(name: str) -> list[str]:
        found = tool(host.test_client(), keys[name], "list_datasets")["structuredContent"]["datasets"]
        return [dataset["name"] for dataset in found if dataset["kind"] == "personal"]

    names = ["ida", "jon"] * 8
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(listed, names)) == [[f"Notes of {name}"] for name in names]


def test_mcp_in_a_host_wants_a_token_that_counts(fresh: tuple[FlaskClient, Site]) -> None:
    client, site = fresh
    key = make_token(client)
    agent = client.application.test_client()
    in_browser = {"Accept": MCP_HEADERS["Accept"], "X-CSRFToken": csrf_token(client, "/braid/account")}
    assert client.post("/braid/mcp", json=INITIALIZE, headers=in_browser).status_code == 401
    with_key = {**MCP_HEADERS, "Authorization": f"Bearer {key}"}
    assert agent.post("/braid/mcp", json=INITIALIZE, headers=with_key).status_code == 200
    assert agent.get("/braid/mcp", headers=with_key).status_code == 405
    assert agent.get("/braid/account", headers=with_key).status_code == 403  # a token makes no other
    tom = site.accounts.named("tom")
    assert tom is not None
    site.tokens.revoke_all(tom.id)  # as administrators do on their page
    assert agent.post("/braid/mcp", json=INITIALIZE, headers=with_key).status_code == 401


def test_a_token_of_a_hosts_user_ends_and_is_no_administrators(fresh: tuple[FlaskClient, Site]) -> None:
    client, _ = fresh
    page = client.get("/braid/account").text
    assert 'value="admin"' not in page
    assert 'value="never"' not in page
    assert 'type="password"' not in page
    token = csrf_token(client, "/braid/account")
    for wrong, status in (({"scope": "admin"}, 403), ({"days": "never"}, 400), ({"days": "365"}, 400)):
        form = {"csrf_token": token, "name": "agent", "scope": "read", "days": "30", **wrong}
        assert client.post("/braid/account/tokens", data=form).status_code == status


def test_who_signed_in_long_ago_signs_in_again_for_a_token(shelf: Braid) -> None:
    host = make_host()
    site = register_braid(host, lambda: HostUser("una"), braid=shelf, login_url="/login")
    client = host.test_client()
    page = client.get("/braid/account").text
    assert 'href="/login?next=%2Fbraid%2Faccount"' in page
    assert 'action="/braid/account/tokens"' not in page
    form = {"csrf_token": csrf_token(client, "/braid/account"), "name": "agent", "scope": "read", "days": "30"}
    assert client.post("/braid/account/tokens", data=form).status_code == 403
    una = site.accounts.named("una")
    assert una is not None
    assert site.tokens.of_user(una.id) == []
