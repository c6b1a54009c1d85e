"""The doctor finds every kind of difference and mends it without embedding again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import delete, update

from braid.app.cli.root import cli
from braid.core.braid import Braid
from braid.core.doctor import Finding, examine, repair
from braid.core.indexes.base import IndexName, LegIndex
from braid.core.indexes.bm25 import Bm25Index
from braid.core.ledger.tables import DatasetRow, EmbeddingRow
from braid.core.types import ChunkInput, DocumentInput, Leg, Mode
from tests.core.indexes.shelves import late_reports
from tests.damage import remove_in_use
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, catch_up, document, eventually, indexed, remove_dense

pytestmark = pytest.mark.usefixtures("with_copy")

TEXTS = ("The cat sat on the mat", "Dogs bark at night", "Birds sing in the morning")
INDEXES: tuple[IndexName, ...] = get_args(IndexName)
NAMES = {"bm25": "the bm25 index", "dense": "the dense index", "chroma": "the copy in Chroma"}


@pytest.fixture
def braid(tmp_path: Path, embeddings: HashEmbeddings) -> Iterator[Braid]:
    """Three passages in user_1 and three in shared_main."""
    with Braid(tmp_path, embedding_model=embeddings) as opened:
        personal = add_notes(opened.ledger)
        shared = opened.registry.add("Guide", "shared_main").id
        opened.mirror_registry()
        for dataset in (personal, shared):
            opened.ledger.put_document(dataset, document("a", *TEXTS, file_type="txt"))
        catch_up(opened, *INDEXES)
        opened.search("cat", user_id=1, dataset_ids=[personal, shared])  # the vectors are in memory
        yield opened


def index_of(braid: Braid, name: IndexName) -> LegIndex:
    indexes: dict[IndexName, LegIndex] = {"bm25": braid.bm25, "dense": braid.dense, "chroma": braid.chroma}
    return indexes[name]


def leg_of(name: IndexName) -> Leg:
    return "bm25" if name == "bm25" else "dense"


def kinds(findings: list[Finding]) -> set[tuple[str, str, Leg | None]]:
    return {(finding.problem, finding.collection, finding.leg) for finding in findings}


def assert_mended(braid: Braid, findings: list[Finding]) -> None:
    """All is found again, in every mode, and the doctor has nothing more to say."""
    assert repair(braid, findings, timeout_s=WAIT_S)
    assert examine(braid) == []
    for mode, dataset in ((mode, dataset) for mode in get_args(Mode) for dataset in (1, -1)):
        options: dict[str, Any] = {"mode": mode, "dataset_ids": [dataset]}
        result = braid.manager.search("cat dogs birds", user_id=1, **options)
        assert {hit.passage.text for hit in result.hits} == set(TEXTS)
        assert result.degraded == ()


def test_nothing_to_find(braid: Braid) -> None:
    assert examine(braid) == []
    assert repair(braid, [])


@pytest.mark.parametrize("leg", get_args(Leg))
def test_what_was_waited_for_is_not_found_to_be_missing(braid: Braid, leg: Leg) -> None:
    """A leg's report may come later than the passages are in its index."""
    with late_reports(braid.indexer, leg):
        braid.ledger.put_document(1, document("b", "a fourth passage", file_type="txt"))
        assert braid.indexer.wait(WAIT_S, INDEXES)
        assert examine(braid) == []


@pytest.mark.parametrize("name", INDEXES)
def test_a_missing_passage(braid: Braid, embeddings: HashEmbeddings, name: IndexName) -> None:
    gone = indexed(braid)[0].id
    index_of(braid, name).apply("user_1", [], [gone])
    findings = examine(braid)
    assert kinds(findings) == {("missing", "user_1", leg_of(name))}
    assert findings[0].detail == f"1 passages are missing from {NAMES[name]} of user_1, for example {gone}"
    assert findings[0].repair == "rebuild the index"
    assert_mended(braid, findings)
    assert embeddings.documents_embedded == 6


@pytest.mark.parametrize("name", INDEXES)
def test_a_passage_that_is_too_many(braid: Braid, embeddings: HashEmbeddings, name: IndexName) -> None:
    index_of(braid, name).apply("user_1", [replace(indexed(braid)[0], id="ghost")], [])
    findings = examine(braid)
    assert kinds(findings) == {("extra", "user_1", leg_of(name))}
    assert "for example ghost" in findings[0].detail
    assert_mended(braid, findings)
    assert embeddings.documents_embedded == 6


