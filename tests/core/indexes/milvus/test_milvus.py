"""Both legs' indexes on a Milvus server: what is found, and what is said when the server is away or has lost all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import grpc
import numpy as np
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException

from braid.app.user.index_progress import progress_with
from braid.core import spans
from braid.core.braid import Braid, IndexOptions
from braid.core.datasets.listing import DocumentState, find_documents, overviews
from braid.core.doctor import examine, repair
from braid.core.errors import InvalidInputError, StoreUnreachableError
from braid.core.evaluation.beir import read_sets
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import stored_sets
from braid.core.extras import MissingExtraError
from braid.core.indexes.document_progress import document_progress
from braid.core.indexes.milvus import keyword
from braid.core.indexes.milvus.keyword import UNSEEN, words_of
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.indexes.milvus.server import MAX_DOCUMENTS, SITE, within
from braid.core.indexes.vector_block import EVERYTHING
from braid.core.types import Filters, Mode
from tests.core.evaluation.test_evaluation import write_set
from tests.core.indexes.shelves import TEXTS, Shelf, Shifted, open_shelf
from tests.fakes import HashEmbeddings
from tests.milvus_server import MilvusLite
from tests.worlds import WAIT_S, add_notes, catch_up, chunk_ids, document, eventually


@pytest.fixture
def shelf(tmp_path: Path, in_milvus: IndexOptions) -> Iterator[Shelf]:
    opened = open_shelf(tmp_path / "data", HashEmbeddings(), index_options=in_milvus)
    with opened.braid:
        catch_up(opened.braid)
        yield opened


def degraded(shelf: Shelf) -> Mapping[str, str]:
    return {part.leg: part.reason for part in shelf.search("cat").degraded}


# ---------------------------------------------------------------- what is found


def test_documents_count_as_indexed_and_those_of_others_do_not_count(shelf: Shelf) -> None:
    braid, (_, shared) = shelf.braid, shelf.ids
    database, dataset, names = braid.ledger.database, braid.ledger.dataset(shared), braid.index_names
    other = braid.registry.add("Appendix", "shared_main").id
    braid.mirror_registry()

    def stages() -> list[str]:
        documents, _ = find_documents(database, dataset, index_names=names)
        progress = document_progress(braid, shared, [each.id for each in documents])
        return [progress[each.id].stage for each in documents]

    def listed(state: DocumentState) -> list[str]:
        return [each.source for each in find_documents(database, dataset, index_names=names, state=state)[0]]

    assert stages() == ["done"]
    assert (listed("done"), listed("waiting")) == (["b"], [])
    assert not overviews(database, [dataset], index_names=names)[shared].busy

    shelf.embeddings.failing = True
    shelf.put("new", "one passage more", dataset=1)
    braid.ledger.put_document(other, document("theirs", "two", "passages"))
    braid.wake()
    catch_up(braid, "bm25")
    assert stages() == ["keyword_ready", "done"]
    assert (listed("done"), listed("waiting")) == (["b"], ["new"])
    assert overviews(database, [dataset], index_names=names)[shared].waiting == 1
    assert eventually(lambda: {part.leg: part.pending for part in progress_with(braid, [dataset])}["dense"] == 1)


def test_a_search_is_traced_down_to_milvus(shelf: Shelf) -> None:
    exporter = InMemorySpanExporter()
    spans.begin(SimpleSpanProcessor(exporter))
    try:
        assert shelf.search("cat").hits
    finally:
        spans.end()
    found = exporter.get_finished_spans()
    (search,) = [span for span in found if span.name == "search"]
    calls = [span for span in found if span.name == "milvus"]
    assert {span.context.trace_id for span in calls} == {search.context.trace_id}
    assert sum((span.attributes or {})["db.operation.name"] == "search" for span in calls) >= 2, "both legs"
    assert "cat" not in " ".join(str(dict(span.attributes or {})) for span in found)


def test_it_finds_what_the_local_indexes_find(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("code.md", "C++ and os.path in getUserName", "zzyzx road", "  ", "x" * 300)
    local = open_shelf(tmp_path / "local", HashEmbeddings())
    with local.braid:
        local.put("code.md", "C++ and os.path in getUserName", "zzyzx road", "  ", "x" * 300)
        catch_up(shelf.braid)
        catch_up(local.braid)
        for text in ("cat", "猫 である", "고양이", "c++", "os.path", "zzyzx", "x" * 300, "user name", "cat dogs 猫"):
            for mode in get_args(Mode):
                here, there = shelf.search(text, mode=mode), local.search(text, mode=mode)
                assert set(chunk_ids(here)) == set(chunk_ids(there)), (text, mode)
                if mode == "semantic":
                    expected = [hit.score for hit in there.hits]
                    assert [hit.score for hit in here.hits] == pytest.approx(expected, abs=1e-5)
                assert here.degraded == ()
    assert shelf.complete()


def test_a_score_is_that_of_the_formula_with_the_same_constants(tmp_path: Path, in_milvus: IndexOptions) -> None:
    """Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with k1 1.2 and b 0.75."""
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings(), index_options=in_milvus) as braid:
        add_notes(braid.ledger)
        for name, text in {"a.md": "pump pump pump pump pump", "b.md": "tank bar"}.items():
            braid.ledger.put_document(1, document(name, text))
        catch_up(braid)
        [hit] = braid.bm25.search("user_1", {"pump": 1.0}, 10)
    often, length, average = 5, 5, 3.5
    expected = math.log(2) * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / average))
    assert hit.score == pytest.approx(expected, rel=1e-4)


def test_a_spread_is_that_of_the_local_index(shelf: Shelf, tmp_path: Path) -> None:
    vector = np.array(HashEmbeddings().embed_query("cat mat dog"), dtype=np.float32)
    vector /= np.linalg.norm(vector)
    where = dict.fromkeys(("user_1", "shared_main"), EVERYTHING)
    local = open_shelf(tmp_path / "local", HashEmbeddings())
    with local.braid:
        catch_up(local.braid)
        expected = local.braid.dense.search_all(where, vector, 3, pooled=True).spread
    found = shelf.braid.dense.search_all(where, vector, 3, pooled=True)
    assert found.spread == pytest.approx(expected, rel=0.02)
    assert expected > 0


def test_changes_are_found_and_what_is_deleted_is_not(shelf: Shelf) -> None:
    shelf.put("note", "a newt in the pond", "the newt again")
    catch_up(shelf.braid)
    assert shelf.texts("newt", mode="keyword") == {"a newt in the pond", "the newt again"}
    shelf.put("note", "a toad in the pond")
    catch_up(shelf.braid)
    assert shelf.texts("newt", mode="keyword") == set()
    assert shelf.texts("toad", mode="keyword") == {"a toad in the pond"}
    shelf.braid.remove_dataset(shelf.ids[0])
    catch_up(shelf.braid)
    assert shelf.braid.bm25.count("user_1") == shelf.braid.dense.count("user_1") == 0
    assert examine(shelf.braid) == []


def test_filters_and_selected_datasets_go_down_to_the_server(shelf: Shelf) -> None:
    other = shelf.braid.ledger.add_dataset(1, "other").id
    for number in range(30):
        shelf.put(f"a/{number}", f"pump number {number}")
    shelf.braid.ledger.put_document(other, document("a/other", "pump number 77", file_type="txt"))
    catch_up(shelf.braid)
    for mode in get_args(Mode):
        alone = shelf.search("pump", mode=mode, dataset_ids=[other])
        assert [hit.passage.source for hit in alone.hits] == ["a/other"]
        one = shelf.search("pump", mode=mode, filters=Filters(source_prefix="a/17"))
        assert [hit.passage.source for hit in one.hits] == ["a/17"]


def test_an_exact_text_is_found(shelf: Shelf) -> None:
    found = shelf.braid.manager.find_exact("cat sat on", user_id=1, dataset_ids=shelf.ids)
    assert [match.passage.text for match in found.matches] == [TEXTS[0]]
    assert found.missing == ()


@pytest.mark.parametrize("sample", [1, 1_000])
def test_words_are_counted(shelf: Shelf, sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "SAMPLE", sample)
    shelf.put("note", "cat one", "cat two", "cat three")
    catch_up(shelf.braid)
    counts = shelf.braid.bm25.statistics("user_1", ["cat", "two", "unheard"]).counts
    assert counts.documents == shelf.log.chunk_count("user_1")
    assert min(counts.document_frequency.values()) > 0, "what a sample lacks may be in the rest"
    if sample > counts.documents:
        assert counts.document_frequency == {"cat": 4, "two": 1, "unheard": UNSEEN}


def test_scores_are_those_of_an_index_of_its_own(shelf: Shelf) -> None:
    """Milvus counts the words of everybody; what a collection's passages score must not tell what others have."""
    shelf.put("note", "cat one", "cat and cat two", "three " * 30 + "cat")
    catch_up(shelf.braid)

    def hits() -> list[tuple[str, float]]:
        found = shelf.search("cat two", mode="keyword", dataset_ids=[shelf.ids[0]]).hits
        return [(hit.passage.text, hit.score) for hit in found]

    before = hits()
    assert [text for text, _ in before[:2]] == ["cat and cat two", "cat one"]
    shelf.put("others", *(f"two {n}" for n in range(40)), dataset=1)
    catch_up(shelf.braid)
    assert hits() == before


