"""Folders on the server that datasets are kept equal to: background work, the page, and the API."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.accounts.accounts import Accounts
from braid.core.background.background import Background
from braid.core.background.dataset_jobs import new_text
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.folders.store import NewSyncedFolder, SyncedFolder
from braid.core.folders.supervisor import FolderSupervisor
from braid.core.folders.sync_jobs import new_sync_job
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.jobs.store import Job
from braid.core.types import DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import add_user, bearer, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S, eventually

ANN = 1


@pytest.fixture
def tmp_path(open_folder: Path) -> Path:
    """No folder of the system's own, as those below ``/dev`` are."""
    return open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    (made / "a.md").write_text("# Alpha\n\nthe pump hums")
    (made / "b.md").write_text("# Beta\n\nthe valve drips")
    return made


@pytest.fixture
def dataset(braid: Braid) -> int:
    ann = Accounts(braid.ledger).create_first("ann", "correct horse")
    assert ann.id == ANN
    return braid.ledger.add_dataset(ANN, "notes").id


@pytest.fixture
def background(braid: Braid, dataset: int) -> Iterator[Background]:
    opened = Background(braid)
    opened.start()
    yield opened
    opened.close()


def sources(braid: Braid, dataset: int) -> set[str]:
    return {os.path.basename(document.source) for document in braid.ledger.documents(dataset)}


def last_sync(background: Background, folder: SyncedFolder) -> Job:
    """The last sync job, once none is queued or running."""
    eventually(lambda: background.sync_jobs.find_last(folder) and not background.sync_jobs.find_active(folder))
    found = background.sync_jobs.find_last(folder)
    assert found is not None
    return found


def add_folder(background: Background, dataset: int, folder: Path, **more: Any) -> SyncedFolder:
    return background.supervisor.add(ANN, NewSyncedFolder(dataset, str(folder), **more))


# ---------------------------------------------------------------- following


def test_a_kept_folder_is_followed(
    braid: Braid, background: Background, dataset: int, folder: Path, embeddings: HashEmbeddings
) -> None:
    followed = add_folder(background, dataset, folder)
    eventually(lambda: sources(braid, dataset) == {"a.md", "b.md"})
    assert last_sync(background, followed).state == "done"
    assert braid.indexer.wait(WAIT_S)
    assert braid.manager.search("pump hums", user_id=ANN).hits[0].passage.title == "Alpha"

    (folder / "a.md").write_text("# Alpha\n\nthe rotor sings")
    eventually(lambda: [h.passage.text for h in braid.manager.search("rotor", user_id=ANN, mode="keyword").hits])
    assert braid.indexer.wait(WAIT_S)

    embeddings.documents_embedded = 0
    (folder / "b.md").rename(folder / "renamed.md")
    eventually(lambda: sources(braid, dataset) == {"a.md", "renamed.md"})
    assert braid.indexer.wait(WAIT_S)
    assert embeddings.documents_embedded == 0, "a file that moved keeps its vectors"

    (folder / "a.md").unlink()
    eventually(lambda: sources(braid, dataset) == {"renamed.md"})
    assert last_sync(background, followed).state == "done"


def test_a_restart_goes_on_with_what_happened_meanwhile(braid: Braid, dataset: int, folder: Path) -> None:
    first = Background(braid)
    first.start()
    followed = add_folder(first, dataset, folder)
    last_sync(first, followed)
    first.close()
    (folder / "c.md").write_text("# Gamma\n\nthe tank is full")
    second = Background(braid)
    second.start()
    eventually(lambda: "c.md" in sources(braid, dataset))
    second.close()


def test_a_file_that_cannot_be_read_fails_no_sync_and_is_read_once(
    background: Background, dataset: int, folder: Path
) -> None:
    (folder / "bad.pdf").write_text("not a pdf")
    followed = add_folder(background, dataset, folder)
    first = last_sync(background, followed)
    assert (first.state, first.result["put"], first.result["failed"]) == ("done", 2, 1)
    [failure] = first.result["failures"]
    assert failure["source"].endswith("bad.pdf")
    background.sync_jobs.queue(followed)
    eventually(lambda: last_sync(background, followed).id > first.id)
    again = last_sync(background, followed).result
    assert (again["put"], again["unchanged"], again["failures"]) == (0, 3, [failure])


