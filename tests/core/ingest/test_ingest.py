"""Files to the ledger: real files, a real ledger; the indexes are not opened."""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.ingest import IngestProgress, IngestReport, ingest_bytes, ingest_paths
from braid.core.ingest.ingest_document import StoredDocument
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.walk import find_files
from braid.core.types import Document, Filters
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, write

RELATIVE = IngestOptions(relative=True)
as_root = os.geteuid() == 0 if hasattr(os, "geteuid") else False


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[DataDirectory]:
    with DataDirectory(tmp_path / "data") as opened:
        add_notes(opened.ledger)
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


def ingest(braid: DataDirectory, *paths: Path | str, options: IngestOptions = RELATIVE) -> IngestReport:
    return ingest_paths(braid, 1, [str(path) for path in paths], options=options)


def stored(braid: DataDirectory) -> dict[str, str]:
    """Source → state."""
    return {document.source: document.state for document in braid.ledger.documents(1)}


def document(braid: DataDirectory, source: str) -> Document:
    found = braid.ledger.document(1, source)
    assert found is not None
    return found


def texts(braid: DataDirectory, source: str) -> list[str]:
    return [passage.text for passage in braid.ledger.document_passages(document(braid, source).id, [1])]


# ---------------------------------------------------------------- which files


def found(*paths: Path, ignore: tuple[str, ...] = ()) -> list[str]:
    """Names of the files that are taken, relative to the first path."""
    files = find_files([str(path) for path in paths], ignore=ignore)
    return [os.path.relpath(f.path, paths[0]) for f in files if not f.skipped and not f.problem]


@pytest.mark.parametrize(
    ("files", "ignore", "taken"),
    [
        pytest.param({"b.md": "b", "a.md": "a", "sub/c.md": "c"}, (), ["a.md", "b.md", "sub/c.md"], id="all, sorted"),
        pytest.param({"~$a.docx": "k", "Thumbs.db": "x", "a.md": "a"}, (), ["a.md"], id="of programs"),
        pytest.param({".env": "k", ".git/config": "x", "a.md": "a"}, (), ["a.md"], id="hidden"),
        pytest.param({"a.md": "a", "b.log": "b", "sub/c.log": "c"}, ("*.log",), ["a.md"], id="pattern"),
        pytest.param({"a.md": "a", "old/b.md": "b"}, ("old/",), ["a.md"], id="folder pattern"),
        pytest.param({"a.md": "a", "x/a.md": "b"}, ("/a.md",), ["x/a.md"], id="anchored pattern"),
        pytest.param({"a.log": "a", "b.log": "b"}, ("*.log", "!b.log"), ["b.log"], id="negated pattern"),
        pytest.param({".gitignore": "*.tmp\n", "a.md": "a", "b.tmp": "b"}, (), ["a.md"], id=".gitignore"),
        pytest.param({".braidignore": "b*\n", "a.md": "a", "b.md": "b"}, (), ["a.md"], id=".braidignore"),
        pytest.param(
            {".gitignore": "*.csv\n", ".braidignore": "!*.csv\n", "a.csv": "a"}, (), ["a.csv"], id="braidignore last"
        ),
        pytest.param(
            {".gitignore": "*.md\n", "sub/.gitignore": "!keep.md\n", "sub/keep.md": "k", "a.md": "a"},
            (),
            ["sub/keep.md"],
            id="inner ignore file wins",
        ),
        pytest.param({"sub/.gitignore": "a.md\n", "sub/a.md": "x", "a.md": "y"}, (), ["a.md"], id="only below"),
        pytest.param(
            {".gitignore": "!\na[z-a]\n\\\n*.tmp\n", "a.md": "a", "b.tmp": "b"}, (), ["a.md"], id="wrong lines"
        ),
        pytest.param({".gitignore": "*.md\n", "a.md": "a"}, ("!a.md",), ["a.md"], id="what is given wins"),
        pytest.param({}, (), [], id="empty folder"),
    ],
)
def test_a_folder_gives_its_files(
    folder: Path, files: dict[str, str | bytes], ignore: tuple[str, ...], taken: list[str]
) -> None:
    write(folder, files)
    assert found(folder, ignore=ignore) == taken


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "sub/b.md", "sub/deep/c.md"]),
        ("sub/*.md", ["sub/b.md"]),
        ("*/*.md", ["sub/b.md"]),
        ("su?/d*", ["sub/deep/c.md", "sub/deep/d.txt"]),
        ("[a]*", ["a.md"]),
        ("?x?.pdf", ["[x].pdf"]),
        ("[x].pdf", ["[x].pdf"]),  # a file of this very name
    ],
)
def test_globs(folder: Path, pattern: str, taken: list[str]) -> None:
    names = ["a.md", "[x].pdf", "z.txt", "sub/b.md", "sub/deep/c.md", "sub/deep/d.txt", "sub/.hidden.md"]
    write(folder, {name: name for name in names} | {"ignored.md": "", ".gitignore": "ignored.md\n"})
    files = find_files([f"{folder}/{pattern}"])
    assert [os.path.relpath(file.path, folder) for file in files if not file.skipped] == taken


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing", "there is no file or folder"),
        ("*.pdf", "no file matches"),
        ("nothing/*.md", "there is no folder"),
        ("pipe", "not a regular file"),
        ("broken", "a link to nothing"),
        ("", "an empty path"),
        ("a\0b", "there is no file or folder"),
    ],
)
def test_a_path_that_gives_nothing_is_wrong_use(
    braid: DataDirectory, folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    write(folder, {"a.md": "text"})
    os.mkfifo(folder / "pipe")
    (folder / "broken").symlink_to("gone")
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidInputError, match=message):
        ingest(braid, "a.md", path)
    assert stored(braid) == {}, "nothing is stored when one path is wrong"