def test_a_passage_that_is_too_long_for_milvus_keeps_all_its_words(shelf: Shelf) -> None:
    words = [f"w{number:04}x" for number in range(5_000)]
    shelf.put("long", " ".join([*words * 2, "needle " * 40]))
    catch_up(shelf.braid)
    for word in ("w0000x", "w4999x", "needle"):
        assert [hit.passage.source for hit in shelf.search(word, mode="keyword").hits] == ["long"]
    row = keyword._row_of([*words * 2, *["needle"] * 40])
    assert len(row["tokens"]) <= keyword.MAX_TOKENS_BYTES
    assert words_of(**{"text": row["tokens"], "times": row["times"]}) == Counter([*words * 2, *["needle"] * 40])


def test_collections_that_are_kept_apart_do_not_count_in_each_others_scores(tmp_path: Path, milvus: MilvusLite) -> None:
    options = IndexOptions(milvus=MilvusOptions(milvus.url, apart=["shared_*"]))
    shelf = open_shelf(tmp_path, HashEmbeddings(), index_options=options)
    with shelf.braid:
        catch_up(shelf.braid)
        before = shelf.search("cat", mode="keyword", dataset_ids=[shelf.ids[0]]).hits[0].score
        shelf.put("secret", *(f"cat number {n}" for n in range(40)), dataset=1)
        catch_up(shelf.braid)
        assert shelf.search("cat", mode="keyword", dataset_ids=[shelf.ids[0]]).hits[0].score == before
        assert shelf.complete()
        assert examine(shelf.braid) == []
    stores = [name for name in milvus.stores() if not name.startswith(SITE)]
    assert len(stores) == 4  # two legs, each with a store for personal and one for shared collections


