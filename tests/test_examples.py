"""The examples in the docstrings of the public classes and functions, run as they are shown."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest

import braid
from braid.core.datasets.registry import Registry
from braid.core.datasets.shared_changes import SharedDatasets
from braid.core.evaluation.evaluation import evaluate
from braid.core.folders.loader_sync import ListedDocument
from braid.core.folders.sync import FolderSync
from braid.core.ledger.deleted_documents import DeletedDocuments
from braid.core.text.analyzer import Analyzer
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, document

PUBLIC = [getattr(braid, name) for name in braid.__all__]
MORE = [Analyzer, DeletedDocuments, FolderSync, ListedDocument, Registry, SharedDatasets, evaluate]
DOCUMENTS = {
    "pump.md": ("The warranty of the pump lasts three years.", "The pump in hall three runs at 12 bar."),
    "valve.md": ("The valve XK-4711 is closed by hand.",),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The names that the examples use; braid/__init__.py says what they are."""
    folder = tmp_path_factory.mktemp("examples")
    model = HashEmbeddings()
    with braid.Braid(folder / "data", embedding_model=model) as opened:
        dataset = add_notes(opened.ledger, name="manuals")
        for source, texts in DOCUMENTS.items():
            opened.ledger.put_document(dataset, document(source, *texts, title=source))
        assert opened.indexer.wait(WAIT_S)
        yield {
            "model": model,
            "braid": opened,
            "wiki_dir": write_wiki(folder / "wiki"),
            "judged_dir": write_judged_set(folder / "judged"),
            "chroma_collection": fill_collection(model),
        }


def write_wiki(folder: Path) -> Path:
    """A folder with a page and a log."""
    folder.mkdir()
    (folder / "home.md").write_text("Welcome to the wiki.")
    (folder / "build.log").write_text("All pages were built.")
    return folder


def write_judged_set(folder: Path) -> Path:
    """A folder in BEIR layout: two documents, and a query that the first of them answers."""
    folder.mkdir()
    documents = [{"_id": source, "title": "", "text": texts[0]} for source, texts in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "warranty of the pump"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tpump.md\t1\n")
    return folder


def fill_collection(model: HashEmbeddings) -> chromadb.Collection:
    """A collection in memory that plain Chroma code has made."""
    collection = chromadb.EphemeralClient().create_collection(f"examples-{uuid4()}")
    texts = {"pump": DOCUMENTS["pump.md"][0], "valve": DOCUMENTS["valve.md"][0]}
    collection.add(ids=list(texts), documents=list(texts.values()), embeddings=model.embed_documents([*texts.values()]))
    return collection


@pytest.mark.parametrize("public", [*PUBLIC, *MORE], ids=lambda public: public.__name__)
def test_every_public_name_has_an_example_that_runs(public: Any, world: dict[str, Any], tmp_path: Path) -> None:
    names = {**vars(inspect.getmodule(public)), **world, "data_dir": tmp_path / "data"}
    found = doctest.DocTestFinder().find(public, public.__name__, globs=names)
    output: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    assert world["braid"].indexer.wait(WAIT_S)  # an example before this one may have added a document
    for example in found:
        runner.run(example, out=output.append)
    assert runner.tries > 0, f"{public.__name__} has no example in its docstring"
    assert runner.failures == 0, "".join(output)


def test_the_page_on_the_retriever_manager_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[1] / "docs" / "retriever-manager.md").read_text(encoding="utf-8")
    ((program, shown),) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, "docs/retriever-manager.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown
