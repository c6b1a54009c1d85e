"""Passages of source code know which part of a program they are, and a search can be for some parts alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.errors import InvalidInputError
from braid.core.ingest.exports.dataset_export import export_dataset
from braid.core.ingest.exports.dataset_import import import_dataset
from braid.core.ingest.exports.export_file import read_export
from braid.core.ingest.ingest import ingest_bytes
from braid.core.search import filter_plan
from braid.core.search.hits import is_letters_alone
from braid.core.types import ChunkInput, DocumentInput, Engine, Filters, Mode, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, World, catch_up, fill

CODE = '''"""Pumps of the hall."""

class Pump:
    """A pump that has a pressure."""

    def start(self):
        """Start the pump of the hall."""

def warm_up(pump):
    """Wait until the pump is hot."""
'''
MANY = "\n".join(f'def pump_{number}():\n    """The pump number {number}."""\n' for number in range(60))
NOTES = {"notes": {"pump.md": ("The pump of the hall is started by hand.",)}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("kinds"), embedding_model=embeddings) as braid:
        ids = fill(braid, NOTES, {})
        for source, code in (("pumps.py", CODE), ("many.py", MANY)):
            assert ingest_bytes(braid, ids["notes"], source, code.encode()).state != "failed"
        catch_up(braid)
        yield World(braid, embeddings, 1, ids)


def search(world: World, text: str, *kinds: str, **options: Any) -> SearchResult:
    return world.braid.search(text, user_id=1, filters={"chunk_kinds": kinds}, **options)


def kinds_of(result: SearchResult) -> set[str]:
    return {hit.passage.chunk_kind for hit in result.hits}


def test_results_say_which_part_of_a_program_a_passage_is(world: World) -> None:
    found = search(world, "the pump of the hall", k=100)
    parts = {(hit.passage.source, hit.passage.heading_path): hit.passage.chunk_kind for hit in found.hits}
    assert parts["pumps.py", ""] == "module"
    assert parts["pumps.py", "Pump"] == "class"
    assert parts["pumps.py", "Pump > start"] == "method"
    assert parts["pumps.py", "warm_up"] == "function"
    assert parts["pump.md", ""] == ""


@pytest.mark.parametrize("engine", get_args(Engine))
@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_filter_of_kinds_holds_in_every_mode(world: World, mode: Any, engine: Any) -> None:
    asked = {"mode": mode, "engine": engine}
    assert kinds_of(search(world, "the pump", "method", **asked)) == {"method"}
    assert kinds_of(search(world, "the pump", "class", "method", **asked)) == {"class", "method"}
    filters = Filters(frozenset({"md"}), chunk_kinds=frozenset({"class"}))
    assert world.braid.search("the pump", user_id=1, filters=filters, **asked).hits == ()


def test_a_rare_kind_is_found_below_many_others(world: World) -> None:
    """Sixty functions fit better than the only method."""
    plain = search(world, "pump number 7", mode="keyword", k=20)
    assert kinds_of(plain) == {"function"}
    assert [hit.passage.heading_path for hit in search(world, "pump number 7", "method", mode="keyword").hits] == [
        "Pump > start"
    ]


def test_the_filter_holds_where_documents_are_too_many_to_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_plan, "MAX_FILTER_DOCUMENTS", 0)
    assert kinds_of(search(world, "the pump", "class", "method", k=50)) == {"class", "method"}


def test_explain_names_the_filter_of_kinds(world: World) -> None:
    [hit] = search(world, "wait until hot", mode="keyword", k=1).hits
    why = world.braid.manager.explain(
        "wait until hot", chunk_id=hit.passage.chunk_id, user_id=1, filters={"chunk_kinds": ["method"]}
    )
    assert (why.reason, why.detail) == (
        "filtered",
        "The filter of kinds, method, leaves it out: it is function.",
    )


def test_kinds_survive_an_export_and_notes_stay_as_they_were(world: World, tmp_path: Any) -> None:
    braid = world.braid
    with (tmp_path / "notes.zip").open("wb") as file:
        export_dataset(braid, world.ids["notes"], file)
    copy = braid.ledger.add_dataset(1, "copy").id
    import_dataset(braid, copy, tmp_path / "notes.zip", read=read_export, max_bytes=10**8)
    document = braid.ledger.document(copy, "pumps.py")
    assert document is not None
    parts = [passage.chunk_kind for passage in braid.ledger.document_passages(document.id, [copy])]
    assert parts == ["module", "class", "method", "function"]
    notes = braid.ledger.document(copy, "pump.md")
    assert notes is not None
    assert [passage.chunk_kind for passage in braid.ledger.document_passages(notes.id, [copy])] == [""]
    braid.ledger.remove_dataset(copy)


def test_a_kind_that_there_is_not_is_refused(world: World) -> None:
    with pytest.raises(InvalidInputError, match="chunk_kinds is 'struct'; choose one of function, class, method, mod"):
        search(world, "pump", "struct")
    with pytest.raises(InvalidInputError, match="give a set of names"):
        Filters(chunk_kinds="class")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_table_of_contents_comes_behind_all_other_passages(tmp_path: Path, mode: str) -> None:
    contents = ChunkInput("1 Valves of the boiler ..... 3\n2 Valves of the pump ..... 4", chunk_kind="contents")
    texts = ("The boiler has two valves, which are opened by hand.", "A pump has one.", "Nobody opens the boiler.")
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        manuals = fill(braid, {"manuals": {"b.md": ("Nothing is known of it.",)}}, {})["manuals"]
        braid.ledger.put_document(manuals, DocumentInput("a.pdf", "A", "pdf", (contents, *map(ChunkInput, texts))))
        catch_up(braid)
        found = braid.search("valves of the boiler", user_id=1, mode=mode, k=3).hits
        assert "contents" not in [hit.passage.chunk_kind for hit in found[:-1]]
        [only] = braid.search("valves of the pump", user_id=1, mode=mode, k=1).hits
        assert only.passage.chunk_kind == ""


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_letters_without_meaning_come_behind_all_passages_unless_they_have_a_word_of_the_query(
    tmp_path: Path, mode: str
) -> None:
    letters = ChunkInput("b’ ’ v b’ ’ a b’ ’ l b’ ’ v b’ ’ e b’ ’ o f b’ ’ t h e b’ ’ kettle")
    texts = ("A pump has one.", "Nobody opens the boiler.", "The lamp is on.", "A door is shut.")
    with ByHand(tmp_path, embedding_model=NearLetters()) as braid:
        fill(braid, {"manuals": {"b.md": texts}}, {})
        manuals = braid.ledger.datasets(1)[0].id
        braid.ledger.put_document(manuals, DocumentInput("a.pdf", "A", "pdf", (letters,)))
        catch_up(braid)

        def found(query: str) -> list[str]:
            return [hit.passage.source for hit in braid.search(query, user_id=1, mode=mode, k=5).hits]

        assert found("receipts") == [*["b.md"] * 4, "a.pdf"]
        assert found("kettle")[0] == "a.pdf" or mode == "semantic"
        hits = braid.search("receipts", user_id=1, mode=mode, k=5).hits
        assert [is_letters_alone(hit) for hit in hits] == [False] * 4 + [True]


class NearLetters(HashEmbeddings):
    """A model to which letters without meaning are near to a question about receipts."""

    def _vector(self, text: str) -> list[float]:
        return super()._vector("receipts" if "’" in text else text)
