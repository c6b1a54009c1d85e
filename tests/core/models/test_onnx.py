"""Models from folders, made here: a cross-encoder and an embedding model that a reader can compute by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.braid import Braid
from braid.core.errors import EmbeddingError, InvalidInputError, ModelError
from braid.core.models.e5.onnx_format import Graph
from braid.core.models.embeddings import embedding_model
from braid.core.models.onnx_embeddings import PAIRS
from braid.core.models.onnx_model import MAX_TOKENS, OnnxModel
from braid.core.models.rerank import reranker_named
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, document

LETTERS = sorted(set("".join(text for pair in PAIRS for text in pair) + "catdogowl abcdefghijklmnopqrstuvwxyz:_"))
WORDS = ["[PAD]", "[UNK]", *LETTERS]


def write_tokenizer(folder: Path) -> None:
    """Each character is a token; what is not known is [UNK]."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))


def write_reranker(folder: Path, labels: int = 1) -> None:
    """The score of a pair is its number of letters ``c``; with two labels, the first one's is 1 more."""
    write_tokenizer(folder)
    weights = np.zeros((len(WORDS), labels), np.float32)
    weights[WORDS.index("c"), labels - 1] = 1.0
    graph = Graph()
    picked = graph.node("Gather", [graph.constant(weights), "input_ids"], axis=0)
    total = graph.node("ReduceSum", [picked, graph.constant(np.array([1], np.int64))], keepdims=0)
    first = np.zeros(labels, np.float32)
    first[0] = labels - 1
    graph.node("Add", [total, graph.constant(first)], outputs=["logits"])
    model = graph.model({"input_ids": ["n", "tokens"]}, {"logits": ["n", labels]}, kind=np.int64)
    (folder / "model.onnx").write_bytes(model)


def write_embedder(folder: Path, *, constant: bool = False, inputs: tuple[str, ...] = ("input_ids",)) -> None:
    """The vector of a token has 1 at the token's place; with ``constant`` all tokens have the same vector."""
    write_tokenizer(folder)
    vectors = np.ones((len(WORDS), 4), np.float32) if constant else np.eye(len(WORDS), dtype=np.float32)
    graph = Graph()
    graph.node("Gather", [graph.constant(vectors), "input_ids"], outputs=["last_hidden_state"], axis=0)
    shape = ["n", "tokens", vectors.shape[1]]
    model = graph.model({name: ["n", "tokens"] for name in inputs}, {"last_hidden_state": shape}, kind=np.int64)
    (folder / "model.onnx").write_bytes(model)


def scores(folder: Path, query: str, texts: list[str]) -> list[float]:
    reranker = reranker_named(f"onnx:{folder}")
    assert reranker is not None
    return list(reranker.scores(query, texts))


# ---------------------------------------------------------------- rerankers


@pytest.mark.parametrize("labels", [1, 2])
def test_a_pair_is_read_together_whatever_is_beside_it(tmp_path: Path, labels: int) -> None:
    write_reranker(tmp_path, labels)
    texts = ["no", "cc", "c and much more text than the others have", *["dog"] * 20]
    expected = [1 + text.count("c") - (labels - 1) for text in texts]
    assert scores(tmp_path, "cat", texts) == expected
    assert [scores(tmp_path, "cat", [text])[0] for text in texts[:3]] == expected[:3]
    assert scores(tmp_path, "cat", []) == []


def test_a_long_passage_is_cut_and_still_scored(tmp_path: Path) -> None:
    write_reranker(tmp_path)
    assert scores(tmp_path, "", ["c" * 10_000]) == [MAX_TOKENS]


def test_the_limit_of_the_tokenizer_counts(tmp_path: Path) -> None:
    write_reranker(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 8}))
    assert scores(tmp_path, "", ["c" * 100]) == [8]


def test_a_search_is_reranked_by_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    write_reranker(folder)
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        user = braid.ledger.add_user("ann").id
        dataset = braid.ledger.add_dataset(user, "animals").id
        for name, text in {"a": "owl", "b": "owl ccc", "c": "owl c"}.items():
            braid.ledger.put_document(dataset, document(name, text))
        assert braid.indexer.wait(WAIT_S)
        result = braid.search("owl", user_id=user, dataset_ids=[dataset], reranker=f"onnx:{folder}")
    assert [hit.passage.source for hit in result.hits] == ["b", "c", "a"]
    assert [hit.rerank_score for hit in result.hits] == [3.0, 1.0, 0.0]


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.onnx"])
def test_a_folder_without_its_files_is_said(tmp_path: Path, missing: str) -> None:
    write_reranker(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ModelError, match=f"there is no {missing} in .*; give a folder that has tokenizer.json and"):
        scores(tmp_path, "cat", ["cat"])


