"""The `mcp` package's own client connects, searches, refreshes and is disconnected: at the root, below a path, and
behind a proxy that has the certificate."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from braid.app import server
from braid.config.settings import Settings
from tests.app.oauth.conftest import World
from tests.app.oauth.mcp_client import Assistant, Person
from tests.web import make_app, site_of
from tests.worlds import WAIT_S, eventually

PREFIX = "/tools/braid"


@dataclass
class Place:
    """Where a client and a browser reach Braid."""

    url: str
    world: World
    verify: ssl.SSLContext | bool = True

    def assistant(self, *dataset_ids: int, path: str = "/mcp", write: bool = False) -> Assistant:
        browser = httpx.Client(verify=self.verify, timeout=WAIT_S, headers={"Accept": "text/html"})
        person = Person(browser, "Ana", dataset_ids, write)
        return Assistant(self.url + path, person, verify=self.verify)


@contextmanager
def served(asgi: Any, **options: Any) -> Iterator[int]:
    """Serve what Braid's server would serve on a free port of this computer."""
    config = uvicorn.Config(asgi, port=0, log_level="warning", lifespan="on", proxy_headers=False, **options)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    eventually(lambda: running.started)
    yield running.servers[0].sockets[0].getsockname()[1]
    running.should_exit = True
    thread.join(WAIT_S)


def behind(asgi: Any, name: str) -> Any:
    """A proxy with a certificate, which passes requests on in plain HTTP and under another name; leaves the rest."""

    async def passed_on(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await asgi(scope, receive, send)
            return
        told = {"host": "127.0.0.1:8000", "x-forwarded-proto": "https", "x-forwarded-host": name}
        told["x-forwarded-for"] = "127.0.0.1"
        headers = [(key, value) for key, value in scope["headers"] if key.decode() not in told]
        headers += [(key.encode(), value.encode()) for key, value in told.items()]
        if scope["path"].startswith(f"{PREFIX}/"):
            await asgi({**scope, "scheme": "http", "headers": headers}, receive, send)
            return
        # what is not below the path is another program's
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<h1>Another program</h1>"})

    return passed_on


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    files = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return files


@pytest.fixture(scope="module", params=["root", "path", "proxy"])
def place(request: pytest.FixtureRequest, world: World, certificate: tuple[Path, Path]) -> Iterator[Place]:
    kind = request.param
    settings = Settings(
        url_prefix="" if kind == "root" else PREFIX,
        trusted_proxies=1 if kind == "proxy" else 0,
        allowed_hosts=("localhost",),
    )
    app = make_app(world.braid, settings)
    asgi = server._asgi(settings, app, site_of(app))
    if kind != "proxy":
        with served(asgi) as port:
            yield Place(f"http://127.0.0.1:{port}{settings.url_prefix}", world)
        return
    name: list[str] = []

    async def proxied(scope: Any, receive: Any, send: Any) -> None:
        await behind(asgi, name[0] if name else "localhost")(scope, receive, send)

    files = {"ssl_certfile": str(certificate[0]), "ssl_keyfile": str(certificate[1])}
    with served(proxied, **files) as port:
        name.append(f"localhost:{port}")
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        yield Place(f"https://localhost:{port}{PREFIX}", world, trusted)


@pytest.fixture(autouse=True)
def nothing_is_counted(world: World) -> None:
    site_of(world.app).windows.reset()


async def sources(assistant: Any) -> set[str]:
    """The documents that a search finds."""
    found = await assistant.call_tool("search", {"query": "When does the vault open?", "mode": "keyword", "top_k": 20})
    assert found.structured_content["status"] == "success", found
    return {each["filepath"] for each in found.structured_content["results"]}


async def test_it_connects_searches_refreshes_and_is_disconnected(place: Place) -> None:
    world, assistant = place.world, place.assistant(place.world.work, place.world.shared)
    async with assistant.connected() as client:
        assert await sources(client) == {"work.md", "handbook.md"}
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "put_document" not in names, "the user has not let it write"
        first = assistant.kept.tokens
        assert first is not None
        assert assistant.kept.client is not None
        assert first.scope == "read"

        assistant.auth.context.token_expiry_time = 1.0  # an hour later
        assert await sources(client) == {"work.md", "handbook.md"}
        second = assistant.kept.tokens
        assert second is not None
        assert second.access_token != first.access_token
        assert second.refresh_token != first.refresh_token
        assert sum("/oauth/authorize" in each for each in assistant.asked) == 0, "that was in the browser"

        listed = (await client.call_tool("list_datasets", {})).structured_content
        assert {each["id"] for each in listed["datasets"]} == {world.work, world.shared}
        other = (await client.call_tool("search", {"query": "vault", "dataset_ids": [world.diary]})).structured_content
        assert (other["results"], other["unresolved_dataset_ids"]) == ([], [world.diary])
        read = (await client.call_tool("read_document", {"filepath": "diary.md"})).structured_content
        assert read["error_type"] == "NotFoundError"
        exact = (await client.call_tool("find_exact", {"text": "vault of the"})).structured_content
        assert {each["filepath"] for each in exact["results"]} == {"work.md", "handbook.md"}

    metadata = assistant.auth.context.oauth_metadata
    assert metadata is not None
    with httpx.Client(verify=place.verify, timeout=WAIT_S) as http:
        form = {"token": second.refresh_token, "client_id": assistant.kept.client.client_id}
        basic = (assistant.kept.client.client_id, assistant.kept.client.client_secret or "")
        assert http.post(str(metadata.revocation_endpoint), data=form, auth=basic).status_code == 200
        headers = {"Authorization": f"Bearer {second.access_token}"}
        refused = http.post(f"{place.url}/mcp", json={}, headers=headers)
        assert refused.status_code == 401
        assert f'resource_metadata="{place.url}/.well-known/' in refused.headers["WWW-Authenticate"]
    left = {grant.app_id for grant in site_of(world.app).connected_apps.of_user(world.ana.id)}
    assert assistant.kept.client.client_id not in left


async def test_it_writes_where_the_user_lets_it(place: Place) -> None:
    world, assistant = place.world, place.assistant(place.world.work, write=True)
    async with assistant.connected() as client:
        assert assistant.kept.tokens is not None
        assert assistant.kept.tokens.scope == "read write"
        put = {"text": "The tray is empty.", "filepath": "tray.md"}
        stored = (await client.call_tool("put_document", put)).structured_content
        assert (stored["status"], stored["dataset_id"]) == ("success", world.work)
        elsewhere = (await client.call_tool("put_document", {**put, "dataset_id": world.diary})).structured_content
        assert elsewhere["error_type"] == "NotFoundError"
        gone = (await client.call_tool("delete_document", {"filepath": "tray.md"})).structured_content
        assert gone["dataset_ids"] == [world.work]


async def test_a_connector_finds_what_was_picked_alone(place: Place) -> None:
    assistant = place.assistant(place.world.shared, path="/mcp/connector")
    async with assistant.connected() as client:
        found = (await client.call_tool("search", {"query": "vault"})).structured_content
        assert [each["title"] for each in found["results"]] == ["handbook"]
        whole = (await client.call_tool("fetch", {"id": found["results"][0]["id"]})).structured_content
        assert whole["text"].startswith("The vault of the handbook")


async def test_the_browser_is_shown_who_asks(place: Place) -> None:
    assistant = place.assistant(place.world.work)
    async with assistant.connected():
        pass
    sign_in, consent = assistant.person.pages
    assert 'name="password"' in sign_in
    assert "Connect “Assistant”?" in consent
    assert "a program on this computer" in consent
