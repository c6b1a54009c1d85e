"""Feedback in the ledger, and its way into a judged set that `eval` and `tune` read."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import insert

from braid.core.braid import Braid
from braid.core.chat.feedback import MAX_RANKING, ROWS_PER_READ, Feedback, FeedbackStore, Kind, judgements_of
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.evaluation.beir import read_set
from braid.core.evaluation.evaluation import evaluate
from braid.core.evaluation.feedback_export import export_qrels
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import FeedbackRow
from braid.core.types import ChunkInput, DocumentInput, SearchResult
from tests.command_line import invoke
from tests.databases import on_both_databases
from tests.fakes import HashEmbeddings

PUT = Callable[..., str]


def said(kind: Kind, chunk_id: str = "c1", query: str = "cat", **others: Any) -> Feedback:
    return Feedback(kind, chunk_id, query, **{"scope": (1,), "ranking": ("c1", "c2"), **others})


# ---------------------------------------------------------------- in the ledger


def test_feedback_is_stored_with_query_scope_and_ranking(ledger: Ledger) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    given = Feedback("up", "c2", "猫はどこ？", scope=(3, -1), ranking=("c1", "c2", "c3"))

    store.add(ann, given)
    store.add(ann, said("click"))

    first, second = store.all(ann)
    assert (first.kind, first.chunk_id, first.query) == ("up", "c2", "猫はどこ？")
    assert (first.scope, first.ranking) == ((3, -1), ("c1", "c2", "c3"))
    assert first.created_at == pytest.approx(time.time(), abs=60)
    assert second.kind == "click"


@on_both_databases
def test_feedback_is_each_users_own(ledger: Ledger) -> None:
    store = FeedbackStore(ledger)
    ann, bob = ledger.add_user("ann").id, ledger.add_user("bob").id
    store.add(ann, said("up"))
    store.add(bob, said("down"))

    assert [feedback.kind for feedback in store.all(ann)] == ["up"]
    assert store.current_thumbs(bob, ["c1"]) == {("cat", "c1"): "down"}
    assert store.forget(ann) == 1
    assert list(store.all(ann)) == []
    assert len(store.of_user(bob, limit=10)) == 1


@on_both_databases
def test_thumbs_as_they_stand(ledger: Ledger) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    for kind, chunk in (("up", "c1"), ("down", "c1"), ("click", "c1"), ("up", "c2"), ("none", "c2")):
        store.add(ann, said(kind, chunk))
    assert store.current_thumbs(ann, ["c1", "c2"]) == {("cat", "c1"): "down"}
    assert store.current_thumbs(ann, ["c2"]) == {}


def test_of_a_long_ranking_the_beginning_and_the_passage_are_kept(ledger: Ledger) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    ranking = tuple(f"c{number}" for number in range(1_000))
    store.add(ann, said("up", "c5", ranking=ranking))
    store.add(ann, said("up", "c900", ranking=ranking))
    near, far = store.all(ann)
    assert near.ranking == ranking[:MAX_RANKING]
    assert far.ranking == (*ranking[: MAX_RANKING - 1], "c900")


def test_of_what_an_earlier_version_stored_no_more_is_read(ledger: Ledger) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    long = [f"{number}{'€' * 96}" for number in range(1_000)]
    row = {"user_id": ann, "kind": "up", "chunk_id": long[900], "query": "cat", "scope": [1], "ranking": long}
    with ledger.database.write() as connection:
        connection.execute(insert(FeedbackRow), [{**row, "created_at": 0.0}] * 40)
    tracemalloc.start()
    read = store.of_user(ann, limit=200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 2**20, "a few rows are in memory at a time, not all 23 MB"
    assert len(read) == 40
    assert {feedback.ranking for feedback in (*read, *store.all(ann))} == {(*long[: MAX_RANKING - 1], long[900])}


@pytest.mark.parametrize("wrong", ["", "€" * 50, "c" * 101, "a b", "a\n"])
def test_what_no_passage_has_as_its_id_is_refused(ledger: Ledger, wrong: str) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    with pytest.raises(InvalidInputError):
        store.add(ann, said("up", ranking=("c1", wrong)))
    assert list(store.all(ann)) == []


@on_both_databases
def test_feedback_is_read_a_page_at_a_time(ledger: Ledger) -> None:
    store, ann = FeedbackStore(ledger), ledger.add_user("ann").id
    for number in range(ROWS_PER_READ + 2):
        store.add(ann, said("click", query=f"q{number}"))
    everything = [feedback.query for feedback in store.all(ann)]
    assert everything == [f"q{number}" for number in range(ROWS_PER_READ + 2)]
    assert [feedback.query for feedback in store.of_user(ann, limit=2, offset=1)] == ["q1", "q2"]


def test_nobody_cannot_say_anything(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError, match="there is no user 7"):
        FeedbackStore(ledger).add(7, said("up"))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("kind", {"kind": "meh"}),
        ("query", {"query": "  "}),
        ("query", {"query": "x" * 10_001}),
        ("scope", {"scope": ()}),
        ("scope", {"scope": (0,)}),
        ("scope", {"scope": (True,)}),
        ("scope", {"scope": tuple(range(1, 1002))}),
        ("ranking", {"chunk_id": "elsewhere"}),
        ("ranking", {"ranking": ()}),
        ("ranking", {"ranking": tuple(f"c{n}" for n in range(1001))}),
    ],
)
def test_what_is_no_feedback_is_refused(field: str, wrong: dict[str, Any]) -> None:
    values = {"kind": "up", "chunk_id": "c1", "query": "cat", "scope": (1,), "ranking": ("c1",), **wrong}
    with pytest.raises(InvalidInputError) as refused:
        Feedback(**values)
    assert refused.value.field == field


# ---------------------------------------------------------------- grades


@pytest.mark.parametrize(
    ("kinds", "grade"),
    [
        (["up"], 2),
        (["down"], 0),
        (["click"], 1),
        (["click", "click"], 1),
        (["up", "down"], 0),
        (["down", "up"], 2),
        (["click", "down"], 0),
        (["down", "click"], 0),
        (["click", "up"], 2),
        (["up", "none"], None),
        (["click", "up", "none"], 1),
        (["none"], None),
    ],
)
def test_the_newest_thumb_counts(kinds: list[Kind], grade: int | None) -> None:
    assert judgements_of(map(said, kinds)) == ({} if grade is None else {"cat": {"c1": grade}})


def test_questions_that_differ_in_spaces_are_one() -> None:
    given = [said("up", query=" a  cat\n"), said("click", "c2", query="a cat")]
    assert judgements_of(given) == {"a cat": {"c1": 2, "c2": 1}}


# ---------------------------------------------------------------- export


class Library:
    """Ann's and a shared dataset, and what she and Bob said about what they found there."""

    def __init__(self, braid: Braid, put: PUT) -> None:
        self.braid = braid
        self.store = FeedbackStore(braid.ledger)
        self.ann, self.bob = (braid.ledger.add_user(name).id for name in ("ann", "bob"))
        self.notes = braid.ledger.add_dataset(self.ann, "notes").id
        self.others = braid.ledger.add_dataset(self.ann, "others").id
        self.guide = braid.registry.add("guide", "shared_guide").id
        braid.mirror_registry()
        put(self.notes, "cats.md", "the cat sleeps on the mat", "a cat eats fish", title="Cats")
        put(self.notes, "dogs.md", "the dog barks at the cat")
        put(self.guide, "guide.md", "how to feed a cat")
        put(self.others, "secret.md", "a cat nobody asked about")

    def search(self, text: str, user: int, *datasets: int) -> SearchResult:
        return self.braid.manager.search(text, user_id=user, dataset_ids=datasets, mode="keyword")

    def say(self, user: int, kind: Kind, text: str, query: str = "cat", datasets: tuple[int, ...] = ()) -> str:
        """About the passage with this text, as it is found; returns its chunk id."""
        scope = datasets or (self.notes, self.guide)
        hits = self.search(query, user, *scope).hits
        ranking = tuple(hit.passage.chunk_id for hit in hits)
        (chunk_id,) = (hit.passage.chunk_id for hit in hits if hit.passage.text == text)
        self.store.add(user, Feedback(kind, chunk_id, query, scope, ranking))
        return chunk_id


