"""Nobody ever sees what is not theirs, whatever they ask for and whatever stands in the indexes.

The indexes are tampered with: they hold other people's passages under forged owners, deleted ones and unknown ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

import httpx
import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.datasets.shares import Kind, Share
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import ALL, All, DatasetIds, Engine, Filters, Fusion, Hit, Mode, Passage, Pooling, Query
from tests.fakes import HashEmbeddings
from tests.web import make_app, serving, site_of
from tests.worlds import WAIT_S, ByHand, catch_up, document, indexed

USERS = {"ann": ("staff",), "bob": (), "eve": ("board",), "new": ()}
SHARED = {  # name → (collection, groups, enabled)
    "open": ("shared_main", (), True),
    "open too": ("shared_main", (), True),
    "staff only": ("shared_main", ("staff",), True),
    "switched off": ("shared_main", (), False),
    "board only": ("shared_board", ("board", "owners"), True),
}
LENT = {3: ("user", "bob"), 4: ("group", "board")}
"""Personal datasets that their owners, eve and ann, share."""
COMMON = "common words that all share"
UNKNOWN_USER, UNKNOWN_DATASETS = 4711, (999, -999, 10**12)


@dataclass
class Town:
    """Who owns what, noted while it was stored and never read back from what is tested."""

    braid: Braid
    users: dict[str, int] = field(default_factory=dict)
    datasets: dict[int, str] = field(default_factory=dict)
    """Dataset id → its owner's name, or its own if it is shared."""
    removed: set[int] = field(default_factory=set)
    chunks: dict[str, int] = field(default_factory=dict)
    """Chunk id → dataset id, deleted ones included."""
    deleted: set[str] = field(default_factory=set)

    def readable(self, user: str) -> set[int]:
        """All dataset ids that a user may read; "" is nobody and "?" somebody unknown."""
        groups = set(USERS.get(user, ()))
        return {
            dataset
            for dataset, owner in self.datasets.items()
            if dataset not in self.removed
            and (
                owner == user
                or (owner in SHARED and SHARED[owner][2] and self._admits(owner, groups))
                or LENT.get(dataset) in [("user", user), *(("group", group) for group in groups)]
            )
        }

    def _admits(self, shared: str, groups: set[str]) -> bool:
        limited_to = set(SHARED[shared][1])
        return not limited_to or bool(limited_to & groups)

    def allowed(self, user: str, asked: DatasetIds) -> set[int]:
        if asked == ALL:
            return self.readable(user)
        if not asked:
            return {dataset for dataset in self.readable(user) if self.datasets[dataset] == user}
        return self.readable(user) & ids_of(asked)

    def user_id(self, user: str) -> int | None:
        return None if user == "" else self.users.get(user, UNKNOWN_USER)

    def put(self, dataset: int, source: str, *texts: str) -> None:
        new = document(source, *texts, title=f"title of {source}", file_type="txt")
        document_id = self.braid.ledger.put_document(dataset, new).document_id
        for passage in self.braid.ledger.document_passages(document_id, [dataset]):
            self.chunks[passage.chunk_id] = dataset

    def delete(self, dataset: int, source: str) -> None:
        found = self.braid.ledger.document(dataset, source)
        assert found is not None
        self.deleted |= {p.chunk_id for p in self.braid.ledger.document_passages(found.id, [dataset])}
        self.braid.ledger.remove_document(dataset, source)

    def remove(self, dataset: int) -> None:
        self.deleted |= {chunk_id for chunk_id, of in self.chunks.items() if of == dataset}
        self.removed.add(dataset)
        self.braid.remove_dataset(dataset)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with ByHand(tmp_path_factory.mktemp("isolation"), embedding_model=HashEmbeddings()) as braid:
        town = Town(braid)
        build(town)
        catch_up(braid)
        everything = [chunk for name in collections(town) for chunk in indexed(braid, name)]
        assert all(braid.dense.count(name) for name in collections(town))  # all are in memory, to be tampered with
        braid.indexer.stop()
        for dataset in list(town.datasets):
            town.delete(dataset, f"deleted-{dataset}")
        doomed = [max(d for d, owner in town.datasets.items() if owner == "bob"), min(town.datasets)]
        for dataset in doomed:
            town.remove(dataset)
        tamper(town, everything)
        yield town


