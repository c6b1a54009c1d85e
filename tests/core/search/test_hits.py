"""Hits: what is read for them, and equal texts."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event

from braid.config.models import SiteModels
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ledger import prepared
from braid.core.ledger.document_batch import text_hash
from braid.core.ledger.prepared import text_for
from braid.core.ledger.queries import PassageRow
from braid.core.search.hits import HitReader, build_hits, group_equal_texts
from braid.core.search.ranking import FusedRanking
from braid.core.types import CollectionScope, Filters, Hit, Scope, ScoredChunk, SearchOptions
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up, document


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[Braid]:
    with ByHand(tmp_path / "data", embedding_model=HashEmbeddings()) as opened:
        yield opened


def hits(texts: Sequence[str], limit: int, missing: str = "") -> list[Hit]:
    """The hits of chunks 0, 1, … with these texts, of which the missing ones are not in the ledger any more."""
    ids = [str(number) for number in range(len(texts))]
    rows = {
        chunk_id: PassageRow(
            chunk_id,
            1,
            1,
            "c",
            f"{chunk_id}.md",
            "T",
            "md",
            "",
            text,
            0,
            None,
            None,
            None,
            None,
            None,
            "{}",
            text_hash=text_hash(text),
        )
        for chunk_id, text in zip(ids, texts, strict=True)
        if chunk_id not in missing
    }
    order = tuple(ScoredChunk(chunk_id, 1.0 / (int(chunk_id) + 1)) for chunk_id in ids)
    fused = FusedRanking((), order, dict.fromkeys(ids, ()))
    return build_hits(fused, group_equal_texts(fused, rows, limit, end=len(ids)))


def places(found: Sequence[Hit]) -> list[list[str]]:
    return [[hit.passage.chunk_id, *(other.chunk_id for other in hit.also_in)] for hit in found]


def test_copies_are_found_however_deep_they_are() -> None:
    texts = ["a b c d", "other", "third", "a  b\nc d ", "a b c e", "other", "new", "third"]
    assert places(hits(texts, 2)) == [["0", "3"], ["1", "5"]]
    assert places(hits(texts, 10)) == [["0", "3"], ["1", "5"], ["2", "7"], ["4"], ["6"]]


def test_among_documents_the_same_file_in_another_dataset_is_another_place_of_it() -> None:
    def row(chunk_id: str, dataset: int, source: str, text: str) -> PassageRow:
        document = sum(map(ord, source)) + dataset
        rest: list[None] = [None] * 5
        return PassageRow(
            chunk_id, document, dataset, "c", source, "T", "md", "", text, 0, *rest, "{}", text_hash=text_hash(text)
        )

    found = [
        row("0", 1, "travel.md", "A hotel"),
        row("1", 2, "policies/travel.md", "A hotel"),
        row("2", 1, "travel.md", "A train"),
        row("3", 2, "policies/travel.md", "A train"),
        row("4", 2, "policies/letter.md", "A hotel"),  # another file that says the same
    ]
    rows = {each.chunk_id: each for each in found}
    fused = FusedRanking((), tuple(ScoredChunk(chunk_id, 1.0) for chunk_id in rows), dict.fromkeys(rows, ()))
    hits = build_hits(fused, group_equal_texts(fused, rows, 5, end=5, by_document=True))
    assert places(hits) == [["0", "1"], ["4"]]
    assert [hit.more_in_document for hit in hits] == [1, 0]


def test_documents_of_one_name_that_share_a_passage_are_both_shown() -> None:
    rest: list[None] = [None] * 5

    def row(chunk_id: str, document: int, text: str) -> PassageRow:
        source = f"{document}/report.pdf"
        return PassageRow(
            chunk_id, document, document, "c", source, "T", "pdf", "", text, 0, *rest, "{}", text_hash=text_hash(text)
        )

    found = [
        row("0", 1, "All rights reserved."),
        row("1", 2, "All rights reserved."),
        row("2", 2, "The contract ends in 2027."),
        row("3", 2, "It costs 5 EUR."),
        row("4", 1, "Sales of 2019."),
    ]
    rows = {each.chunk_id: each for each in found}
    fused = FusedRanking((), tuple(ScoredChunk(chunk_id, 1.0) for chunk_id in rows), dict.fromkeys(rows, ()))
    hits = build_hits(fused, group_equal_texts(fused, rows, 5, end=5, by_document=True))
    assert places(hits) == [["0", "1"], ["2"]]
    assert [hit.more_in_document for hit in hits] == [1, 1]


def test_texts_without_spaces() -> None:
    assert places(hits(["東京は晴れ", "東京は雨", "東京は晴れ", "", " "], 2)) == [["0", "2"], ["1"]]
    assert places(hits(["", "東京", " "], 1)) == [["0", "2"]]


def test_a_text_that_was_made_to_have_the_hash_of_another_is_no_copy_of_it() -> None:
    rows = {
        chunk_id: PassageRow(chunk_id, 1, 1, "c", "a.md", "T", "md", "", text, *[None] * 6, "{}", text_hash=7)
        for chunk_id, text in (("0", "the text"), ("1", "another one"), ("2", "the  text"))
    }
    fused = FusedRanking((), tuple(ScoredChunk(chunk_id, 1.0) for chunk_id in rows), dict.fromkeys(rows, ()))
    assert places(build_hits(fused, group_equal_texts(fused, rows, 5, end=3))) == [["0", "2"], ["1"]]


def test_texts_are_looked_for_by_their_hashes_in_an_index_alone(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes")
    braid.ledger.put_document(dataset.id, document("a.md", "the pump", "a valve", " the\npump"))
    ids = [passage.chunk_id for passage in braid.ledger.document_passages(1, [dataset.id])]
    assert sorted(braid.ledger.having_hashes(ids, [text_hash("the pump")])) == sorted([ids[0], ids[2]])
    assert braid.ledger.having_hashes(ids[1:], [text_hash("the pump"), 5]) == [ids[2]]
    assert braid.ledger.having_hashes(ids, []) == braid.ledger.having_hashes([], [5]) == []
    statement = text_for("sqlite", prepared.HAVING_HASHES)
    with braid.ledger.database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", {"ids": "[]", "hashes": "[]"}).all()
    assert "USING COVERING INDEX ix_chunks_id_text_hash (id=?)" in str(plan)


def test_a_hit_has_the_rank_and_score_of_its_first_copy_that_may_be_shown() -> None:
    first, second = hits(["one", "one", "two"], 5, missing="0")
    assert (first.passage.chunk_id, first.score, first.also_in) == ("1", 1 / 2, ())
    assert (second.passage.chunk_id, second.score) == ("2", 1 / 3)
    assert hits([], 5) == hits(["one"], 5, missing="0") == []


def test_a_search_reads_the_ledger_once(braid: Braid) -> None:
    user = braid.ledger.add_user("ann", ["staff"])
    own = braid.ledger.add_dataset(user.id, "own").id
    guide = braid.registry.add("Guide", "shared_guide", allowed_groups=["staff"]).id
    braid.mirror_registry()
    braid.ledger.put_document(own, document("a.md", "the pump", "the pump of the tank"))
    braid.ledger.put_document(guide, document("b.md", "the pump of the guide"))
    catch_up(braid, "bm25")
    braid.manager.use_models(SiteModels(Settings(), braid.ledger, b"s" * 32).chat_models)
    statements: list[str] = []

    def note(statement: str) -> None:
        if threading.current_thread() is threading.main_thread() and not statement.startswith("PRAGMA"):
            statements.append(statement)

    def trace(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_trace_callback(note)

    event.listen(braid.ledger.database.engine, "connect", trace)
    braid.ledger.database.engine.dispose()

    def count() -> int:
        statements.clear()
        assert len(braid.search("pump", user_id=user.id, dataset_ids=[own, guide], mode="keyword").hits) == 3
        return len(statements)

    assert count() > 1  # what is kept between searches is read
    assert count() == 1
    braid.ledger.add_user("bob")
    assert count() == 6  # the user, their datasets, those of the collections and with terms, the heads, the passages


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_unread_changes_nothing(braid: Braid, seed: int) -> None:
    """A list is read only as far as it is shown; copies behind that are found all the same."""
    dice = random.Random(seed)
    words = ["a", "of", "pump", "pumps", "ポンプ", "valve", "Valve", "東京は晴れ"]
    texts = [
        "".join(word + dice.choice([" ", "\n", "\t\u3000", "  "]) for word in dice.choices(words, k=dice.randint(1, 2)))
        for _ in range(80)
    ]
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes")
    documents = [document(f"{n}.md", dice.choice(["", " ", "\u00a0"]) + text) for n, text in enumerate(texts)]
    braid.ledger.put_documents(dataset.id, documents)
    passages = [passage for n in range(80) for passage in braid.ledger.document_passages(n + 1, [dataset.id])]
    ids = [passage.chunk_id for passage in passages] + [f"{n:032x}" for n in range(30)]
    dice.shuffle(ids)
    order = tuple(ScoredChunk(chunk_id, 1 / (1 + rank)) for rank, chunk_id in enumerate(ids))
    fused = FusedRanking((), order, dict.fromkeys(ids, ()))
    scope = Scope((CollectionScope(dataset.collection, frozenset({dataset.id}), 1),), (), 1)
    rows = braid.ledger.passage_rows(ids, [dataset.id])
    whole = build_hits(fused, group_equal_texts(fused, rows, 110, end=110))
    assert len(whole) > 10
    assert any(hit.also_in for hit in whole[:3])
    for k in (1, 3, 10, 110):
        query = SearchOptions(k=k).for_text("pump")
        assert HitReader(braid.ledger, scope).read(query, fused) == whole[:k]
        filters = Filters(source_prefix="1")
        rows = braid.ledger.passage_rows(ids, [dataset.id], filters)
        few = build_hits(fused, group_equal_texts(fused, rows, 110, end=110))
        assert HitReader(braid.ledger, scope).read(replace(query, filters=filters), fused) == few[:k]
    query = SearchOptions().for_text("pump")
    for _ in range(60):  # what was read for one ranking leaves nothing out of another
        reader = HitReader(braid.ledger, scope)
        for limit in (dice.randint(1, 5), dice.randint(1, 30)):
            dice.shuffle(ids)
            order = tuple(ScoredChunk(chunk_id, 1 / (1 + rank)) for rank, chunk_id in enumerate(ids))
            other = FusedRanking((), order, dict.fromkeys(ids, ()))
            expected = HitReader(braid.ledger, scope).read(query, other, limit=limit)
            assert reader.read(query, other, limit=limit) == expected
