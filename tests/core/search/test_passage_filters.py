"""Filters by what results show of a passage, such as its page, on both engines: what is shown can be filtered by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, get_args

import pytest

from braid.core.braid import Braid
from braid.core.langchain import documents
from braid.core.metadata.where import FACTS
from braid.core.types import ChunkInput, DocumentInput, Engine, Mode
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up

WORDS = ("pump", "valve", "hose", "seal")


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """Two PDF documents of 40 pages, and a note without pages; a loader's document with a page of its own."""
    with ByHand(tmp_path_factory.mktemp("paged"), embedding_model=HashEmbeddings()) as opened:
        dataset = add_notes(opened.ledger)
        for name in ("a.pdf", "b.pdf"):
            chunks = tuple(
                ChunkInput(f"common {WORDS[n % 4]} of {name} {n}", f"Part {n // 10}", n + 1, n + 1, line=n, line_end=n)
                for n in range(40)
            )
            opened.ledger.put_document(dataset, DocumentInput(name, name, "pdf", chunks, date=1e9))
        opened.ledger.put_document(dataset, DocumentInput("note.md", "", "md", (ChunkInput("common pump of a note"),)))
        opened.add({"id": "loaded", "text": "common pump that was loaded", "metadata": {"page": 7}}, dataset=dataset)
        catch_up(opened)
        yield opened


@pytest.mark.parametrize("engine", get_args(Engine))
@pytest.mark.parametrize("mode", get_args(Mode))
def test_pages_are_selected_in_every_mode(braid: Braid, mode: Mode, engine: Engine) -> None:
    def found(where: dict[str, Any], k: int = 50) -> set[str]:
        asked: dict[str, Any] = {"mode": mode, "engine": engine, "filters": where, "k": k}
        return {hit.passage.text for hit in braid.search("common", user_id=1, **asked).hits}

    assert found({"page": 7}) == {"common hose of a.pdf 6", "common hose of b.pdf 6", "common pump that was loaded"}
    assert found({"page": 40}, k=1) < {"common seal of a.pdf 39", "common seal of b.pdf 39"}
    assert found({"page": {"$gte": 38}, "source": "b.pdf"}) == {
        f"common {WORDS[n % 4]} of b.pdf {n}" for n in (37, 38, 39)
    }
    assert found({"page": {"$exists": False}}) == {"common pump of a note"}
    assert found({"page": 99}) == set()


@pytest.mark.parametrize("engine", get_args(Engine))
def test_whatever_a_result_shows_finds_it_again(braid: Braid, engine: Engine) -> None:
    for source in ("a.pdf", "note.md", "loaded"):
        asked: dict[str, Any] = {"user_id": 1, "engine": engine}
        result = braid.search("common", filters={"source": source}, k=1, **asked)
        passage, document = result.hits[0].passage, documents(result)[0]
        shown = {**asdict(passage), **document.metadata["braid"], "user_id": 1}
        keys = [key for key in FACTS if shown[key] not in (None, "") and key != "date"]
        assert {"id", "dataset_id", "collection", "document_id"} <= {*keys}
        for key in keys:
            if key not in passage.metadata:
                again = braid.search("common", filters={key: shown[key], "source": source}, k=100, **asked)
                assert passage.chunk_id in {hit.passage.chunk_id for hit in again.hits}, key


def test_explain_names_what_a_passage_has_instead(braid: Braid) -> None:
    (hit,) = braid.search("a.pdf 6", user_id=1, filters={"source": "a.pdf", "page": 7}).hits

    def why(where: dict[str, Any]) -> str:
        return braid.manager.explain("a.pdf 6", chunk_id=hit.passage.chunk_id, user_id=1, filters=where).detail

    for where, has in (
        ({"page": 8}, "its page is 7"),
        ({"heading_path": "Part 3"}, 'its heading_path is "Part 0"'),
        ({"chunk_kind": "class"}, "it has no chunk_kind"),
        ({"dataset_id": 2}, "its dataset_id is 1"),
        ({"user_id": 2}, "its user_id is 1"),
        ({"id": "x"}, f'its id is "{hit.passage.chunk_id}"'),
    ):
        assert why(where) == f"The filter {json.dumps(where)} leaves it out: {has}."


def test_a_retriever_filters_by_the_keys_of_its_documents(braid: Braid) -> None:
    retriever = braid.get_retriever(user_id=1, k=3)
    first = retriever.invoke("hose")[0]
    for key in ("id", "source", "page", "heading_path", "dataset_id", "collection"):
        again = retriever.invoke("hose", filters={key: first.metadata[key]}, k=100)
        assert first in again, key
        assert {document.metadata[key] for document in again} == {first.metadata[key]}