@pytest.fixture
def library(braid: Braid, put: PUT) -> Library:
    return Library(braid, put)


def test_the_export_is_what_the_user_said(library: Library, tmp_path: Path) -> None:
    best = library.say(library.ann, "up", "a cat eats fish")
    opened = library.say(library.ann, "click", "how to feed a cat")
    poor = library.say(library.ann, "down", "the dog barks at the cat")
    library.say(library.bob, "up", "how to feed a cat", "feed", (library.guide,))

    report = export_qrels(library.braid, library.ann, tmp_path / "out")

    judged = read_set(tmp_path / "out")
    assert list(judged.queries.values()) == ["cat"]
    (grades,) = judged.judgements.values()
    assert grades == {best: 2, opened: 1, poor: 0}
    texts = {document.id: (document.title, document.text, document.collection) for document in judged.documents}
    assert len(texts) == report.passages == 4, "all of the datasets that were searched, and nothing else"
    assert texts[best] == ("Cats", "a cat eats fish", f"user_{library.ann}")
    assert texts[opened][2] == "shared_guide"
    assert not any("nobody asked" in text for _, text, _ in texts.values())
    assert (report.queries, report.judgements, report.deleted, report.left_out_queries) == (1, 3, 0, 0)


def test_deleted_passages_are_left_out_and_counted(library: Library, tmp_path: Path) -> None:
    library.say(library.ann, "up", "the dog barks at the cat")
    library.say(library.ann, "up", "the dog barks at the cat", "dog barks")
    kept = library.say(library.ann, "click", "a cat eats fish")
    library.braid.ledger.remove_document(library.notes, "dogs.md")

    report = export_qrels(library.braid, library.ann, tmp_path / "out")

    judged = read_set(tmp_path / "out")
    assert [dict(grades) for grades in judged.judgements.values()] == [{kept: 1}]
    assert (report.queries, report.judgements, report.deleted, report.left_out_queries) == (1, 1, 2, 1)


