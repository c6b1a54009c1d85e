"""Messages of MCP as they are sent, and whom the server refuses."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from tests.app.mcp.sessions import ACCEPT, READING, Served, call, fill, run
from tests.web import add_user, bearer
from tests.worlds import WAIT_S

# ---------------------------------------------------------------- who may not

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer braid_wrong"}, {"Authorization": "Basic YTpi"}])
def test_without_a_token_there_is_nothing(served: Served, headers: dict[str, str]) -> None:
    answer = httpx.post(f"{served.url}/mcp", json=INITIALIZE, headers=ACCEPT | headers, timeout=WAIT_S)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_foreign_name_is_refused(served: Served) -> None:
    headers = ACCEPT | bearer(served.app, served.admin, "read") | {"Host": "evil.example"}
    assert httpx.post(f"{served.url}/mcp", json=INITIALIZE, headers=headers, timeout=WAIT_S).status_code == 421
    (several,) = httpx.post(f"{served.url}/mcp", json=[LIST], headers=headers, timeout=WAIT_S).json()
    assert (several["id"], several["error"]["message"]) == ("two", "Invalid Host header")
    origin = ACCEPT | bearer(served.app, served.admin, "read") | {"Origin": "http://evil.example"}
    assert httpx.post(f"{served.url}/mcp", json=INITIALIZE, headers=origin, timeout=WAIT_S).status_code == 403


def test_the_pages_answer_on_the_same_port(served: Served) -> None:
    assert httpx.get(f"{served.url}/healthz", timeout=WAIT_S).json() == {"status": "ok"}


# ---------------------------------------------------------------- messages as they are sent

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


LIST = {"jsonrpc": "2.0", "id": "two", "method": "tools/list"}


HEARD = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def sent(served: Served, message: Any, **headers: str) -> httpx.Response:
    known = ACCEPT | bearer(served.app, served.admin, "read") | headers
    return httpx.post(f"{served.url}/mcp", json=message, headers=known, timeout=WAIT_S)


def test_several_messages_in_one_body_are_answered_together(untouched: Served) -> None:
    found = {"jsonrpc": "2.0", "id": 3, "method": "tools/call"} | {"params": {"name": "list_datasets"}}
    answer = sent(untouched, [PING, HEARD, LIST, {"id": 4}, 5, INITIALIZE, found])
    assert answer.status_code == 200
    ping, tools, *wrong, datasets = answer.json()
    assert ping == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (tools["id"], {each["name"] for each in tools["result"]["tools"]}) == ("two", READING)
    assert [(each["id"], each["error"]["code"]) for each in wrong] == [(each, INVALID_REQUEST) for each in (4, None, 1)]
    assert datasets["result"]["structuredContent"]["status"] == "success"
    heard = sent(untouched, [HEARD, HEARD])
    assert (heard.status_code, heard.content) == (202, b"")
    for many in ([], [PING] * 101):
        refused = sent(untouched, many)
        assert (refused.status_code, refused.json()["id"]) == (400, None)
        assert refused.json()["error"]["message"] == f"the list has {len(many)} messages; send 1 to 100"


def test_several_messages_are_of_whom_the_token_is(served: Served) -> None:
    run(served.client(), lambda client: fill(client, served.braid))
    stranger = add_user(served.app, "stranger")
    search = PING | {"method": "tools/call", "params": {"name": "search", "arguments": {"query": "printer tray"}}}
    for account, count in ((served.admin, 3), (stranger, 0)):
        headers = ACCEPT | bearer(served.app, account, "read")
        answers = httpx.post(f"{served.url}/mcp", json=[search, search], headers=headers, timeout=WAIT_S).json()
        assert [each["result"]["structuredContent"]["count"] for each in answers] == [count, count]
    assert httpx.post(f"{served.url}/mcp", json=[search], headers=ACCEPT, timeout=WAIT_S).status_code == 401


@pytest.mark.parametrize(
    ("message", "number", "told"),
    [
        (5, None, "the message is 5; send an object"),
        (PING | {"id": None}, None, "id is null; give a text or a whole number"),
        (PING | {"id": 1.5}, None, "id is 1.5;"),
        (PING | {"id": True}, None, "id is true;"),
        ({"id": 7, "method": "ping"}, 7, "jsonrpc is null; give"),
        ({"jsonrpc": "2.0", "id": 7}, 7, "method is null; give a text such as tools/list"),
        (PING | {"params": []}, 1, "params is []; give an object"),
    ],
)
def test_what_is_no_message_is_refused_in_words(untouched: Served, message: Any, number: int | None, told: str) -> None:
    answer = sent(untouched, message)
    assert answer.status_code == 400
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (number, INVALID_REQUEST)
    assert told in answer.json()["error"]["message"]


@pytest.mark.parametrize("listed", ["tools", "prompts", "resources", "resources/templates"])
def test_a_cursor_that_was_not_given_out_is_refused(untouched: Served, listed: str) -> None:
    """A client that asks on with it would get the first page for ever."""
    asked = PING | {"method": f"{listed}/list"}
    answer = sent(untouched, asked | {"params": {"cursor": "zzz"}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, INVALID_PARAMS)
    assert 'there is no cursor "zzz"' in answer.json()["error"]["message"]
    assert "result" in sent(untouched, asked | {"params": {"cursor": None}}).json()


def test_a_stream_and_a_version_that_there_are_not_are_refused(untouched: Served) -> None:
    headers = ACCEPT | bearer(untouched.app, untouched.admin, "read")
    stream = httpx.get(f"{untouched.url}/mcp", headers=headers, timeout=WAIT_S)
    assert (stream.status_code, stream.headers["Allow"]) == (405, "POST")
    answer = sent(untouched, PING, **{"MCP-Protocol-Version": "1999-01-01"})
    assert answer.status_code == 400
    assert "MCP-Protocol-Version is '1999-01-01'; send one of 2024-11-05" in answer.json()["error"]["message"]
    assert sent(untouched, PING, **{"MCP-Protocol-Version": "2025-06-18"}).json()["result"] == {}


def test_null_is_as_if_an_argument_was_not_given(untouched: Served) -> None:
    async def talk(client: Client) -> None:
        found = await call(client, "search", query="tray", top_k=None, dataset_ids=None, group_by=None, where=None)
        assert found["status"] == "success"
        missing = await call(client, "search", query=None)
        assert missing["error_type"] == "ValidationError"
        assert "query" in missing["message"]

    run(untouched.client(), talk)


def test_resources_and_prompts_say_what_is_wrong_with_what_they_are_given(untouched: Served) -> None:
    async def talk(client: Client) -> None:
        for number in ("abc", "-1", "9" * 5000):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"braid://documents/{number}")
            assert refused.value.error.code == INVALID_PARAMS
            assert f"document_id is {number[:60]!r}; give a number" in refused.value.error.message
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("answer_with_citations", {"question": "Why?", "language": "ja"})
        assert refused.value.error.code == INVALID_PARAMS
        told = "answer_with_citations has no argument 'language'; it takes question"
        assert refused.value.error.message == told

    run(untouched.client(), talk)