def test_a_wrong_pattern_is_wrong_use(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'a\[z-a\]' is not a gitignore pattern"):
        find_files([str(folder)], ignore=["a[z-a]"])


def test_what_is_named_is_taken_although_hidden_or_ignored(folder: Path) -> None:
    write(folder, {".git/HEAD": "", ".gitignore": "build/\n*.log\n", "build/a.md": "a", "b.log": "b", ".c.md": "c"})
    assert found(folder / "build") == ["a.md"]
    assert found(folder / "b.log", folder / ".c.md") == [".", "../.c.md"]
    assert found(folder / "b.log", ignore=("*.log",)) == [], "a pattern of the same command still counts"


def test_ignore_files_around_the_folder_count_up_to_the_repository(folder: Path) -> None:
    write(folder, {".gitignore": "*.md\n", "repo/.git/HEAD": "", "repo/.gitignore": "*.log\n"})
    write(folder, {"repo/docs/a.md": "a", "repo/docs/b.log": "b", "repo/docs/c.txt": "c"})
    assert found(folder / "repo" / "docs") == ["a.md", "c.txt"]


def test_links_and_special_files(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"real.md": "real", "sub/x.md": "x"})
    (folder / "sub" / "loop").symlink_to(folder)
    (folder / "self").symlink_to("self")
    (folder / "gone").symlink_to("nowhere")
    (folder / "link.md").symlink_to("real.md")
    os.mkfifo(folder / "pipe.md")
    report = ingest(braid, folder)
    assert stored(braid) == {
        "real.md": "ready",
        "link.md": "ready",
        "sub/x.md": "ready",
        "self": "failed",
        "gone": "failed",
    }
    assert report.skips == {"linked folder": 1, "not a regular file": 1}
    assert "leads to nothing" in document(braid, "gone").error


def test_a_linked_folder_is_entered_when_it_is_given(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"real/a.md": "a"})
    (folder / "link").symlink_to("real")
    ingest(braid, folder / "link")
    assert stored(braid) == {"a.md": "ready"}