# ---------------------------------------------------------------- the server away, or emptied


def test_a_server_that_is_away_is_named_and_nothing_is_made_again_after_it(
    shelf: Shelf, milvus: MilvusLite, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[str] = []
    for index in (shelf.braid.bm25, shelf.braid.dense):
        monkeypatch.setattr(index, "drop", dropped.append)
    milvus.stop()
    try:
        said = degraded(shelf)
        assert set(said) == {"bm25", "dense"}
        assert all(milvus.url.partition("://")[2] in reason for reason in said.values()), said
        shelf.put("meanwhile", "a newt came by")
        assert eventually(lambda: degraded(shelf))
    finally:
        milvus.start()
    assert eventually(lambda: not shelf.search("newt").degraded)
    assert "a newt came by" in shelf.texts("newt", mode="keyword")
    assert shelf.complete()
    assert dropped == []


def test_what_the_server_lost_is_made_again_without_embedding(shelf: Shelf, milvus: MilvusLite) -> None:
    embedded = shelf.embeddings.documents_embedded
    milvus.clear()
    assert set(degraded(shelf)) == {"bm25", "dense"}  # never "nothing found"
    assert eventually(lambda: shelf.complete() and not degraded(shelf))
    assert shelf.embeddings.documents_embedded == embedded


def test_one_lost_collection_of_several_is_named_in_a_pooled_search(shelf: Shelf) -> None:
    shelf.braid.indexer.stop()
    for index in (shelf.braid.bm25, shelf.braid.dense):
        index.drop("shared_main")
    found = shelf.search("cat dogs")
    assert {(part.leg, part.collection) for part in found.degraded} >= {
        ("bm25", "shared_main"),
        ("dense", "shared_main"),
    }
    assert found.hits, "the other collection answers"
    assert shelf.braid.manager.find_exact("cat sat on", user_id=1, dataset_ids=[shelf.ids[1]]).missing


def test_a_collection_without_a_hit_is_not_counted_at_each_search(shelf: Shelf) -> None:
    vector = np.array(HashEmbeddings().embed_query("cat"), dtype=np.float32)
    where, exporter = dict.fromkeys(("user_1", "shared_main"), EVERYTHING), InMemorySpanExporter()
    spans.begin(SimpleSpanProcessor(exporter))
    try:
        with spans.root("searches"):
            for _ in range(3):
                found = shelf.braid.dense.search_all(where, vector, 1, pooled=True)
                assert sorted(map(len, found.hits.values())) == [0, 1]  # type: ignore[arg-type]
    finally:
        spans.end()
    calls = [(span.attributes or {}).get("db.operation.name") for span in exporter.get_finished_spans()]
    assert (calls.count("search"), calls.count("count")) == (3, 1)


def test_an_evaluation_waits_until_all_is_in_milvus(tmp_path: Path, milvus: MilvusLite) -> None:
    folder = write_set(tmp_path / "animals", {"x": "the cat", "y": "a dog"}, {"q": "cat"}, [("q", "x", 1)])
    where = MilvusOptions(milvus.url)
    with stored_sets(
        read_sets([folder]), scratch_dir=tmp_path / "scratch", embedding_model=HashEmbeddings(), milvus=where
    ) as stored:
        assert measure(stored, each=True).all["recall@10"] == 1.0


def test_an_error_of_grpc_is_an_outage_too(shelf: Shelf) -> None:
    server = shelf.braid.bm25._store("user_1").server  # type: ignore[attr-defined]
    with pytest.raises(StoreUnreachableError, match="cannot be reached: the proxy says so"), server.answering():
        raise MilvusException(code=grpc.StatusCode.UNAVAILABLE, message="the proxy says so")
    of_grpc = "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE"
    with (
        pytest.raises(StoreUnreachableError, match=r"cannot be reached: it did not answer$") as caught,
        server.answering(),
    ):
        raise MilvusException(code=grpc.StatusCode.UNAVAILABLE, message=of_grpc)
    assert "_InactiveRpcError" in caught.value.inner, "for the log"


def test_two_processes_may_make_a_store_at_once(
    tmp_path: Path, in_milvus: IndexOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make = MilvusClient.create_index

    def made_by_another(client: MilvusClient, *given: Any, **options: Any) -> None:
        make(client, *given, **options)
        make(client, *given, **options)

    monkeypatch.setattr(MilvusClient, "create_index", made_by_another)
    with open_shelf(tmp_path / "data", HashEmbeddings(), index_options=in_milvus).braid as braid:
        catch_up(braid)
        assert braid.search("cat", user_id=1).hits
    assert not caplog.messages


def test_a_half_made_store_is_made_whole(shelf: Shelf, milvus: MilvusLite) -> None:
    milvus.clear()
    store = shelf.braid.bm25._store("user_1")  # type: ignore[attr-defined]
    with store.server.answering() as client:
        schema = client.create_schema()
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=128)
        schema.add_field("collection", DataType.VARCHAR, max_length=512, is_partition_key=True)
        schema.add_field("dataset_id", DataType.INT64)
        schema.add_field("document_id", DataType.INT64)
        store.shape.add_fields(schema)
        client.create_collection(store.name, schema=schema)  # and is killed before the index
    shelf.put("note", "a newt came by")
    assert eventually(lambda: shelf.texts("newt", mode="keyword") == {"a newt came by"})


def test_what_differs_is_found_by_the_doctor_and_repaired(shelf: Shelf) -> None:
    [chunk, *_] = shelf.log.all_chunks("user_1", 100, shelf.embeddings.fingerprint)
    shelf.braid.bm25.apply("user_1", [], [chunk[0].id])
    shelf.braid.dense.apply("user_1", [], [chunk[1].id])
    shelf.braid.dense.apply("long_gone", chunk[:1], [])
    found = examine(shelf.braid)
    assert sorted((finding.problem, finding.leg) for finding in found) == [
        ("missing", "bm25"),
        ("missing", "dense"),
        ("orphan", "dense"),
    ]
    assert repair(shelf.braid, found, timeout_s=WAIT_S)
    assert examine(shelf.braid) == []


# ---------------------------------------------------------------- another model, another engine


def test_another_model_is_another_store(tmp_path: Path, in_milvus: IndexOptions) -> None:
    for embeddings in (HashEmbeddings(), Shifted(fingerprint="fake:second"), HashEmbeddings(128, fingerprint="f:128")):
        opened = open_shelf(tmp_path / "data", embeddings, index_options=in_milvus)
        with opened.braid:
            catch_up(opened.braid)
            assert opened.complete()
            assert opened.braid.dense.dimension("user_1") == embeddings.size


def test_indexes_move_to_milvus_and_back_without_embedding(tmp_path: Path, in_milvus: IndexOptions) -> None:
    embeddings = HashEmbeddings()
    for number, options in enumerate((IndexOptions(), in_milvus, IndexOptions(), in_milvus)):
        opened = open_shelf(tmp_path / "data", embeddings, index_options=options)
        with opened.braid:
            assert opened.braid.is_in_milvus == (options is in_milvus)
            opened.put(f"note {number}", f"the newt number {number}")
            catch_up(opened.braid)
            assert opened.complete()
            assert len(opened.texts("newt", mode="keyword")) == number + 1
            assert examine(opened.braid) == []
    assert embeddings.documents_embedded == opened.log.chunk_count("user_1") + opened.log.chunk_count("shared_main")


# ---------------------------------------------------------------- wrong inputs


def test_expressions_cannot_be_broken_out_of() -> None:
    name = 'x"] or collection != ["'
    assert within({name: (None, None)}) == ['collection in ["x\\"] or collection != [\\""]']
    assert within({name: ({2, 1}, None)}) == ['(collection == "x\\"] or collection != [\\"" and dataset_id in [1, 2])']
    assert within({}) == []


def test_many_documents_are_several_expressions() -> None:
    expressions = within({"a": (None, range(MAX_DOCUMENTS + 1)), "b": (None, None)})
    assert len(expressions) == 2
    assert expressions[0].startswith('collection in ["b"] or (collection == "a" and document_id in [0, 1,')
    assert expressions[1] == f'collection == "a" and document_id in [{MAX_DOCUMENTS}]'


@pytest.mark.parametrize(
    ("wrong", "field"), [({"url": "localhost:1"}, "milvus_url"), ({"apart": "hr"}, "milvus_apart")]
)
def test_wrong_options_are_refused(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        MilvusOptions(**({"url": "http://localhost:1"} | wrong))
    assert error.value.field == field


def test_without_its_package_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.extras.find_spec", lambda module: None if module == "pymilvus" else object())
    with pytest.raises(MissingExtraError, match=r"pip install 'braid-search\[milvus\]'"):
        open_shelf(tmp_path, HashEmbeddings(), index_options=IndexOptions(milvus=MilvusOptions("http://localhost:1")))
