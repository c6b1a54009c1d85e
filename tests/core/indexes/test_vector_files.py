"""The files with the vectors: who writes and who reads them, what damages them, and changes of the model meanwhile."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from braid.core.errors import IndexUnavailableError, InvalidInputError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.dense import STAGING_S, DenseIndex
from braid.core.indexes.vector_block import EVERYTHING, Probe, Selection, VectorBlock
from tests.core.indexes.vector_shelf import MODEL, OTHER, VECTORS, Shelf, fill_disk, found, unit
from tests.fakes import HashEmbeddings


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = Shelf(tmp_path)
    yield opened
    opened.close()


def test_collections_that_were_not_used_for_longest_are_mapped_again(shelf: Shelf) -> None:
    vectors = {f"user_{n + 1}": unit(30, seed=n) for n in range(8)}
    ids = {name: shelf.put(shelf.dataset(name), "a", of_one) for name, of_one in vectors.items()}
    index = shelf.open(max_open=3)
    for _ in range(2):
        for name, of_one in vectors.items():
            assert [found(index, of_one[n], collection=name) for n in (0, 29)] == [[ids[name][0]], [ids[name][29]]]
    assert len(index._files._opened) == 3


def test_a_collection_of_several_segments_is_searched_as_one(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, vectors = shelf.dataset(), shelf.dataset(), unit(9000, 64)
    ids = [*shelf.put(first, "a", vectors[:5000]), *shelf.put(second, "b", vectors[5000:])]
    whole = shelf.open().search_all({"user_1": EVERYTHING}, vectors[8], 50)
    monkeypatch.setattr("braid.core.indexes.dense.MOST_ROWS", 4096)
    shutil.rmtree(shelf.folder)
    index = shelf.open()
    assert len(list((shelf.folder / "user_1").glob("*.rows"))) == 3

    parts = index.search_all({"user_1": EVERYTHING}, vectors[8], 50)
    assert parts.hits == whole.hits
    assert parts.spread == pytest.approx(whole.spread, abs=1e-3)
    assert set(found(index, vectors[5], 20, selection=Selection({second}))) <= set(ids[5000:])
    document_ids = {chunk.document_id for chunk in shelf.indexed(ids[5000:5001])}
    assert set(found(index, vectors[5], 20, selection=Selection(None, document_ids))) <= set(ids[5000:])
    assert sorted(index.ids("user_1")) == sorted(ids)


def test_a_collection_that_is_small_has_one_segment_however_it_came_about(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    for number in range(6):
        shelf.apply(index, shelf.put(dataset, f"part {number}", VECTORS[number * 300 : (number + 1) * 300]))
    mapped = shelf.reader()._files.load("user_1")
    assert mapped is not None
    assert (len(mapped.blocks), mapped.living) == (1, 1800)


def test_a_folder_that_cannot_be_written_is_named(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", VECTORS[:10])
    shelf.folder.write_text("no folder")
    with pytest.raises(IndexUnavailableError, match="the vectors of user_1 cannot be used: "):
        shelf.open()
    shelf.folder.unlink()
    assert found(shelf.open(), VECTORS[3]) == [ids[3]]


@pytest.mark.parametrize("kind", [".rows", ".coarse", ".gone", "manifest.new"])
def test_a_full_disk_is_not_filled_further_by_changes_that_fail(
    shelf: Shelf, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_ROWS", 100)
    monkeypatch.setattr("braid.core.indexes.vector_files.STAGED_ROWS", 100)
    dataset, index = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:200])
    shelf.apply(index, ids)
    new = shelf.put(dataset, "b", VECTORS[200:400])
    upserts, deletes = ([], ids[:5]) if kind == ".gone" else (shelf.indexed(new), [])
    before = sorted(shelf.folder.rglob("*"))
    with monkeypatch.context() as patch:
        fill_disk(patch, kind)
        for _ in range(3):
            with pytest.raises(IndexUnavailableError, match="the disk of the server is full"):
                index.apply("user_1", upserts, deletes)
            assert sorted(shelf.folder.rglob("*")) == before
    assert found(shelf.reader(), VECTORS[3]) == [ids[3]]

    index.apply("user_1", upserts, deletes)
    assert index.check("user_1") == ""
    assert index.count("user_1") == (195 if kind == ".gone" else 400)


def test_a_full_disk_keeps_no_segments_of_a_collection_that_was_not_written_to_its_end(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = shelf.put(shelf.dataset(), "a", unit(9000))
    monkeypatch.setattr("braid.core.indexes.dense.MOST_ROWS", 4096)
    with monkeypatch.context() as patch:
        fill_disk(patch, "manifest.new")
        with pytest.raises(IndexUnavailableError, match="the disk of the server is full"):
            shelf.open()
    assert list(shelf.folder.rglob("*.rows")) == []
    assert found(shelf.open(), unit(9000)[8500]) == [ids[8500]]


# ---------------------------------------------------------------- one writes, others read


def test_a_reader_finds_what_the_writer_has_written(shelf: Shelf) -> None:
    dataset, writer = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:50])
    reader = shelf.reader()
    with pytest.raises(IndexUnavailableError, match="the vectors of user_1 are being written"):
        found(reader, VECTORS[1], timeout_s=0.05)
    shelf.apply(writer, ids)
    assert found(reader, VECTORS[7]) == [ids[7]]
    new = shelf.put(dataset, "b", VECTORS[50:60])
    shelf.apply(writer, new)
    assert found(reader, VECTORS[55]) == [new[5]]
    shelf.ledger.remove_document(dataset, "a")
    shelf.apply(writer, ids)
    assert sorted(found(reader, VECTORS[7], 100)) == sorted(new)


def test_a_reader_goes_on_while_segments_are_merged_away(shelf: Shelf) -> None:
    """What it has mapped stays, and what it would map is looked for again in the next manifest."""
    dataset, writer, stop = shelf.dataset(), shelf.open(), threading.Event()
    ids = shelf.put(dataset, "first", VECTORS[:20])
    shelf.apply(writer, ids)

    def search(reader: DenseIndex) -> int:
        searches = 0
        while not stop.is_set():
            known = list(ids)
            number = searches % len(known)
            assert found(reader, VECTORS[number]) == [known[number]]
            if searches % 7 == 0:
                reader._files.forget("user_1")
            searches += 1
        return searches

    with ThreadPoolExecutor(3) as pool:
        searching = [pool.submit(search, shelf.reader()) for _ in range(3)]
        try:
            for start in range(20, 1000, 20):
                new = shelf.put(dataset, f"{start}", VECTORS[start : start + 20])
                shelf.apply(writer, new)
                ids += new  # from now on it must be found
        finally:
            stop.set()
        assert all(future.result() > 0 for future in searching)


def test_a_search_goes_on_in_what_it_has_mapped(shelf: Shelf) -> None:
    dataset, writer = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:500])
    shelf.apply(writer, ids)
    mapped = shelf.reader()._files.load("user_1")
    assert mapped is not None
    shelf.apply(writer, shelf.put(dataset, "b", VECTORS[500:1500]))
    writer.drop("user_1")
    assert not (shelf.folder / "user_1").exists()
    assert [part.ids.astype(str).tolist() for part in mapped.nearest(Probe.of(VECTORS[3]), 1, EVERYTHING)] == [[ids[3]]]


def test_a_large_segment_has_a_first_stage_also_where_it_was_written_without(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, writer = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:1000])
    shelf.apply(writer, ids)
    assert not list(shelf.folder.rglob("*.coarse"))

    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_ROWS", 900)
    monkeypatch.setattr("braid.core.indexes.vector_block.LEAST_FOUND", 0.0)  # eight components tell little apart
    writer, reader = shelf.open(), shelf.reader()
    shelf.mend(writer)
    (rows,) = shelf.folder.rglob("*.rows")
    assert (rows.parent / f"{rows.name}.coarse").exists()
    writer.apply("user_1", [], ids[:10])  # what is deleted leaves the rows where they are
    for index in (writer, reader):
        loaded = index._files.load("user_1")
        assert loaded is not None
        assert [block.two_stage is not None for block in loaded.blocks] == [True]
    assert list(shelf.folder.rglob("*.rows")) == [rows]
    writer.apply("user_1", [], ids[10:900])
    assert not list(shelf.folder.rglob("*.coarse")), "the rest is small"


def test_first_stages_are_made_for_a_while_and_then_what_was_put_comes_first(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an update all collections may lack one."""
    now = [0.0]
    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_ROWS", 500)
    write_coarse = VectorBlock.write_coarse

    def slow(block: VectorBlock, path: Path) -> None:
        now[0] += STAGING_S
        write_coarse(block, path)

    monkeypatch.setattr(VectorBlock, "write_coarse", slow)
    for user in ("ann", "bob", "cem"):
        shelf.put(shelf.dataset(user), "a", VECTORS[:600])
    writer = shelf.open(clock=lambda: now[0])
    for expected in (1, 1, 2, 2, 3, 3):
        shelf.mend(writer)
        assert len(list(shelf.folder.rglob("*.coarse"))) == expected
        now[0] += STAGING_S / 2
    assert writer.check("user_3") == ""


