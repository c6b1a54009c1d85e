"""Reranking through the front door: a real server that speaks Cohere's protocol, and a cross-encoder package."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.config.settings import Settings, load_settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, ModelError
from braid.core.models import rerank_http
from braid.core.models.rerank import OnnxReranker, Rerankers, reranker_named
from braid.core.models.rerank_http import HttpReranker
from braid.core.types import Query, SearchResult
from tests.fakes import HashEmbeddings
from tests.plugins import package, section_of
from tests.rerank_server import RerankServer, rerank_server
from tests.web import make_app, sign_in
from tests.worlds import WAIT_S, ByHand, catch_up, document

TIMEOUT_S = 20.0
"""Above what importing the package takes on a busy machine."""
TEXTS = {
    "a": "cat cat cat cat owl",
    "b": "a cat",
    "c": "cat",
    "d": "nothing of the kind stands here but a long row of other words that nobody has asked for yet",
}
FAKE_PACKAGE = '''
"""Scores a pair by minus the number of words of the passage, and counts what it was asked."""
asked = []

class CrossEncoder:
    def __init__(self, name):
        if name == "nowhere":
            raise OSError("nowhere is not a folder")
        self.name = name

    def predict(self, pairs):
        asked.append((self.name, list(pairs)))
        if self.name == "two-labels":
            return [[0.1, 0.9] for _ in pairs]
        if self.name == "nan":
            return [float("nan") for _ in pairs]
        return [-float(len(text.split())) for _, text in pairs]
'''


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with rerank_server() as running:
        yield running


@pytest.fixture
def cross_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Any]]]:
    """A package sentence_transformers, as if it were installed; gives what it was asked."""
    folder = tmp_path / "site" / "sentence_transformers"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAKE_PACKAGE)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    yield lambda: list(sys.modules["sentence_transformers"].asked)
    sys.modules.pop("sentence_transformers", None)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Callable[..., SearchResult]]]:
    """Open a directory with TEXTS and give its search."""
    opened: list[Braid] = []

    def open_with(rerankers: Rerankers | None = None, texts: dict[str, str] = TEXTS) -> Callable[..., SearchResult]:
        braid = ByHand(tmp_path / f"data{len(opened)}", embedding_model=HashEmbeddings(), rerankers=rerankers)
        opened.append(braid)
        user = braid.ledger.add_user("local").id
        dataset = braid.ledger.add_dataset(user, "animals").id
        for source, text in texts.items():
            braid.ledger.put_document(dataset, document(source, text, file_type="txt"))
        catch_up(braid)

        def search(text: str, **options: Any) -> SearchResult:
            return braid.manager.search(text, user_id=user, **{"mode": "keyword", **options})

        search.braid, search.user = braid, user  # type: ignore[attr-defined]
        return search

    yield open_with
    for braid in opened:
        braid.close()


def sources(result: SearchResult) -> list[str]:
    return [hit.passage.source for hit in result.hits]


# ---------------------------------------------------------------- Cohere's protocol


def test_a_key_goes_to_cohere_whatever_address_the_environment_has(
    server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rerank_server() as coheres:
        monkeypatch.setenv("CO_API_URL", server.url)
        protocol = replace(rerank_http.PROTOCOLS["cohere"], url=coheres.url)
        monkeypatch.setattr(rerank_http, "PROTOCOLS", {"cohere": protocol})
        HttpReranker("cohere", "rerank-v3.5", api_key="mine", timeout_s=TIMEOUT_S).scores("cat", list(TEXTS.values()))
    assert (coheres.keys, server.keys) == (["Bearer mine"], [])


def test_hits_come_in_the_order_of_the_server_with_its_scores(server: RerankServer, make: Any) -> None:
    search = make(Rerankers(base_url=server.url, api_key="sesame", timeout_s=TIMEOUT_S))
    fused = search("cat")
    assert sources(fused)[0] == "a"
    assert [hit.rerank_score for hit in fused.hits] == [None] * 3
    assert server.requests == []

    result = search("cat", reranker="cohere:rerank-v3.5")

    assert sources(result) == ["c", "a", "b"]
    assert [hit.rerank_score for hit in result.hits] == [1.0, 4 / 5, 1 / 2]
    assert {hit.passage.source: hit.score for hit in result.hits} == {
        hit.passage.source: hit.score for hit in fused.hits
    }
    assert result.degraded == ()
    assert result.timings_ms["rerank"] > 0
    (request,) = server.requests
    assert server.paths == ["/v2/rerank"]
    assert server.keys == ["Bearer sesame"]
    assert (request["model"], request["query"]) == ("rerank-v3.5", "cat")
    assert request["documents"] == [TEXTS[source] for source in sources(fused)]
    assert request.get("top_n") is None


def test_candidates_are_four_times_k_or_twenty(server: RerankServer, make: Any) -> None:
    texts = {f"{n:02}": "cat " + "word " * n for n in range(40)}
    search = make(Rerankers(base_url=server.url, timeout_s=TIMEOUT_S), texts)

    few = search("cat", reranker="cohere:m", k=2)
    more = search("cat", reranker="cohere:m", k=8)

    assert [len(request["documents"]) for request in server.requests] == [20, 32]
    assert (len(few.hits), len(more.hits)) == (2, 8)


@pytest.mark.parametrize(
    ("options", "read"),
    [({}, 20), ({"reranker_depth": 10}, 10), ({"reranker_depth": 40}, 40), ({"reranker_depth": 1}, 2)],
)
def test_the_depth_of_the_reranker_is_an_option(
    cross_encoders: Callable[[], list[Any]], make: Any, options: dict[str, int], read: int
) -> None:
    search = make(texts={f"{n:02}": "cat " + "word " * n for n in range(60)})
    assert len(search("cat", reranker="local:tiny", k=2, **options).hits) == 2
    [(_, pairs)] = cross_encoders()
    assert len(pairs) == read


def test_a_hundred_hits_of_each_leg_and_ten_for_the_reranker(
    cross_encoders: Callable[[], list[Any]], make: Any
) -> None:
    search = make(texts={f"{n:03}": "cat " + "word " * n for n in range(120)})
    manager, user = search.braid.manager, search.user
    sixtieth = search("cat", k=60).hits[-1].passage.chunk_id

    def told(**options: Any) -> Any:
        return manager.explain("cat", chunk_id=sixtieth, user_id=user, mode="keyword", k=10, **options)

    assert told().reason == "not_reached"
    assert "50 are fetched" in told().detail
    deep = told(leg_depth=100, reranker="local:tiny", reranker_depth=10)
    assert (deep.reason, deep.rank) == ("cut_by_k", 60)
    assert deep.detail == "It is at rank 60; only 10 are reranked. Raise reranker_depth to have more."
    assert "5 are fetched" not in told(leg_depth=5).detail
    assert "10 are fetched" in told(leg_depth=5).detail  # as many as are wanted


@pytest.mark.parametrize("name", ["leg_depth", "reranker_depth"])
@pytest.mark.parametrize("depth", [-1, 1001, 2.5, True, "10"])
def test_a_wrong_depth_is_named(name: str, depth: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} is .* up to 1000, or 0 to follow k"):
        Query("cat", **{name: depth})


def test_min_score_is_the_rerankers(server: RerankServer, make: Any) -> None:
    search = make(Rerankers(base_url=server.url, timeout_s=TIMEOUT_S))
    assert sources(search("cat", reranker="cohere:m", min_score=0.6)) == ["c", "a"]
    assert sources(search("cat", reranker="cohere:m", min_score=0.9)) == ["c"]


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([{"index": 0, "relevance_score": 0.5}], "gave 1 scores for 3 passages"),
        ([{"index": n, "relevance_score": 0.5} for n in (0, 1, 7)], "gave 2 scores for 3 passages"),
        ([], "gave 0 scores for 3 passages"),
    ],
)
def test_an_answer_that_leaves_passages_out_is_refused(
    server: RerankServer, make: Any, results: list[dict[str, Any]], said: str
) -> None:
    search = make(Rerankers(base_url=server.url, timeout_s=TIMEOUT_S))
    server.results = results
    result = search("cat", reranker="cohere:m")
    assert sources(result) == sources(search("cat"))
    assert [(part.leg, said in part.reason) for part in result.degraded] == [("rerank", True)]


def test_a_failing_server_keeps_the_order_and_is_said(server: RerankServer, make: Any) -> None:
    search = make(Rerankers(base_url=server.url, api_key="sesame", timeout_s=TIMEOUT_S))
    server.status = 402

    result = search("cat", reranker="cohere:m", min_score=0.5)

    assert sources(result) == sources(search("cat"))
    assert [hit.rerank_score for hit in result.hits] == [None] * 3
    (part,) = result.degraded
    assert (part.leg, part.collection) == ("rerank", "")
    assert "cohere:m failed" in part.reason
    assert "402" in part.reason
    assert "min_score is meant for its scores and was not applied" in part.reason
    assert "sesame" not in part.reason


def test_a_server_that_is_not_there_is_said(make: Any) -> None:
    search = make(Rerankers(base_url="http://127.0.0.1:9", timeout_s=TIMEOUT_S))
    result = search("cat", reranker="cohere:m")
    assert len(result.hits) == 3
    assert [part.leg for part in result.degraded] == ["rerank"]


def test_a_slow_server_is_not_waited_for(server: RerankServer, make: Any) -> None:
    search = make(Rerankers(base_url=server.url, timeout_s=0.5))
    server.delay_s = 10 * WAIT_S

    result = search("cat", reranker="cohere:m")

    assert sources(result) == sources(search("cat"))
    (part,) = result.degraded
    assert part.reason == "the reranker cohere:m took longer than 0.5 s"
    assert result.timings_ms["rerank"] > 400


def test_no_key_of_the_environment_goes_to_another_server(
    server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CO_API_KEY", "for-cohere-alone")
    monkeypatch.setenv("COHERE_API_KEY", "for-cohere-alone")
    reranker = reranker_named("cohere:m", base_url=server.url, timeout_s=TIMEOUT_S)
    assert reranker is not None
    assert list(reranker.scores("cat", ["a dog", "a cat"])) == [0.0, 0.5]
    assert server.keys == [""]


# ---------------------------------------------------------------- other protocols


@pytest.mark.parametrize(("name", "base", "path"), [
    ("cohere:m", "", "/v2/rerank"),
    ("cohere:m", "/v2", "/v2/rerank"),
    ("jina:m", "", "/v1/rerank"),
    ("jina:m", "/v1/", "/v1/rerank"),
    ("jina:m", "/proxy/v1/rerank", "/proxy/v1/rerank"),
    ("voyage:m", "/voyage", "/voyage/v1/rerank"),
    ("tei:m", "", "/rerank"),
    ("tei:m", "/", "/rerank"),
])  # fmt: skip
def test_every_protocol_gives_the_same_order(server: RerankServer, name: str, base: str, path: str) -> None:
    reranker = reranker_named(name, base_url=server.url + base, api_key="sesame", timeout_s=TIMEOUT_S)
    assert reranker is not None
    assert reranker.name == name
    assert list(reranker.scores("cat", ["a dog", "a cat", "cat"])) == [0.0, 0.5, 1.0]
    assert (server.paths, server.keys) == ([path], ["Bearer sesame"])
    (request,) = server.requests
    assert request["query"] == "cat"
    assert request["texts" if name.startswith("tei") else "documents"] == ["a dog", "a cat", "cat"]


@pytest.mark.parametrize(("name", "variable"), [("jina:m", "JINA_API_KEY"), ("voyage:m", "VOYAGE_API_KEY")])
def test_a_key_of_the_environment_is_sent_to_the_maker_alone(
    server: RerankServer, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "of-the-environment")
    provider = name.partition(":")[0]
    with rerank_server() as makers:
        protocol = replace(rerank_http.PROTOCOLS[provider], url=makers.url)
        monkeypatch.setattr(rerank_http, "PROTOCOLS", {provider: protocol})
        HttpReranker(provider, "m", timeout_s=TIMEOUT_S).scores("cat", ["cat"])
        HttpReranker(provider, "m", base_url=server.url, timeout_s=TIMEOUT_S).scores("cat", ["cat"])
    assert (makers.keys, server.keys) == (["Bearer of-the-environment"], [""])


def test_a_server_of_ones_own_needs_an_address() -> None:
    reranker = reranker_named("tei:m", timeout_s=TIMEOUT_S)
    assert reranker is not None
    with pytest.raises(ModelError, match="write its address as reranker_base_url"):
        reranker.scores("cat", ["cat"])


@pytest.mark.parametrize("body", [
    b"", b"<html>", b"[]", b"7", b'{"results": 7}', b'{"results": [7]}', b'{"results": [{"index": "a"}]}',
    b'{"results": [{"index": 0, "relevance_score": "high"}]}', b'{"data": [{"index": 0}]}', b"[" * 100_000,
    b'{"results": [{"index": 0, "relevance_score": 1e999}]}',
])  # fmt: skip
def test_an_answer_that_is_none_is_said(server: RerankServer, make: Any, body: bytes) -> None:
    search = make(Rerankers(base_url=server.url, timeout_s=TIMEOUT_S))
    server.body = body
    result = search("cat", reranker="jina:m")
    assert len(result.hits) == 3
    assert [part.leg for part in result.degraded] == ["rerank"]


def test_an_answer_that_does_not_end_is_not_read_to_its_end(
    server: RerankServer, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank_http, "MAX_ANSWER_BYTES", 1_000)
    search = make(Rerankers(base_url=server.url, timeout_s=TIMEOUT_S))
    server.body = b" " * 100_000
    (part,) = search("cat", reranker="jina:m").degraded
    assert "longer than 1000 bytes" in part.reason


# ---------------------------------------------------------------- a cross-encoder


def test_a_local_cross_encoder_is_loaded_once(cross_encoders: Callable[[], list[Any]], make: Any) -> None:
    search = make()

    result = search("cat", reranker="local:tiny", k=2)
    search("cat", reranker="local:tiny", k=2)

    assert sources(result) == ["c", "b"]
    assert [hit.rerank_score for hit in result.hits] == [-1.0, -2.0]
    first, second = cross_encoders()
    assert first == second
    assert first[0] == "tiny"
    assert sorted(first[1]) == sorted(("cat", TEXTS[source]) for source in "abc")


def test_threads_that_name_a_reranker_at_once_get_the_same() -> None:
    together = threading.Barrier(4)

    def name(_: int) -> Any:
        together.wait(WAIT_S)
        return rerankers.named("local:tiny")

    rerankers = Rerankers()
    with ThreadPoolExecutor(4) as executor:
        named = list(executor.map(name, range(4)))
    rerankers.close()
    assert len(set(map(id, named))) == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_does_not_wait_for_the_threads_of_its_parent(cross_encoders: object, make: Any) -> None:
    search = make(Rerankers(timeout_s=TIMEOUT_S))
    expected = sources(search("cat", reranker="local:tiny"))
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            found = search("cat", reranker="local:tiny")
            os.write(writer, b"same" if sources(found) == expected and not found.degraded else b"other")
        finally:
            os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as said:
            assert said.read() == b"same"
    finally:
        os.waitpid(pid, 0)


def test_negative_scores_and_min_score(cross_encoders: object, make: Any) -> None:
    assert sources(make()("cat", reranker="local:tiny", min_score=-2.5)) == ["c", "b"]


def test_title_and_headings_are_read_too(cross_encoders: Callable[[], list[Any]], make: Any) -> None:
    from braid.core.types import ChunkInput, DocumentInput

    search = make(texts={})
    ledger = search.braid.ledger
    dataset = ledger.datasets(search.user)[0].id
    ledger.put_document(dataset, DocumentInput("s", "Pets", "txt", (ChunkInput("a cat", heading_path="House > Cats"),)))
    catch_up(search.braid)

    search("cat", reranker="local:tiny")

    ((_, text),) = cross_encoders()[0][1]
    assert all(part in text for part in ("Pets", "Cats", "a cat"))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nowhere", "failed: OSError: nowhere is not a folder"),
        ("two-labels", "failed: TypeError"),
        ("nan", "gave 0 scores for 3 passages"),
    ],
)
def test_a_model_that_cannot_be_used_is_said(cross_encoders: object, make: Any, model: str, said: str) -> None:
    result = make()("cat", reranker=f"local:{model}")
    assert len(result.hits) == 3
    (part,) = result.degraded
    assert f"the reranker local:{model} {said}" in part.reason


@pytest.mark.parametrize(
    ("name", "module", "install"),
    [
        ("local:tiny", "sentence_transformers", "pip install sentence-transformers"),
    ],
)
def test_a_missing_package_comes_with_its_install_line(
    monkeypatch: pytest.MonkeyPatch, make: Any, name: str, module: str, install: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what Python itself does for a package that cannot be imported
    result = make(Rerankers(timeout_s=TIMEOUT_S))("cat", reranker=name)
    assert len(result.hits) == 3
    assert [install in part.reason for part in result.degraded] == [True]
    with pytest.raises(ModelError, match="needs a package"):
        reranker_named(name).scores("cat", ["a cat"])  # type: ignore[union-attr]


# ---------------------------------------------------------------- everywhere


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
@pytest.mark.parametrize("engine", ["braid", "langchain"])
def test_every_mode_and_engine_reranks(cross_encoders: object, make: Any, mode: str, engine: str) -> None:
    search = make()
    result = search("cat", mode=mode, engine=engine, reranker="local:tiny")
    lengths = [len(hit.passage.text.split()) for hit in result.hits]
    assert lengths == sorted(lengths)
    assert [hit.rerank_score for hit in result.hits] == [-float(length) for length in lengths]


def test_equal_scores_keep_the_fused_order(cross_encoders: object, make: Any) -> None:
    texts = {"a": "cat dog", "b": "cat cat", "c": "cat owl"}
    search = make(texts=texts)
    assert sources(search("cat", reranker="local:tiny")) == sources(search("cat"))


def test_nothing_found_asks_nothing(make: Any) -> None:
    result = make()("zebra", reranker="local:not-even-installed")
    assert (result.hits, result.degraded) == ((), ())


def test_japanese_and_korean(cross_encoders: object, make: Any) -> None:
    search = make(texts={"ja": "東京 は 日本 の 首都 です", "ko": "서울은 수도이다", "both": "首都 수도"})
    assert sources(search("首都 수도", reranker="local:tiny", mode="hybrid")) == ["both", "ko", "ja"]


def test_langchain_documents_carry_the_score(cross_encoders: object, make: Any) -> None:
    search = make()
    options = {"user_id": search.user, "mode": "hybrid", "with_scores": True}
    retriever = search.braid.manager.get_retriever(**options, reranker="local:tiny")
    assert retriever.invoke("cat")[0].metadata["rerank_score"] == -1.0
    plain = search.braid.manager.get_retriever(**options).invoke("cat")
    assert all("rerank_score" not in found.metadata for found in plain)


def test_the_page_shows_scores_and_failures(cross_encoders: object, make: Any) -> None:
    search = make()

    def page(model: str) -> str:
        app = make_app(search.braid, Settings(mode="keyword", reranker=f"local:{model}"))
        return sign_in(app).get("/search", query_string={"q": "cat"}).get_data(as_text=True)

    assert "reranker -1.000" in page("tiny")
    failed = page("nan")
    assert "The passages were not reranked." in failed
    assert "gave 0 scores for 3 passages" in failed
    assert "Passages may be missing" not in failed


def test_explain_follows_the_reranker(cross_encoders: object, make: Any) -> None:
    search = make()
    ids = {hit.passage.source: hit.passage.chunk_id for hit in search("cat").hits}

    def explain(source: str, **options: Any) -> Any:
        return search.braid.manager.explain(
            "cat", chunk_id=ids[source], user_id=search.user, mode="keyword", reranker="local:tiny", **options
        )

    first, cut, low = explain("c"), explain("a", k=1), explain("b", min_score=-1.5)
    assert (first.reason, first.rank) == ("found", 1)
    assert (cut.reason, cut.rank) == ("cut_by_k", 3)
    assert (low.reason, low.detail) == ("below_min_score", "Its score -2 is below min_score -1.5.")


def test_explain_says_what_the_reranker_did_not_read(cross_encoders: object, make: Any) -> None:
    search = make(texts={f"{n:02}": "cat " + "word " * n for n in range(30)})
    last = search("cat", k=30).hits[-1].passage.chunk_id
    told = search.braid.manager.explain(
        "cat", chunk_id=last, user_id=search.user, mode="keyword", reranker="local:tiny", k=5
    )
    assert (told.reason, told.rank) == ("cut_by_k", 30)
    assert told.detail == "It is at rank 30; only 20 are reranked. Raise reranker_depth to have more."


@pytest.mark.parametrize("name", ["rerank-v3.5", "cohere:", "cohere", ":m", "magic:m", "local: ", 7])
def test_a_name_of_another_form_is_refused(name: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"write one of cohere:MODEL, jina:MODEL, .*onnx:FOLDER, local:MODEL"
    ) as refused:
        Query("cat", reranker=name)
    assert refused.value.field == "reranker"


def test_no_name_is_no_reranker() -> None:
    assert reranker_named("") is None
    with pytest.raises(InvalidInputError, match="magic:m"):
        reranker_named("magic:m")


# ---------------------------------------------------------------- one of another package


@pytest.fixture
def of_the_docs() -> Iterator[None]:
    """The package of docs/reranking.md is installed, under its name and under one of Braid's."""
    module, name, points = section_of("reranking.md", "One of another package")
    named = points.partition(" = ")[2]
    more = f"onnx = {named}\nlost = {name}:Lost"
    with package(name, module, "braid.rerankers", f"{points}\n{more}"):
        yield


