"""A folder and a dataset kept equal: syncs, renames, a week of edits, and the watching command."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from braid.app.cli.root import cli
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError, UnreadableDocumentError
from braid.core.folders.sync import FolderSync, SyncReport
from braid.core.folders.watch import FolderWatch
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.ingest import ingest_paths
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ledger.deleted_documents import DeletedDocuments
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.forked_children import in_earnest, python
from tests.worlds import WAIT_S, add_notes, catch_up, eventually, sources

WORDS = ["pump", "valve", "hall", "bar", "seal", "rotor", "oil", "filter", "gauge", "motor", "tank", "pipe"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    write(made / "a.md", "# Alpha\n\nthe pump hums")
    write(made / "b.md", "# Beta\n\nthe valve drips")
    write(made / "sub" / "c.txt", "the tank is full")
    return made


@pytest.fixture
def dataset(braid: Braid) -> int:
    return add_notes(braid.ledger)


@pytest.fixture
def sync(braid: Braid, dataset: int, folder: Path) -> FolderSync:
    return FolderSync(braid, dataset, str(folder), parse=parse_here)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    write.clock += 1.0  # type: ignore[attr-defined]
    os.utime(path, (write.clock, write.clock))  # type: ignore[attr-defined]


write.clock = 1_700_000_000.0  # type: ignore[attr-defined]


def embedded(braid: Braid, embeddings: HashEmbeddings) -> int:
    """How many passages were embedded since the last call, when both indexes have followed."""
    catch_up(braid)
    count, embeddings.documents_embedded = embeddings.documents_embedded, 0
    return count


def test_the_first_pass_imports_and_the_second_does_nothing(sync: FolderSync, braid: Braid, dataset: int) -> None:
    assert sync.run() == SyncReport(put=3)
    assert sync.run() == SyncReport(unchanged=3)
    assert sources(braid, dataset) == {f"{sync.folder}/{name}" for name in ("a.md", "b.md", "sub/c.txt")}


def test_changes_and_deletions_follow(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    sync.run()
    write(folder / "a.md", "# Alpha\n\nthe pump rattles")
    (folder / "b.md").unlink()
    assert sync.run() == SyncReport(put=1, removed=1, unchanged=1)
    catch_up(braid)
    found = [hit.passage.text for hit in braid.manager.search("pump valve", user_id=1, mode="keyword").hits]
    assert found == ["the pump rattles"]


def test_what_somebody_deleted_is_neither_resurrected_nor_doubled(
    sync: FolderSync, folder: Path, braid: Braid, dataset: int
) -> None:
    sync.run()
    deleted, stored = DeletedDocuments(braid.ledger), braid.ledger.documents(dataset)
    gone = next(each for each in stored if each.source.endswith("a.md"))
    deleted.discard(dataset, [gone.id])
    assert (sync.run(), sync.plan().steps) == (SyncReport(unchanged=3), ())
    again = FolderSync(braid, dataset, str(folder), parse=parse_here)  # another process
    assert not again.run().changed
    deleted.restore(dataset, [gone.id])
    assert not sync.run().changed
    assert braid.ledger.documents(dataset) == stored
    deleted.discard(dataset, [gone.id])
    write(folder / "a.md", "# Alpha\n\nthe pump is silent")
    assert sync.run().put == 1
    restored = deleted.restore(dataset, [gone.id])
    assert (len(restored.documents), len(restored.taken)) == (0, 1)


def test_a_moved_file_keeps_passages_and_vectors(
    sync: FolderSync, folder: Path, braid: Braid, dataset: int, embeddings: HashEmbeddings
) -> None:
    sync.run()
    assert embedded(braid, embeddings) == 3
    (before,) = braid.ledger.documents(dataset, source_prefix=f"{folder}/a.md")
    (folder / "deep").mkdir()
    (folder / "a.md").rename(folder / "deep" / "renamed.md")
    (folder / "sub").rename(folder / "moved")
    assert sync.run() == SyncReport(renamed=2, unchanged=1)
    assert embedded(braid, embeddings) == 0
    (after,) = braid.ledger.documents(dataset, source_prefix=f"{folder}/deep/renamed.md")
    assert (after.id, after.title) == (before.id, "Alpha")
    assert braid.manager.search("pump hums", user_id=1).hits[0].passage.source == f"{folder}/deep/renamed.md"


def test_a_name_that_is_the_title_is_indexed_anew(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    sync.run()
    (folder / "sub" / "c.txt").rename(folder / "sub" / "cistern.txt")
    assert sync.run().renamed == 1
    catch_up(braid)
    assert braid.manager.search("cistern", user_id=1, mode="keyword").hits[0].passage.title == "cistern"


def test_another_format_is_no_rename(sync: FolderSync, folder: Path) -> None:
    sync.run()
    (folder / "a.md").rename(folder / "a.txt")
    assert sync.run() == SyncReport(put=1, removed=1, unchanged=2)


def test_a_copy_is_no_rename(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    sync.run()
    write(folder / "copy.md", (folder / "a.md").read_text())
    assert sync.run() == SyncReport(put=1, unchanged=3)
    assert len(sources(braid, dataset)) == 4


def test_what_an_ignore_file_leaves_out_goes(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    sync.run()
    write(folder / ".braidignore", "sub/\n")
    assert sync.run() == SyncReport(removed=1, unchanged=2)
    (folder / ".braidignore").unlink()
    assert sync.run() == SyncReport(put=1, unchanged=2)


def test_other_documents_are_left_alone(braid: Braid, dataset: int, folder: Path) -> None:
    braid.ledger.put_document(dataset, DocumentInput("note", "Note", "txt", (ChunkInput("by hand"),)))
    neighbour = f"{folder}-old/x.md"
    braid.ledger.put_document(dataset, DocumentInput(neighbour, "X", "md", (ChunkInput("next door"),)))
    FolderSync(braid, dataset, str(folder), parse=parse_here).run()
    assert {"note", neighbour} < sources(braid, dataset)


def test_a_prefix_names_documents_by_their_place_in_the_folder(braid: Braid, dataset: int, folder: Path) -> None:
    sync = FolderSync(braid, dataset, str(folder), IngestOptions(id_prefix="wiki:"), parse=parse_here)
    sync.run()
    (folder / "b.md").unlink()
    assert sync.run() == SyncReport(removed=1, unchanged=2)
    assert sources(braid, dataset) == {"wiki:a.md", "wiki:sub/c.txt"}


def test_an_unreadable_file_is_told_once_and_tried_again_when_it_changes(sync: FolderSync, folder: Path) -> None:
    write(folder / "bad.pdf", "not a pdf")
    ((source, reason),) = sync.run().failures
    assert source.endswith("bad.pdf")
    assert reason
    assert not sync.run().changed
    write(folder / "bad.pdf", "still not a pdf")
    assert len(sync.run().failures) == 1
    (folder / "bad.pdf").unlink()
    assert sync.run().removed == 1


def test_a_file_that_may_be_read_from_now_on_is_read(braid: Braid, dataset: int, folder: Path) -> None:
    def parse(incoming: Incoming, options: IngestOptions) -> DocumentInput:
        if incoming.path.stat().st_mode & 0o777 == 0:  # the system would let root read it
            raise UnreadableDocumentError("permission denied")
        return parse_here(incoming, options)

    sync = FolderSync(braid, dataset, str(folder), parse=parse)
    (folder / "a.md").chmod(0)
    assert len(sync.run().failures) == 1
    assert sync.run() == SyncReport(unchanged=3)
    (folder / "a.md").chmod(0o644)
    assert sync.run() == SyncReport(put=1, unchanged=2)


@pytest.mark.parametrize("within", [False, True])
def test_links_out_of_the_folder_are_read_only_where_that_is_wanted(
    braid: Braid, dataset: int, folder: Path, within: bool
) -> None:
    write(folder.parent / "secret.txt", "the key of the safe")
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "in.md").symlink_to(folder / "a.md")
    sync = FolderSync(braid, dataset, str(folder), within=within, parse=parse_here)
    sync.run()
    states = {os.path.basename(d.source): (d.state, d.chunks) for d in braid.ledger.documents(dataset)}
    assert states["in.md"] == ("ready", 1)
    assert states["out.txt"] == (("failed", 0) if within else ("ready", 1))
    assert [reason for _, reason in sync.unreadable()] == [
        "the link leads out of the folder; copy the file into it"
    ] * (within)


def test_a_file_that_becomes_a_link_during_the_pass_is_not_read(braid: Braid, dataset: int, folder: Path) -> None:
    write(folder.parent / "secret.txt", "the key of the safe")

    def swap(done: int, total: int) -> None:
        if done == 0:
            (folder / "a.md").unlink()
            (folder / "a.md").symlink_to(folder.parent / "secret.txt")

    report = FolderSync(braid, dataset, str(folder), within=True, parse=parse_here).run(on_progress=swap)
    assert [os.path.basename(source) for source, _ in report.failures] == ["a.md"]


def test_a_folder_that_is_not_there_changes_nothing(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    sync.run()
    folder.rename(folder.with_name("unmounted"))
    with pytest.raises(InvalidInputError, match="nothing is changed"):
        sync.run()
    assert len(sources(braid, dataset)) == 3
    with pytest.raises(NotFoundError):
        FolderSync(braid, 99, str(folder), parse=parse_here)


@pytest.mark.parametrize("prefix", ["", "wiki:"])
def test_a_folder_that_stands_empty_loses_nothing(braid: Braid, dataset: int, folder: Path, prefix: str) -> None:
    options = IngestOptions(id_prefix=prefix)
    sync = FolderSync(braid, dataset, str(folder), options, parse=parse_here)
    sync.run()
    mounted = folder.rename(folder.with_name("mounted"))
    folder.mkdir()
    (folder / ".hidden").touch()
    with pytest.raises(InvalidInputError, match=r"notes' has no file to store, so the 3 documents .* --allow-empty"):
        sync.run()
    assert len(sources(braid, dataset)) == 3
    folder.joinpath(".hidden").unlink()
    folder.rmdir()
    mounted.rename(folder)
    assert sync.run() == SyncReport(unchanged=3)
    write(folder / ".braidignore", "*")
    emptying = FolderSync(braid, dataset, str(folder), options, allow_empty=True, parse=parse_here)
    assert emptying.run() == SyncReport(removed=3)
    assert sync.run() == SyncReport(), "what has no documents may be empty"


def test_the_command_empties_a_dataset_only_when_it_is_told_so(tmp_path: Path, folder: Path) -> None:
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        FolderSync(braid, dataset, str(folder), parse=parse_here).run()
    write(folder / ".braidignore", "*")
    arguments = ("watch", str(folder), "--dataset", str(dataset), "--dry-run", "--json")
    refused = command(tmp_path, *arguments)
    assert refused.exit_code != 0
    assert "is its disk mounted?" in refused.output
    assert len(json.loads(command(tmp_path, *arguments, "--allow-empty").stdout)["remove"]) == 3


def test_a_stopped_pass_is_finished_by_the_next(sync: FolderSync) -> None:
    steps: list[str] = []
    report = sync.run(should_stop=lambda: len(steps) == 2, on_step=lambda step, source: steps.append(step))
    assert (report.put, report.stopped) == (2, True)
    assert sync.run() == SyncReport(put=1, unchanged=2)


# ---------------------------------------------------------------- a week


def titled(numbers: random.Random, title: str) -> str:
    parts = [f"## Part {n}\n\n{' '.join(numbers.choices(WORDS, k=12))} {numbers.random()}." for n in range(3)]
    return f"# {title}\n\n" + "\n\n".join(parts)


def stored(braid: Braid, dataset: int) -> dict[str, Any]:
    """All that a search can tell of a dataset's documents, ids aside."""
    found = {}
    for document in braid.ledger.documents(dataset):
        passages = braid.ledger.document_passages(document.id, frozenset({dataset}))
        told = [(p.text, p.heading_path, p.title, p.position, p.page, p.line, p.line_end, p.date) for p in passages]
        found[document.source] = (document.title, document.file_type, document.state, document.chunks, told)
    return found


