"""Calls over MCP: whose they are, how many at once, and what is counted."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS

from braid.app.mcp.http import CALLS_AT_ONCE, CALLS_PRESENT
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from tests.app.mcp.sessions import ACCEPT, NOTES, READING, Served, call, fill, run, serving_notes
from tests.web import add_user, bearer, make_app, site_of
from tests.worlds import WAIT_S


def test_a_reading_token_has_no_writing_tools(untouched: Served) -> None:
    async def talk(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        assert (await client.call_tool("put_document", {"text": "x", "filepath": "y.md"})).is_error

    run(untouched.client("read"), talk)
    assert untouched.braid.ledger.documents(1) == []


def test_shared_datasets_are_written_with_the_scope_admin_alone(served: Served) -> None:
    served.braid.registry.add("Handbook", "shared_main_db")

    async def refused(client: Client) -> None:
        written = await call(client, "put_document", text="x", filepath="x.md", dataset_id=-1)
        assert written["error_type"] == "NotFoundError"

    async def taken(client: Client) -> None:
        written = await call(client, "put_document", text="x", filepath="x.md", dataset_id=-1)
        assert written["status"] == "success"

    run(served.client("read", "write"), refused)
    run(served.client("read", "write", "admin"), taken)


def test_all_searches_personal_and_shared_datasets(served: Served) -> None:
    served.braid.registry.add("Handbook", "shared_main_db")
    served.braid.registry.add("Board", "shared_board", allowed_groups=["board"])
    served.braid.mirror_registry()

    async def talk(client: Client) -> None:
        for dataset in (None, -1):
            await call(client, "put_document", text=f"Trains, {dataset}.", filepath="t.md", dataset_id=dataset)
        assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
        assert (await call(client, "search", query="trains"))["hits_by_dataset"] == {"1": 1}
        found = await call(client, "search", query="trains", dataset_ids="all")
        assert (found["count"], found["hits_by_dataset"]) == (2, {"1": 1, "-1": 1})
        assert "2 collections" in found["message"]
        refused = await call(client, "search", query="trains", dataset_ids=[-2])
        assert refused["unresolved_dataset_ids"] == [-2]
        [described] = [tool for tool in (await client.list_tools()).tools if tool.name == "search"]
        assert "'all'" in described.input_schema["properties"]["dataset_ids"]["description"]

    run(served.client("read", "write", "admin"), talk)


def test_another_users_documents_are_not_there(served: Served) -> None:
    async def fill_all(client: Client) -> None:
        await fill(client, served.braid)

    async def talk(client: Client) -> None:
        for query in ("printer E-4711", "プリンター"):
            assert (await call(client, "search", query=query))["count"] == 0
        named = await call(client, "search", query="printer", dataset_ids=[1])
        assert (named["count"], named["unresolved_dataset_ids"]) == (0, [1])
        assert (await call(client, "get_documents_by_prefix", prefix=""))["count"] == 0
        assert (await call(client, "delete_document", filepath="notes/printer.md"))["error_type"] == "NotFoundError"
        with pytest.raises(MCPError, match="no document 1"):
            await client.read_resource("braid://documents/1")
        with pytest.raises(MCPError, match="no document 99999999999999999999"):
            await client.read_resource("braid://documents/99999999999999999999")

    run(served.client(), fill_all)
    run(served.client(account=add_user(served.app, "eve")), talk)
    assert len(served.braid.ledger.documents(1)) == 3


def test_a_hundred_calls_at_once(served: Served) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        answers = await asyncio.gather(*(call(client, "search", query="printer tray", top_k=1) for _ in range(100)))
        assert {answer["results"][0]["filepath"] for answer in answers} == {"notes/printer.md"}

    run(served.client(), talk)


def test_a_users_calls_take_turns_and_keep_nobody_else_waiting(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    began, release, headers = threading.Semaphore(0), threading.Event(), bearer(served.app, served.admin)

    def hang(*args: Any) -> Any:
        began.release()
        assert release.wait(WAIT_S)
        raise InvalidInputError("released")

    monkeypatch.setattr(site_of(served.app).background.parse_now, "of_user", lambda user_id: hang)
    bob = bearer(served.app, add_user(served.app, "bob"))
    arguments = {"text": "The tray is empty.", "filepath": "a.md"}
    put = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "put_document", "arguments": arguments},
    }
    listing = {**put, "params": {"name": "list_datasets", "arguments": {}}}

    async def post(http: httpx.AsyncClient, who: dict[str, str], body: dict[str, Any]) -> httpx.Response:
        return await http.post(f"{served.url}/mcp", json=body, headers=ACCEPT | who)

    async def talk() -> None:
        limits = httpx.Limits(max_connections=300)
        async with httpx.AsyncClient(timeout=WAIT_S, limits=limits) as http:
            calls = [asyncio.create_task(post(http, headers, put)) for _ in range(CALLS_PRESENT + 5)]
            refused: set[asyncio.Task[httpx.Response]] = set()
            while len(refused) < 5:
                refused, _ = await asyncio.wait(calls, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
            assert {(task.result().status_code, task.result().headers["Retry-After"]) for task in refused} == {
                (429, "5")
            }
            for _ in range(CALLS_AT_ONCE):
                assert await asyncio.to_thread(began.acquire, timeout=WAIT_S)
            assert (await post(http, bob, listing)).status_code == 200
            assert not began.acquire(blocking=False), "no more than a share of them is begun"
            release.set()
            answers = await asyncio.gather(*calls)
            assert [answer.status_code for answer in answers].count(200) == CALLS_PRESENT
            assert (await post(http, headers, listing)).status_code == 200

    asyncio.run(talk())


def test_calls_and_requests_to_the_api_have_one_limit(braid: Braid) -> None:
    async def talk(client: Client) -> None:
        for _ in range(2):
            assert (await call(client, "list_datasets"))["status"] == "success"
        answer = await call(client, "search", query="tray")
        assert (answer["status"], answer["error_type"]) == ("error", "RateLimitError")
        assert re.search(r"at most 3 per 1 minute .* try again in \d+ s", answer["message"])

    app = make_app(braid, Settings(api_rate_limit="3/minute"))
    with serving_notes(app, braid) as served:
        me = bearer(app, served.admin, "read")
        assert httpx.get(f"{served.url}/api/v1/me", headers=me, timeout=WAIT_S).status_code == 200
        run(served.client(), talk)
        assert httpx.get(f"{served.url}/api/v1/me", headers=me, timeout=WAIT_S).status_code == 429


def test_usage_tells_searches_and_documents(served: Served) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        assert (await call(client, "search", query="tray"))["status"] == "success"

    run(served.client(), talk)
    found = {kind: count for _, kind, count in site_of(served.app).usage.by_user()}
    assert found == {"search": 1, "upload": len(NOTES)}
    assert b'braid_searches_total{mode="hybrid",strategy="basic"} 1.0' in site_of(served.app).metrics.text()


def test_a_tool_and_a_prompt_that_there_are_not_are_said_in_the_promised_form(served: Served) -> None:
    async def talk(client: Client) -> None:
        answer = await call(client, "serch", query="tray")
        assert answer["error_type"] == "ValidationError"
        assert "there is no tool 'serch'; call one of search," in answer["message"]
        for name, arguments in (("nothing", {"question": "Why?"}), ("answer_with_citations", {})):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert refused.value.error.code == INVALID_PARAMS

    run(served.client(), talk)
