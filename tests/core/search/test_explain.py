"""Why a passage is, or is not, in a result: every reason, and agreement with the search itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.models.chat import chat_models
from braid.core.search.context import RecentAnswers
from braid.core.search.explain import FORGOTTEN
from braid.core.types import ChunkInput, DocumentInput, Explanation, Filters, Fusion, Mode, Pooling
from tests.fakes import HashEmbeddings
from tests.model_server import model_server
from tests.worlds import ByHand, add_notes, catch_up, document

SAME = "This sentence stands in two datasets"


class World:
    """Ann's two datasets, Bob's, and a shared one."""

    def __init__(self, braid: Braid, model: HashEmbeddings) -> None:
        self.braid, self.model = braid, model
        ann, bob = (braid.ledger.add_user(name).id for name in ("ann", "bob"))
        notes, more = (braid.ledger.add_dataset(ann, name).id for name in ("notes", "more"))
        secret = braid.ledger.add_dataset(bob, "secret").id
        shared = braid.registry.add("Guide", "shared_main").id
        braid.mirror_registry()
        self.ids = {"notes": notes, "more": more, "secret": secret, "shared": shared}
        self.chunks: dict[str, str] = {}
        self.put("notes", "cats.md", "The cat sat on the mat", "A cat met a dog", SAME)
        self.put("notes", "many.txt", *(f"filler number {n} about stones" for n in range(70)))
        self.put("more", "more.md", "Birds sing in the morning")
        self.put("secret", "secret.md", "The cat of Bob sat on the mat")
        self.put("shared", "shared.md", SAME, "Feed the cat twice")
        catch_up(braid)

    def put(self, dataset: str, source: str, *texts: str) -> None:
        """Store; `chunks` is then dataset/text → id."""
        new = document(source, *texts, file_type=source.rpartition(".")[2])
        document_id = self.braid.ledger.put_document(self.ids[dataset], new).document_id
        for passage in self.braid.ledger.document_passages(document_id, [self.ids[dataset]]):
            self.chunks[f"{dataset}/{passage.text}"] = passage.chunk_id

    def explain(self, query: str, chunk: str, *, datasets: tuple[str, ...] = ("notes",), **options: Any) -> Explanation:
        return self.braid.manager.explain(
            query,
            chunk_id=self.chunks.get(chunk, chunk),
            user_id=1,
            dataset_ids=[self.ids[name] for name in datasets],
            **options,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    model = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("explain"), embedding_model=model) as braid:
        yield World(braid, model)


def test_found(world: World) -> None:
    explanation = world.explain("cat mat", "notes/The cat sat on the mat")
    assert (explanation.found, explanation.reason, explanation.rank) == (True, "found", 1)
    assert explanation.detail == "It is at rank 1."
    assert {leg.leg: leg.rank for leg in explanation.legs} == {"dense": 1, "bm25": 1}


@pytest.mark.parametrize(
    ("chunk", "datasets"),
    [
        ("secret/The cat of Bob sat on the mat", ("notes",)),
        ("secret/The cat of Bob sat on the mat", ("secret",)),
        ("more/Birds sing in the morning", ("notes",)),
        ("shared/Feed the cat twice", ("notes",)),
        ("no such chunk", ("notes", "shared")),
        ("", ("notes",)),
        ("\x00", ("notes",)),
        ("\ud800", ("notes",)),
    ],
)
def test_what_may_not_be_read_and_what_does_not_exist_are_the_same(
    world: World, chunk: str, datasets: tuple[str, ...]
) -> None:
    explanation = world.explain("cat mat", chunk, datasets=datasets)
    assert explanation == Explanation(
        world.chunks.get(chunk, chunk), False, "not_in_scope", "It is not in the selected datasets."
    )


def test_filtered(world: World) -> None:
    explanation = world.explain("cat", "notes/A cat met a dog", filters=Filters(frozenset({"txt"})))
    assert (explanation.reason, explanation.detail) == (
        "filtered",
        "The filter of file types, txt, leaves it out: it is md.",
    )


def test_deduplicated(world: World) -> None:
    both = [
        world.explain(SAME, f"{name}/{SAME}", datasets=("notes", "shared"), mode="keyword")
        for name in ("notes", "shared")
    ]
    assert sorted(explanation.reason for explanation in both) == ["deduplicated", "found"]
    hidden = next(e for e in both if not e.found)
    assert hidden.rank == 1
    assert "which is shown at rank 1 with both places" in hidden.detail


def test_below_min_score(world: World) -> None:
    explanation = world.explain("cat mat", "notes/A cat met a dog", mode="semantic", min_score=0.99)
    assert (explanation.found, explanation.reason) == (False, "below_min_score")
    assert "is below min_score 0.99" in explanation.detail


def test_cut_by_k(world: World) -> None:
    explanation = world.explain("cat mat", "notes/A cat met a dog", k=1)
    assert (explanation.found, explanation.reason, explanation.rank) == (False, "cut_by_k", 2)
    assert explanation.detail == "It is at rank 2; only 1 are shown. Raise k to see it."


def test_not_a_word_of_the_query(world: World) -> None:
    explanation = world.explain("zebra", "notes/A cat met a dog", mode="keyword")
    assert (explanation.reason, explanation.legs) == ("not_reached", ())
    assert explanation.detail == "Searched by keyword it has no word of the query."


def test_too_deep_for_both_legs(world: World) -> None:
    """Both would have to fetch more than 50."""
    last = world.braid.manager.search("filler stones", user_id=1, mode="keyword", k=1000).hits[-1].passage
    explanation = world.explain("filler stones", last.chunk_id, k=5)
    assert explanation.reason == "not_reached"
    assert {leg.leg for leg in explanation.legs} == {"dense", "bm25"}
    assert all(leg.rank > 50 for leg in explanation.legs)
    for leg in ("by meaning", "by keyword"):
        assert f"Searched {leg} it is at rank" in explanation.detail
    assert "where the last one fetched scores" in explanation.detail
    assert "50 are fetched" in explanation.detail


def test_a_leg_that_failed_is_the_reason(world: World) -> None:
    world.model.failing = True
    explanation = world.explain("zebra", "notes/A cat met a dog")
    world.model.failing = False
    assert explanation.reason == "not_reached"
    assert "Searched by meaning: the embedding model fake:hash-64 failed" in explanation.detail
    assert "Searched by keyword it has no word of the query." in explanation.detail


def test_not_embedded_yet(world: World) -> None:
    world.model.failing = True
    world.put("more", "late.md", "Late arrival")
    catch_up(world.braid, "bm25")
    explanation = world.explain("zebra", "more/Late arrival", datasets=("more",), mode="semantic")
    world.model.failing = False
    catch_up(world.braid)
    assert explanation.reason == "not_reached"
    assert "Searched by meaning" in explanation.detail
    assert world.explain("late", "more/Late arrival", datasets=("more",), mode="semantic").found


WAYS = [
    {"mode": mode, "fusion": fusion, "pooling": pooling}
    for mode in get_args(Mode)
    for fusion in get_args(Fusion)
    for pooling in get_args(Pooling)
]


@pytest.mark.parametrize("way", WAYS, ids=["-".join(way.values()) for way in WAYS])
@pytest.mark.parametrize("query", ["cat mat", SAME, "stones 7"])
def test_an_explanation_agrees_with_the_search(world: World, way: dict[str, str], query: str) -> None:
    datasets = ("notes", "more", "shared")
    options: dict[str, Any] = {**way, "k": 4}
    result = world.braid.manager.search(query, user_id=1, dataset_ids=[world.ids[name] for name in datasets], **options)
    ranks = {hit.passage.chunk_id: rank for rank, hit in enumerate(result.hits, start=1)}
    elsewhere = {place.chunk_id: hit.passage.chunk_id for hit in result.hits for place in hit.also_in}
    fillers = [chunk_id for text, chunk_id in world.chunks.items() if "filler" in text]
    for chunk_id in {*world.chunks.values()} - {*fillers} | {*fillers[::8]}:
        explanation = world.explain(query, chunk_id, datasets=datasets, **options)
        assert explanation.found == (chunk_id in ranks)
        if explanation.found:
            hit = result.hits[ranks[chunk_id] - 1]
            assert (explanation.rank, explanation.legs) == (ranks[chunk_id], hit.legs)
        elif chunk_id in elsewhere:
            assert (explanation.reason, explanation.rank) == ("deduplicated", ranks[elsewhere[chunk_id]])
        elif chunk_id == world.chunks["secret/The cat of Bob sat on the mat"]:
            assert explanation.reason == "not_in_scope"
        else:
            assert explanation.reason in ("cut_by_k", "not_reached") or (explanation.rank or 0) > 4


# ---------------------------------------------------------------- strategies


@pytest.fixture
def book(braid: Braid) -> dict[str, str]:
    """A chapter of five passages, another one, and a copy elsewhere; text → chunk id."""
    dataset = add_notes(braid.ledger, name="books")
    animals = ("cats", "dogs", "birds", "fish", "bees")
    chapter = [f"part{n} of the chapter about {animal}" for n, animal in enumerate(animals)]
    contents = {
        "book.md": [*(ChunkInput(text, "One") for text in chapter), ChunkInput("cats in chapter two", "Two")],
        "copy.md": [ChunkInput(chapter[1], "Copied")],
        "far.md": [ChunkInput(f"cats and stones {n}", f"Head {n}") for n in range(10)],
    }
    chunks: dict[str, str] = {}
    for source, texts in contents.items():
        put = braid.ledger.put_document(dataset, DocumentInput(source, "", "md", tuple(texts)))
        for passage in braid.ledger.document_passages(put.document_id, [dataset]):
            chunks[f"{source}/{passage.text.split()[0]}/{passage.heading_path}"] = passage.chunk_id
    catch_up(braid)
    return chunks


def test_a_passage_of_a_section_is_shown_as_a_part_of_it(braid: Braid, book: dict[str, str]) -> None:
    way: dict[str, Any] = {"user_id": 1, "strategy": "parent_document", "mode": "keyword", "k": 3}
    result = braid.manager.search("part0 chapter cats", **way)
    first = book["book.md/part0/One"]
    assert result.hits[0].passage.chunk_id == first
    assert set(result.hits[0].covers) == {book[f"book.md/part{n}/One"] for n in range(1, 5)}

    def explain(name: str, **options: Any) -> Explanation:
        return braid.manager.explain("part0 chapter cats", chunk_id=book[name], **{**way, **options})

    found = explain("book.md/part0/One")
    assert (found.found, found.reason, found.rank) == (True, "found", 1)
    merged = explain("book.md/part3/One")
    assert (merged.found, merged.reason, merged.rank) == (False, "merged", 1)
    assert merged.detail == f"It is shown as part of the section around {first} in 'book.md', at rank 1."
    for rank, hit in enumerate(result.hits, start=1):
        again = braid.manager.explain("part0 chapter cats", chunk_id=hit.passage.chunk_id, **way)
        assert (again.reason, again.rank) == ("found", rank)
    cut = [e for name in book if name.startswith("far") and not (e := explain(name)).found]
    assert {e.reason for e in cut} == {"cut_by_k"}


def test_what_no_leg_finds_may_be_shown_in_a_section(braid: Braid, book: dict[str, str]) -> None:
    way: dict[str, Any] = {"user_id": 1, "strategy": "parent_document", "mode": "keyword"}
    merged = braid.manager.explain("fish", chunk_id=book["book.md/part4/One"], **way)
    assert (merged.reason, merged.rank, merged.legs) == ("merged", 1, ())
    other = braid.manager.explain("fish", chunk_id=book["book.md/cats/Two"], **way)
    assert other.reason == "not_reached"


def test_the_copy_of_a_passage_of_a_section(braid: Braid, book: dict[str, str]) -> None:
    way: dict[str, Any] = {"user_id": 1, "strategy": "parent_document", "mode": "keyword"}
    names = ("book.md/part1/One", "copy.md/part1/Copied")

    def reasons(text: str) -> list[str]:
        return [braid.manager.explain(text, chunk_id=book[name], **way).reason for name in names]

    assert sorted(reasons("dogs")) == ["deduplicated", "found"]
    assert reasons("fish dogs fish") in (["merged", "merged"], ["merged", "found"])


def test_the_model_is_not_asked_again(tmp_path: Path) -> None:
    with (
        model_server("Boil water and add salt") as server,
        ByHand(tmp_path, embedding_model=HashEmbeddings(), models=chat_models(server.settings())) as braid,
    ):
        world = World(braid, HashEmbeddings())
        world.put("more", "soup.md", "Boil water and add salt")
        catch_up(braid)
        way: dict[str, Any] = {"datasets": ("more", "notes"), "strategy": "hyde", "mode": "semantic", "k": 3}
        unasked = world.explain("zebra", "more/Boil water and add salt", **way)
        assert (len(server.calls), FORGOTTEN in unasked.detail) == (0, True)
        ids = [world.ids["more"], world.ids["notes"]]
        result = braid.manager.search("zebra", user_id=1, dataset_ids=ids, strategy="hyde", mode="semantic", k=3)
        assert (len(server.calls), result.hits[0].passage.source) == (1, "soup.md")
        explanation = world.explain("zebra", "more/Boil water and add salt", **way)
        assert (explanation.found, explanation.rank, explanation.detail) == (True, 1, "It is at rank 1.")
        assert [leg.query for leg in explanation.legs] == ["Boil water and add salt"]
        assert len(server.calls) == 1
        server.broken = 500
        failed = braid.manager.search("stones", user_id=1, dataset_ids=ids, strategy="hyde", mode="semantic", k=3)
        assert failed.generator == "feedback"
        same = world.explain("stones", failed.hits[0].passage.chunk_id, **way)
        assert (same.rank, same.detail) == (1, "It is at rank 1.")


def test_recent_answers_are_the_latest() -> None:
    answers = RecentAnswers(2)
    for text in ("one", "two", "one", "three"):
        answers.put(1, "m", [("user", text)], text.upper())
    assert [answers.get(1, "m", [("user", text)]) for text in ("one", "two", "three")] == ["ONE", None, "THREE"]
    assert answers.get(1, "other", [("user", "one")]) is None
    assert answers.get(2, "m", [("user", "one")]) is None


def test_an_explanation_does_not_say_what_others_asked(tmp_path: Path) -> None:
    with (
        model_server("Feed the cat") as server,
        ByHand(tmp_path, embedding_model=HashEmbeddings(), models=chat_models(server.settings())) as braid,
    ):
        world = World(braid, HashEmbeddings())
        way: dict[str, Any] = {"strategy": "hyde", "mode": "semantic", "dataset_ids": [world.ids["shared"]]}
        braid.manager.search("zebra", user_id=1, **way)
        chunk = world.chunks["shared/Feed the cat twice"]
        ann, bob = (braid.manager.explain("zebra", user_id=user, chunk_id=chunk, **way) for user in (1, 2))
        assert (FORGOTTEN in ann.detail, FORGOTTEN in bob.detail) == (False, True)
        assert bob.legs[0].query == "zebra"


def test_langchains_classes_are_not_explained(world: World) -> None:
    with pytest.raises(InvalidInputError, match="engine 'langchain' cannot be explained; use engine 'braid'") as caught:
        world.explain("cat", "notes/A cat met a dog", engine="langchain")
    assert caught.value.field == "engine"
