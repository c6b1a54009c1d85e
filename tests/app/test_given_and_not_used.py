"""What is given and not used is an error, on every surface: nothing that a caller says is silently dropped.

The lists are made of the code, so that a new operation, tool, command or function is asked as well. The interfaces of
other programs (`/v1`, `/dify`) are left out: their clients send what Braid need not know.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner
from flask import Flask
from langchain_core.runnables import ConfigurableField

import braid as package
from braid.app.api import RESOURCES
from braid.app.api.framework.operations import Operation
from braid.app.cli.root import cli
from braid.app.mcp.server import make_connector, make_server
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import BraidError, InvalidInputError
from braid.core.standalone.retriever import HybridRetriever
from braid.core.types import DEFAULTS, NOTED, Fusion, Mode, SearchOptions, used_options
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, site_of
from tests.worlds import WAIT_S, add_notes, document

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with Braid(tmp_path_factory.mktemp("given"), embedding_model=HashEmbeddings()) as opened:
        add_notes(opened.ledger)
        opened.ledger.put_document(1, document("pump.md", "the pump"))
        assert opened.indexer.wait(WAIT_S)
        yield opened


# ---------------------------------------------------------------- the library

PUBLIC = [getattr(package, name) for name in package.__all__]


def calls_of(braid: Braid) -> dict[str, Call]:
    """Calls of everything public that takes keywords which its signature does not name."""
    manager, store = braid.manager, braid.vector_store(1)
    retriever, remote = braid.get_retriever(user_id=1), package.RemoteBraid("http://127.0.0.1:9", "token")
    scope = manager.check(user_id=1)
    vector = [0.1] * 64
    asked: dict[str, Any] = {"user_id": 1}

    def of_strategy(made: Any) -> Call:
        return lambda **more: made(braid).get_retriever(1, **more)

    return {
        "Braid.search": lambda **more: braid.search("pump", **asked, **more),
        "Braid.get_retriever": lambda **more: braid.get_retriever(**asked, **more),
        "RetrieverManager.search": lambda **more: manager.search("pump", **asked, **more),
        "RetrieverManager.search_in": lambda **more: manager.search_in(scope, "pump", **more),
        "RetrieverManager.search_near": lambda **more: manager.search_near(scope, vector, **more),
        "RetrieverManager.asearch": lambda **more: asyncio.run(manager.asearch("pump", **asked, **more)),
        "RetrieverManager.explain": lambda **more: manager.explain("pump", chunk_id="x", **asked, **more),
        "RetrieverManager.get_retriever": lambda **more: manager.get_retriever(**asked, **more),
        "RemoteBraid.search": lambda **more: remote.search("pump", **more),
        "RemoteBraid.get_retriever": lambda **more: remote.get_retriever(**more),
        "HybridRetriever.as_retriever": lambda **more: HybridRetriever.as_retriever(None, **more),  # type: ignore[arg-type]
        **{
            f"{made.__name__}.get_retriever": of_strategy(made)
            for made in PUBLIC
            if inspect.isclass(made) and made.__name__.endswith("RetrieverStrategy")
        },
        "options of check": lambda **more: manager.check(**asked, options=more),
        "retriever.invoke": lambda **more: retriever.invoke("pump", **more),
        "retriever.ainvoke": lambda **more: asyncio.run(retriever.ainvoke("pump", **more)),
        "retriever.batch": lambda **more: retriever.batch(["pump"], **more),
        "retriever.stream": lambda **more: list(retriever.stream("pump", **more)),
        "retriever.invoke, search_kwargs": lambda **more: retriever.invoke("pump", search_kwargs=more),
        "get_retriever, search_kwargs": lambda **more: braid.get_retriever(**asked, search_kwargs=more).invoke("pump"),
        "store.add_texts": lambda **more: store.add_texts(["x"], **more),
        "store.add_documents": lambda **more: store.add_documents([], **more),
        "store.delete": lambda **more: store.delete(["x"], **more),
        "store.similarity_search": lambda **more: store.similarity_search("pump", **more),
        "store.similarity_search_with_score": lambda **more: store.similarity_search_with_score("pump", **more),
        "store.similarity_search_by_vector": lambda **more: store.similarity_search_by_vector(vector, **more),
        "store.max_marginal_relevance_search": lambda **more: store.max_marginal_relevance_search("pump", **more),
        "store.from_texts": lambda **more: type(store).from_texts([], store=store, **more),
        "store.as_retriever": lambda **more: store.as_retriever(search_kwargs=more).invoke("pump"),
    }


def test_no_keyword_is_dropped(braid: Braid) -> None:
    for name, call in calls_of(braid).items():
        with pytest.raises(BraidError, match="nonsense") as refused:
            call(nonsense=1)
        assert isinstance(refused.value, InvalidInputError | package.HybridRetrieverError), name


def test_every_public_function_with_open_keywords_is_asked(braid: Braid) -> None:
    found = {
        f"{made.__name__}.{name}"
        for made in PUBLIC
        if inspect.isclass(made) and not issubclass(made, BaseException)
        for name, method in inspect.getmembers(made, inspect.isfunction)
        if not name.startswith("_")
        and any(each.kind is each.VAR_KEYWORD for each in inspect.signature(method).parameters.values())
    }
    found |= {
        made.__name__
        for made in PUBLIC
        if inspect.isfunction(made)
        and any(each.kind is each.VAR_KEYWORD for each in inspect.signature(made).parameters.values())
    }
    assert found - calls_of(braid).keys() == set()


CONTEXTS: list[dict[str, Any]] = [
    {"mode": mode, "fusion": fusion, "reranker": reranker}
    for mode in get_args(Mode)
    for fusion in get_args(Fusion)
    for reranker in ("", "local:tiny")
]
OTHER: dict[str, Any] = {"alpha": 0.3, "dense_weight": 0.3, "leg_depth": 300, "reranker_depth": 300, "min_score": 0.1}
"""Another value than the default, of options whose effect depends on others."""


def effect(options: SearchOptions) -> tuple[Any, ...]:
    """What the numbers of the options come to."""
    weights = (options.weight_of("dense"), options.weight_of("bm25")) if options.mode == "hybrid" else ()
    return weights, options.fetch_k, options.candidates, options.min_score


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: " ".join(context.values()))
def test_an_option_counts_or_is_refused(braid: Braid, context: dict[str, Any]) -> None:
    base, calls = DEFAULTS.changed(context), calls_of(braid)
    for name, value in OTHER.items():
        changed = SearchOptions(**{**context, name: value})
        if name in changed.unused():
            assert effect(changed) == effect(base)
            if name in NOTED:
                assert f"{name} did nothing: " in " ".join(braid.search("pump", user_id=1, **{name: value}).notes)
                continue
            for call in (lambda **given: base.changed(given), calls["Braid.search"], calls["Braid.get_retriever"]):
                with pytest.raises(InvalidInputError, match=f"^{name} is {value}, but ") as refused:
                    call(**context, **{name: value})
                assert refused.value.field == name
        else:
            assert effect(base.changed({**context, name: value})) != effect(base), name
        site = used_options(context, {name: value})  # what a site is set to holds where it means something
        assert effect(SearchOptions(**site)) == effect(SearchOptions(**{**context, name: value}))
        base.changed(site)


def test_a_field_that_is_configured_counts(braid: Braid) -> None:
    retriever = braid.get_retriever(user_id=1).configurable_fields(k=ConfigurableField("how_many"))
    assert retriever.invoke("pump", {"configurable": {"how_many": 1}})
    with pytest.raises(InvalidInputError, match="k is 0"):
        retriever.invoke("pump", {"configurable": {"how_many": 0}})


# ---------------------------------------------------------------- HTTP

OPERATIONS = [each for resource in RESOURCES for each in resource.operations]


@pytest.fixture(scope="module")
def app(braid: Braid) -> Flask:
    return make_app(braid, Settings(api_rate_limit="100000/second"))


@pytest.fixture(scope="module")
def send(app: Flask) -> Call:
    headers = bearer(app, site_of(app).accounts.all()[0], "read", "write", "admin")
    client = app.test_client()

    def sent(operation: Operation, *, query: str = "", **named: Any) -> tuple[int, str]:
        path = "".join("1" if part.startswith("<") else part for part in _parts(operation.path))
        more = named.pop("headers", {})
        answer = client.open(f"/api/v1{path}{query}", method=operation.method, headers=headers | more, **named)
        return answer.status_code, answer.get_data(as_text=True)

    return sent


def _parts(path: str) -> Iterator[str]:
    while "<" in path:
        before, _, rest = path.partition("<")
        inner, _, path = rest.partition(">")
        yield from (before, f"<{inner}>")
    yield path


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_an_operation_drops_no_parameter_field_or_body(send: Call, operation: Operation) -> None:
    status, text = send(operation, query="?nonsense=1")
    assert (status, "nonsense" in text) == (422, True), text
    if operation.form is not None:
        status, text = send(operation, data={"nonsense": "1"}, content_type="multipart/form-data")
        assert (status, "nonsense" in text) == (422, True), text
    elif operation.body is not None:
        status, text = send(operation, json={"nonsense": 1})
        assert (status, "nonsense" in text) == (422, True), text
    else:
        for body in ({"json": {"nonsense": 1}}, {"data": "nonsense"}):
            status, text = send(operation, **body)
            assert (status, "takes no body" in text) == (422, True), text
    if "If-Match" not in operation.headers and operation.body is None and operation.form is None:
        status, text = send(operation, headers={"If-Match": '"x"'})
        assert (status, "If-Match" in text) == (422, True), text


def test_what_a_search_does_not_need_is_named_in_its_notes(send: Call) -> None:
    (search,) = (each for each in OPERATIONS if each.path == "/search")
    status, text = send(search, json={"query": "pump", "search_mode": "keyword", "hybrid_alpha": 0.3})
    assert (status, "hybrid_alpha did nothing: mode 'keyword' has nothing to weigh" in text) == (200, True), text
    status, text = send(search, json={"query": "pump", "reranker_depth": 30})
    assert (status, "reranker_depth did nothing: there is no reranker" in text) == (200, True), text
    status, text = send(search, json={"query": "pump", "hybrid_alpha": 0.3})
    assert "did nothing" not in text
    (chat,) = (each for each in OPERATIONS if each.path == "/chat")
    status, text = send(chat, json={"message": "pump?", "search_mode": "keyword", "hybrid_alpha": 0.3})
    assert (status, "hybrid_alpha did nothing" in text) == (200, True), text


# ---------------------------------------------------------------- MCP


@pytest.mark.parametrize(
    "make", [lambda: make_server(lambda _: None, read_only=False), lambda: make_connector(lambda _: None)]
)  # type: ignore[arg-type,return-value]
def test_a_tool_drops_no_argument(make: Callable[[], Any]) -> None:
    async def talk() -> None:
        server = make()
        for tool in await server.list_tools():
            assert tool.input_schema["additionalProperties"] is False
            try:
                answer = await server.call_tool(tool.name, {"nonsense": 1})
                told = str(answer.structured_content)
                assert answer.is_error
            except Exception as error:  # of the connector, whose failures are those of the protocol
                told = str(error)
            assert f"{tool.name} has no argument 'nonsense'" in told

    asyncio.run(talk())


# ---------------------------------------------------------------- the command line


def commands(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, *path, name)
    else:
        yield path


@pytest.mark.parametrize("path", list(commands(cli)), ids=" ".join)
def test_a_command_drops_no_option(tmp_path: Path, path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, ["--data-dir", str(tmp_path / "data"), *path, "--nonsense", "1"])
    assert (result.exit_code, "nonsense" in result.output) == (2, True), result.output
    assert not (tmp_path / "data").exists()


def test_the_options_of_a_search_count_or_are_refused(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as directory:
        add_notes(directory.ledger)
    line = ["--data-dir", str(tmp_path / "data"), "search", "pump", "--mode", "keyword", "--alpha", "0.3"]
    result = CliRunner().invoke(cli, line)
    assert result.exit_code != 0
    assert "alpha is 0.3, but mode 'keyword' has nothing to weigh" in result.output