@pytest.mark.parametrize("name", INDEXES)
def test_one_missing_and_one_too_many_do_not_cancel_out(braid: Braid, name: IndexName) -> None:
    first = indexed(braid)[0]
    index_of(braid, name).apply("user_1", [replace(first, id="ghost")], [first.id])
    findings = examine(braid)
    assert kinds(findings) == {("missing", "user_1", leg_of(name)), ("extra", "user_1", leg_of(name))}
    assert_mended(braid, findings)


@pytest.mark.parametrize("name", ["bm25", "chroma"])
def test_a_collection_that_nobody_has(braid: Braid, name: IndexName) -> None:
    index_of(braid, name).apply("user_99", [replace(indexed(braid)[0], id="ghost")], [])
    findings = examine(braid)
    assert kinds(findings) == {("orphan", "user_99", leg_of(name))}
    assert findings[0].repair == "delete it"
    assert_mended(braid, findings)
    assert index_of(braid, name).collections() == ["shared_main", "user_1"]


def test_passages_without_a_vector(braid: Braid, embeddings: HashEmbeddings) -> None:
    first = indexed(braid)[0].id
    with braid.ledger.database.write() as connection:
        connection.execute(delete(EmbeddingRow).where(EmbeddingRow.chunk_id == first))
    for name in ("dense", "chroma"):
        index_of(braid, name).apply("user_1", [], [first])
    findings = examine(braid)
    assert kinds(findings) == {("not_embedded", "user_1", "dense")}
    assert findings[0].detail == "1 of 3 passages of user_1 have no vector"
    assert_mended(braid, findings)
    assert embeddings.documents_embedded == 6 + 1


@pytest.mark.parametrize("wrong", [{"chunks": 99}, {"documents": 0}, {"chunks": 0}])
def test_wrong_counters(braid: Braid, embeddings: HashEmbeddings, wrong: dict[str, int]) -> None:
    with braid.ledger.database.write() as connection:
        connection.execute(update(DatasetRow).where(DatasetRow.id == -1).values(**wrong))
    findings = examine(braid)
    assert ("counter", "shared_main", None) in kinds(findings)
    assert "but has 1 documents and 3 passages" in findings[0].detail
    assert_mended(braid, findings)
    assert (braid.ledger.dataset(-1).documents, braid.ledger.dataset(-1).chunks) == (1, 3)
    assert embeddings.documents_embedded == 6


def test_a_shared_dataset_that_is_no_longer_listed(braid: Braid) -> None:
    """Only a person can say whether its entry was lost or taken out."""
    text = braid.registry.path.read_text(encoding="utf-8")
    braid.registry.replace_text("[]")
    findings = examine(braid)
    assert kinds(findings) == {("unlisted", "shared_main", None)}
    assert "shared dataset -1 (Guide) with 1 documents is not in shared_dbs.json" in findings[0].detail
    assert findings[0].repair == ""
    assert repair(braid, findings, timeout_s=WAIT_S)
    assert examine(braid) == findings
    braid.registry.replace_text(text)
    assert_mended(braid, [])


def overwrite_keyword(folder: Path) -> None:
    for path in (folder / "indexes" / "bm25" / "user_1").glob("*.store"):
        path.unlink()
    (folder / "indexes" / "bm25" / "user_1" / "meta.json").write_text("nonsense")


def remove_keyword(folder: Path) -> None:
    remove_in_use(folder / "indexes" / "bm25" / "user_1")


def flip_a_bit_of_the_postings(folder: Path) -> None:
    postings = next((folder / "indexes" / "bm25" / "user_1").glob("*.idx"))
    content = postings.read_bytes()
    postings.write_bytes(content[:9] + bytes([content[9] ^ 4]) + content[10:])


@pytest.mark.parametrize(
    ("damage", "leg"),
    [
        (overwrite_keyword, "bm25"),
        (remove_keyword, "bm25"),
        (flip_a_bit_of_the_postings, "bm25"),
        (remove_dense, "dense"),
    ],
)
@pytest.mark.parametrize("searched", [True, False])
def test_a_broken_index(
    braid: Braid,
    tmp_path: Path,
    embeddings: HashEmbeddings,
    damage: Callable[[Path], None],
    leg: Leg,
    searched: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Bm25Index, "is_gone", lambda self, collection: False)  # a follower who looks mends it first
    if searched:
        braid.manager.search("cat", user_id=1, dataset_ids=[1, -1])
    damage(tmp_path)
    findings = examine(braid)
    assert ("user_1", leg) in {(finding.collection, finding.leg) for finding in findings}
    assert all(finding.repair for finding in findings if finding.collection)
    assert_mended(braid, findings)
    assert embeddings.documents_embedded == 6


