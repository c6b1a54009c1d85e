"""Loaders of other packages: the one of docs/plugins.md kept in sync, and ones that do everything wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from braid.app.cli.root import cli
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.folders.loader_sync import LoaderError, LoaderSync, find_loader
from braid.core.folders.watch import RegularWatch
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ledger.deleted_documents import DeletedDocuments
from tests.plugins import package, section_of
from tests.worlds import add_notes, document, sources

WRONG = """
from braid.core.folders.loader_sync import ListedDocument

def breaks(rest):
    yield ListedDocument("a.md", lambda: b"# A")
    raise TimeoutError(f"no answer from {rest}")

def twice(rest):
    return [ListedDocument("a.md", lambda: b"# A"), ListedDocument("a.md", lambda: b"# B")]

def others(rest):
    return [{"name": "a.md"}]

def dates(rest):
    return [ListedDocument("a.md", lambda: b"# A", date=float("nan"))]

def cut(rest):
    return [ListedDocument("broken.pdf", lambda: b"%PDF-1.4 cut", date=1.0)]

def parts(rest):
    def refuse():
        raise PermissionError("not yours")
    return [
        ListedDocument("good.md", lambda: b"# Good"),
        ListedDocument("refused.md", refuse),
        ListedDocument("text.md", lambda: "text"),
        ListedDocument("metadata.md", lambda: b"# M", metadata={"$wrong": 1}),
        ListedDocument("broken.pdf", lambda: b"%PDF-1.4 cut"),
    ]
"""
POINTS = "\n".join(f"{name} = wrong:{name}" for name in ("breaks", "twice", "others", "dates", "cut", "parts", "lost"))


class Wiki:
    """A folder as the loader of the docs lists it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, float] = {}
        folder.mkdir()
        self._write()

    def put(self, name: str, text: str, changed: float) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")
        self.pages[name] = changed
        self._write()

    def remove(self, name: str) -> None:
        del self.pages[name]
        self._write()

    def _write(self) -> None:
        index = [{"file": name, "changed": changed, "author": "ann"} for name, changed in self.pages.items()]
        (self.folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[Wiki]:
    module, name, points = section_of("plugins.md", "A loader")
    made = Wiki(tmp_path / "team")
    made.put("Home.md", "# Home\n\nthe pump hums", 1.0)
    made.put("Tank.md", "# Tank\n\nthe tank is full", 2.0)
    with package(name, module, "braid.loaders", points):
        yield made


@pytest.fixture
def wrong() -> Iterator[None]:
    with package("wrong", WRONG, "braid.loaders", POINTS):
        yield


@pytest.fixture
def sync(braid: Braid) -> Callable[..., LoaderSync]:
    dataset = add_notes(braid.ledger)
    return lambda address, *more, **options: LoaderSync(
        braid, dataset, address, IngestOptions(**options), *more, parse=parse_here
    )


def test_a_dataset_follows_the_list(braid: Braid, wiki: Wiki, sync: Callable[..., LoaderSync]) -> None:
    braid.ledger.put_document(sync("").dataset_id, document("note.md", "a note"))
    one = sync(f"wiki:{wiki.folder}")
    first = one.run()
    assert (first.put, first.unchanged, first.removed, first.failures) == (2, 0, 0, ())
    assert one.run().unchanged == 2
    wiki.put("Tank.md", "# Tank\n\nthe tank is empty", 3.0)
    wiki.put("Valve.md", "# Valve", 4.0)
    wiki.remove("Home.md")
    plan = one.plan()
    assert [file.path for file in plan.puts] == ["Tank.md", "Valve.md"]
    assert plan.removals == (f"wiki:{wiki.folder}/Home.md",)
    second = one.run()
    assert (second.put, second.removed, second.unchanged) == (2, 1, 0)
    below = [f"wiki:{wiki.folder}/{name}" for name in ("Tank.md", "Valve.md")]
    assert sources(braid, one.dataset_id) == {"note.md", *below}
    stored = braid.ledger.document(one.dataset_id, below[0])
    assert stored is not None
    assert (stored.date, stored.metadata["by"]) == (3.0, "ann")


def test_what_is_stored_with_its_date_is_not_read(wiki: Wiki, sync: Callable[..., LoaderSync]) -> None:
    one = sync(f"wiki:{wiki.folder}")
    one.run()
    for name in wiki.pages:
        (wiki.folder / name).unlink()
    assert (one.run().unchanged, one.run().failures) == (2, ())


def test_what_somebody_deleted_waits_for_another_date(
    braid: Braid, wiki: Wiki, sync: Callable[..., LoaderSync]
) -> None:
    wiki.put("Home.md", "# Home", 1.0)
    follows = sync(f"wiki:{wiki.folder}")
    follows.run()
    gone, *others = braid.ledger.documents(follows.dataset_id)
    DeletedDocuments(braid.ledger).discard(follows.dataset_id, [gone.id])
    assert not follows.run().changed
    assert braid.ledger.documents(follows.dataset_id) == others
    wiki.put("Home.md", "# Home again", 5.0)
    assert gone.source.endswith("Home.md")
    assert follows.run().put == 1
    assert len(braid.ledger.documents(follows.dataset_id)) == 1 + len(others)


def test_an_empty_list_removes_nothing_unless_it_may(braid: Braid, wiki: Wiki, sync: Callable[..., LoaderSync]) -> None:
    address = f"wiki:{wiki.folder}"
    sync(address).run()
    for name in list(wiki.pages):
        wiki.remove(name)
    with pytest.raises(InvalidInputError, match="lists nothing, so the 2 documents of it"):
        sync(address).run()
    assert len(sources(braid, sync("").dataset_id)) == 2
    assert sync(address, True).run().removed == 2


def test_options_choose_and_name(braid: Braid, wiki: Wiki, sync: Callable[..., LoaderSync]) -> None:
    wiki.put("draft.txt", "not yet", 5.0)
    one = sync(f"wiki:{wiki.folder}", ignore=("*.txt",), since=2.0, id_prefix="w/")
    one.run()
    assert sources(braid, one.dataset_id) == {"w/Tank.md"}
    two = sync(f"wiki:{wiki.folder}", file_types=frozenset({"txt"}), id_prefix="v/")
    two.run()
    assert sources(braid, two.dataset_id) == {"v/draft.txt", "w/Tank.md"}


def test_it_stops_between_two_documents(wiki: Wiki, sync: Callable[..., LoaderSync]) -> None:
    answers = iter([False, True, True])
    report = sync(f"wiki:{wiki.folder}").run(should_stop=lambda: next(answers))
    assert (report.put, report.stopped) == (1, True)


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "breaks:host",
            r"the loader breaks of wrong:breaks failed, so nothing is changed: TimeoutError: no answer",
        ),
        ("twice:", r"lists 'a\.md' twice"),
        ("others:", "lists dict, not ListedDocument"),
        ("lost:", "the loader lost of wrong:lost failed.*AttributeError"),
    ],
)
def test_a_list_that_is_none_changes_nothing(
    braid: Braid, sync: Callable[..., LoaderSync], address: str, said: str
) -> None:
    with pytest.raises(LoaderError, match=said):
        sync(address).run()
    assert not sources(braid, sync("").dataset_id)


