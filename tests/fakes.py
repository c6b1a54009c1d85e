"""Fakes for the two model edges, by rules that can be computed by hand."""

from __future__ import annotations

import hashlib
import threading

import numpy as np
from langchain_core.embeddings import Embeddings


class HashEmbeddings(Embeddings):
    """Each word (each character of text without spaces) adds 1 in one of ``size`` places.

    Texts that share words are near each other; equal texts are equal. Counts its calls, and can be told to fail or
    to be slow.
    """

    def __init__(self, size: int = 64, *, fingerprint: str = "fake:hash-64", delay_s: float = 0.0) -> None:
        self.size = size
        self.fingerprint = fingerprint
        self._changed = threading.Condition()
        self.delay_s = delay_s
        self.failing = False
        self.documents_embedded = 0
        self.queries_embedded = 0
        self.batches: list[int] = []
        """How many texts each call had, of those that take several."""
        self._lock = threading.Lock()

    @property
    def delay_s(self) -> float:
        """Seconds that each text takes. Who waits for one is let go when the delay becomes 0."""
        return self._delay_s

    @delay_s.setter
    def delay_s(self, seconds: float) -> None:
        with self._changed:
            self._delay_s = seconds
            self._changed.notify_all()

    def _pause(self) -> None:
        if self._delay_s:
            with self._changed:
                self._changed.wait_for(lambda: not self._delay_s, self._delay_s)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        with self._lock:
            self.documents_embedded += len(texts)
            self.batches.append(len(texts))
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        with self._lock:
            self.queries_embedded += 1
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        if self.failing:
            raise ConnectionError("the model server is down")
        self._pause()
        vector = np.full(self.size, 0.001)
        words = text.lower().split()
        for word in words if len(words) > 1 else list(text):
            vector[int(hashlib.md5(word.encode("utf-8", "replace")).hexdigest(), 16) % self.size] += 1.0
        return vector.tolist()
