"""MCP through the package's own client: over HTTP with tokens, and over stdio in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from flask import Flask
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from braid.app.mcp.http import CALLS_AT_ONCE, CALLS_PRESENT
from braid.app.user.datasets import UserDatasets
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from tests.fakes import HashEmbeddings
from tests.web import add_user, bearer, make_app, serving, site_of
from tests.worlds import WAIT_S

NOTES = {
    "notes/printer.md": "# Printer\n\nThe printer shows error E-4711 when the tray is empty.",
    "notes/printer.ja.md": "# プリンター\n\n用紙がないと、プリンターにエラーコードが表示されます。",
    "notes/printer.ko.md": "# 프린터\n\n용지가 없으면 프린터에 오류 코드가 나타납니다.",
}
READING = {
    "search",
    "find_exact",
    "check",
    "explain",
    "read_document",
    "fetch",
    "get_documents",
    "get_documents_by_prefix",
    "list_datasets",
}
WRITING = {"put_document", "delete_document", "delete_documents", "restore_document"}


@dataclass(frozen=True)
class Served:
    """A running app with MCP."""

    url: str
    app: Flask
    braid: Braid
    admin: Account

    @asynccontextmanager
    async def client(self, *scopes: str, account: Account | None = None) -> AsyncIterator[Client]:
        headers = bearer(self.app, account or self.admin, *(scopes or ("read", "write")))
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http)) as client,
        ):
            yield client


@pytest.fixture
def served(braid: Braid) -> Iterator[Served]:
    with serving_notes(make_app(braid), braid) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(shelf: Braid) -> Iterator[Served]:
    """One for all tests that neither write nor count."""
    with serving_notes(make_app(shelf), shelf) as found:
        yield found


@contextmanager
def serving_notes(app: Flask, braid: Braid) -> Iterator[Served]:
    admin = site_of(app).accounts.all()[0]
    braid.ledger.add_dataset(admin.id, "Notes")
    with serving(app) as url:
        yield Served(url, app, braid, admin)


def run(session: AbstractAsyncContextManager[Client], talk: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with session as client:
            await talk(client)

    asyncio.run(whole())


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    answer: dict[str, Any] = json.loads(result.content[0].text)
    assert result.is_error is (answer.get("status") == "error"), answer
    return answer


async def fill(client: Client, braid: Braid) -> None:
    for path, text in NOTES.items():
        stored = await call(client, "put_document", text=text, filepath=path)
        assert stored["status"] == "success"
    assert await asyncio.to_thread(braid.indexer.wait, WAIT_S)


def test_a_whole_session(served: Served) -> None:
    async def talk(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING | WRITING
        await fill(client, served.braid)
        listed = await call(client, "list_datasets")
        assert [(d["name"], d["kind"], d["documents"]) for d in listed["datasets"]] == [("Notes", "personal", 3)]
        for query, path in (
            ("printer tray error", "notes/printer.md"),
            ("プリンターのエラーコード", "notes/printer.ja.md"),
            ("프린터 오류 코드", "notes/printer.ko.md"),
        ):
            found = await call(client, "search", query=query, top_k=1)
            assert found["results"][0]["filepath"] == path
            assert found["results"][0]["document"] in NOTES[path]
            assert found["count"] == 1
            assert found["query_vector_dimension"] is None
            assert found["persist_directory"] == str(served.braid.data_dir)
        listed = await call(client, "get_documents_by_prefix", prefix="notes/", top_k=2, include_documents=False)
        assert [entry["filepath"] for entry in listed["results"]] == ["notes/printer.ja.md", "notes/printer.ko.md"]
        assert "document" not in listed["results"][0]
        explained = await call(client, "explain", query="printer tray", filepath="notes/printer.md")
        assert explained["passages"][0]["found"]
        document_id = found["results"][0]["metadata"]["document_id"]
        resource = await client.read_resource(f"braid://documents/{document_id}")
        assert "용지가 없으면" in resource.contents[0].text
        prompt = await client.get_prompt("answer_with_citations", {"question": "Why E-4711?"})
        assert "Why E-4711?" in prompt.messages[0].content.text
        deleted = await call(client, "delete_document", filepath="notes/printer.md")
        assert deleted["status"] == "success"
        assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
        again = await call(client, "search", query="E-4711", mode="keyword")
        assert again.get("count") == 0, again

    run(served.client(), talk)


def test_without_its_package_it_names_the_extra(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.app.mcp.http.is_installed", lambda module: module != "mcp")
    with serving(make_app(braid)) as url:
        answer = httpx.post(f"{url}/mcp", timeout=WAIT_S)
        assert answer.status_code == 501
        assert "pip install 'braid-search[mcp]'" in answer.text
        assert httpx.get(f"{url}/healthz", timeout=WAIT_S).status_code == 200


def test_the_dimension_and_the_cut(served: Served) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        found = await call(client, "search", query="printer", mode="semantic", max_content_length=7, top_k=1)
        assert found["query_vector_dimension"] == served.braid.dense.dimension("user_1")
        assert len(found["results"][0]["document"]) == 7 + len("...")
        assert found["results"][0]["document"].endswith("...")
        bare = await call(client, "search", query="printer", include_documents=False, file_type="md")
        assert all("document" not in entry for entry in bare["results"])
        assert bare["count"] > 0
        none = await call(client, "search", query="printer", file_type="pdf")
        assert none["count"] == 0

    run(served.client(), talk)


@pytest.mark.parametrize(
    ("tool", "arguments", "error_type"),
    [
        ("search", {"query": "  "}, "ValidationError"),
        ("search", {"query": "x", "top_k": 0}, "ValidationError"),
        ("search", {"query": "x", "mode": "magic"}, "ValidationError"),
        ("search", {"query": "x", "strategy": "magic"}, "ValidationError"),
        ("search", {"query": "x", "dataset_ids": [0]}, "ValidationError"),
        ("search", {"query": "x", "max_content_length": 0}, "ValidationError"),
        ("put_document", {"text": " ", "filepath": "a.md"}, "ValidationError"),
        ("put_document", {"text": "x", "filepath": "a" * 1001}, "ValidationError"),
        ("put_document", {"text": "x", "filepath": "a.md", "dataset_id": 99}, "NotFoundError"),
        ("put_document", {"text": "x", "filepath": "a.md", "dataset_id": -1}, "NotFoundError"),
        ("delete_document", {"filepath": "nothing.md"}, "NotFoundError"),
        ("restore_document", {"filepath": "nothing.md", "dataset_id": 1}, "NotFoundError"),
        ("explain", {"query": "x", "filepath": "nothing.md"}, "NotFoundError"),
        ("search", {"query": "x", "k": 3}, "ValidationError"),
        ("read_document", {"filepath": "x", "first": 3}, "ValidationError"),
        ("list_datasets", {"user_id": 2}, "ValidationError"),
        ("put_document", {"text": "x", "filepath": "a\ufffd"}, "ValidationError"),
        ("get_documents", {"dataset_id": 99, "ids": ["a"]}, "NotFoundError"),
        ("get_documents", {"dataset_id": 1}, "ValidationError"),
        ("get_documents", {"dataset_id": 1, "ids": ["a"], "source": "a"}, "ValidationError"),
        ("get_documents", {"dataset_id": 1, "ids": []}, "ValidationError"),
        ("delete_documents", {"dataset_id": -1, "ids": ["a"]}, "NotFoundError"),
        ("delete_documents", {"dataset_id": 1, "where": {}}, "ValidationError"),
        ("get_documents_by_prefix", {"prefix": "", "top_k": -1}, "ValidationError"),
    ],
)
def test_wrong_input_is_named(untouched: Served, tool: str, arguments: dict[str, Any], error_type: str) -> None:
    async def talk(client: Client) -> None:
        answer = await call(client, tool, **arguments)
        assert (answer["status"], answer["error_type"]) == ("error", error_type)
        assert answer["message"]

    run(untouched.client(), talk)


def test_a_filter_by_metadata_that_nothing_has_says_so(served: Served) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        found = await call(client, "search", query="tray", where={"yeer": 2024})
        told = "the filters name yeer, and no document that was searched has such metadata"
        assert (found["count"], found["notes"]) == (0, [told])
        assert "notes" not in await call(client, "search", query="tray")

    run(served.client(), talk)


@pytest.mark.parametrize("tool", ["get_documents", "delete_documents"])
def test_documents_are_asked_for_by_the_names_that_the_tool_has(untouched: Served, tool: str) -> None:
    async def talk(client: Client) -> None:
        for given, said in (
            ({}, "nothing says which documents; give one of ids, source and where"),
            ({"source": "a", "where": {"a": 1}}, "source and where are given; give one of ids, source and where"),
            ({"where": {}}, "where: it is empty, which selects everything; name a condition"),
        ):
            assert (await call(client, tool, dataset_id=1, **given))["message"] == said

    run(untouched.client(), talk)


def test_documents_are_listed_and_deleted_by_ids_source_or_filter(served: Served) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        await call(client, "put_document", text="Tea at four.", filepath="tea", metadata={"kind": "tea"})
        listed = await call(client, "get_documents", dataset_id=1, where={"kind": "tea"})
        assert [(each["filepath"], each["document"]) for each in listed["results"]] == [("tea", "Tea at four.")]
        number, chunk = listed["results"][0]["id"], listed["results"][0]["metadata"]["id"]
        for name in (number, chunk, "tea"):
            named = await call(client, "get_documents", dataset_id=1, ids=[name, "nothing"], include_documents=False)
            assert [each["filepath"] for each in named["results"]] == ["tea"]
            assert "document" not in named["results"][0]
        assert (await call(client, "delete_documents", dataset_id=1, ids=[number]))["deleted"] == 1
        assert (await call(client, "delete_documents", dataset_id=1, source="notes/printer.md"))["deleted"] == 1
        left = await call(client, "get_documents_by_prefix", prefix="")
        assert [each["filepath"] for each in left["results"]] == ["notes/printer.ja.md", "notes/printer.ko.md"]
        assert (await call(client, "restore_document", dataset_id=1, filepath="tea"))["message"] == "restored"
        again = await call(client, "get_documents", dataset_id=1, where={"kind": "tea"})
        assert again["results"] == listed["results"]
        await call(client, "put_document", text="Another printer.", filepath="notes/printer.md")
        taken = await call(client, "restore_document", dataset_id=1, filepath="notes/printer.md")
        assert (taken["status"], "stored as 'notes/printer.md' meanwhile" in taken["message"]) == ("error", True)

    run(served.client(), talk)


def test_the_tools_say_what_they_take(untouched: Served) -> None:
    async def talk(client: Client) -> None:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert {schema["additionalProperties"] for schema in schemas.values()} == {False}
        properties = schemas["search"]["properties"]
        assert set(properties["mode"]["enum"]) == {"semantic", "keyword", "hybrid"}
        assert {"basic", "hyde"} <= set(properties["strategy"]["enum"])
        assert set(properties["group_by"]["enum"]) == {"passage", "document"}

    run(untouched.client(), talk)


def test_half_of_a_surrogate_pair_in_a_message(served: Served) -> None:
    """JSON allows it, as the library does in a query; it cannot name a document."""
    message = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": '
        '{"%s": "pump \\ud83d", "text": "x"}}}'
    )
    headers = bearer(served.app, served.admin) | {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    for tool, argument, status in (("find_exact", "filepath", "error"), ("put_document", "filepath", "error")):
        answer = httpx.post(
            f"{served.url}/mcp", content=message % (tool, argument), headers=headers, timeout=WAIT_S
        ).json()
        assert answer["result"]["structuredContent"]["status"] == status
        assert "JSON" not in answer["result"]["structuredContent"]["message"]
    asked = (message % ("search", "query")).replace(', "text": "x"', "")
    answer = httpx.post(f"{served.url}/mcp", content=asked, headers=headers, timeout=WAIT_S).json()
    assert answer["result"]["structuredContent"]["status"] == "success"
    assert served.braid.ledger.documents(1) == []


def test_an_outage_is_an_error_and_not_an_empty_list(served: Served, embeddings: HashEmbeddings) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        embeddings.failing = True
        answer = await call(client, "search", query="printer", mode="semantic")
        assert (answer["status"], answer["error_type"]) == ("error", "HybridRetrieverError")
        half = await call(client, "search", query="printer E-4711")
        assert half["status"] == "success"
        assert half["degraded"][0]["part"] == "dense"

    run(served.client(), talk)


def test_a_failing_store_is_told_from_a_failing_search(served: Served, embeddings: HashEmbeddings) -> None:
    async def talk(client: Client) -> None:
        await fill(client, served.braid)
        embeddings.failing = True
        answer = await call(client, "search", query="printer", mode="semantic")
        assert answer["error_type"] == "HybridRetrieverError"
        with served.braid.ledger.database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE chunks RENAME TO lost")
        answer = await call(client, "search", query="printer", mode="keyword")
        assert (answer["status"], answer["error_type"]) == ("error", "ChromaDBError")
        assert "chunks" not in answer["message"]

    run(served.client(), talk)


def test_any_other_exception_is_answered_with_the_name_of_its_class(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def readable(datasets: UserDatasets) -> None:
        raise ZeroDivisionError("/secret/path")

    async def talk(client: Client) -> None:
        answer = await call(client, "list_datasets")
        assert (answer["status"], answer["error_type"]) == ("error", "ZeroDivisionError")
        assert answer["message"] == "the tool failed unexpectedly; the server's log says why"

    monkeypatch.setattr(UserDatasets, "readable", readable)
    run(served.client(), talk)
    assert "/secret/path" in caplog.text


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": "x", "top_k": "many"}, "top_k: Input should be a valid integer"),
        ("search", {}, "query: Field required"),
        ("find_exact", {"text": "x", "dataset_ids": "every"}, "dataset_ids: Input should be 'all'"),
        ("read_document", {"filepath": "a.md", "from": "start"}, "from: Input should be a valid integer"),
        ("fetch", {"id": None}, "id: Input should be a valid string"),
    ],
)
async def test_arguments_of_a_wrong_type_are_a_validation_error_too(
    untouched: Served, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with untouched.client("read") as client:
        answer = await client.call_tool(tool, arguments)  # the client checks it against the output schema
        assert answer.structured_content == json.loads(answer.content[0].text)
        assert (answer.structured_content["status"], answer.structured_content["error_type"]) == (
            "error",
            "ValidationError",
        )
        assert told in answer.structured_content["message"]
        assert "many" not in answer.structured_content["message"]


def test_what_fails_before_a_tool_runs_has_the_name_of_its_class_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(*_: object, **__: object) -> None:
        raise ZeroDivisionError("/secret/path")

    async def talk(client: Client) -> None:
        monkeypatch.setattr("braid.app.mcp.server.Tools", make)
        answer = await call(client, "list_datasets")
        assert (answer["status"], answer["error_type"]) == ("error", "ZeroDivisionError")
        assert "/secret" not in answer["message"]
        assert (await client.call_tool("no_such_tool", {})).is_error

    run(served.client(), talk)


def test_an_unknown_file_type_is_kept_as_the_documents_label(served: Served) -> None:
    async def talk(client: Client) -> None:
        for label in ("spec", "Jira"):
            put = {"text": "# Tray\n\nThe tray of the printer.", "filepath": "tickets/tray 1.2"}
            assert (await call(client, "put_document", **put, file_type=label))["status"] == "success"
            assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
            found = await call(client, "search", query="tray", file_type=label, mode="keyword")
            assert [entry["metadata"]["file_type"] for entry in found["results"]] == [label]
            assert found["results"][0]["document"].startswith("# Tray"), "as plain text, not as Markdown"
            assert found["results"][0]["metadata"]["title"] == "tray 1.2"
            listed = await call(client, "get_documents_by_prefix", prefix="", file_type=label)
            assert listed["count"] == 1
        assert (await call(client, "search", query="tray", file_type="spec"))["count"] == 0, "it has another label now"
        refused = await call(client, "put_document", text="x", filepath="y", file_type="a\nb")
        assert refused["error_type"] == "ValidationError"

    run(served.client(), talk)


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


def test_one_result_per_document_with_its_other_passages_counted(served: Served) -> None:
    async def talk(client: Client) -> None:
        text = "# Trains\n\nTrains are booked early.\n\n# Hotels\n\nHotels and trains need a receipt."
        await call(client, "put_document", text=text, filepath="travel.md")
        await call(client, "put_document", text="Trains are late.", filepath="late.md")
        assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
        passages = await call(client, "search", query="trains", mode="keyword")
        assert sorted(each["filepath"] for each in passages["results"]) == ["late.md", "travel.md", "travel.md"]
        found = await call(client, "search", query="trains", mode="keyword", group_by="document")
        counted = {each["filepath"]: each.get("more_in_document", 0) for each in found["results"]}
        assert (found["count"], counted) == (2, {"travel.md": 1, "late.md": 0})
        await call(client, "put_document", text="Trains are late.", filepath="copy.md")
        assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
        passages = await call(client, "search", query="late", mode="keyword")
        [(one, place)] = [(each, each["also_in"][0]) for each in passages["results"] if "also_in" in each]
        assert {one["filepath"], place["filepath"]} == {"late.md", "copy.md"}
        found = await call(client, "search", query="late", mode="keyword", group_by="document")
        assert {each["filepath"] for each in found["results"]} == {"late.md", "copy.md"}
        assert "2 documents found" in found["message"]
        refused = await call(client, "search", query="trains", group_by="file")
        assert (refused["error_type"], "'passage' or 'document'" in refused["message"]) == ("ValidationError", True)
        [described] = [tool for tool in (await client.list_tools()).tools if tool.name == "search"]
        assert "more_in_document" in described.input_schema["properties"]["group_by"]["description"]

    run(served.client("read", "write"), talk)


def test_parts_of_programs_are_told_and_filtered(served: Served) -> None:
    async def talk(client: Client) -> None:
        code = "class Printer:\n    def tray(self): ...\n\ndef tray_is_empty(): ...\n"
        await call(client, "put_document", text=code, filepath="printer.py")
        assert await asyncio.to_thread(served.braid.indexer.wait, WAIT_S)
        found = await call(client, "search", query="printer tray", mode="keyword")
        assert {each["metadata"]["chunk_kind"] for each in found["results"]} == {"class", "method", "function"}
        found = await call(client, "search", query="printer tray", mode="keyword", chunk_kind="method")
        assert [each["metadata"]["heading_path"] for each in found["results"]] == ["Printer > tray"]
        refused = await call(client, "search", query="tray", chunk_kind="struct")
        assert (refused["error_type"], "'method' or 'module'" in refused["message"]) == (
            "ValidationError",
            True,
        )

    run(served.client("read", "write"), talk)


def test_parameters_of_the_strategy_are_arguments_and_described(untouched: Served) -> None:
    async def talk(client: Client) -> None:
        wrong = await call(client, "search", query="x", strategy="hyde", parameters={"feedback_passages": 0})
        assert wrong["error_type"] == "ValidationError"
        assert "whole number from 1 to 50" in wrong["message"]
        right = await call(client, "search", query="x", strategy="hyde", parameters={"feedback_passages": 5})
        assert right["status"] == "success"
        [search] = [tool for tool in (await client.list_tools()).tools if tool.name == "search"]
        assert "multi_query" in search.input_schema["properties"]["parameters"]["description"]

    run(untouched.client("read"), talk)


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
ACCEPT = {"Accept": "application/json, text/event-stream"}


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
