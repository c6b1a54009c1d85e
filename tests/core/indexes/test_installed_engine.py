"""Engines of other packages: the one of docs/plugins.md, and ones that do everything wrong."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.config.settings import load_settings
from braid.core.braid import Braid, IndexOptions
from braid.core.errors import InvalidInputError, StoreUnreachableError
from braid.core.indexes.installed import THREADS
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.indexes.vector_block import EVERYTHING
from braid.core.ledger.change_log import ChangeLog
from tests.core.indexes.shelves import CAT, TEXTS, Shelf, Shifted, open_shelf
from tests.fakes import HashEmbeddings
from tests.plugins import package, section_of
from tests.worlds import ByHand, catch_up, eventually

WRONG = """
class Empty:
    def __init__(self, address, folder): pass
    def write(self, collection, chunks, gone): pass
    def nearest(self, collection, vector, k, **options): return []
    def count(self, collection): return 0
    def ids(self, collection): return []
    def drop(self, collection): pass
    def collections(self): return []

class Raising(Empty):
    def nearest(self, collection, vector, k, **options): raise KeyError("a secret")

class Away(Empty):
    def nearest(self, collection, vector, k, **options): raise ConnectionRefusedError("port 1")

class Odd(Empty):
    def nearest(self, collection, vector, k, **options): return [("0" * 32, float("nan"))]

class Distances(Empty):
    def nearest(self, collection, vector, k, **options): return [("0" * 32, 1.4)]

class Clinging(Empty):
    def close(self): raise OSError("still in use")

class Telling(Empty):
    def __init__(self, address, folder): self.address = address
    def write(self, collection, chunks, gone): raise ValueError(f"{self.address} refuses, says me with hunter2")
    def nearest(self, collection, vector, k, **options): raise ConnectionError(f"{self.address} is away")
    def close(self): raise OSError(f"{self.address} is still in use")

class Words(Empty):
    def nearest(self, collection, vector, k, **options): return "no pairs"

class Strange(Empty):
    def nearest(self, collection, vector, k, **options): return [("a chunk of nobody", 1.0)] * 3 + [(None, 0.5)]

class Half:
    def __init__(self, address, folder): pass
    def write(self, collection, chunks, gone): pass

def refuses(address, folder):
    raise OSError(f"cannot reach {address}")