# ---------------------------------------------------------------- damage


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "bit in the vectors": lambda folder: flip(next(folder.glob("*.rows")), 500),
    "bit in the ids": lambda folder: flip(next(folder.glob("*.rows")), -20),
    "bit in the beginning": lambda folder: flip(next(folder.glob("*.rows")), 9),
    "bit in what was deleted": lambda folder: flip(next(folder.glob("*.gone")), 1),
    "bit in the manifest": lambda folder: flip(folder / "manifest", 30),
    "cut vectors": lambda folder: cut(next(folder.glob("*.rows"))),
    "cut manifest": lambda folder: cut(folder / "manifest"),
    "empty manifest": lambda folder: (folder / "manifest").write_bytes(b""),
    "no vectors": lambda folder: next(folder.glob("*.rows")).unlink(),
    "no list of what was deleted": lambda folder: next(folder.glob("*.gone")).unlink(),
    "bit in the first stage": lambda folder: flip(next(folder.glob("*.coarse")), 200),
    "cut first stage": lambda folder: cut(next(folder.glob("*.coarse"))),
    "no first stage": lambda folder: next(folder.glob("*.coarse")).unlink(),
    "no manifest": lambda folder: (folder / "manifest").unlink(),
    "no folder": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_open", [False, True], ids=["at the next start", "beside the one that has written"])
