"""`braid.core.evaluation.evaluation` on tiny judged sets, with figures that are computed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError
from braid.core.evaluation.beir import read_set, read_vectors
from braid.core.evaluation.evaluation import EvaluationProgress, EvaluationReport, evaluate, plot
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings

FIGURES = ["ndcg@10", "recall@10", "recall@100", "mrr@10", "p50_ms", "p95_ms", "p50_ms_search"]
FRUIT = {
    "twice": "apple apple",
    "once": "apple banana pear plum quince",
    "other": "cherry",
}


def write_set(
    folder: Path,
    corpus: Mapping[str, str],
    queries: Mapping[str, str],
    judgements: Sequence[tuple[str, str, int]],
    *,
    collections: Mapping[str, str] | None = None,
) -> Path:
    """A folder in BEIR layout: document id → text, query id → text, (query id, document id, grade)."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = [{"_id": key, "title": "", "text": text} for key, text in corpus.items()]
    for document in documents if collections else ():
        document["metadata"] = {"collection": collections[document["_id"]]}
    rows = [{"_id": key, "text": text} for key, text in queries.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, judgement)) for judgement in judgements)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder


def write_vectors(folder: Path, model: HashEmbeddings, *, fingerprint: str = "") -> None:
    judged = read_set(folder)
    np.savez(
        folder / "vectors.npz",
        V=np.array([model._vector(document.text) for document in judged.documents], dtype=np.float16),
        QV=np.array([model._vector(text) for text in judged.queries.values()], dtype=np.float16),
        ids=np.array([document.id for document in judged.documents]),
        qids=np.array(list(judged.queries)),
        model=np.array(fingerprint or model.fingerprint),
    )


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    return write_set(tmp_path / "fruit", FRUIT, {"q": "apple"}, [("q", "once", 1)])


@pytest.fixture
def run(tmp_path: Path, embeddings: HashEmbeddings) -> Callable[..., EvaluationReport]:
    def evaluate_here(*folders: Path, each: bool = True, model: Any = None, **options: Any) -> EvaluationReport:
        return evaluate(
            folders,
            scratch_dir=tmp_path / "scratch",
            embedding_model=model or embeddings,
            each=each,
            options=options,
        )

    return evaluate_here


def chunk_ids(data_dir: Path) -> dict[str, str]:
    """Source → chunk id, of all shared datasets."""
    with DataDirectory(data_dir, embedding_model=HashEmbeddings()) as braid:
        found = {}
        for dataset in braid.ledger.all_datasets():
            for document in braid.ledger.documents(dataset.id):
                passages = braid.ledger.document_passages(document.id, [dataset.id])
                found[document.source] = passages[0].chunk_id
        return found


# ---------------------------------------------------------------- figures