def test_an_index_that_cannot_follow(braid: Braid, embeddings: HashEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings.failing = True
    braid.ledger.put_document(1, DocumentInput("b", "", "txt", (ChunkInput("new one"),)))
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.doctor.SETTLE_S", 0.1)  # nothing does, however long it is waited for
        findings = examine(braid, wait_s=0.3)
    assert kinds(findings) == {("behind", "user_1", "dense"), ("not_embedded", "user_1", "dense")}
    assert "the model server is down" in next(f.detail for f in findings if f.problem == "behind")
    embeddings.failing = False
    assert repair(braid, findings, timeout_s=WAIT_S)
    assert examine(braid) == []
    assert np.isclose(braid.manager.search("new one", user_id=1, mode="semantic").hits[0].score, 1.0, atol=1e-4)


def test_everything_at_once(braid: Braid, tmp_path: Path, embeddings: HashEmbeddings) -> None:
    chunks = indexed(braid)
    braid.bm25.apply("user_1", [replace(chunks[0], id="ghost")], [chunks[1].id])
    braid.chroma.apply("user_99", [replace(chunks[0], id="ghost")], [])
    with braid.ledger.database.write() as connection:
        connection.execute(update(DatasetRow).values(chunks=7))
    remove_in_use(tmp_path / "indexes" / "bm25" / "shared_main")
    findings = examine(braid)
    assert {"missing", "extra", "orphan", "counter"} <= {finding.problem for finding in findings}
    assert_mended(braid, findings)
    assert embeddings.documents_embedded == 6


@pytest.fixture
def same_model(embeddings: HashEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line has the model of the owner, as it has from the settings."""
    monkeypatch.setattr("braid.core.data_directory.default_model", lambda *_: embeddings)


def _doctor(data_dir: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["--data-dir", str(data_dir), "doctor", *options])


@pytest.mark.usefixtures("same_model")
def test_it_examines_and_repairs_beside_the_owner_while_documents_are_written(
    tmp_path: Path, embeddings: HashEmbeddings
) -> None:
    stopped = threading.Event()
    with Braid(tmp_path, embedding_model=embeddings) as owner, ThreadPoolExecutor() as pool:
        user = owner.ledger.add_user("ann")
        dataset = owner.ledger.add_dataset(user.id, "Notes").id

        def write() -> int:
            number = 0
            while not stopped.wait(0.02):
                number += 1
                owner.ledger.put_document(dataset, document(f"{number}.txt", f"Paper {number} lies in the tray."))
            return number

        writing = pool.submit(write)
        try:
            eventually(lambda: len(owner.ledger.documents(dataset)) > 3)
            live = _doctor(tmp_path, "--wait", "0.3", "--json")
            eventually(lambda: len(owner.ledger.documents(dataset)) > 5)
        finally:
            stopped.set()
        assert live.exit_code in (0, 4), live.output
        assert all(finding["waits"] for finding in json.loads(live.stdout)["left"]), "no damage is seen where none is"
        catch_up(owner)
        assert _doctor(tmp_path, "--wait", "60").stdout == "Ledger and indexes agree.\n"
        owner.bm25.drop(f"user_{user.id}")
        assert _doctor(tmp_path, "--quiet").exit_code == 1
        mended = _doctor(tmp_path, "--repair")
        assert mended.exit_code == 0, mended.output
        assert len(set(owner.bm25.ids(f"user_{user.id}"))) == writing.result()


@pytest.mark.usefixtures("same_model")
def test_work_that_waits_is_no_damage(
    tmp_path: Path, embeddings: HashEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, embed = threading.Event(), embeddings.embed_documents
    monkeypatch.setattr(embeddings, "embed_documents", lambda texts: go_on.wait(WAIT_S) and embed(texts))
    with Braid(tmp_path, embedding_model=embeddings) as owner:
        user = owner.ledger.add_user("ann")
        dataset = owner.ledger.add_dataset(user.id, "Notes").id
        try:
            owner.ledger.put_document(dataset, document("a.txt", "Paper lies in the tray."))
            found = _doctor(tmp_path, "--wait", "0.5", "--json")
            quiet = _doctor(tmp_path, "--wait", "0.1", "--quiet")
        finally:
            go_on.set()
        assert found.exit_code == quiet.exit_code == 4
        assert {finding["problem"] for finding in json.loads(found.stdout)["left"]} >= {"not_embedded"}
        assert quiet.output == ""