def test_a_week_of_edits_is_as_good_as_a_fresh_import(tmp_path: Path) -> None:
    numbers, folder = random.Random(7), tmp_path / "notes"
    for n in range(60):
        write(folder / f"d{n % 5}" / f"n{n}.md", titled(numbers, f"Note {n}"))
    model, fresh_model = HashEmbeddings(), HashEmbeddings()
    with (
        Braid(tmp_path / "kept", embedding_model=model) as kept,
        Braid(tmp_path / "fresh", embedding_model=fresh_model) as fresh,
    ):
        dataset = add_notes(kept.ledger)
        user = fresh.ledger.add_user("ann").id
        sync = FolderSync(kept, dataset, str(folder), parse=parse_here)
        expected = 180
        for day in range(8):
            sync.run()
            assert embedded(kept, model) == expected, f"day {day}"
            other = fresh.ledger.add_dataset(user, f"day {day}").id
            ingest_paths(fresh, other, [str(folder)])
            assert stored(kept, dataset) == stored(fresh, other)
            chunks = sum(document.chunks for document in kept.ledger.documents(dataset))
            collection = kept.ledger.dataset(dataset).collection
            assert kept.bm25.count(collection) == kept.dense.count(collection) == chunks
            expected = one_day(numbers, folder, day)


