"""MCP through the package's own client: over HTTP with tokens, and over stdio in a process of its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp import Client

from braid.app.user.datasets import UserDatasets
from braid.core.braid import Braid
from tests.app.mcp.sessions import NOTES, READING, Served, call, fill, run
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, serving
from tests.worlds import WAIT_S

WRITING = {"put_document", "delete_document", "delete_documents", "restore_document"}


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