def build(town: Town) -> None:
    ledger, registry = town.braid.ledger, town.braid.registry
    for user, groups in USERS.items():
        town.users[user] = ledger.add_user(user, groups).id
    for user in ("ann", "bob", "eve", "ann", "bob"):
        town.datasets[ledger.add_dataset(town.users[user], f"of {user}").id] = user
    for dataset, (kind, name) in LENT.items():
        town.braid.shares.put(ledger.dataset(dataset), Share(cast(Kind, kind), name), by=town.datasets[dataset])
    for name, (collection, groups, enabled) in SHARED.items():
        shared = registry.add(name, collection, allowed_groups=groups).id
        registry.update(shared, enabled=enabled)
        town.datasets[shared] = name
    doomed = registry.add("doomed", "shared_main").id
    town.datasets[doomed] = "doomed"
    town.braid.mirror_registry()
    for dataset in town.datasets:
        town.put(dataset, f"kept-{dataset}", COMMON, f"only in {dataset} of all words", "同じ文 똑같은 문장")
        town.put(dataset, f"deleted-{dataset}", f"deleted words {dataset}", f"{COMMON} once")


def collections(town: Town) -> list[str]:
    return sorted({d.collection for d in town.braid.ledger.all_datasets()})


def tamper(town: Town, everything: list[IndexedChunk]) -> None:
    """Put every passage that ever was into every collection, as if it were of each of its datasets."""
    ledger = town.braid.ledger
    for collection in collections(town):
        here = ledger.datasets_in([collection])
        for number, dataset in enumerate(here):
            own = [d.id for d in ledger.documents(dataset.id)]
            forged = [
                replace(chunk, dataset_id=dataset.id, user_id=dataset.user_id, document_id=own[n % len(own)])
                for n, chunk in enumerate(everything[number :: len(here)])
                if town.chunks[chunk.id] not in {d.id for d in here} or chunk.id in town.deleted
            ]
            unknown = [replace(everything[0], id=f"unknown-{dataset.id}-{n}", dataset_id=dataset.id) for n in range(3)]
            town.braid.bm25.apply(collection, [*forged, *unknown], [])
            town.braid.dense.apply(collection, [*forged, *unknown], [])


# ---------------------------------------------------------------- the property

QUERIES = (COMMON, "only in of all words", "deleted words", "同じ文", "똑같은", "only in 1", "only in -3", "only in -5")
EXACT = (COMMON, "only in", "words", "同じ文", "똑같은 문장")
words = st.sampled_from(QUERIES)
filters = st.one_of(
    st.just(Filters()),
    st.builds(Filters, source_prefix=st.sampled_from(["kept", "deleted", "kept-1"])),
    st.just(Filters(frozenset({"txt"}))),
)


ways = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(get_args(Mode)),
        "fusion": st.sampled_from(get_args(Fusion)),
        "pooling": st.sampled_from(get_args(Pooling)),
        "engine": st.sampled_from(get_args(Engine)),
        "k": st.sampled_from([1, 5, 50]),
        "filters": filters,
    }
).filter(lambda way: (way["engine"], way["fusion"]) != ("langchain", "weighted"))


def requests(town: Town) -> st.SearchStrategy[list[int] | All | None]:
    ids = st.one_of(st.sampled_from([*town.datasets, *UNKNOWN_DATASETS]), st.integers(1, 20), st.integers(-20, -1))
    return st.one_of(st.none(), st.just(ALL), st.lists(ids, max_size=6), st.just([*town.datasets, *UNKNOWN_DATASETS]))


def ids_of(asked: DatasetIds) -> set[int]:
    return set() if asked is None or asked == ALL else set(asked)


def assert_is_theirs(town: Town, passage: Passage, allowed: set[int]) -> None:
    assert town.chunks[passage.chunk_id] == passage.dataset_id
    assert passage.dataset_id in allowed
    assert passage.chunk_id not in town.deleted
    assert passage.source == f"kept-{passage.dataset_id}"


def assert_may_be_seen(town: Town, hit: Hit, allowed: set[int]) -> None:
    passage = hit.passage
    for chunk_id, dataset, source in [
        (passage.chunk_id, passage.dataset_id, passage.source),
        *((place.chunk_id, place.dataset_id, place.source) for place in hit.also_in),
    ]:
        assert town.chunks[chunk_id] == dataset
        assert dataset in allowed
        assert chunk_id not in town.deleted
        assert source == f"kept-{dataset}"
    assert (passage.title, passage.collection) == (
        f"title of kept-{passage.dataset_id}",
        town.braid.ledger.dataset(passage.dataset_id).collection,
    )


