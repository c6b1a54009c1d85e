"""The copy in Chroma as other programs read it: where it is, what it has, and where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chromadb.errors import InternalError
from langchain_chroma import Chroma
from langchain_community.retrievers import BM25Retriever

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import InvalidInputError, NotFoundError
from tests.command_line import invoke
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, catch_up, document


def test_langchain_reads_it_and_makes_no_other_beside_it(tmp_path: Path) -> None:
    model = HashEmbeddings()
    with Braid(tmp_path / "data", embedding_model=model) as braid:
        with pytest.raises(NotFoundError, match=r"has no copy in Chroma: .*legs=\('chroma',\)"):
            _ = braid.chroma_path
        mine = add_notes(braid.ledger)
        other = braid.ledger.add_dataset(1, "other").id
        braid.ledger.put_document(mine, document("a.md", "the cat", "the dog", title="Animals"))
        braid.ledger.put_document(other, document("b.md", "the cat of others"))
        catch_up(braid, "bm25", "dense", "chroma")
        folder = braid.chroma_path
    assert invoke(tmp_path, "chroma-path").output.strip() == str(folder)
    with pytest.raises(InternalError):
        Chroma("user_1", model, persist_directory=str(folder.parent))

    where: Any = {"$and": [{"user_id": 1}, {"dataset_id": {"$in": [mine]}}]}
    store = Chroma("user_1", model, persist_directory=str(folder), create_collection_if_not_exists=False)
    found = store.similarity_search("the cat", k=5, filter=where)
    assert [each.page_content for each in found] == ["Animals the cat", "Animals the dog"]
    kept = store.get(where=where)
    words = BM25Retriever.from_texts(kept["documents"], metadatas=kept["metadatas"], ids=kept["ids"], k=1)
    assert words.invoke("dog")[0].id == found[1].id
    store._client.close()  # type: ignore[attr-defined]


def test_there_is_no_copy_where_none_is_wanted(tmp_path: Path) -> None:
    options = IndexOptions(chroma_copy="none")
    with Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=options) as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a.md", "the cat"))
        catch_up(braid)
        assert braid.chroma is None
        assert braid.search("cat", user_id=1).hits
    assert not list((tmp_path / "indexes").glob("dense/store-*"))


def test_texts_come_and_go_as_they_are_wanted(tmp_path: Path) -> None:
    for contents in ("vectors", "texts", "vectors"):
        options = IndexOptions(chroma_copy=contents)  # type: ignore[arg-type]
        with Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=options) as braid:
            if not braid.ledger.users():
                braid.ledger.put_document(add_notes(braid.ledger), document("a.md", "the secret cat"))
            catch_up(braid, "bm25", "dense", "chroma")
            folder = braid.chroma_path
        store = Chroma("user_1", HashEmbeddings(), persist_directory=str(folder), create_collection_if_not_exists=False)
        assert store.get()["documents"] == (["the secret cat"] if contents == "texts" else [None])
        store._client.close()  # type: ignore[attr-defined]


def test_a_server_for_the_copy_needs_one() -> None:
    with pytest.raises(InvalidInputError, match=r"chroma_copy is 'none', but .* needs the copy"):
        IndexOptions(chroma_copy="none", chroma_url="http://localhost:1")
    with pytest.raises(InvalidInputError, match="chroma_copy is 'all'; choose one of texts, vectors, none"):
        IndexOptions(chroma_copy="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("gone", [{"dense_search": "auto"}, {"dense_search": "chroma"}, {"dense_memory_mb": 2048}])
def test_an_option_that_is_gone_is_refused_with_what_is_true_instead(gone: dict[str, Any]) -> None:
    [(name, value)] = gone.items()
    with pytest.raises(InvalidInputError, match=f"{name} is {value!r}; this option is gone, .*: remove it"):
        IndexOptions(**gone)