@pytest.mark.parametrize("gone", [True, False])
def test_an_unmounted_disk_loses_nothing_and_is_followed_when_it_is_back(
    braid: Braid, background: Background, dataset: int, folder: Path, gone: bool
) -> None:
    followed = add_folder(background, dataset, folder)
    last_sync(background, followed)
    mounted = folder.rename(folder.with_name("mounted"))
    if gone:
        eventually(lambda: "there is no folder" in background.supervisor.problem(followed.id))
    else:
        folder.mkdir()
        eventually(lambda: last_sync(background, followed).state == "failed")
        assert "is its disk mounted?" in last_sync(background, followed).error
        folder.rmdir()
    assert sources(braid, dataset) == {"a.md", "b.md"}
    (mounted / "c.md").write_text("# Gamma\n\nthe tank is full")
    mounted.rename(folder)
    eventually(lambda: sources(braid, dataset) == {"a.md", "b.md", "c.md"})
    assert background.supervisor.problem(followed.id) == ""


def test_a_folder_that_is_missing_at_the_start_is_tried_again_and_all_processes_know(
    braid: Braid, dataset: int, folder: Path
) -> None:
    background = Background(braid)  # whose own supervisor is not started
    background._runner.start()
    supervisor = FolderSupervisor(background.folders, background.sync_jobs, retry_s=0.2, list_poll_s=0.1)
    followed = add_folder(background, dataset, folder)
    hidden = folder.rename(folder.with_name("hidden"))
    supervisor.start()
    eventually(lambda: "there is no folder" in supervisor.problem(followed.id))
    eventually(lambda: "there is no folder" in background.supervisor.problem(followed.id))
    assert background.sync_jobs.find_last(followed) is None
    hidden.rename(folder)
    eventually(lambda: sources(braid, dataset) == {"a.md", "b.md"})
    eventually(lambda: background.supervisor.problem(followed.id) == "")
    supervisor.close()
    background.close()


def test_a_long_sync_keeps_no_upload_waiting(braid: Braid, dataset: int, folder: Path) -> None:
    background = Background(braid, workers=1)
    begun, may_end = threading.Event(), threading.Event()

    def slow(incoming: Incoming, options: IngestOptions) -> DocumentInput:
        begun.set()
        assert may_end.wait(WAIT_S)
        return parse_here(incoming, options)

    background.sync_jobs._parse = slow
    background.start()
    followed = add_folder(background, dataset, folder)
    assert begun.wait(WAIT_S)
    [job] = background.add(ANN, [new_text(background.spool, dataset, "Note", "by hand", max_bytes=1000)])
    eventually(lambda: background.store.get(ANN, job.id).ended)
    assert background.sync_jobs.find_active(followed) is not None
    may_end.set()
    last_sync(background, followed)
    background.close()


def test_syncs_that_found_nothing_to_do_leave_only_the_last(background: Background, dataset: int, folder: Path) -> None:
    followed = add_folder(background, dataset, folder)
    first = last_sync(background, followed)
    for _ in range(3):
        before = last_sync(background, followed)
        background.sync_jobs.queue(followed)
        eventually(lambda before=before: last_sync(background, followed).id > before.id)  # type: ignore[misc]
    assert background.sync_jobs.find_last_change(followed) == first
    assert len(background.store.of_user(ANN)) <= 3, "the first, the last, and the one before"


def test_only_one_sync_is_queued_or_running(braid: Braid, dataset: int, folder: Path) -> None:
    background = Background(braid)  # not started: the job stays queued
    followed = add_folder(background, dataset, folder)
    first = background.sync_jobs.queue(followed)
    assert first is not None
    assert background.sync_jobs.queue(followed) is None
    assert [job.id for job in background.store.of_user(ANN)] == [first.id]