def test_a_model_with_other_labels_is_refused(tmp_path: Path) -> None:
    write_reranker(tmp_path, labels=3)
    with pytest.raises(ModelError, match="gives 3 values per pair; a cross-encoder gives 1 or 2"):
        scores(tmp_path, "cat", ["cat"])


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx"])
def test_damaged_files_are_said(tmp_path: Path, name: str) -> None:
    write_reranker(tmp_path)
    (tmp_path / name).write_bytes(b"{damaged")
    with pytest.raises(ModelError, match=r"the reranker onnx:.* failed"):
        scores(tmp_path, "cat", ["cat"])


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reranker(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelError, match="pip install onnxruntime tokenizers"):
        scores(tmp_path, "cat", ["cat"])


# ---------------------------------------------------------------- embedding models


def test_vectors_are_means_of_the_tokens(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "q", "passage": ""}}))
    model = embedding_model(f"onnx:{tmp_path}")
    vectors = np.array(model.embed_documents(["aab", "a", "b" * 30]))
    a, b, q = (WORDS.index(letter) for letter in "abq")
    assert vectors[0][[a, b]] == pytest.approx([2 / 5**0.5, 1 / 5**0.5])
    assert vectors[1][a] == pytest.approx(1)
    assert vectors[2][b] == pytest.approx(1)
    assert np.array(model.embed_query("a"))[[a, q]] == pytest.approx([0.5**0.5, 0.5**0.5])


def test_pooling_and_prefixes_are_found_by_known_pairs(tmp_path: Path) -> None:
    """The first character of a text tells nothing here, so that only means are right."""
    write_embedder(tmp_path)
    model: Any = embedding_model(f"onnx:{tmp_path}")
    model.embed_query("a")
    assert model._checked_way().pooling == "mean"


@pytest.mark.parametrize("pooling", ["pooling_mode_mean_tokens", "pooling_mode_cls_token"])
def test_a_model_that_does_not_tell_known_texts_apart_is_refused(tmp_path: Path, pooling: str) -> None:
    write_embedder(tmp_path, constant=True)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True}))
    with pytest.raises(EmbeddingError, match="does not tell known texts apart"):
        embedding_model(f"onnx:{tmp_path}").embed_documents(["a"])


def test_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(InvalidInputError, match="names none of pooling_mode_mean_tokens"):
        embedding_model(f"onnx:{tmp_path}").embed_query("a")


def test_a_model_with_other_inputs_is_refused(tmp_path: Path) -> None:
    write_embedder(tmp_path, inputs=("input_ids", "pixel_values"))
    with pytest.raises(InvalidInputError, match="wants the input 'pixel_values'"):
        OnnxModel(str(tmp_path)).embed(["a"], "mean")


def test_the_fingerprint_changes_with_the_model_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        folder.mkdir()
        write_embedder(folder)
    one, two = (embedding_model(f"onnx:{folder}").fingerprint for folder in (first, second))
    assert one.startswith("onnx:one-")
    assert one.partition("-")[2] == two.partition("-")[2]
    write_embedder(first, constant=True)
    assert embedding_model(f"onnx:{first}").fingerprint != one


def test_a_folder_that_is_not_there_is_said_when_the_model_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"there is no tokenizer.json in /nowhere"):
        embedding_model("onnx:/nowhere")


def test_documents_are_found_by_a_model_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    write_embedder(folder)
    with Braid(tmp_path / "data", embedding_model=f"onnx:{folder}") as braid:
        user = braid.ledger.add_user("ann").id
        dataset = braid.ledger.add_dataset(user, "letters").id
        for name in ("aaa", "bbb", "ccc"):
            braid.ledger.put_document(dataset, document(name, name))
        assert braid.indexer.wait(WAIT_S)
        result = braid.search("b", user_id=user, dataset_ids=[dataset], mode="semantic", k=1)
    assert [hit.passage.source for hit in result.hits] == ["bbb"]
