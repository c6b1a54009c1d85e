"""The order in which passages are embedded: no small document waits behind a book, and no book for ever."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from braid.core.braid import Braid
from braid.core.indexes import document_progress as progress
from braid.core.indexes.embedding_order import RESTS, EmbeddingOrder
from braid.core.ledger.change_log import ChangeLog
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, document, eventually

BOOK = tuple(f"book page {n}" for n in range(400))


class Counting(HashEmbeddings):
    """Notes the texts in the order in which they are embedded; the first call waits until ``go``."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.embedded: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        assert self.go.wait(WAIT_S)
        self.embedded += texts
        return super().embed_documents(texts)


@pytest.fixture(autouse=True)
def _short_turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call to the model a turn, and no rest between readings, however slow they are, so that the order is that of
    the turns.
    """
    monkeypatch.setattr("braid.core.indexes.embedder.SLICE_S", 0.0001)
    monkeypatch.setattr("braid.core.indexes.embedding_order.LEAST_REST_S", 0.0)
    if "tmp_path" in request.fixturenames:
        monkeypatch.setattr("braid.core.indexes.embedding_order.RESTS", 0)


def place_of_last(embeddings: Counting, word: str) -> int:
    """Return how many texts were embedded until the last with the word was."""
    return max(place for place, text in enumerate(embeddings.embedded, start=1) if word in text)


def test_ten_small_files_never_wait_behind_a_book(tmp_path: Path) -> None:
    embeddings = Counting()
    with Braid(tmp_path, embedding_model=embeddings) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        braid.ledger.put_document(dataset, document("book.md", *BOOK))
        for n in range(10):
            braid.ledger.put_document(dataset, document(f"{n}.md", *(f"small {n} passage {m}" for m in range(3))))
        embeddings.go.set()
        assert braid.indexer.wait(WAIT_S)
    assert sorted(set(embeddings.embedded)) == sorted(embeddings.embedded), "nothing is embedded twice"
    assert len(embeddings.embedded) == len(BOOK) + 30
    assert place_of_last(embeddings, "small") <= 30 + 3 * 16, "the book had the turns of the log at most"


def test_a_small_file_is_found_by_meaning_while_the_book_is_embedded(tmp_path: Path) -> None:
    class Stopping(Counting):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.embedded and not any("small" in text for text in texts) and place_small(self):
                self.go.clear()
            return super().embed_documents(texts)

    def place_small(each: Counting) -> bool:
        return any("small" in text for text in each.embedded)

    embeddings = Stopping()
    with Braid(tmp_path, embedding_model=embeddings) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        braid.ledger.put_document(dataset, document("book.md", *BOOK))
        braid.ledger.put_document(dataset, document("small.md", "small gasket"))
        embeddings.go.set()
        small = braid.ledger.document(dataset, "small.md")
        assert small is not None

        def found() -> bool:
            hits = braid.manager.search("small gasket", user_id=1, mode="semantic").hits
            return bool(hits) and hits[0].passage.source == "small.md"

        eventually(found)
        assert len(embeddings.embedded) < len(BOOK), "the book is not embedded yet"
        state = progress.document_progress(braid, dataset, [small.id])[small.id]
        assert state.dense_ready
        left = braid.indexer.leg_progress("dense", "user_1").pending
        assert 0 < left <= len(BOOK)
        embeddings.go.set()
        embeddings.__class__ = Counting
        assert braid.indexer.wait(WAIT_S)
        [dense] = braid.indexer.states([("dense", "user_1")])  # as the next search sees it
        assert dense.pending == 0


def test_a_book_goes_on_however_many_small_files_come(tmp_path: Path) -> None:
    class Feeding(Counting):
        """Puts another small file with every call."""

        files = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.files < 200:
                self.files += 1
                braid.ledger.put_document(
                    dataset, document(f"{self.files}.md", *(f"small {self.files} {m}" for m in range(16)))
                )
            return super().embed_documents(texts)

    embeddings = Feeding()
    with Braid(tmp_path, embedding_model=embeddings) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        braid.ledger.put_document(dataset, document("book.md", *BOOK[:160]))
        embeddings.go.set()
        eventually(lambda: sum("book" in text for text in embeddings.embedded) == 160)
        assert embeddings.files < 200, "it did not wait for the last of them"
        assert braid.indexer.wait(WAIT_S)


def test_users_take_turns(tmp_path: Path) -> None:
    embeddings = Counting()
    with Braid(tmp_path, embedding_model=embeddings) as braid:
        for name in ("ann", "bob"):
            dataset = braid.ledger.add_dataset(braid.ledger.add_user(name).id, name).id
            braid.ledger.put_document(dataset, document("book.md", *(f"{name} {page}" for page in BOOK)))
        embeddings.go.set()
        assert braid.indexer.wait(WAIT_S)
    first = embeddings.embedded[: len(BOOK)]
    assert 100 < sum(text.startswith("bob") for text in first) < 300


def test_small_documents_come_first_and_alike_ones_in_turn(tmp_path: Path) -> None:
    embeddings = Counting()
    with Braid(tmp_path, embedding_model=embeddings) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        for source, size in (("big.md", 4), ("b.md", 2), ("c.md", 2), ("one.md", 1)):
            braid.ledger.put_document(dataset, document(source, *(f"{source} {n}" for n in range(size))))
        changes = ChangeLog(braid.ledger.database)
        ids = changes.unembedded_changes("user_1", 0, "fake:hash-64", 100)
        texts = {chunk.id: chunk.text for chunk in changes.chunks("user_1", ids)}
        embeddings.go.set()
    assert [texts[chunk_id].split()[0] + texts[chunk_id].split()[-1] for chunk_id in ids] == [
        "one.md0", "b.md0", "c.md0", "b.md1", "c.md1", "big.md0", "big.md1", "big.md2", "big.md3",
    ]  # fmt: skip


class SlowLog:
    """Each reading of it takes ten seconds of its own clock."""

    def __init__(self) -> None:
        self.readings, self.now = 0, 0.0

    def clock(self) -> float:
        return self.now

    def unembedded_changes(self, collection: str, seq: int, model: str, limit: int) -> Sequence[str]:
        self.readings += 1
        self.now += 10
        return [f"{self.readings}:{n}" for n in range(100)]


def test_reading_a_long_log_takes_little_of_the_time_however_fast_the_model() -> None:
    log = SlowLog()
    order = EmbeddingOrder(log, "user_1", clock=log.clock)  # type: ignore[arg-type]
    turns = []
    for _ in range(20):
        turns.append(order.next_turn(0, "fake"))
        order.done(len(turns[-1]), set(turns[-1]))
    assert [len(turn) for turn in turns if turn] == [64, 36], "then it is the log's turn"
    assert log.readings == 1
    log.now += 10 * RESTS - 1
    order.next_turn(0, "fake")
    assert log.readings == 1
    log.now += 1
    turns = [order.next_turn(0, "fake") for _ in range(2)]
    assert log.readings == 2
    assert [turn[0] for turn in turns if turn][-1] == "2:0"