def test_figures_are_those_computed_by_hand(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    queries = {"second": "apple", "first": "cherry", "nothing": "zebra", "unjudged": "plum"}
    judgements = [("second", "once", 1), ("second", "other", 0), ("first", "other", 2), ("nothing", "once", 1)]
    folder = write_set(tmp_path / "fruit", FRUIT, queries, judgements)

    report = run(folder, mode="keyword")

    figures = report.sets["fruit"]
    assert figures["ndcg@10"] == pytest.approx((1 / log2(3) + 1 + 0) / 3)
    assert figures["mrr@10"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert figures["recall@10"] == figures["recall@100"] == pytest.approx(2 / 3)
    assert report.all == figures
    assert report.degraded == ()


def test_measures_look_at_the_first_ten_or_hundred(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    corpus = {f"d{length}": "apple " + "pear " * length for length in range(1, 31)}
    judgements = [("q", "d1", 1), ("q", "d11", 1)]
    folder = write_set(tmp_path / "long", corpus, {"q": "apple", "deep": "apple"}, [*judgements, ("deep", "d30", 1)])

    figures = run(folder, mode="keyword", k=1).sets["long"]

    ideal = 1 + 1 / log2(3)
    assert figures["ndcg@10"] == pytest.approx((1 / ideal + 0) / 2)
    assert figures["recall@10"] == pytest.approx((1 / 2 + 0) / 2)
    assert figures["recall@100"] == 1.0
    assert figures["mrr@10"] == pytest.approx((1 + 0) / 2)


def test_other_places_of_an_equal_text_count(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    corpus = {"a": "apple pie", "b": "apple pie", "c": "apple pie with a lot of cream and sugar"}
    folder = write_set(tmp_path / "twins", corpus, {"q": "apple pie"}, [("q", "a", 1), ("q", "b", 1)])

    assert run(folder, mode="keyword").sets["twins"]["ndcg@10"] == pytest.approx(1.0)


def test_the_report_has_the_promised_shape(fruit: Path, run: Callable[..., EvaluationReport]) -> None:
    plain = json.loads(json.dumps(run(fruit, mode="hybrid").as_json()))

    assert list(plain) == ["sets", "all"]
    assert list(plain["sets"]) == ["fruit"]
    assert list(plain["all"]) == list(plain["sets"]["fruit"]) == FIGURES
    assert 0 < plain["all"]["p50_ms_search"] < plain["all"]["p50_ms"] <= plain["all"]["p95_ms"]


# ---------------------------------------------------------------- what is searched


def test_each_query_searches_its_own_set_or_all(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    ours = write_set(tmp_path / "ours", {"x": "apple tart with butter"}, {"q": "apple"}, [("q", "x", 1)])
    theirs = write_set(tmp_path / "theirs", {"x": "apple"}, {"q": "apple"}, [("q", "x", 1)])

    alone = run(ours, theirs, each=True, mode="keyword")
    at_once = run(ours, theirs, each=False, mode="keyword")

    assert alone.all["mrr@10"] == 1.0
    assert at_once.sets["ours"]["mrr@10"] == 1 / 2  # the same id in another set is another document
    assert at_once.sets["theirs"]["mrr@10"] == 1.0
    assert at_once.all["mrr@10"] == 3 / 4


def test_collections_of_the_corpus_become_collections(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    collections = {"twice": "a", "once": "a", "other": "名"}
    folder = write_set(tmp_path / "fruit", FRUIT, {"q": "cherry"}, [("q", "other", 1)], collections=collections)

    assert run(folder).sets["fruit"]["mrr@10"] == 1.0

    entries = json.loads((tmp_path / "scratch" / "shared_dbs.json").read_text())
    assert [entry["name"] for entry in entries] == ["fruit/a", "fruit/名"]
    assert len({entry["collection_name"] for entry in entries}) == 2


# ---------------------------------------------------------------- what is stored and embedded


def test_the_scratch_directory_is_used_again(
    tmp_path: Path, fruit: Path, run: Callable[..., EvaluationReport], embeddings: HashEmbeddings
) -> None:
    first = run(fruit)
    ids = chunk_ids(tmp_path / "scratch")
    second = run(fruit)

    assert chunk_ids(tmp_path / "scratch") == ids
    assert embeddings.documents_embedded == len(FRUIT)
    assert first.sets["fruit"]["ndcg@10"] == second.sets["fruit"]["ndcg@10"]


def test_a_changed_corpus_replaces_what_changed(
    tmp_path: Path, fruit: Path, run: Callable[..., EvaluationReport], embeddings: HashEmbeddings
) -> None:
    run(fruit)
    ids = chunk_ids(tmp_path / "scratch")
    write_set(fruit, {"twice": "melon", "once": FRUIT["once"], "new": "apple"}, {"q": "apple"}, [("q", "new", 1)])

    assert run(fruit).sets["fruit"]["mrr@10"] == 1.0

    after = chunk_ids(tmp_path / "scratch")
    assert set(after) == {"twice", "once", "new"}
    assert after["once"] == ids["once"]
    assert after["twice"] != ids["twice"]
    assert embeddings.documents_embedded == len(FRUIT) + 2


def test_vectors_of_the_same_model_spare_the_embedding(
    fruit: Path, run: Callable[..., EvaluationReport], embeddings: HashEmbeddings
) -> None:
    write_vectors(fruit, embeddings)

    report = run(fruit, mode="semantic")

    assert report.sets["fruit"]["recall@10"] == 1.0
    assert embeddings.documents_embedded == 0
    assert embeddings.queries_embedded == 2  # one to load the model, one to be timed


def test_vectors_of_another_model_are_left_alone(
    fruit: Path, run: Callable[..., EvaluationReport], embeddings: HashEmbeddings
) -> None:
    write_vectors(fruit, embeddings, fingerprint="another:model")

    run(fruit, mode="semantic")

    assert embeddings.documents_embedded == len(FRUIT)
    assert read_vectors(read_set(fruit), embeddings.fingerprint) is None


def test_stored_vectors_are_made_unit_length_again(fruit: Path, embeddings: HashEmbeddings) -> None:
    write_vectors(fruit, embeddings)

    found = read_vectors(read_set(fruit), embeddings.fingerprint)

    assert found is not None
    for vector in [*found.documents.values(), *found.queries.values()]:
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_a_keyword_evaluation_embeds_nothing_and_the_next_one_does(
    fruit: Path, run: Callable[..., EvaluationReport], embeddings: HashEmbeddings
) -> None:
    report = run(fruit, mode="keyword")

    assert report.degraded == ()
    assert report.all["p50_ms"] >= report.all["p50_ms_search"] > 0
    assert (embeddings.documents_embedded, embeddings.queries_embedded) == (0, 0)

    assert run(fruit, mode="semantic").degraded == ()
    assert embeddings.documents_embedded == len(FRUIT)


def test_progress_is_told(tmp_path: Path, fruit: Path, embeddings: HashEmbeddings) -> None:
    told: list[EvaluationProgress] = []

    evaluate([fruit], scratch_dir=tmp_path / "scratch", embedding_model=embeddings, each=True, on_progress=told.append)

    assert EvaluationProgress("store", "fruit", 3, 3) in told
    assert told[-1] == EvaluationProgress("search", "fruit", 1, 1)
    assert all(0 <= progress.done <= progress.total for progress in told)


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(fruit: Path, missing: str) -> None:
    (fruit / missing).unlink()

    with pytest.raises(InvalidInputError, match=missing):
        read_set(fruit)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("corpus.jsonl", "{not json", r"corpus\.jsonl, line 4 is not JSON"),
        ("corpus.jsonl", "[1]", r"corpus\.jsonl, line 4 is not a JSON object"),
        ("corpus.jsonl", '{"text": "x"}', r"corpus\.jsonl, line 4: _id is None"),
        ("corpus.jsonl", '{"_id": "x"}', r"corpus\.jsonl, line 4: text is None"),
        ("corpus.jsonl", '{"_id": "once", "text": "x"}', r"line 4: _id 'once' .* used twice"),
        ("corpus.jsonl", '{"_id": "x", "text": "x", "title": 3}', r"corpus\.jsonl, line 4: title is 3"),
        ("corpus.jsonl", '{"_id": "x", "text": "x", "metadata": {"collection": 3}}', r"line 4: metadata\.collection"),
        ("queries.jsonl", '{"_id": "p", "text": " "}', r"queries\.jsonl, line 2: the query must have"),
        ("qrels.tsv", "q once 1", r"qrels\.tsv, line 3 has 1 columns"),
        ("qrels.tsv", "q\tonce\tyes", r"qrels\.tsv, line 3: grade 'yes'"),
        ("qrels.tsv", "nobody\tonce\t1", r"qrels\.tsv, line 3: query 'nobody' is not in queries\.jsonl"),
        ("qrels.tsv", "q\tnothing\t1", r"qrels\.tsv, line 3: document 'nothing' is not in corpus\.jsonl"),
    ],
)
def test_a_malformed_line_is_named(fruit: Path, name: str, line: str, said: str) -> None:
    with (fruit / name).open("a") as file:
        file.write(line + "\n")

    with pytest.raises(InvalidInputError, match=said):
        read_set(fruit)


def test_a_line_that_is_not_utf8_is_named(fruit: Path) -> None:
    with (fruit / "corpus.jsonl").open("ab") as file:
        file.write(b'{"_id": "x", "text": "\xff"}\n')

    with pytest.raises(InvalidInputError, match=r"corpus\.jsonl, line 4 is not UTF-8"):
        read_set(fruit)


def test_qrels_that_judge_nothing_are_refused(fruit: Path) -> None:
    (fruit / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")

    with pytest.raises(InvalidInputError, match="judges nothing"):
        read_set(fruit)


def test_damaged_vectors_are_named(fruit: Path) -> None:
    (fruit / "vectors.npz").write_bytes(b"nothing of the kind")

    with pytest.raises(InvalidInputError, match=r"vectors\.npz cannot be used"):
        read_vectors(read_set(fruit), "any:model")


def test_folders_of_one_name_are_refused(tmp_path: Path, run: Callable[..., EvaluationReport]) -> None:
    folders = [write_set(tmp_path / up / "fruit", FRUIT, {"q": "apple"}, [("q", "once", 1)]) for up in ("a", "b")]

    with pytest.raises(InvalidInputError, match="two folders are named 'fruit'"):
        run(*folders)


def test_no_folder_is_refused(run: Callable[..., EvaluationReport]) -> None:
    with pytest.raises(InvalidInputError, match="no folder"):
        run()


@pytest.mark.parametrize("options", [{"mode": "psychic"}, {"alpha": 2.0}, {"depth": 7}])
def test_a_wrong_option_is_refused(
    tmp_path: Path, fruit: Path, run: Callable[..., EvaluationReport], options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        run(fruit, **options)
    assert not (tmp_path / "scratch").exists()


# ---------------------------------------------------------------- plot


def test_a_plot_is_written(tmp_path: Path) -> None:
    figures = dict.fromkeys(FIGURES, 0.5)
    report = EvaluationReport({"one": figures, "two": figures}, figures)

    plot(report, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")

    with pytest.raises(InvalidInputError, match="cannot be written"):
        plot(report, tmp_path / "plot.nonsense")


# ---------------------------------------------------------------- the ledger's batch


def test_documents_put_together_are_stored_all_or_none(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "papers")
    good = [DocumentInput(name, "", "txt", (ChunkInput(f"text of {name}"),), content_hash=name) for name in "abc"]

    with pytest.raises(InvalidInputError, match="source is empty"):
        braid.ledger.put_documents(dataset.id, [*good, DocumentInput(" ", "", "txt", ())])
    assert braid.ledger.documents(dataset.id) == []

    first = braid.ledger.put_documents(dataset.id, good)
    again = braid.ledger.put_documents(dataset.id, good)
    assert [(put.added, put.unchanged) for put in first] == [(1, False)] * 3
    assert [(put.document_id, put.unchanged) for put in again] == [(put.document_id, True) for put in first]
    assert braid.ledger.dataset(dataset.id).chunks == 3