@contextmanager
def nested(folder: Path, name: str, levels: int) -> Iterator[int]:
    """Folders in folders; gives the file descriptor of the innermost."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    yield here
    os.close(here)
    subprocess.run(["rm", "-r", str(folder)], check=True)  # pytest's own way to clean up recurses


def test_folders_deeper_than_python_recurses(folder: Path) -> None:
    with nested(folder, "d", 1050) as innermost:
        os.close(os.open("a.md", os.O_CREAT, dir_fd=innermost))
        files = list(find_files([str(folder)]))
    assert [os.path.basename(file.path) for file in files] == ["a.md"]


def test_a_folder_that_cannot_be_listed_is_reported_and_the_others_go_on(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a", "z/b.md": "b"})
    with nested(folder, "n" * 240, 18):  # its path is longer than the system takes
        report = ingest(braid, folder)
    assert stored(braid) == {"a.md": "ready", "z/b.md": "ready"}
    [(source, reason)] = report.failures
    assert source.startswith("nnn")
    assert reason == "the folder is left out, it cannot be read: File name too long"


def test_the_data_directory_itself_is_left_out(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a"})
    report = ingest(braid, folder.parent)
    assert stored(braid) == {"files/a.md": "ready"}
    assert report.failed == 0


# ---------------------------------------------------------------- sources


@pytest.mark.parametrize(
    ("options", "paths", "sources"),
    [
        pytest.param(IngestOptions(), ["docs"], ["{root}/docs/a.md", "{root}/docs/sub/b.md"], id="absolute"),
        pytest.param(RELATIVE, ["docs"], ["a.md", "sub/b.md"], id="to the folder"),
        pytest.param(RELATIVE, ["docs/sub/b.md"], ["b.md"], id="to the folder of the file"),
        pytest.param(RELATIVE, ["docs/**/b.md"], ["sub/b.md"], id="to the fixed part of the glob"),
        pytest.param(
            IngestOptions(relative=True, relative_to="."), ["docs"], ["docs/a.md", "docs/sub/b.md"], id="to a base"
        ),
        pytest.param(
            IngestOptions(relative=True, id_prefix="https://wiki/"),
            ["docs"],
            ["https://wiki/a.md", "https://wiki/sub/b.md"],
            id="prefix",
        ),
        pytest.param(RELATIVE, ["docs", "docs", "docs/a.md", "./docs/"], ["a.md", "sub/b.md"], id="the same again"),
    ],
)
def test_sources(
    braid: DataDirectory,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: IngestOptions,
    paths: list[str],
    sources: list[str],
) -> None:
    write(folder, {"docs/a.md": "a", "docs/sub/b.md": "b"})
    monkeypatch.chdir(folder)
    report = ingest(braid, *paths, options=options)
    assert sorted(stored(braid)) == [source.format(root=folder) for source in sources]
    assert (report.put, report.failed) == (len(sources), 0)


def test_a_file_outside_the_base_is_wrong_use(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"docs/a.md": "a", "other/b.md": "b"})
    with pytest.raises(InvalidInputError, match=r"is not below"):
        ingest(
            braid, folder / "docs", folder / "other", options=IngestOptions(relative=True, relative_to=f"{folder}/docs")
        )
    assert stored(braid) == {}


@pytest.mark.parametrize("name", ["がぎぐげご.md", "한국어 문서.md", "Ünïcödé.md"])
def test_names_from_macos_are_the_same_source(braid: DataDirectory, folder: Path, name: str) -> None:
    write(folder, {unicodedata.normalize("NFD", name): "first"})
    assert ingest(braid, folder).put == 1
    assert list(stored(braid)) == [unicodedata.normalize("NFC", name)]
    (folder / unicodedata.normalize("NFD", name)).unlink()
    write(folder, {unicodedata.normalize("NFC", name): "first"})
    assert ingest(braid, folder).unchanged == 1


def test_two_files_with_one_source_the_second_fails(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"x/a.md": "of x", "y/a.md": "of y"})
    report = ingest(braid, folder / "x", folder / "y")
    assert texts(braid, "a.md") == ["of x"]
    assert (report.put, report.failed) == (1, 1)
    [(source, reason)] = report.failures
    assert source == "a.md"
    assert f"{folder}/x/a.md and {folder}/y/a.md have the same source" in reason
    assert document(braid, "a.md").state == "ready", "the failure belongs to the other file"


def test_two_spellings_of_one_name_are_one_source(braid: DataDirectory, folder: Path) -> None:
    write(folder, {unicodedata.normalize(form, "が.md"): form for form in ("NFC", "NFD")})
    report = ingest(braid, folder)
    assert (report.put, report.failed) == (1, 1)


# ---------------------------------------------------------------- what is stored


def test_a_document_as_it_is_stored(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"guide.md": "# Guide\n\nWelcome.\n\n## Setup\n\nInstall it.\n"})
    os.utime(folder / "guide.md", (1_700_000_000, 1_700_000_000))
    report = ingest(braid, folder)
    got = document(braid, "guide.md")
    assert (got.title, got.file_type, got.state, got.error) == ("Guide", "md", "ready", "")
    assert (got.date, got.size_bytes) == (1_700_000_000, os.path.getsize(folder / "guide.md"))
    assert got.chunks == report.chunks > 0
    passages = braid.ledger.document_passages(got.id, [1])
    assert passages[-1].heading_path.endswith("Setup")


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_replaces(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "one", "b.md": "two"})
    ingest(braid, folder)
    before = {document.source: document for document in braid.ledger.documents(1)}
    write(folder, {"b.md": "three"})
    os.utime(folder / "a.md", (1, 1))
    report = ingest(braid, folder)
    assert (report.put, report.unchanged, report.failed) == (1, 1, 0)
    after = document(braid, "a.md")
    assert after == replace(before["a.md"], date=1.0, updated_at=after.updated_at)
    assert document(braid, "b.md").id == before["b.md"].id
    assert texts(braid, "b.md") == ["three"]


def test_a_touched_file_has_its_new_date_and_is_not_embedded_again(tmp_path: Path, folder: Path) -> None:
    embeddings = HashEmbeddings()
    write(folder, {"a.md": "one cat"})
    os.utime(folder / "a.md", (1_000, 1_000))
    with ByHand(tmp_path / "searched", embedding_model=embeddings) as braid:
        add_notes(braid.ledger)
        ingest(braid, folder)
        catch_up(braid)
        embedded, heads = embeddings.documents_embedded, braid.indexer.heads(["user_1"])
        os.utime(folder / "a.md", (2_000, 2_000))
        assert ingest(braid, folder).unchanged == 1
        later = braid.manager.search("cat", user_id=1, filters=Filters(date_from=1_500))
        assert [hit.passage.date for hit in later.hits] == [2_000]
        assert (embeddings.documents_embedded, braid.indexer.heads(["user_1"])) == (embedded, heads)
        assert ingest_bytes(braid, 1, "a.md", b"one cat").state == "unchanged"
        assert document(braid, "a.md").date == 2_000, "no date is not another one"


def test_chunk_sizes_come_from_the_options(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.txt": "A sentence of some length. " * 200})
    ingest(braid, folder, options=IngestOptions(relative=True, chunk_chars=300, chunk_overlap_chars=0))
    assert document(braid, "a.txt").chunks >= 18
    assert max(map(len, texts(braid, "a.txt"))) <= 300


@pytest.mark.parametrize(
    ("options", "taken", "skips"),
    [
        ({"file_types": frozenset({"md"})}, ["a.md", "b.markdown"], {"another file type": 2}),
        ({"file_types": frozenset({"md", "py"})}, ["a.md", "b.markdown", "c.py"], {"another file type": 1}),
        ({"file_types": {".MD", "PY"}}, ["a.md", "b.markdown", "c.py"], {"another file type": 1}),
        ({"since": 1_500_000_000.0}, ["b.markdown", "c.py", "d"], {"not modified since": 1}),
        ({"ignore": ("*.m*",)}, ["c.py", "d"], {"ignored": 2}),
    ],
)
def test_selection(
    braid: DataDirectory, folder: Path, options: dict[str, Any], taken: list[str], skips: dict[str, int]
) -> None:
    write(folder, {"a.md": "a", "b.markdown": "b", "c.py": "c = 1", "d": "plain"})
    os.utime(folder / "a.md", (1_400_000_000, 1_400_000_000))
    report = ingest(braid, folder, options=IngestOptions(relative=True, **options))
    assert list(stored(braid)) == taken or report.failed
    assert (report.skips, report.skipped) == (skips, sum(skips.values()))


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.md", b"", "empty"),
        ("blank.txt", b" \n\n", "text"),
        ("binary.txt", bytes(range(256)) * 20, "binary|text"),
        ("picture.pdf", b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "PDF|picture|PNG|image"),
        ("broken.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", "damaged|PDF"),
        ("broken.docx", b"PK\x03\x04 but no more", "damaged|archive|Word"),
        ("large.txt", b"word " * 1000, "5,000 bytes; at most 4,000"),
    ],
)
def test_a_file_that_cannot_be_read_fails_with_the_reason_and_the_others_go_on(
    braid: DataDirectory, folder: Path, name: str, content: bytes, reason: str
) -> None:
    write(folder, {"a.md": "fine", name: content, "z.md": "fine too"})
    report = ingest(braid, folder, options=IngestOptions(relative=True, max_file_bytes=4000))
    assert stored(braid) == {"a.md": "ready", name: "failed", "z.md": "ready"}
    failed = document(braid, name)
    assert report.failures == ((name, failed.error),)
    assert re.search(reason, failed.error)
    assert name in failed.error


def test_a_name_that_is_not_text_fails(braid: DataDirectory, folder: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md"))).write_text("coffee")
    report = ingest(braid, folder)
    assert stored(braid) == {"caf\\udce9.md": "failed"}
    assert "not valid UTF-8" in report.failures[0][1]


@pytest.mark.skipif(as_root, reason="root may read everything")
def test_without_permission(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a", "secret.md": "s", "locked/b.md": "b", "dark/.gitignore": "*", "dark/c.md": "c"})
    for name in ("secret.md", "locked", "dark/.gitignore"):
        (folder / name).chmod(0)
    report = ingest(braid, folder)
    (folder / "locked").chmod(0o700)
    assert stored(braid) == {"a.md": "ready", "secret.md": "failed"}
    assert dict(report.failures) == {
        "secret.md": "secret.md cannot be read: Permission denied",
        "locked": "the folder is left out, it cannot be read: Permission denied",
        "dark": "the folder is left out, its .gitignore cannot be read: Permission denied",
    }


def test_a_file_that_vanishes_or_becomes_a_folder_while_the_run_goes_on(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a", "b.md": "b", "c.md": "c", "d.md": "d"})

    def meddle(progress: IngestProgress) -> None:
        if progress.document.source == "a.md":
            (folder / "b.md").unlink()
            (folder / "c.md").unlink()
            (folder / "c.md").mkdir()

    report = ingest_paths(braid, 1, [str(folder)], options=RELATIVE, on_progress=meddle)
    assert dict(report.failures) == {
        "b.md": "b.md vanished before it was read",
        "c.md": "c.md cannot be read: Is a directory",
    }
    assert stored(braid) == {"a.md": "ready", "c.md": "failed", "d.md": "ready"}


def test_what_was_stored_stays_searchable_when_the_file_can_no_longer_be_read(
    braid: DataDirectory, folder: Path
) -> None:
    write(folder, {"a.md": "precious"})
    ingest(braid, folder)
    write(folder, {"a.md": b"\0\1\2\3" * 100})
    [(_, reason)] = ingest(braid, folder).failures
    assert "stays searchable" in reason
    assert texts(braid, "a.md") == ["precious"]
    assert (document(braid, "a.md").state, document(braid, "a.md").error) == ("failed", reason)

    write(folder, {"a.md": "precious"})
    assert ingest(braid, folder).put == 1, "the failure is over"
    assert (document(braid, "a.md").state, document(braid, "a.md").error) == ("ready", "")


def test_a_failed_file_is_tried_again(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": ""})
    assert ingest(braid, folder).failed == 1
    assert ingest(braid, folder).failed == 1
    assert len(braid.ledger.documents(1)) == 1


# ---------------------------------------------------------------- the run


def test_progress_counts_every_file(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a", "b.md": "", ".hidden": "h"})
    ingest(braid, folder / "a.md")
    seen: list[IngestProgress] = []
    ingest_paths(braid, 1, [str(folder)], options=RELATIVE, on_progress=seen.append)
    assert [(p.done, p.total, p.document.source, p.document.state) for p in seen] == [
        (1, 2, "a.md", "unchanged"),
        (2, 2, "b.md", "failed"),
    ]


def test_stopping_in_between_keeps_what_is_done(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a", "b.md": "b"})

    def stop(progress: IngestProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest_paths(braid, 1, [str(folder)], options=RELATIVE, on_progress=stop)
    assert stored(braid) == {"a.md": "ready"}
    report = ingest(braid, folder)
    assert (report.put, report.unchanged) == (1, 1)


@pytest.mark.parametrize("dataset_id", [2, -1, 0])
def test_an_unknown_dataset(braid: DataDirectory, folder: Path, dataset_id: int) -> None:
    write(folder, {"a.md": "a"})
    with pytest.raises(NotFoundError, match="there is no"):
        ingest_paths(braid, dataset_id, [str(folder)])


def test_a_shared_dataset(braid: DataDirectory, folder: Path) -> None:
    write(folder, {"a.md": "a"})
    shared = braid.registry.add("Handbook", "shared_handbook")
    assert ingest_paths(braid, shared.id, [str(folder)], options=RELATIVE).put == 1
    assert braid.dataset(shared.id).documents == 1


def test_an_upload(braid: DataDirectory) -> None:
    first = ingest_bytes(braid, 1, "note.md", b"# Note\n\ntext", date=5.0)
    now = document(braid, "note.md")
    assert first == StoredDocument("note.md", "put", document_id=now.id, chunks=now.chunks, added=now.chunks)
    assert document(braid, "note.md").date == 5.0
    assert ingest_bytes(braid, 1, "note.md", b"# Note\n\ntext").state == "unchanged"
    failed = ingest_bytes(braid, 1, "https://example.com/x", b"", filename="x.pdf")
    assert (failed.state, failed.source) == ("failed", "https://example.com/x")
    assert document(braid, "https://example.com/x").title == "x.pdf"


@pytest.mark.parametrize("source", ["", "  ", "\u3000"])
def test_an_upload_without_a_source(braid: DataDirectory, source: str) -> None:
    with pytest.raises(InvalidInputError, match="the source is empty"):
        ingest_bytes(braid, 1, source, b"text")


def test_an_upload_with_a_source_that_is_no_text(braid: DataDirectory) -> None:
    assert ingest_bytes(braid, 1, "a\ud800.md", b"text").source == "a\\ud800.md"
