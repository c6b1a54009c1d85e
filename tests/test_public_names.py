"""The names that a program takes from ``braid`` itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import braid
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

REPOSITORY = Path(__file__).parents[1]


@pytest.mark.parametrize("name", braid.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(braid, name).__name__ == name


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'braid' has no attribute 'Engine'"):
        _ = braid.Engine


def test_the_page_on_what_is_public_names_all_of_it() -> None:
    page = (REPOSITORY / "docs" / "public.md").read_text(encoding="utf-8")
    names, modules = page.partition("What these take and return")[::2]
    assert set(re.findall(r"`(\w+)`", names)) == set(braid.__all__)
    listed = re.search(r"^PUBLIC := braid ((?:.*\\\n)*.*)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    assert re.findall(r"`(braid\.[\w.]+)`(?:,|\n)", modules.partition("`make reference`")[0]) == re.findall(
        r"braid\.[\w.]+", listed[1]
    )


def test_importing_the_package_or_the_owners_class_loads_no_engine() -> None:
    heavy = ("langchain_classic", "chromadb", "tantivy")
    code = f"import sys, braid; braid.Braid, braid.IndexOptions; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=REPOSITORY, text=True).strip() == "[]"


def test_a_program_searches_without_another_import(tmp_path: Path) -> None:
    with braid.DataDirectory(str(tmp_path), embedding_model=HashEmbeddings()) as directory:
        dataset = directory.ledger.add_dataset(directory.ledger.add_user("ann").id, "notes").id
        chunks = (braid.ChunkInput("Keys are rotated on Mondays."),)
        directory.ledger.put_document(dataset, braid.DocumentInput("keys.md", "Keys", "md", chunks))
    with braid.Braid(
        str(tmp_path),
        embedding_model=HashEmbeddings(),
        index_options=braid.IndexOptions(leg_timeout_s=60, languages=["en", "de"]),
    ) as opened:
        assert opened.indexer.wait(WAIT_S)
        result = opened.search("rotated", user_id=1, dataset_ids=[dataset], mode="keyword", k=3)
        assert [hit.passage.source for hit in result.hits] == ["keys.md"]
        retriever = opened.get_retriever(user_id=1, dataset_ids=[dataset])
        assert [document.metadata["source"] for document in retriever.invoke("rotated")] == ["keys.md"]
    assert opened.closed


def test_a_language_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(braid.InvalidInputError, match=r"languages is 'en'; write a list of one: \['en'\]"):
        braid.IndexOptions(languages="en")


@pytest.mark.parametrize(
    "name", ["core", "core.errors", "core.retriever_manager", "core.search.fusion", "app.site", "config.settings"]
)
def test_a_module_has_one_name_also_in_a_checkout(name: str) -> None:
    code = f"import importlib as i; print(i.import_module({name!r}) is i.import_module('braid.{name}'))"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True).stdout == "True\n"
    )