def check_one_request(town: Town, data: st.DataObject) -> bool:
    """Whether it found something."""
    user = data.draw(st.sampled_from([*USERS, "?", ""]), "user")
    asked = data.draw(requests(town), "datasets")
    query = data.draw(words, "query")
    options = data.draw(ways, "options")
    allowed = town.allowed(user, asked)
    request: dict[str, Any] = {"user_id": town.user_id(user), "dataset_ids": asked, **options}

    result = town.braid.manager.search(query, **request)
    for hit in result.hits:
        assert_may_be_seen(town, hit, allowed)
    assert set(result.unresolved_dataset_ids) == ids_of(asked) - allowed
    assert set(result.hits_by_dataset) <= allowed
    assert set(result.collections) == {town.braid.ledger.dataset(d).collection for d in allowed}

    for found in found_by_retriever(town, request, query, ids_of(asked) - allowed, allowed):
        assert town.chunks[found.metadata["id"]] == found.metadata["dataset_id"]
        assert found.metadata["dataset_id"] in allowed
        assert found.metadata["id"] not in town.deleted

    exact = {"user_id": request["user_id"], "dataset_ids": asked, "k": 1000}
    document_id = data.draw(st.one_of(st.none(), st.integers(1, 3 * len(town.datasets))), "document")
    text = data.draw(st.sampled_from(EXACT), "text")
    for match in town.braid.manager.find_exact(text, document_id=document_id, **exact).matches:
        assert_is_theirs(town, match.passage, allowed)
        assert text in match.passage.text

    if options["engine"] == "braid":
        chunk_id = data.draw(st.sampled_from([*town.chunks, "unknown-1-0", "no such"]), "chunk")
        assert_explained(town, query, chunk_id, request, allowed)
    return bool(result.hits)


def found_by_retriever(
    town: Town, request: dict[str, Any], query: str, unreadable: set[int], allowed: set[int]
) -> list[Document]:
    """What a retriever finds. None is made for an unknown user, where nothing asked for may be read, or nothing ever
    could be found; and none of a part, where all is wanted.
    """
    user, error, make = request["user_id"], None, town.braid.manager.get_retriever
    if user == UNKNOWN_USER or (unreadable and not allowed):
        error = NotFoundError
    elif user is None and not request["dataset_ids"]:
        error = InvalidInputError
    if error or unreadable:
        with pytest.raises(error or NotFoundError):
            make(**request, on_degraded="raise")
    if error:
        with pytest.raises(error):
            make(**request)
        return []
    return make(**request).invoke(query)


def assert_explained(town: Town, query: str, chunk_id: str, request: dict[str, Any], allowed: set[int]) -> None:
    explanation = town.braid.manager.explain(query, chunk_id=chunk_id, **request)
    hidden = town.chunks.get(chunk_id) not in allowed or chunk_id in town.deleted
    assert (explanation.reason == "not_in_scope") == hidden
    if hidden:
        unknown = town.braid.manager.explain(query, chunk_id="no such", **request)
        assert explanation == replace(unknown, chunk_id=chunk_id)
    others = {f"'kept-{dataset}'" for dataset in set(town.datasets) - allowed}
    others.discard(repr(request["filters"].source_prefix))  # the caller's own words
    assert not any(source in explanation.detail for source in others)


def test_nobody_sees_what_is_not_theirs(town: Town) -> None:
    outcomes: Counter[bool] = Counter()

    @given(st.data())
    @settings(max_examples=120, deadline=None, derandomize=True, database=None)
    def check(data: st.DataObject) -> None:
        outcomes[check_one_request(town, data)] += 1

    check()
    assert outcomes[True] > 40  # else the property would be an empty one
    assert outcomes[False] > 10


def test_all_is_what_a_user_may_read_at_each_call(town: Town) -> None:
    manager, ledger, registry = town.braid.manager, town.braid.ledger, town.braid.registry
    staff = next(dataset for dataset, owner in town.datasets.items() if owner == "staff only")
    retriever = manager.get_retriever(user_id=town.users["bob"], dataset_ids=ALL, k=50)

    def searched() -> tuple[set[int], set[int]]:
        scope = manager.check(user_id=town.users["bob"], dataset_ids=ALL)
        return set(scope.dataset_ids), {found.metadata["dataset_id"] for found in retriever.invoke(COMMON)}

    for _ in range(2):
        before = searched()
        assert before[0] == town.readable("bob")
        assert staff not in before[1]
        assert before[1] <= before[0]
        registry.update(staff, allowed_groups=[])
        try:
            assert searched()[0] == town.readable("bob") | {staff}
        finally:
            registry.update(staff, allowed_groups=SHARED["staff only"][1])
    mine = ledger.add_dataset(town.users["bob"], "later").id
    assert searched()[0] == town.readable("bob") | {mine}
    ledger.remove_dataset(mine)


def test_everybody_finds_exactly_what_is_theirs(town: Town) -> None:
    for user in USERS:
        found = town.braid.manager.find_exact(COMMON, user_id=town.users[user], dataset_ids="all", k=1000)
        assert {match.passage.dataset_id for match in found.matches} == town.readable(user)


# ---------------------------------------------------------------- the interfaces of other programs


