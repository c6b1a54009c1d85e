"""What agents do beyond searching: they read on, find exact texts, and fetch documents, also through a connector."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from flask import Flask
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.ingest.ingest import ingest_bytes
from tests.app.mcp.sessions import call
from tests.web import add_user, bearer, make_app, serving, site_of
from tests.worlds import WAIT_S

PARAGRAPHS = [
    f"Paragraph {n} of the manual. " + " ".join(f"Valve {n}-{m} opens at {m} bar." for m in range(40))
    for n in range(1, 41)
]
ALL_VALVES = [f"Valve {n}-{m} opens" for n in range(1, 41) for m in range(40)]
CODE = (
    'import os\n\n\ndef tray_state(path):\n    """Say whether the tray is empty."""\n    return os.path.exists(path)\n'
)
FILES = {
    "manual.md": "# Manual\n\n" + "\n\n".join(PARAGRAPHS) + "\n\nThe manual ends with E-4711\nand a new line.\n",
    "src/tray.py": CODE,
    "https://docs.example/ja": "用紙がないと、プリンターにエラーコードが表示されます。",
    "ko.txt": "용지가 없으면 프린터에 오류 코드가 나타납니다. 온도계를 보세요.",
}


@dataclass(frozen=True)
class World:
    """A running app; ann has the files, eve has one, and there are shared documents, one closed to both."""

    url: str
    headers: dict[str, dict[str, str]]
    braid: Braid
    app: Flask

    @asynccontextmanager
    async def client(self, user: str = "ann", path: str = "/mcp") -> AsyncIterator[Client]:
        async with (
            create_mcp_http_client(headers=self.headers[user]) as http,
            Client(streamable_http_client(f"{self.url}{path}", http_client=http)) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def world(shelf: Braid) -> Iterator[World]:
    app = make_app(shelf)
    users = {"ann": site_of(app).accounts.all()[0], "eve": add_user(app, "eve")}
    own = {name: shelf.ledger.add_dataset(user.id, f"Notes of {name}").id for name, user in users.items()}
    for path, text in FILES.items():
        put(shelf, own["ann"], path, text)
    put(shelf, own["eve"], "secret.txt", "The secret of eve is E-9999.")
    shared = {name: shelf.registry.add(name, "shared_main", allowed_groups=to).id for name, to in SHARED.items()}
    shelf.mirror_registry()
    put(shelf, shared["Open"], "rules.txt", "The rule of the house: E-4711 is reported.")
    put(shelf, shared["Closed"], "board.txt", "The board knows E-4711, too.")
    assert shelf.indexer.wait(WAIT_S)
    with serving(app) as url:
        yield World(url, {name: token(app, user) for name, user in users.items()}, shelf, app)


SHARED: dict[str, tuple[str, ...]] = {"Open": (), "Closed": ("board",)}


def token(app: Any, user: Account) -> dict[str, str]:
    return bearer(app, user, "read", "write")


def put(braid: Braid, dataset_id: int, path: str, text: str) -> None:
    name = path if "." in path.rpartition("/")[2] else "page.txt"
    ingest_bytes(braid, dataset_id, path, text.encode(), filename=name)


def document_ids(braid: Braid) -> dict[str, int]:
    return {
        each.source: each.id for dataset in braid.ledger.all_datasets() for each in braid.ledger.documents(dataset.id)
    }


# ---------------------------------------------------------------- read_document


async def test_a_document_is_read_passage_by_passage_to_its_end(world: World) -> None:
    async with world.client() as client:
        texts, read, start = [], 0, 1
        while start is not None:
            part = await call(client, "read_document", filepath="manual.md", **{"from": start})
            assert [each["passage"] for each in part["passages"]] == list(range(start, start + len(part["passages"])))
            assert sum(len(each["text"]) for each in part["passages"]) <= 20_000
            texts.append("".join(each["text"] for each in part["passages"]))
            read += len(part["passages"])
            start = part["next"]
        assert read == part["total"]
        assert all(any(sentence in text for text in texts) for sentence in ALL_VALVES)
        assert not any(text.count(sentence) > 1 for text in texts for sentence in ALL_VALVES), "no repetition"
        assert texts[-1].endswith("a new line.")


async def test_below_a_path_of_a_proxy_links_begin_with_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    here = site_of(world.app)
    monkeypatch.setattr(here, "settings", replace(here.settings, url_prefix="/braid"))
    async with world.client() as client:
        read = await call(client, "read_document", filepath="manual.md")
        assert read["url"].startswith(f"{world.url}/braid/datasets/1/documents/")


async def test_a_hit_says_where_to_read_on(world: World) -> None:
    async with world.client() as client:
        found = await call(client, "search", query="Paragraph 20 of the manual", mode="keyword", top_k=1)
        hit = found["results"][0]
        number = hit["metadata"]["passage"]
        around = await call(client, "read_document", filepath=hit["filepath"], **{"from": number - 1, "to": number + 1})
        assert [each["passage"] for each in around["passages"]] == [number - 1, number, number + 1]
        assert hit["document"].endswith(around["passages"][1]["text"])
        assert around["next"] == number + 2
        assert around["passages"][1]["line"] == hit["metadata"]["line"]
        assert around["url"].startswith(f"{world.url}/datasets/1/documents/")


@pytest.mark.parametrize(
    ("arguments", "error_type", "told"),
    [
        ({"filepath": "manual.md", "from": 1000}, "ValidationError", "from is 1000; manual.md has the passages 1 to"),
        ({"filepath": "manual.md", "from": 0}, "ValidationError", "from is 0"),
        ({"filepath": "manual.md", "from": 3, "to": 2}, "ValidationError", "to is 2"),
        ({"filepath": "nothing.md"}, "NotFoundError", "nothing.md"),
        ({"filepath": "manual.md", "dataset_id": 99}, "NotFoundError", "dataset 99"),
    ],
)
async def test_what_cannot_be_read_is_named(
    world: World, arguments: dict[str, Any], error_type: str, told: str
) -> None:
    async with world.client() as client:
        answer = await call(client, "read_document", **arguments)
        assert (answer["status"], answer["error_type"]) == ("error", error_type)
        assert told in answer["message"]


# ---------------------------------------------------------------- find_exact


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("E-4711", ["manual.md", "rules.txt"]),
        ("ends with E-4711 and a new line", ["manual.md"]),
        ("e-4711", []),
        ("E-47", []),
        ("os.path", ["src/tray.py"]),
        ("tray_state(path)", ["src/tray.py"]),
        ("エラーコード", ["https://docs.example/ja"]),
        ("온도", ["ko.txt"]),
        ("프린터에 오류", ["ko.txt"]),
        ("E-9999", []),
    ],
)
async def test_an_exact_text_is_found_in_all_that_may_be_read(world: World, text: str, paths: list[str]) -> None:
    assert world.braid.indexer.wait(WAIT_S)  # for what other tests have put
    async with world.client() as client:
        found = await call(client, "find_exact", text=text)
        assert [entry["filepath"] for entry in found["results"]] == paths
        assert (found["count"], found["complete"], found["missing"]) == (len(paths), True, [])
        for entry in found["results"]:
            assert " ".join(text.split()) in " ".join(entry["excerpt"].split())


async def test_an_exact_text_has_its_line_and_its_place_to_read(world: World) -> None:
    async with world.client() as client:
        for text, path in (("os.path", "src/tray.py"), ("and a new line", "manual.md")):
            [entry] = (await call(client, "find_exact", text=text))["results"]
            line = FILES[path][: FILES[path].index(text)].count("\n") + 1
            assert (entry["metadata"]["line"], entry["occurrences"]) == (line, 1)
            number = entry["metadata"]["passage"]
            part = await call(client, "read_document", filepath=path, **{"from": number, "to": number})
            assert text in part["passages"][0]["text"]


async def test_in_one_document_parts_of_words_and_signs_are_found_too(world: World) -> None:
    async with world.client() as client:
        for text, count in (("E-47", 1), ("->", 0), ("the", 30)):
            found = await call(client, "find_exact", text=text, filepath="manual.md", top_k=200)
            assert (found["count"] >= count) if count else not found["count"], text
            assert found["complete"]
        found = await call(client, "find_exact", text="e-4711", filepath="manual.md", ignore_case=True)
        assert found["count"] == 1


async def test_a_partial_answer_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.client() as client:
        found = await call(client, "find_exact", text="opens at 7 bar", top_k=3)
        assert (found["count"], found["complete"]) == (3, False)
        assert found["missing"] == ["3 passages are listed; there may be more"]
        monkeypatch.setattr("braid.core.search.exact.MAX_CANDIDATES", 5)
        found = await call(client, "find_exact", text="opens at 7 bar", top_k=100)
        assert (found["count"], found["complete"]) == (5, False)
        assert "5 of them were looked at" in found["message"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": " "}, "1 to 500"),
        ({"text": "x" * 501}, "501 characters"),
        ({"text": "->"}, "no word that the keyword index knows"),
        ({"text": "the"}, "no word that the keyword index knows"),
        ({"text": "x", "top_k": 201}, "top_k is 201"),
    ],
)
async def test_an_exact_text_that_cannot_be_looked_for_is_refused(
    world: World, arguments: dict[str, Any], told: str
) -> None:
    async with world.client() as client:
        answer = await call(client, "find_exact", **arguments)
        assert answer["error_type"] == "ValidationError"
        assert told in answer["message"]


def test_passages_that_are_not_indexed_yet_are_named(braid: Braid) -> None:
    ann = braid.ledger.add_user("ann")
    dataset = braid.ledger.add_dataset(ann.id, "Notes")
    ingest_bytes(braid, dataset.id, "a.txt", b"The tray says E-4711.")
    assert braid.indexer.wait(WAIT_S)
    braid.indexer.stop()
    ingest_bytes(braid, dataset.id, "b.txt", b"The lamp says E-4711.")
    found = braid.manager.find_exact("E-4711", user_id=ann.id)
    assert [match.passage.source for match in found.matches] == ["a.txt"]
    assert found.missing == ("1 passages of user_1 are not in the bm25 index yet",)


# ---------------------------------------------------------------- search and fetch


async def test_fetch_returns_the_whole_document_of_a_search_result(world: World) -> None:
    async with world.client() as client:
        found = await call(client, "search", query="用紙 プリンター", mode="keyword", top_k=1)
        hit = found["results"][0]
        assert (hit["title"], hit["url"]) == ("page", "https://docs.example/ja"), "a web page's own address"
        document = await call(client, "fetch", id=hit["id"])
        assert document["text"] == FILES["https://docs.example/ja"]
        assert (document["id"], document["url"]) == (hit["id"], hit["url"])
        assert document["metadata"]["filepath"] == hit["filepath"]


async def test_a_long_document_is_fetched_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.app.mcp.documents.MAX_FETCH_CHARS", 10_000)
    async with world.client() as client:
        wanted, texts = f"doc-{document_ids(world.braid)['manual.md']}", []
        while wanted:
            part = await call(client, "fetch", id=wanted)
            assert len(part["text"]) <= 11_000
            texts.append(part["text"])
            wanted = part["metadata"].get("next_id", "")
        assert len(texts) > 3
        assert all(paragraph[-20:] in "".join(texts) for paragraph in PARAGRAPHS)


async def test_fetch_keeps_a_documents_text_as_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.client() as client:
        text = (await call(client, "fetch", id=str(document_ids(world.braid)["manual.md"])))["text"]
        assert all(paragraph in text for paragraph in PARAGRAPHS), "joined where a passage goes on in the next"


async def test_a_connector_has_the_two_tools_in_the_form_that_chat_assistants_ask_for(world: World) -> None:
    async with world.client(path="/mcp/connector") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {name: list(tool.input_schema["properties"]) for name, tool in tools.items()} == {
            "search": ["query"],
            "fetch": ["id"],
        }
        for tool in tools.values():
            [(name, parameter)] = tool.input_schema["properties"].items()
            assert (parameter["type"], tool.input_schema["required"]) == ("string", [name])
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert tool.output_schema
        answer = await client.call_tool("search", {"query": "Which valve opens at 7 bar? E-4711"})
        [content] = answer.content
        assert json.loads(content.text) == answer.structured_content
        results = answer.structured_content["results"]
        assert {"manual", "rules"} <= {result["title"].lower() for result in results}, "personal and shared"
        assert len({result["id"] for result in results}) == len(results), "each document once"
        for result in results:
            assert set(result) == {"id", "title", "url", "text"}
            fetched = await client.call_tool("fetch", {"id": result["id"]})
            assert set(fetched.structured_content) == {"id", "title", "text", "url", "metadata"}
            assert json.loads(fetched.content[0].text) == fetched.structured_content
            assert fetched.structured_content["url"].startswith(("https://docs.example", f"{world.url}/datasets/"))
            assert all(isinstance(value, str) for value in fetched.structured_content["metadata"].values())
        refused = await client.call_tool("fetch", {"id": "nothing"})
        assert refused.is_error
        assert "NotFoundError" in refused.content[0].text


# ---------------------------------------------------------------- check


async def test_an_answer_is_checked_against_the_passages_that_it_cites(world: World) -> None:
    async with world.client() as client:
        found = await call(
            client, "check", text="The valve opens at 9 bar [1].", passages=["The valve opens at 7 bar."]
        )
        assert found["message"] == "1 differs"
        [sentence] = found["sentences"]
        assert [(each["said"], each["there"]) for each in sentence["findings"]] == [("9 bar", "7 bar")]
        refused = await call(client, "check", text="The valve [1].", passages=[])
        assert refused["error_type"] == "ValidationError"
        assert "1 to 100" in refused["message"]


# ---------------------------------------------------------------- all tools


async def test_structured_content_is_what_the_text_says(world: World) -> None:
    own = next(each.id for each in world.braid.ledger.all_datasets() if each.name == "Notes of ann")
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "valve 7 bar", "dataset_ids": "all"},
        "find_exact": {"text": "E-4711"},
        "check": {"text": "The valve opens at 9 bar [1].", "passages": ["The valve opens at 7 bar."]},
        "read_document": {"filepath": "manual.md", "to": 2},
        "fetch": {"id": str(document_ids(world.braid)["manual.md"])},
        "explain": {"query": "valve", "filepath": "manual.md"},
        "get_documents_by_prefix": {"prefix": "src/"},
        "list_datasets": {},
        "put_document": {"text": "For a moment.", "filepath": "moment.txt"},
        "delete_document": {"filepath": "moment.txt"},
        "restore_document": {"filepath": "moment.txt", "dataset_id": own},
        "get_documents": {"dataset_id": own, "source": "manual.md"},
        "delete_documents": {"dataset_id": own, "source": "moment.txt"},
    }
    async with world.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == calls.keys()
        assert list(tools["read_document"].input_schema["properties"]) == ["filepath", "from", "to", "dataset_id"]
        for name, arguments in calls.items():
            answer = await client.call_tool(name, arguments)  # the client checks it against the output schema
            assert answer.structured_content["status"] == "success", answer
            assert json.loads(answer.content[0].text) == answer.structured_content
            described = set((tools[name].output_schema or {})["properties"])
            assert set(answer.structured_content) <= described, "every field is described"
        wrong = await client.call_tool("search", {"query": ""})
        assert wrong.structured_content["error_type"] == "ValidationError"


async def test_nobody_reads_finds_or_fetches_what_is_not_theirs(world: World) -> None:
    theirs = {"ann": {*FILES, "rules.txt"}, "eve": {"secret.txt", "rules.txt"}}
    seen = 0
    for user, readable in theirs.items():
        async with world.client(user) as client, world.client(user, "/mcp/connector") as connector:
            for path, number in document_ids(world.braid).items():
                if path in readable:
                    assert (await call(client, "fetch", id=str(number)))["status"] == "success"
                    seen += 1
                    continue
                for tool, arguments in (
                    ("read_document", {"filepath": path}),
                    ("fetch", {"id": f"doc-{number}"}),
                    ("fetch", {"id": f"doc-{number}:1"}),
                    ("find_exact", {"text": "E-4711", "filepath": path}),
                ):
                    answer = await call(client, tool, **arguments)
                    assert answer["error_type"] == "NotFoundError", (user, path, answer)
                    nothing = await call(client, tool, **{**arguments, **NOTHING[next(reversed(arguments))]})
                    assert set(answer) == set(nothing), "as if it did not exist"
                assert (await connector.call_tool("fetch", {"id": f"doc-{number}"})).is_error
            for text in ("E-4711", "E-9999", "secret"):
                found = await call(client, "find_exact", text=text, dataset_ids=[1, 2, -1, -2, 99])
                assert {entry["filepath"] for entry in found["results"]} <= readable
                links = (await connector.call_tool("search", {"query": text})).structured_content["results"]
                ids = document_ids(world.braid)
                assert {link["id"] for link in links} <= {f"doc-{ids[path]}" for path in readable}
    assert seen == 7


NOTHING = {"filepath": {"filepath": "no such"}, "id": {"id": "999999"}}