def one_day(numbers: random.Random, folder: Path, day: int) -> int:
    """Edits, additions, moves and deletions. Returns how many passages are new."""
    files = sorted(folder.rglob("*.md"))
    numbers.shuffle(files)
    edited, moved, deleted = files[:5], files[5:9], files[9:11]
    for path in edited:  # one passage of three
        write(path, path.read_text().replace("## Part 1\n\n", f"## Part 1\n\nday {day} "))
    for n, path in enumerate(moved):
        target = folder / f"moved{day}" / f"m{n}.md"
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    for path in deleted:
        path.unlink()
    for n in range(3):
        write(folder / f"d{n}" / f"new{day}-{n}.md", titled(numbers, f"New {day} {n}"))
    return len(edited) + 3 * 3


# ---------------------------------------------------------------- watching


def test_a_watched_folder_is_followed(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    with FolderWatch(str(folder)) as watching:
        thread = threading.Thread(target=watching.follow, args=(sync.run,))
        thread.start()
        eventually(lambda: len(sources(braid, dataset)) == 3)
        write(folder / "new" / "d.md", "# Delta\n\nthe seal leaks")
        eventually(lambda: f"{folder}/new/d.md" in sources(braid, dataset))
        (folder / "new" / "d.md").rename(folder / "e.md")
        eventually(lambda: f"{folder}/e.md" in sources(braid, dataset) and len(sources(braid, dataset)) == 4)
        (folder / "e.md").unlink()
        eventually(lambda: len(sources(braid, dataset)) == 3)
        watching.stop()
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_a_folder_that_is_mounted_later_is_followed(sync: FolderSync, folder: Path, braid: Braid, dataset: int) -> None:
    reasons: list[str] = []

    def sync_once() -> None:
        try:
            sync.run()
        except InvalidInputError as error:
            reasons.append(str(error))

    with FolderWatch(str(folder)) as watching:
        thread = threading.Thread(target=watching.follow, args=(sync_once,))
        thread.start()
        eventually(lambda: len(sources(braid, dataset)) == 3)
        mounted = folder.rename(folder.with_name("mounted"))
        eventually(lambda: any("there is no folder" in reason for reason in reasons))
        write(mounted / "d.md", "# Delta\n\nthe seal leaks")
        mounted.rename(folder)
        eventually(lambda: len(sources(braid, dataset)) == 4)
        write(folder / "e.md", "# Epsilon\n\nthe rotor turns")
        eventually(lambda: len(sources(braid, dataset)) == 5)
        watching.stop()
        thread.join(WAIT_S)


def command(tmp_path: Path, *arguments: str) -> Any:
    return CliRunner().invoke(cli, [*arguments, "--data-dir", str(tmp_path / "data")])


def test_a_dry_run_prints_and_changes_nothing(tmp_path: Path, folder: Path) -> None:
    assert command(tmp_path, "dataset", "add", "notes").exit_code == 0
    arguments = ("watch", str(folder), "--dataset", "1", "--dry-run")
    plan = json.loads(command(tmp_path, *arguments, "--json").stdout)
    assert plan == {
        "put": [f"{folder}/{name}" for name in ("a.md", "b.md", "sub/c.txt")],
        "rename": [],
        "remove": [],
        "unchanged": 0,
    }
    shown = command(tmp_path, *arguments)
    assert f"put     {folder}/a.md" in shown.stdout
    assert "3 changes, 0 unchanged; nothing was changed." in shown.stdout
    assert json.loads(command(tmp_path, "documents", "list", "--dataset", "1", "--json").stdout) == []


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_command_may_be_stopped_and_goes_on(tmp_path: Path, folder: Path, end: signal.Signals) -> None:
    data = str(tmp_path / "data")
    with DataDirectory(Path(data), embedding_model=HashEmbeddings()) as braid:
        add_notes(braid.ledger)
        line = ("-m", "app", "watch", str(folder), "--dataset", "1", "--data-dir", data)
        for expected in (4, 5):
            with in_earnest() if (end, expected) == (signal.SIGINT, 4) else nullcontext():
                process = python(*line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                assert process.stderr is not None
                assert any("watching" in told for told in process.stderr)
                write(folder / f"d{expected}.md", f"# Delta\n\nthe seal leaks {expected}")
                eventually(lambda expected=expected: len(sources(braid, 1)) == expected)  # type: ignore[misc]
            finally:
                process.send_signal(end)
                _, said = process.communicate(timeout=WAIT_S)
            assert process.returncode == (-9 if end == signal.SIGKILL else 0), said


def test_a_document_is_renamed_only_to_a_free_source(braid: Braid, dataset: int) -> None:
    one, two = (DocumentInput(name, "Title", "md", (ChunkInput("text"),), content_hash="h") for name in ("one", "two"))
    braid.ledger.put_document(dataset, one)
    with pytest.raises(NotFoundError, match="'three'"):
        braid.ledger.rename_document(dataset, "three", two)
    braid.ledger.rename_document(dataset, "one", two)
    assert sources(braid, dataset) == {"two"}
    braid.ledger.put_document(dataset, one)
    with pytest.raises(InvalidInputError, match="remove it first"):
        braid.ledger.rename_document(dataset, "one", two)
    assert sources(braid, dataset) == {"one", "two"}