"""
POINTS = """
empty = wrong_engine:Empty
raising = wrong_engine:Raising
away = wrong_engine:Away
odd = wrong_engine:Odd
distances = wrong_engine:Distances
clinging = wrong_engine:Clinging
telling = wrong_engine:Telling
words = wrong_engine:Words
strange = wrong_engine:Strange
half = wrong_engine:Half
refuses = wrong_engine:refuses
lost = wrong_engine:Lost
gone = no_such_module:Engine
"""


@pytest.fixture
def of_the_docs() -> Iterator[None]:
    """The package of docs/plugins.md is installed."""
    module, name, points = section_of("plugins.md", "An engine")
    with package(name, module, "braid.engines", points):
        yield


@pytest.fixture
def wrong() -> Iterator[None]:
    """A package whose engines do everything wrong is installed."""
    with package("wrong_engine", WRONG, "braid.engines", POINTS):
        yield


def opened(folder: Path, engine: str, embeddings: HashEmbeddings | None = None) -> Shelf:
    shelf = open_shelf(folder, embeddings or HashEmbeddings(), kind=ByHand, index_options=IndexOptions(engine=engine))
    catch_up(shelf.braid)
    return shelf


def shelf_ids(braid: Braid, collection: str) -> set[str]:
    return ChangeLog(braid.ledger.database).chunk_ids(collection)


def near_all() -> Any:
    """A vector that every text is somewhat near to."""
    size = HashEmbeddings().size
    return np.full(size, size**-0.5, dtype=np.float32)


@pytest.mark.usefixtures("of_the_docs")
def test_vectors_go_to_the_engine_and_back_into_files_without_embedding_again(tmp_path: Path) -> None:
    folder, model = tmp_path / "data", HashEmbeddings()
    with opened(folder, "", model).braid as braid:
        assert braid.index_names == {"bm25": "bm25", "dense": "dense"}
    with opened(folder, "sqlite:mine.db", model).braid as braid:
        assert braid.index_names["dense"].startswith("engine_sqlite_")
        assert braid.opened_with["indexes"].startswith("in the data directory, with vectors in sqlite_")
        assert "mine.db" not in str(braid.opened_with | braid.index_names)
        shelf = Shelf(braid, model, (1, -1))
        assert shelf.complete()
        assert (folder / "indexes" / "engines" / "sqlite" / "mine.db").is_file()
        shelf.put("c", "A bird sang all night", dataset=0)
        catch_up(braid)
        assert "A bird sang all night" in shelf.texts("bird", mode="semantic")
    embedded = model.documents_embedded
    with opened(folder, "", model).braid as braid:  # the files have nothing of what came meanwhile
        assert "A bird sang all night" in Shelf(braid, model, (1, -1)).texts("bird", mode="semantic")
    with opened(folder, "sqlite:mine.db", model).braid as braid:
        assert "A bird sang all night" in Shelf(braid, model, (1, -1)).texts("bird", mode="semantic")
    assert model.documents_embedded == embedded


@pytest.mark.usefixtures("of_the_docs")
def test_another_address_is_another_place(tmp_path: Path) -> None:
    model, new = HashEmbeddings(), "A bird sang all night"
    with opened(tmp_path / "data", "sqlite:a.db", model).braid as braid:
        of_a = braid.opened_with["indexes"]
    with opened(tmp_path / "data", "sqlite:b.db", model).braid as braid:
        assert braid.opened_with["indexes"] != of_a, "by which a guest is warned"
        shelf = Shelf(braid, model, (1, -1))
        assert shelf.complete()
        shelf.put("c", new)
        braid.delete(["a"], dataset=1)
        catch_up(braid)
    embedded = model.documents_embedded
    with opened(tmp_path / "data", "sqlite:a.db", model).braid as braid:
        assert new in Shelf(braid, model, (1, -1)).texts("bird", mode="semantic")
        assert set(braid.dense.ids("user_1")) == shelf_ids(braid, "user_1")
    assert model.documents_embedded == embedded


@pytest.mark.usefixtures("of_the_docs")
def test_what_was_deleted_or_is_another_users_is_not_found_whatever_the_engine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "data", "sqlite").braid as braid:
        shelf = Shelf(braid, HashEmbeddings(), (1, -1))
        ben, engine, given = braid.ledger.add_user("ben"), braid.dense._engine, list[tuple[str, float]]()
        near = engine.nearest

        def nearest_of_ann(collection: str, vector: Any, k: int, **options: Any) -> list[tuple[str, float]]:
            given.extend(near("user_1", vector, k, **options | {"dataset_ids": None, "document_ids": None}))
            return given

        with monkeypatch.context() as patch:
            patch.setattr(engine, "nearest", nearest_of_ann)
            found = braid.search(CAT, user_id=ben.id, dataset_ids=[1, -1])
        assert {chunk_id for chunk_id, _ in given} == shelf_ids(braid, "user_1")
        assert CAT not in {hit.passage.text for hit in found.hits}
        assert CAT in shelf.texts(CAT)
        braid.delete(["a"], dataset=1)  # the engine has it until its follower comes to that
        assert CAT not in shelf.texts(CAT)


@pytest.mark.usefixtures("of_the_docs")
def test_another_embedding_model_writes_all_of_the_engine_again(tmp_path: Path) -> None:
    with opened(tmp_path / "data", "sqlite").braid:
        pass
    model = Shifted(fingerprint="fake:shifted")
    with opened(tmp_path / "data", "sqlite", model).braid as braid:
        catch_up(braid)
        assert Shelf(braid, model, (1, -1)).complete()
        assert braid.search(CAT, user_id=1, mode="semantic").hits[0].passage.text == CAT


@pytest.mark.usefixtures("of_the_docs")
def test_what_the_engine_loses_is_written_again(tmp_path: Path) -> None:
    with opened(tmp_path / "data", "sqlite").braid as braid:
        shelf = Shelf(braid, HashEmbeddings(), (1, -1))
        braid.dense._engine.drop("user_1")
        [part] = shelf.search(CAT, mode="semantic", dataset_ids=[1]).degraded
        assert "sqlite has nothing of the vectors of user_1" in part.reason
        catch_up(braid)
        assert shelf.complete()


@pytest.mark.usefixtures("of_the_docs")
@pytest.mark.parametrize("new", ["", "A bird sang all night"])
def test_what_the_engine_has_of_another_time_is_written_again_at_the_start(tmp_path: Path, new: str) -> None:
    """It has as many chunks as it should have. With ``new`` the log goes on, too."""
    with opened(tmp_path / "data", "sqlite").braid as braid:
        lost = min(braid.dense.ids("user_1"))
        braid.dense._engine._run(("UPDATE vectors SET id = ? WHERE id = ?", ("f" * 32, lost)))
        if new:
            Shelf(braid, HashEmbeddings(), (1, -1)).put("c", new)
    with opened(tmp_path / "data", "sqlite").braid as braid:
        assert set(braid.dense.ids("user_1")) == shelf_ids(braid, "user_1")
        assert Shelf(braid, HashEmbeddings(), (1, -1)).complete()


@pytest.mark.usefixtures("of_the_docs")
@pytest.mark.parametrize("method", ["nearest", "pairs", "count"])
def test_a_search_does_not_wait_for_an_engine_after_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with opened(tmp_path / "data", "sqlite").braid as braid:
        engine, released, asked = braid.dense._engine, threading.Event(), list[str]()
        before = set(threading.enumerate())

        def hang(collection: str, *_: object, **options: Any) -> int:
            asked.append(collection)
            released.wait(60)
            return 0

        answers = {"nearest": hang, "pairs": lambda *of: (hang(*each) for each in [of]), "count": lambda *of: ()}
        monkeypatch.setattr(engine, "nearest", lambda *of, **options: answers[method](*of))
        monkeypatch.setattr(engine, "count", hang)
        try:
            for timeout_s in (0.5, *[0.01] * THREADS):
                where = {"user_1": EVERYTHING, "shared_main": EVERYTHING}
                found = braid.dense.search_all(where, near_all(), 5, spread=False, timeout_s=timeout_s)
                assert {type(answer) for answer in found.hits.values()} == {StoreUnreachableError}
                assert "does not answer" in str(found.hits["shared_main"])
            assert set(asked) == {"user_1"}, "none is asked when no time is left"
            assert (
                len({thread for thread in threading.enumerate() if thread.name == "braid-engine"} - before) <= THREADS
            )
        finally:
            released.set()
        monkeypatch.undo()
        assert eventually(Shelf(braid, HashEmbeddings(), (1, -1)).complete), "the threads are free again"


@pytest.mark.usefixtures("of_the_docs")
def test_a_setting_names_the_engine_and_its_password_is_not_shown() -> None:
    assert "index_engine='sqlite'" in repr(load_settings(env={"BRAID_INDEX_ENGINE": "sqlite"}))
    settings = load_settings(env={"BRAID_INDEX_ENGINE": "qdrant:http://me:hunter2@host:6333"})
    assert "hunter2" not in repr(settings)
    with pytest.raises(InvalidInputError, match=r"BRAID_INDEX_ENGINE.*NAME or NAME:ADDRESS"):
        load_settings(env={"BRAID_INDEX_ENGINE": "two words"})


def test_an_engine_and_milvus_cannot_both_have_the_vectors() -> None:
    with pytest.raises(InvalidInputError, match="index_engine is 'sqlite', but milvus_url has the vectors, too"):
        IndexOptions(engine="sqlite:x", milvus=MilvusOptions("http://localhost:1"))


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("half", "Half has no method nearest, count, ids, drop, collections"),
        ("refuses:http://me:hunter2@host", "cannot be opened: OSError: cannot reach …"),
        ("lost", "has no attribute 'Lost'"),
        ("gone", "No module named 'no_such_module'"),
        ("unheard", "those that are installed are away, clinging, distances, empty"),
    ],
)
def test_an_engine_that_cannot_be_opened_is_named_with_the_remedy(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Braid(tmp_path / "data", embedding_model=HashEmbeddings(), index_options=IndexOptions(engine=name))
    message = str(raised.value)
    assert raised.value.field == "index_engine"
    assert f"index_engine is {name.partition(':')[0]!r}" in message
    assert said in message
    assert "leave index_engine empty" in message
    assert "hunter2" not in message


def test_without_any_package_the_message_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no package that has one is installed; install its package"):
        Braid(tmp_path / "data", embedding_model=HashEmbeddings(), index_options=IndexOptions(engine="sqlite"))


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "the engine empty has nothing of the vectors"),
        ("raising", "the engine raising failed: KeyError"),
        ("away", "the engine away does not answer"),
        ("odd", "the engine odd failed: ValueError"),
        ("words", "the engine words failed: ValueError"),
        ("distances", "the engine distances failed: ValueError"),
    ],
)
def test_what_an_engine_gets_wrong_costs_its_leg_alone(tmp_path: Path, name: str, said: str) -> None:
    with opened(tmp_path / "data", name).braid as braid:
        result = Shelf(braid, HashEmbeddings(), (1, -1)).search(" ".join(TEXTS))
        assert {hit.passage.text for hit in result.hits} == set(TEXTS)
        assert {part.leg for part in result.degraded} == {"dense"}
        assert all("a secret" not in part.reason for part in result.degraded)
        assert any(said in part.reason for part in result.degraded), result.degraded


@pytest.mark.usefixtures("wrong")
def test_ids_that_the_ledger_does_not_have_are_no_hits(tmp_path: Path) -> None:
    with opened(tmp_path / "data", "strange").braid as braid:
        result = Shelf(braid, HashEmbeddings(), (1, -1)).search(CAT)
        assert {hit.passage.text for hit in result.hits} == {CAT}


@pytest.mark.usefixtures("wrong")
def test_an_engine_that_cannot_be_closed_keeps_nothing_else_open(tmp_path: Path) -> None:
    with opened(tmp_path / "data", "clinging").braid:
        pass
    with opened(tmp_path / "data", "").braid as braid:
        assert braid.is_owner


@pytest.mark.usefixtures("wrong")
def test_no_log_and_no_traceback_has_the_address(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = IndexOptions(engine="telling:http://me:hunter2@host")
    with open_shelf(tmp_path / "data", HashEmbeddings(), kind=ByHand, index_options=options).braid as braid:
        braid.mirror_registry()
        braid.indexer.followers["dense"].work(threading.Event())
        error = braid.dense.search_all({"user_1": EVERYTHING}, near_all(), 5, spread=False).hits["user_1"]
        logging.getLogger().warning("searched", exc_info=error)
    assert "reason='ValueError: … refuses, says me with …'" in caplog.text
    assert "StoreUnreachableError: the engine telling does not answer" in caplog.text
    assert "cannot be closed: OSError: … is still in use" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.usefixtures("of_the_docs")
def test_another_process_searches_what_the_owner_has_written(tmp_path: Path) -> None:
    options = {"embedding_model": HashEmbeddings(), "index_options": IndexOptions(engine="sqlite")}
    with opened(tmp_path / "data", "sqlite").braid as owner, Braid(tmp_path / "data", **options) as guest:
        assert (owner.is_owner, guest.is_owner) == (True, False)
        shelf = Shelf(guest, HashEmbeddings(), (1, -1))
        assert shelf.complete()
        shelf.put("c", "A bird sang all night", dataset=0)
        catch_up(owner)
        assert "A bird sang all night" in shelf.texts("bird", mode="semantic")
