"""Texts, vectors and queries for benchmarks of speed: real passages, as many as wanted, and low-rank unit vectors."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.common import EVAL, need

SCALE = EVAL / "scale-100k.jsonl.gz"
SEED = 7
RANK = 32
TABLE = 4096
NOISE = 0.05
CHARS_PER_PIECE = 8
"""Length of what stands for a word in a text without spaces."""


class LowRankVectors:
    """A model of 384 dimensions whose vectors lie near a space of 32, as those of real models do.

    A text's place is the sum of two rows of tables, chosen by its hash: texts that share a row are near each other.
    Vectors are of unit length, and the same at every call.
    """

    fingerprint = f"benchmark:low-rank-{RANK}"

    def __init__(self, size: int = 384) -> None:
        dice = np.random.default_rng(SEED)
        self._basis = dice.standard_normal((RANK, size), dtype=np.float32)
        self._rows = dice.standard_normal((2, TABLE, RANK), dtype=np.float32)
        self._noise = dice.standard_normal((TABLE, size), dtype=np.float32) * NOISE * RANK**0.5

    def matrix(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """(n, 384) float32."""
        digests = b"".join(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).digest() for text in texts)
        first, second, third = (np.frombuffer(digests, dtype=np.uint32).reshape(-1, 3) % TABLE).T
        vectors = (self._rows[0, first] + self._rows[1, second]) @ self._basis + self._noise[third]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return list(self.matrix(texts))  # rows of numbers, without making a Python number of each

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        return self.matrix([text])[0].tolist()


def scale_rows(limit: int) -> Iterator[dict[str, Any]]:
    """The first ``limit`` passages made for measuring speed: ``title``, ``text``, ``metadata`` with ``lang``."""
    need(SCALE)
    with gzip.open(SCALE, "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, limit):
            yield json.loads(line)


def scale_passages(limit: int) -> list[tuple[str, str]]:
    """Title and text of the first ``limit`` passages made for measuring speed."""
    return [(row["title"], row["text"]) for row in scale_rows(limit)]


def many_texts(texts: Sequence[str], count: int) -> Iterator[str]:
    """``count`` texts: the given ones, then the same again and again with every fourth word taken from another text."""
    for number in range(count):
        copy, place = divmod(number, len(texts))
        step = 1 + (place * 7919 + copy * 104_729) % max(1, len(texts) - 1)
        yield _changed(texts[place], texts[(place + step) % len(texts)], copy)


def _changed(text: str, other: str, copy: int) -> str:
    if copy == 0:
        return text
    between, words, others = " ", text.split(), other.split()
    if len(words) < len(text) / (2 * CHARS_PER_PIECE):  # Japanese: pieces of a few characters are its words
        between, words, others = "", _pieces(text), _pieces(other)
    for number in range(copy % 4, len(words), 4):
        words[number] = others[number % len(others)]
    return between.join(words)


def _pieces(text: str) -> list[str]:
    return [text[start : start + CHARS_PER_PIECE] for start in range(0, len(text), CHARS_PER_PIECE)]


def word_queries(texts: Sequence[str], count: int, *, seed: int = SEED) -> list[str]:
    """Six words in a row, or twenty characters of a text without spaces, out of random texts."""
    dice, queries = random.Random(seed), list[str]()
    while len(queries) < count:
        words = dice.choice(texts).split()
        start = dice.randrange(max(1, len(words) - 6))
        query = " ".join(word[:20] for word in words[start : start + 6])
        if query:
            queries.append(query)
    return queries
