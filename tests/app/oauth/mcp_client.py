"""The client of the `mcp` package as chat assistants use it, and the user's browser, both over HTTP."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape

import httpx
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.app.oauth.apps import query_of
from tests.web import PASSWORD
from tests.worlds import WAIT_S

BACK = "http://127.0.0.1:33418/callback"


@dataclass
class Kept:
    """What the client keeps between its starts."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """A user with a browser: signs in where that is asked for, and lets the app in."""

    browser: httpx.Client
    name: str
    dataset_ids: Sequence[int]
    write: bool = False
    pages: list[str] = field(default_factory=list)

    def lets_in(self, address: str) -> dict[str, str]:
        """Open the address that the app gives; return the arguments with which the browser is sent back."""
        page = self.browser.get(address)
        while page.is_redirect:
            page = self.browser.get(page.url.join(page.headers["location"]))
        self.pages.append(page.text)
        if 'name="password"' in page.text:
            form = {"name": self.name, "password": PASSWORD, "next": _field(page, "next")}
            page = self._send(page, form)
            page = self.browser.get(page.url.join(page.headers["location"]))
            self.pages.append(page.text)
        form = {"d": list(map(str, self.dataset_ids)), "decision": "allow"} | ({"write": "on"} if self.write else {})
        back = self._send(page, form).headers["location"]
        assert back.startswith(f"{BACK}?"), back
        return query_of(back)

    def _send(self, page: httpx.Response, form: dict[str, object]) -> httpx.Response:
        action = re.search(r'<form [^>]*method="post" action="([^"]*(?:login|authorize)[^"]*)"', page.text)
        assert action, page.text
        answer = self.browser.post(
            page.url.join(unescape(action[1])),
            data={"csrf_token": _field(page, "csrf_token"), **form},
            headers={"Referer": str(page.url)},
        )
        assert answer.status_code == 302, answer.text
        return answer


def _field(page: httpx.Response, name: str) -> str:
    found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', page.text)
    assert found, page.text
    return unescape(found[1])


@dataclass
class Assistant:
    """An MCP client that knows nothing but an address."""

    url: str
    person: Person
    kept: Kept = field(default_factory=Kept)
    verify: ssl.SSLContext | bool = True
    transport: httpx2.AsyncBaseTransport | None = None
    asked: list[str] = field(default_factory=list)
    """Method and address of each request that was answered, and the status."""

    def __post_init__(self) -> None:
        metadata = OAuthClientMetadata(client_name="Assistant", redirect_uris=[AnyUrl(BACK)])
        self.auth = OAuthClientProvider(self.url, metadata, self.kept, self._open, self._came_back)

    async def _open(self, address: str) -> None:
        self._back = self.person.lets_in(address)

    async def _came_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self._back.get("code", ""), state=self._back.get("state"), iss=self._back.get("iss")
        )

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """The client, once the user has let it in."""

        async def note(response: httpx2.Response) -> None:
            self.asked.append(f"{response.request.method} {response.request.url.path} {response.status_code}")

        with self.person.browser:
            async with self._client(note) as client:
                yield client

    @asynccontextmanager
    async def _client(self, note: Callable[[httpx2.Response], Awaitable[None]]) -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(
                auth=self.auth,
                verify=self.verify,
                transport=self.transport,
                timeout=WAIT_S,
                event_hooks={"response": [note]},
            ) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client