def test_a_dropped_folder_leaves_its_documents_and_is_not_followed(
    braid: Braid, background: Background, dataset: int, folder: Path
) -> None:
    followed = add_folder(background, dataset, folder)
    last_sync(background, followed)
    watcher = background.supervisor._watchers[followed.id]
    assert background.supervisor.remove(followed.id) == followed
    watcher.join(WAIT_S)
    assert not watcher.is_alive(), "nobody watches it any more"
    (folder / "a.md").unlink()
    assert background.sync_jobs.find_active(followed) is None
    assert sources(braid, dataset) == {"a.md", "b.md"}
    with pytest.raises(NotFoundError, match="no folder"):
        background.supervisor.remove(followed.id)


def test_a_folder_that_is_kept_again_begins_anew(
    braid: Braid, background: Background, dataset: int, folder: Path
) -> None:
    first = add_folder(background, dataset, folder)
    last_sync(background, first)
    background.supervisor.remove(first.id)
    background.supervisor.close()
    again = add_folder(background, dataset, folder, id_prefix="wiki/")
    assert (background.sync_jobs.find_last(again), background.sync_jobs.find_last_change(again)) == (None, None)


@pytest.mark.parametrize("to", ["data", "elsewhere"])
def test_a_link_never_brings_in_what_is_not_in_the_folder(
    braid: Braid, background: Background, dataset: int, folder: Path, to: str
) -> None:
    followed = add_folder(background, dataset, folder)
    first = last_sync(background, followed)
    if to == "data":  # the folder itself is replaced
        (braid.data_dir / "inner").mkdir()
        (braid.data_dir / "inner" / "key.txt").write_text("the key of the safe")
        folder.rename(folder.with_name("before"))
        folder.symlink_to(braid.data_dir / "inner")
    else:
        (folder.parent / "key.txt").write_text("the key of the safe")
        (folder / "key.txt").symlink_to(folder.parent / "key.txt")
    eventually(lambda: last_sync(background, followed).id > first.id)
    last = last_sync(background, followed)
    if to == "data":
        assert "is in the data directory" in last.error
        assert sources(braid, dataset) == {"a.md", "b.md"}
    else:
        assert "leads out of the folder" in last.result["failures"][0]["reason"]
        assert sum(document.chunks for document in braid.ledger.documents(dataset)) == 2


def test_a_removed_dataset_takes_its_folders_along(
    braid: Braid, background: Background, dataset: int, folder: Path
) -> None:
    followed = add_folder(background, dataset, folder)
    last_sync(background, followed)
    braid.remove_dataset(dataset)
    assert background.folders.all() == []
    with pytest.raises(NotFoundError, match="no folder"):
        background.folders.get(followed.id)


def test_who_is_no_administrator_any_more_has_nothing_followed(
    braid: Braid, background: Background, dataset: int, folder: Path
) -> None:
    accounts = Accounts(braid.ledger)
    accounts.add("root", "correct horse", is_admin=True)
    followed = add_folder(background, dataset, folder)
    last_sync(background, followed)
    accounts.set_admin(ANN, False)
    (folder / "c.md").write_text("# Gamma\n\nthe tank is full")
    [job] = background.add(ANN, [new_sync_job(followed)])
    eventually(lambda: background.store.get(ANN, job.id).ended)
    assert "ann, who added the folder, is no longer an administrator" in background.store.get(ANN, job.id).error
    assert sources(braid, dataset) == {"a.md", "b.md"}


# ---------------------------------------------------------------- what may be kept