@pytest.mark.usefixtures("wrong")
def test_a_document_that_cannot_be_had_costs_no_other(braid: Braid, sync: Callable[..., LoaderSync]) -> None:
    report = sync("parts:x").run()
    assert report.put == 1
    told = dict(report.failures)
    assert told.pop("parts:x/refused.md") == "it cannot be loaded: PermissionError: not yours"
    assert told.pop("parts:x/text.md") == "the loader read str, not bytes"
    assert "$wrong" in told.pop("parts:x/metadata.md")
    assert told.pop("parts:x/broken.pdf").startswith("broken.pdf ")
    assert not told


def test_an_address_without_a_loader(braid: Braid, sync: Callable[..., LoaderSync]) -> None:
    assert find_loader("wiki:team") is None
    with pytest.raises(InvalidInputError, match="'wiki:team' begins with no loader that is installed"):
        sync("wiki:team").run()
    with pytest.raises(NotFoundError):
        LoaderSync(braid, 999, "wiki:team", parse=parse_here).run()


def test_the_command_watches_an_address(wiki: Wiki, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["--data-dir", str(tmp_path / "data"), *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    run("user", "add", "ann")
    run("dataset", "add", "notes", "--user", "ann")
    watch = ("watch", f"wiki:{wiki.folder}", "--dataset", "1")
    assert "put     " in run(*watch, "--dry-run")
    assert "2 stored" in run(*watch, "--once")
    assert "2 unchanged" in run(*watch, "--once")


def test_a_list_is_read_again_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.folders.watch.RESCAN_S", 0.0)
    watch, rounds = RegularWatch(), []

    def on_change() -> None:
        rounds.append(1)
        if len(rounds) == 3:
            watch.stop()

    watch.follow(on_change)
    assert len(rounds) == 3


def test_what_cannot_be_read_is_read_again_when_it_has_another_date(
    braid: Braid, wrong: None, sync: Callable[..., LoaderSync]
) -> None:
    one = sync("cut:x")
    assert [source for source, _ in one.run().failures] == ["cut:x/broken.pdf"]
    second = one.run()
    assert (second.failures, second.unchanged) == ((), 1)


def test_a_date_that_is_no_number_changes_nothing(braid: Braid, wrong: None, sync: Callable[..., LoaderSync]) -> None:
    with pytest.raises(LoaderError, match=r"'a\.md' the date nan, not seconds"):
        sync("dates:x").run()