def ask_as_a_program(town: Town, app: Flask, data: st.DataObject) -> bool:
    """Ask a choice of datasets as OpenAI's clients and as Dify do. Whether they found something."""
    user = data.draw(st.sampled_from([*USERS]), "user")
    asked = data.draw(requests(town), "datasets")
    query, words_of_choice = data.draw(words, "query"), "all" if not asked else ",".join(map(str, asked))
    readable = town.readable(user)
    allowed = set(asked or readable)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {site_of(app).tokens.add(town.users[user], 't', ['read'])[1]}"
    chat = client.post(
        "/v1/chat/completions",
        json={"model": f"braid:{words_of_choice}", "messages": [{"role": "user", "content": query}]},
    )
    setting = {"top_k": 50, "score_threshold": 0.0}
    dify = client.post(
        "/dify/retrieval", json={"knowledge_id": words_of_choice, "query": query, "retrieval_setting": setting}
    )
    site_of(app).tokens.revoke_all(town.users[user])
    assert chat.json is not None
    assert dify.json is not None
    if not allowed <= readable:
        assert (chat.status_code, chat.json["error"]["code"]) == (404, "model_not_found")
        assert (dify.status_code, dify.json["error_code"]) == (404, 2001)
        return False
    assert (chat.status_code, dify.status_code) == (200, 200)
    seen = [cited["chunk_id"] for cited in chat.json["citations"]]
    seen += [record["metadata"]["chunk_id"] for record in dify.json["records"]]
    assert {town.chunks[chunk_id] for chunk_id in seen} <= allowed
    assert not town.deleted.intersection(seen)
    return bool(seen)


def test_programs_see_no_more_through_other_interfaces(town: Town) -> None:
    app, outcomes = make_app(town.braid, Settings(api_rate_limit="100000/second")), Counter[bool]()

    @given(st.data())
    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    def check(data: st.DataObject) -> None:
        outcomes[ask_as_a_program(town, app, data)] += 1

    check()
    assert outcomes[True] > 5
    assert outcomes[False] > 5


def read_as_an_agent(town: Town, agent: httpx.Client, site: Site, data: st.DataObject) -> Counter[str]:
    """Read documents by path and by id, and ask the connector. How often there was something, and how often not."""
    user = data.draw(st.sampled_from([*USERS]), "user")
    dataset = data.draw(st.sampled_from([*town.datasets, *UNKNOWN_DATASETS]), "dataset")
    path = f"{data.draw(st.sampled_from(('kept', 'kept', 'deleted')), 'which')}-{dataset}"
    document_id = data.draw(st.integers(1, 3 * len(town.datasets)), "document")
    query = data.draw(words, "query")
    readable = {f"kept-{each}" for each in town.readable(user)}
    key = site.tokens.add(town.users[user], "t", ["read"])[1]

    def call(tool: str, at: str = "/mcp", **arguments: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        return dict(agent.post(at, json=message, headers=headers).json()["result"]["structuredContent"])

    read, fetched = call("read_document", filepath=path), call("fetch", id=f"doc-{document_id}")
    assert (read["status"] == "success") == (path in readable)
    if fetched["status"] == "success":
        assert fetched["metadata"]["filepath"] in readable
    for answer in (read, fetched):
        assert answer["status"] == "success" or answer["error_type"] == "NotFoundError"
    found = call("search", "/mcp/connector", query=query)["results"]
    assert {each["title"] for each in found} <= {f"title of {source}" for source in readable}
    site.tokens.revoke_all(town.users[user])
    return Counter([read["status"], fetched["status"], "success" if found else "nothing"])


def test_agents_read_and_fetch_no_more_than_may_be_read(town: Town) -> None:
    app, outcomes = make_app(town.braid, Settings(api_rate_limit="100000/second")), Counter[str]()

    @given(st.data())
    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    def check(data: st.DataObject) -> None:
        outcomes.update(read_as_an_agent(town, agent, site_of(app), data))

    with serving(app) as url, httpx.Client(base_url=url, timeout=WAIT_S) as agent:
        check()
    assert outcomes["success"] > 10
    assert outcomes["error"] > 10


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_indexes_do_give_out_what_is_not_theirs(town: Town, mode: Mode) -> None:
    """Else the property would show nothing: it is the ledger that holds them back."""
    indexes = town.braid.bm25, town.braid.dense
    strangers = [
        {town.chunks.get(chunk_id, 0) for chunk_id in index.ids("user_1")} - town.allowed("ann", None)
        for index in indexes
    ]
    assert all(len(found) > 5 for found in strangers)
    found = town.braid.manager.search(COMMON, user_id=town.users["ann"], mode=mode, k=Query("x").k).hits
    assert {hit.passage.dataset_id for hit in found} <= town.allowed("ann", None)
    assert found