@pytest.mark.usefixtures("of_the_docs")
def test_another_package_brings_a_reranker(make: Any) -> None:
    search = make(texts=TEXTS)
    result = search("cat nothing", reranker="words:2.5", mode="keyword", k=4)
    assert {hit.passage.source: hit.rerank_score for hit in result.hits} == {"a": 2.5, "b": 2.5, "c": 2.5, "d": 2.5}
    assert not result.degraded
    for name, reason in (("words:much", "ValueError: could not convert"), ("lost:1", "has no attribute 'Lost'")):
        broken = search("cat", reranker=name, mode="keyword")
        [part] = broken.degraded
        assert (part.leg, broken.hits[0].rerank_score) == ("rerank", None)
        assert f"the reranker {name} failed" in part.reason
        assert reason in part.reason
    assert isinstance(reranker_named("onnx:nowhere"), OnnxReranker), "Braid's own names cannot be taken"


@pytest.mark.usefixtures("of_the_docs")
def test_a_setting_may_name_a_reranker_of_another_package() -> None:
    assert load_settings(env={"BRAID_RERANKER": "words:2.5"}).reranker == "words:2.5"
    with pytest.raises(InvalidInputError, match=r"BRAID_RERANKER.*cohere:MODEL"):
        load_settings(env={"BRAID_RERANKER": "magic:2.5"})