def test_what_cannot_be_kept_is_named(braid: Braid, dataset: int, folder: Path) -> None:
    background = Background(braid)
    bob = braid.ledger.add_user("bob")
    theirs = braid.ledger.add_dataset(bob.id, "Bob's").id

    def refused(error: type[Exception], match: str, **given: object) -> None:
        values: dict[str, Any] = {"dataset_id": dataset, "folder": str(folder), **given}
        with pytest.raises(error, match=match):
            background.supervisor.add(ANN, NewSyncedFolder(**values))

    refused(InvalidInputError, "is not an absolute path", folder="notes")
    refused(InvalidInputError, "is the whole disk", folder="/")
    refused(InvalidInputError, "there is no folder", folder=str(folder / "none"))
    refused(InvalidInputError, "there is no folder", folder="/a\0b")
    (braid.data_dir / "inner").mkdir()
    refused(InvalidInputError, "is in the data directory", folder=str(braid.data_dir / "inner"))
    link = folder.parent / "link"
    link.symlink_to(braid.data_dir)
    refused(InvalidInputError, "is in the data directory", folder=str(link))
    refused(InvalidInputError, "choose a folder beside it", folder=str(braid.data_dir.parent))
    refused(InvalidInputError, "is not a gitignore pattern", ignore=("!",))
    refused(InvalidInputError, "visible characters", id_prefix="a\nb")
    refused(NotFoundError, f"no dataset {theirs}", dataset_id=theirs)
    refused(NotFoundError, "no shared dataset -7", dataset_id=-7)

    other, third = folder.with_name("other"), folder.with_name("third")
    other.mkdir()
    third.mkdir()
    add_folder(background, dataset, folder, id_prefix="wiki/")
    refused(InvalidInputError, "is kept equal to .* already")
    add_folder(background, dataset, other, id_prefix="caf\u00e9/")
    refused(
        InvalidInputError, "is kept equal to .* already", folder=str(third), id_prefix="cafe\u0301/"
    )  # the same text
    (folder / "sub").mkdir()
    refused(InvalidInputError, "give another prefix", folder=str(folder / "sub"), id_prefix="wiki/sub/")
    assert len(background.folders.all()) == 2
    assert add_folder(background, dataset, folder / "sub", id_prefix="other/").id == 3


# ---------------------------------------------------------------- the page and the API


@pytest.fixture
def app(braid: Braid, dataset: int, folder: Path) -> Iterator[Flask]:
    made = make_app(braid, Settings(folder_roots=(str(folder.parent), "/nowhere")), jobs=True)
    yield made
    site_of(made).close()


@pytest.fixture
def ann(app: Flask) -> FlaskClient:
    return sign_in(app, "ann")


def test_an_administrator_sees_what_would_change_and_keeps_the_folder(
    app: Flask, ann: FlaskClient, braid: Braid, dataset: int, folder: Path
) -> None:
    background = site_of(app).background
    form = {"folder": str(folder), "dataset_id": dataset, "ignore": "b.*\r\n", "id_prefix": "wiki/"}
    seen = post_form(ann, "/admin/folders", **form, action="check").text
    assert "1 file would be stored" in seen
    assert "wiki/a.md" in seen
    by_enter, *_others = re.findall(r'<button[^>]* name="action" value="(\w+)"', seen)
    assert by_enter == "check"  # the first button is what Enter in a field presses
    assert (background.folders.all(), sources(braid, dataset)) == ([], set())

    assert post_form(ann, "/admin/folders", **form, action="add").status_code == 302
    [followed] = background.folders.all()
    assert (followed.ignore, followed.id_prefix) == (("b.*",), "wiki/")
    last_sync(background, followed)
    page = ann.get("/admin/folders").text
    assert "1 stored, 0 renamed, 0 deleted, 0 unchanged" in page
    assert f'href="/datasets/{dataset}"' in page
    assert "folder sync: " in ann.get("/admin/jobs").text

    (folder / "a.md").unlink()
    eventually(lambda: last_sync(background, followed).state == "failed")
    assert "is its disk mounted?" in ann.get("/admin/folders").text
    before = last_sync(background, followed).id
    assert post_form(ann, f"/admin/folders/{followed.id}/sync").status_code == 302
    assert last_sync(background, followed).id > before

    asked = post_form(ann, f"/admin/folders/{followed.id}/remove").text
    assert "Stop syncing this folder?" in asked
    assert background.folders.all() == [followed]
    assert post_form(ann, f"/admin/folders/{followed.id}/remove", confirmed="1").status_code == 302
    assert background.folders.all() == []
    assert sources(braid, dataset) == {"a.md"}
    acts = [(entry.action, entry.target) for entry in site_of(app).audit.entries()]
    assert acts[:2] == [("folder.removed", str(folder)), ("folder.added", str(folder))]