def test_damage_is_seen_and_repaired(shelf: Shelf, damage: str, is_open: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_ROWS", 100)
    monkeypatch.setattr("braid.core.indexes.vector_files.STAGED_ROWS", 100)
    dataset, writer = shelf.dataset(), shelf.open()
    ids = [*shelf.put(dataset, "a", VECTORS[:100]), *shelf.put(dataset, "b", VECTORS[100:110])]
    shelf.apply(writer, ids)
    shelf.ledger.remove_document(dataset, "b")
    shelf.apply(writer, ids[100:])
    DAMAGES[damage](shelf.folder / "user_1")

    reader = shelf.reader()
    seen = reader.check("user_1")
    with suppress(IndexUnavailableError):
        assert found(reader, VECTORS[3], 10, timeout_s=0.0)
    assert seen
    if is_open:
        shelf.mend(writer, doubt=True)
    else:
        writer = shelf.open(crashed=True)
    for index in (writer, reader):
        assert index.check("user_1") == ""
        assert sorted(index.ids("user_1")) == sorted(ids[:100])
        assert found(index, VECTORS[3]) == [ids[3]]


def test_files_that_lack_rows_are_written_again_once_all_is_applied(shelf: Shelf) -> None:
    """As those of another ledger: their checksums are right."""
    dataset = shelf.dataset()
    ids = shelf.put(dataset, "a", VECTORS[:10])
    shelf.open()
    more = shelf.put(dataset, "b", VECTORS[10:30])
    index = DenseIndex(shelf.changes, shelf.models, folder=shelf.folder)
    (head,) = shelf.changes.heads().values()
    index.mend("user_1", head=head, is_complete=False, doubt=False, stopping=threading.Event())
    assert index.count("user_1") == 10, "the follower will apply the others"
    index.mend("user_1", head=head, is_complete=True, doubt=False, stopping=threading.Event())
    assert sorted(index.ids("user_1")) == sorted([*ids, *more])
    index.close()


def test_a_closed_index_refuses(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:3])
    index = shelf.open()
    found(index, VECTORS[0])
    index.close()

    with pytest.raises(IndexUnavailableError, match="closed"):
        index.search("user_1", VECTORS[0], 3)


def test_the_vectors_of_the_last_model_answer_until_the_others_are_complete(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", VECTORS[:20])
    index, reader = shelf.open(), shelf.reader()
    shelf.models.begin("user_1", MODEL)
    assert found(index, VECTORS[3], model=MODEL.fingerprint) == [ids[3]]
    shelf.model = OTHER
    shelf.embed(ids[:10], VECTORS[100:110])
    index.apply("user_1", shelf.indexed(ids[:10]), [])
    for each in (index, reader):
        assert found(each, VECTORS[3], model=MODEL.fingerprint) == [ids[3]]
        assert each.count("user_1") == 20
        assert each.answering_model("user_1") is MODEL

    shelf.embed(ids[10:], VECTORS[110:120])
    assert shelf.models.keep("user_1", OTHER.fingerprint)
    shelf.changes.forget_other_models("user_1", OTHER.fingerprint)
    assert found(reader, VECTORS[3], model=MODEL.fingerprint) == [ids[3]], "until the files are written"
    shelf.mend(index)
    for each in (index, reader):
        assert each.answering_model("user_1") is OTHER
        assert found(each, VECTORS[103], model=OTHER.fingerprint) == [ids[3]]
        assert each.search("user_1", VECTORS[103], 1)[0].score == pytest.approx(1.0, abs=1e-6)
        with pytest.raises(IndexUnavailableError, match="the embedding model of user_1 has just changed"):
            found(each, VECTORS[3], model=MODEL.fingerprint)


def test_a_query_is_not_compared_with_vectors_of_another_model(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:20])
    with pytest.raises(IndexUnavailableError, match="the embedding model of user_1 has just changed"):
        found(shelf.open(), VECTORS[3], model=OTHER.fingerprint)


def test_a_model_that_cannot_be_loaded_any_more_does_not_answer(shelf: Shelf) -> None:
    def load(fingerprint: str) -> HashEmbeddings:
        raise InvalidInputError(f"{fingerprint!r} is not a model")

    models = AnsweringModels(lambda _: shelf.model, load)
    assert models.keep("user_1", MODEL.fingerprint)  # the one that is wanted needs no loading
    assert not models.keep("user_1", "gone:model")
    assert models.answering("user_1") is MODEL
    models.begin("user_1", MODEL)
    shelf.model = OTHER
    assert models.answering("user_1") is MODEL
    assert (models.answering_version("user_1"), models.wanted_version("user_1")) == ("fake:first", "fake:other")
    assert models.answering("user_2") is OTHER