def test_what_the_user_may_no_longer_read_is_left_out(library: Library, tmp_path: Path) -> None:
    library.say(library.ann, "up", "how to feed a cat")
    library.say(library.ann, "up", "a cat eats fish")
    library.braid.registry.update(library.guide, allowed_groups=("staff",))

    report = export_qrels(library.braid, library.ann, tmp_path / "out")

    texts = [document.text for document in read_set(tmp_path / "out").documents]
    assert "how to feed a cat" not in texts
    assert (report.judgements, report.deleted) == (1, 1)


def test_more_datasets_than_a_scope_may_have(library: Library, tmp_path: Path) -> None:
    chunk = library.say(library.ann, "up", "a cat eats fish")
    for start in (10_000, 20_000):
        ids = (library.notes, *range(start, start + 900))
        library.store.add(library.ann, Feedback("up", chunk, "fish", ids, (chunk,)))

    report = export_qrels(library.braid, library.ann, tmp_path / "out")

    assert (report.queries, report.judgements, report.deleted) == (2, 2, 0)
    texts = [document.text for document in read_set(tmp_path / "out").documents]
    assert "a cat eats fish" in texts
    assert "a cat nobody asked about" not in texts


def test_a_forged_scope_opens_nothing(library: Library, tmp_path: Path) -> None:
    library.say(library.bob, "up", "how to feed a cat", "feed", (library.guide,))
    mine = library.search("cat", library.ann, library.notes).hits[0].passage.chunk_id
    library.store.add(library.bob, Feedback("up", mine, "cat", (library.notes,), (mine,)))

    report = export_qrels(library.braid, library.bob, tmp_path / "out")

    assert [document.text for document in read_set(tmp_path / "out").documents] == ["how to feed a cat"]
    assert report.deleted == 1


def test_nothing_good_is_nothing_to_export(library: Library, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="of 0 judged questions"):
        export_qrels(library.braid, library.ann, tmp_path / "out")
    library.say(library.ann, "down", "a cat eats fish")
    with pytest.raises(InvalidInputError, match="of 1 judged questions none"):
        export_qrels(library.braid, library.ann, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_not_written_over(library: Library, tmp_path: Path) -> None:
    library.say(library.ann, "up", "a cat eats fish")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "vectors.npz").write_bytes(b"of another corpus")
    with pytest.raises(InvalidInputError, match="not empty"):
        export_qrels(library.braid, library.ann, tmp_path / "out")


def test_the_export_can_be_evaluated(library: Library, tmp_path: Path) -> None:
    library.say(library.ann, "up", "a cat eats fish", "cat fish")
    library.say(library.ann, "up", "how to feed a cat", "feed")
    export_qrels(library.braid, library.ann, tmp_path / "mine")

    report = evaluate(
        [tmp_path / "mine"], scratch_dir=tmp_path / "scratch", embedding_model=HashEmbeddings(), each=True
    )

    assert report.sets["mine"]["ndcg@10"] == 1.0
    assert report.degraded == ()


# ---------------------------------------------------------------- the command


def run(tmp_path: Path, *arguments: str) -> Result:
    return invoke(tmp_path, "qrels", "export", *arguments)


def test_the_command_writes_one_users_feedback(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        for name in ("ann", "bob"):
            user = braid.ledger.add_user(name).id
            dataset = braid.ledger.add_dataset(user, "notes").id
            braid.ledger.put_document(dataset, DocumentInput("s", "", "txt", (ChunkInput(f"{name}'s cat"),)))
            document = braid.ledger.documents(dataset)[0].id
            chunk = braid.ledger.document_passages(document, [dataset])[0].chunk_id
            FeedbackStore(braid.ledger).add(user, Feedback("up", chunk, "cat", (dataset,), (chunk,)))
            FeedbackStore(braid.ledger).add(user, Feedback("up", "gone", "dog", (dataset,), ("gone",)))

    told = run(tmp_path, "--user", "ann", "--out", str(tmp_path / "ann"))
    plain = run(tmp_path, "--user", "bob", "--out", str(tmp_path / "bob"), "--json")
    again = run(tmp_path, "--user", "ann", "--out", str(tmp_path / "ann"))

    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("Wrote 1 question with 1 judgement on 1 passage to ")
    assert told.stderr.splitlines() == [
        "left out: 1 judgement of deleted passages",
        "left out: 1 question without a good passage",
    ]
    assert json.loads(plain.stdout) == {
        "folder": str(tmp_path / "bob"),
        "queries": 1,
        "judgements": 1,
        "passages": 1,
        "deleted": 1,
        "left_out_queries": 1,
    }
    assert [document.text for document in read_set(tmp_path / "bob").documents] == ["bob's cat"]
    assert (again.exit_code, again.stderr.startswith("error: ")) == (2, True)