def test_what_cannot_be_kept_is_said_on_the_page(app: Flask, ann: FlaskClient, dataset: int) -> None:
    answer = post_form(ann, "/admin/folders", folder="/nowhere/<b>", dataset_id=dataset, action="add")
    assert answer.status_code == 400
    assert "There is no folder &#39;/nowhere/&lt;b&gt;&#39;" in answer.text
    assert post_form(ann, "/admin/folders", folder="/", dataset_id="99").status_code == 400


def test_without_roots_no_folder_is_added_over_the_web(braid: Braid, dataset: int, folder: Path) -> None:
    app = make_app(braid)
    ann = sign_in(app, "ann")
    given = {"dataset_id": dataset, "folder": str(folder)}
    for action in ("check", "add"):
        answer = post_form(ann, "/admin/folders", **given, action=action)
        assert (answer.status_code, "folder_roots is empty" in answer.text) == (400, True)
    assert 'id="roots"' in ann.get("/admin/folders").text
    admin = bearer(app, site_of(app).accounts.get(ANN), "admin", "write", "read")
    for address in ("/api/v1/folders", "/api/v1/folders/plan"):
        refused = app.test_client().post(address, json=given, headers=admin)
        assert refused.json is not None
        assert (refused.status_code, refused.json["field"]) == (400, "folder")
    assert site_of(app).background.folders.all() == []


def test_folders_are_added_below_the_roots_only(app: Flask, ann: FlaskClient, dataset: int, folder: Path) -> None:
    elsewhere = folder.parent / "link"
    elsewhere.symlink_to("/usr")
    for path in ("/etc", "/etc/none", f"{folder}/../../..", str(elsewhere)):
        answer = post_form(ann, "/admin/folders", folder=path, dataset_id=dataset, action="add")
        assert (answer.status_code, "(setting folder_roots)" in answer.text) == (400, True), path
    assert str(folder.parent) in ann.get("/admin/folders").text
    assert site_of(app).background.folders.all() == []


def test_others_have_no_way_to_a_folder(app: Flask, dataset: int, folder: Path) -> None:
    bob = add_user(app, "bob")
    theirs = site_of(app).braid.ledger.add_dataset(bob.id, "Bob's").id
    browser, given = sign_in(app, "bob"), {"dataset_id": theirs, "folder": str(folder)}
    assert "/admin/folders" not in browser.get("/").text
    assert post_form(browser, "/admin/folders", **given, action="add").status_code == 403
    token = bearer(app, bob, "read", "write")
    assert app.test_client().post("/api/v1/folders", json=given, headers=token).status_code == 403
    ann = bearer(app, site_of(app).accounts.get(ANN), "read", "write", "admin")
    assert app.test_client().post("/api/v1/folders", json=given, headers=ann).status_code == 404
    assert site_of(app).background.folders.all() == []


def test_the_api_keeps_lists_and_removes(app: Flask, braid: Braid, dataset: int, folder: Path) -> None:
    client, background = app.test_client(), site_of(app).background
    admin = bearer(app, site_of(app).accounts.get(ANN), "read", "write", "admin")
    given = {"dataset_id": dataset, "folder": str(folder), "id_prefix": "wiki/"}
    plan = client.post("/api/v1/folders/plan", json=given, headers=admin).get_json()
    assert plan == {"put": ["wiki/a.md", "wiki/b.md"], "rename": [], "remove": [], "unchanged": 0}
    made = client.post("/api/v1/folders", json=given, headers=admin)
    assert made.status_code == 201
    address = made.headers["Location"]
    last_sync(background, background.folders.get(made.get_json()["id"]))
    shown = client.get(address, headers=admin).get_json()
    assert (shown["problem"], shown["last_pass"]["kind"], shown["last_pass"]["result"]["put"]) == ("", "sync", 2)
    assert [each["id"] for each in client.get("/api/v1/folders", headers=admin).get_json()["items"]] == [shown["id"]]
    again = client.post("/api/v1/folders", json=given, headers=admin)
    assert (again.status_code, again.get_json()["field"]) == (400, "folder")
    assert client.post(f"{address}/sync", headers=admin).status_code == 202
    assert client.delete(address, headers=admin).status_code == 204
    assert client.get(address, headers=admin).status_code == 404
    assert sources(braid, dataset) == {"a.md", "b.md"}
