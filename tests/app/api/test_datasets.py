"""Datasets, documents, files and jobs over the API."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from braid.app.auth.quotas import quotas
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import NewJob
from tests.app.api.callers import API, Caller, Put, problem, sources
from tests.web import add_user, make_app, site_of
from tests.worlds import WAIT_S, eventually


def test_datasets_are_made_renamed_and_deleted_by_their_owner(ann: Caller, bob: Caller) -> None:
    made = ann("POST", "/datasets", {"name": "Letters"})
    where = made.headers["Location"]
    assert made.status_code == 201
    assert made.json["kind"] == "personal"
    assert [each["name"] for each in ann("GET", "/datasets").json["items"]] == ["Notes", "Letters", "Handbook"]
    assert ann("PATCH", where, {"name": "Mail"}).json["name"] == "Mail"
    for method, body in (("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)):
        problem(bob(method, where, body), 404)
    assert ann("DELETE", where).status_code == 204
    problem(ann("GET", where), 404)
    problem(ann("DELETE", "/datasets/-1"), 403)


def test_a_deleted_dataset_is_restored_or_deleted_for_good_by_its_owner(ann: Caller, bob: Caller) -> None:
    where = ann("POST", "/datasets", {"name": "Letters"}).headers["Location"]
    number = int(where.rpartition("/")[2])
    assert ann("DELETE", where).status_code == 204
    [listed] = ann("GET", "/deleted-datasets").json["items"]
    assert (listed["id"], listed["name"], listed["documents"]) == (number, "Letters", 0)
    assert bob("GET", "/deleted-datasets").json["items"] == []
    for method, path in (("POST", f"/deleted-datasets/{number}/restore"), ("DELETE", f"/deleted-datasets/{number}")):
        problem(bob(method, path), 404)
    assert ann("POST", f"/deleted-datasets/{number}/restore").json["name"] == "Letters"
    assert ann("GET", where).status_code == 200
    assert ann("DELETE", f"{where}?permanently=true").status_code == 204
    problem(ann("POST", f"/deleted-datasets/{number}/restore"), 404)
    where = ann("POST", "/datasets", {"name": "Mail"}).headers["Location"]
    assert ann("DELETE", where).status_code == 204
    assert ann("DELETE", f"/deleted-datasets/{where.rpartition('/')[2]}").status_code == 204
    assert ann("GET", "/deleted-datasets").json["items"] == []


def test_deleted_documents_are_restored_or_deleted_for_good(ann: Caller, bob: Caller) -> None:
    where = ann("POST", "/datasets", {"name": "Letters"}).headers["Location"]
    put = {name: ann("PUT", f"{where}/documents", {"source": name, "text": f"Dear {name}"}) for name in ("a", "b", "c")}
    ids = {name: each.json["id"] for name, each in put.items()}
    assert ann("DELETE", f"{where}/documents/{ids['a']}").status_code == 204
    assert ann("POST", f"{where}/documents/delete", {"ids": ["b"]}).json == {"deleted": 1}
    assert ann("DELETE", f"{where}/documents/{ids['c']}?permanently=true").status_code == 204
    problem(ann("GET", f"{where}/documents/{ids['a']}"), 404)
    assert [each["source"] for each in ann("GET", f"{where}/deleted-documents").json["items"]] == ["b", "a"]
    problem(bob("GET", f"{where}/deleted-documents"), 404)
    problem(bob("POST", f"{where}/deleted-documents/restore", {"ids": [ids["a"]]}), 404)
    ann("PUT", f"{where}/documents", {"source": "b", "text": "Another"})
    restored = ann("POST", f"{where}/deleted-documents/restore", {"ids": [ids["a"], ids["b"]]}).json
    assert [[each["source"] for each in restored[name]] for name in ("restored", "taken")] == [["a"], ["b"]]
    assert ann("GET", f"{where}/documents/{ids['a']}").json == put["a"].json
    problem(ann("POST", f"{where}/deleted-documents/restore", {"ids": [ids["c"]]}), 404)
    assert ann("DELETE", f"{where}/deleted-documents/{ids['b']}").status_code == 204
    problem(ann("DELETE", f"{where}/deleted-documents/{ids['b']}"), 404)
    assert ann("GET", f"{where}/deleted-documents").json["items"] == []
    assert ann("POST", f"{where}/documents/delete?permanently=true", {"ids": ["a"]}).json == {"deleted": 1}
    assert ann("GET", f"{where}/deleted-documents").json["items"] == []


def test_a_text_becomes_a_document_that_is_found(ann: Caller, bob: Caller, braid: Braid) -> None:
    text = {"source": "memo.md", "text": "# Printer\n\nThe tray of the printer is empty.", "format": "md"}
    stored = ann("PUT", "/datasets/1/documents", text)
    where = stored.headers["Location"]
    assert stored.status_code == 201
    assert stored.json["title"] == "Printer"
    assert stored.json["state"] == "ready"
    assert braid.indexer.wait(WAIT_S)
    assert sources(ann("POST", "/search", {"query": "printer tray"})) == ["memo.md"]
    again = ann("PUT", "/datasets/1/documents", {**text, "text": "# Printer\n\nThe toner is empty."})
    assert again.status_code == 200
    assert again.json["id"] == stored.json["id"]
    passages = ann("GET", f"{where}/passages").json["items"]
    assert [passage["text"] for passage in passages] == ["The toner is empty."]
    for method, path in (("GET", where), ("GET", f"{where}/passages"), ("DELETE", where)):
        problem(bob(method, path), 404)
    problem(bob("PUT", "/datasets/1/documents", text), 404)
    assert ann("DELETE", where).status_code == 204
    assert sources(ann("POST", "/search", {"query": "printer"})) == []
    problem(ann("GET", where), 404)


def test_shared_documents_are_the_administrators_to_change(ann: Caller, admin: Caller) -> None:
    text = {"source": "memo", "text": "Trains are booked by the office."}
    problem(ann("PUT", "/datasets/-1/documents", text), 403)
    where = admin("PUT", "/datasets/-1/documents", text).headers["Location"]
    assert ann("GET", where).status_code == 200
    problem(ann("DELETE", where), 403)
    assert admin("DELETE", where).status_code == 204


def test_an_unchanged_document_is_not_sent_again(ann: Caller, library: None) -> None:
    where = "/datasets/1/documents/1"
    tag = ann("GET", where).headers["ETag"]
    same = ann("GET", where, If_None_Match=tag)
    assert same.status_code == 304
    assert not same.data
    assert same.headers["ETag"] == tag
    passages = ann("GET", f"{where}/passages").headers["ETag"]
    assert ann("GET", f"{where}/passages", If_None_Match=passages).status_code == 304
    source = ann("GET", where).json["source"]
    ann("PUT", "/datasets/1/documents", {"source": source, "text": "another text"})
    assert ann("GET", where, If_None_Match=tag).status_code == 200
    assert ann("GET", f"{where}/passages", If_None_Match=passages).status_code == 200


def test_a_document_that_must_be_new_replaces_none(ann: Caller) -> None:
    def put(text: str, tag: str) -> TestResponse:
        return ann("PUT", "/datasets/1/documents", {"source": "lock", "text": text}, If_None_Match=tag)

    first = put("first", "*")
    assert first.status_code == 201
    where, read = first.headers["Location"], first.headers["ETag"]
    for tag in ("*", read, f"W/{read}", f'"other", {read}'):
        assert "already" in problem(put("second", tag), 412, "If-None-Match")
    assert ann("GET", f"{where}/passages").json["items"][0]["text"] == "first"
    assert put("second", '"other"').status_code == 200
    problem(ann("DELETE", where, If_None_Match="*"), 422, "If-None-Match")
    assert ann("GET", where).status_code == 200


def test_a_document_that_changed_meanwhile_is_not_written_over(ann: Caller) -> None:
    def put(text: str, **headers: str) -> TestResponse:
        return ann("PUT", "/datasets/1/documents", {"source": "a.txt", "text": text}, **headers)

    problem(put("The tray.", If_Match='"none"'), 412, "If-Match")
    problem(put("The tray.", If_Match="*"), 412, "If-Match")
    first = put("The tray.")
    where = first.headers["Location"]
    read = ann("GET", where).headers["ETag"]
    assert read == first.headers["ETag"]
    second = put("The tray is empty.", If_Match=read)
    assert (second.status_code, second.headers["ETag"] != read) == (200, True)
    assert "has changed" in problem(put("The tray is full.", If_Match=read), 412, "If-Match")
    problem(ann("DELETE", where, If_Match=read), 412, "If-Match")
    assert ann("GET", where).headers["ETag"] == second.headers["ETag"], "what is refused changes nothing"
    assert put("The tray is full.", If_Match="*").status_code == 200
    latest = f'"other", {ann("GET", where).headers["ETag"]}'
    assert ann("DELETE", where, If_Match=latest).status_code == 204
    problem(ann("GET", where), 404)


def test_files_are_read_in_the_background(app: Flask, ann: Caller, bob: Caller, braid: Braid) -> None:
    def upload(caller: Caller, *names: str, **headers: str) -> TestResponse:
        files = [(io.BytesIO(b"the printer wants paper, says " + name.encode()), name) for name in names]
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return caller.client.post(
            f"{API}/datasets/1/documents", data={"file": files}, headers={**caller.headers, **named}
        )

    queued = upload(ann, "notes/a.txt", "../../b.txt", Idempotency_Key="k")
    assert queued.status_code == 202
    assert [(job["title"], job["state"]) for job in queued.json["items"]] == [
        ("notes/a.txt", "queued"),
        ("b.txt", "queued"),
    ]
    assert upload(ann, "notes/a.txt", "../../b.txt", Idempotency_Key="k").json == queued.json
    problem(upload(ann, "c.txt", Idempotency_Key="k"), 409, "Idempotency-Key")
    problem(upload(bob, "c.txt"), 404)
    problem(upload(ann), 415)
    assert len(ann("GET", "/jobs").json["items"]) == 2
    first, second = (f"/jobs/{job['id']}" for job in queued.json["items"])
    problem(bob("GET", first), 404)
    problem(bob("POST", f"{first}/cancel"), 404)
    assert ann("POST", f"{second}/cancel").json["state"] == "cancelled"
    site_of(app).start_jobs()
    try:
        eventually(lambda: ann("GET", first).json["state"] == "done", pause_s=0.05)
        assert ann("POST", f"{second}/retry").json["state"] in ("queued", "running", "done")
        eventually(lambda: ann("GET", second).json["state"] == "done", pause_s=0.05)
    finally:
        site_of(app).close()
    problem(ann("POST", f"{first}/retry"), 400, "job_id")
    assert braid.indexer.wait(WAIT_S)
    assert set(sources(ann("POST", "/search", {"query": "paper"}))) == {"notes/a.txt", "b.txt"}
    assert "file" not in ann("GET", first).json["result"]


def test_a_dataset_is_exported_and_imported_again(
    app: Flask, ann: Caller, bob: Caller, admin: Caller, library: None
) -> None:
    def send(caller: Caller, content: bytes, **more: Any) -> TestResponse:
        form = {"file": (io.BytesIO(content), "x.zip"), **more}
        return caller.client.post(f"{API}/imports", data=form, headers=caller.headers)

    def ended(caller: Caller, queued: TestResponse) -> dict[str, Any]:
        assert queued.status_code == 202, queued.text
        where = queued.headers["Location"]
        eventually(lambda: caller("GET", where).json["state"] not in ("queued", "running"), pause_s=0.05)
        return dict(caller("GET", where).json)

    site_of(app).start_jobs()
    try:
        job = ended(ann, ann("POST", "/datasets/1/exports"))
        assert (job["kind"], job["state"], job["result"]["filename"]) == ("export", "done", "Notes.zip")
        where = f"/datasets/1/exports/{job['id']}"
        with ann("GET", where) as download:
            assert (download.status_code, download.mimetype) == (200, "application/zip")
            content = download.data
        for caller, path in ((bob, where), (admin, where), (ann, f"/datasets/-1/exports/{job['id']}")):
            problem(caller("GET", path), 404)
        assert bob("POST", "/datasets/1/exports").status_code == 404
        assert ann("POST", "/datasets/-1/exports").status_code == 403
        found = ended(bob, send(bob, content, name="Copy"))
        assert (found["state"], found["result"]["documents"]) == ("done", 2)
        assert bob("GET", f"/datasets/{found['dataset_id']}").json["name"] == "Copy"
        ended(ann, ann("POST", "/datasets/1/exports"))
        problem(ann("GET", where), 404)  # the new one takes its place
        assert "no zip archive" in problem(send(bob, b"no zip"), 400, "file")
    finally:
        site_of(app).close()
    problem(send(bob, b"", other="x"), 422, "other")
    problem(bob("POST", "/imports", {}), 415)
    assert len(bob("GET", "/datasets").json["items"]) == 2  # the copy and the shared one


def test_imports_heed_the_quotas(braid: Braid) -> None:
    app = make_app(braid, Settings(max_user_datasets=1, max_import_mb=1))
    ann = Caller(app, add_user(app, "ann"))
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201

    def send(body: bytes) -> TestResponse:
        headers = {**ann.headers, "Content-Type": "multipart/form-data; boundary=x"}
        return ann.client.post(f"{API}/imports", data=body, headers=headers)

    assert "limit" in problem(send(b""), 400, "name")
    problem(send(bytes(3 * 2**20)), 413)


def test_a_job_is_tried_again_only_where_its_user_may_still_write(app: Flask, ann: Caller) -> None:
    here = site_of(app)
    page = NewJob("url", "https://example.org/", -1, {"url": "https://example.org/"})
    (job,) = here.background.store.add(ann.account.id, [page])
    assert ann("POST", f"/jobs/{job.id}/cancel").json["state"] == "cancelled"
    assert ann("POST", f"/jobs/{job.id}/retry").status_code == 403
    assert here.background.store.get(ann.account.id, job.id).state == "cancelled"
    here.accounts.set_admin(ann.account.id, True)
    assert Caller(app, ann.account, "read", "write")("POST", f"/jobs/{job.id}/retry").status_code == 403
    assert Caller(app, ann.account, "write", "admin")("POST", f"/jobs/{job.id}/retry").json["state"] == "queued"


def test_jobs_that_wait_have_a_limit_whatever_they_do(braid: Braid) -> None:
    app = make_app(braid, Settings(max_waiting_jobs=2))
    ann = Caller(app, add_user(app, "ann"))
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201
    asked = [ann("POST", "/datasets/1/reembed") for _ in range(2)]
    assert [answer.status_code for answer in asked] == [202, 202]
    assert ann("POST", f"/jobs/{asked[0].json['id']}/cancel").json["state"] == "cancelled"  # and may be tried again
    assert ann("POST", "/datasets/1/reembed").status_code == 400


def test_a_user_may_not_fill_the_disk(braid: Braid) -> None:
    app = make_app(braid, Settings(max_user_datasets=1, max_user_documents=1))
    ann, text = Caller(app, add_user(app, "ann")), {"source": "a", "text": "b"}
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201
    problem(ann("POST", "/datasets", {"name": "More"}), 400, "name")
    assert ann("PUT", "/datasets/1/documents", text).status_code == 201
    assert "limit" in problem(ann("PUT", "/datasets/1/documents", {**text, "source": "c"}), 400, "file")
    assert ann("PUT", "/datasets/1/documents", {**text, "text": "in its place"}).status_code == 200


def test_documents_that_can_be_restored_count_until_they_are_deleted_permanently(braid: Braid) -> None:
    app = make_app(braid, Settings(max_user_documents=1))
    ann, text = Caller(app, add_user(app, "ann")), {"source": "a", "text": "b"}
    first, second = (ann("POST", "/datasets", {"name": name}).json["id"] for name in ("Notes", "More"))
    assert ann("PUT", f"/datasets/{first}/documents", text).status_code == 201
    assert ann("DELETE", f"/datasets/{first}").status_code == 204
    with app.app_context(), pytest.raises(InvalidInputError, match="you have 1 documents"):
        quotas().require_document_room(braid.dataset(second).user_id or 0)
    problem(ann("PUT", f"/datasets/{second}/documents", text), 400, "file")
    assert ann("DELETE", f"/deleted-datasets/{first}").status_code == 204
    assert ann("PUT", f"/datasets/{second}/documents", text).status_code == 201


def test_a_blank_query_is_refused_in_words(ann: Caller) -> None:
    for blank in (" ", "\u3000\n", "\x85"):
        assert problem(ann("POST", "/search", {"query": blank}), 422, "query") == "query: it is blank; write something"


def test_pages_of_private_networks_are_not_fetched(ann: Caller) -> None:
    for url in ("file:///etc/passwd", "http://localhost:22/", "ftp://example.org/"):
        problem(ann("POST", "/datasets/1/pages", {"url": url}), 400, "url")
    assert ann("GET", "/jobs").json["items"] == []


def test_lists_come_in_pages(ann: Caller, put: Put) -> None:
    for number in range(5):
        put(1, f"note-{number}", f"note number {number}")
    path, seen = "/datasets/1/documents?limit=2&source_prefix=note", list[str]()
    while path:
        page = ann("GET", path)
        seen += [document["source"] for document in page.json["items"]]
        path = page.json["next"]
        assert page.headers.get("Link") == (f'<{path}>; rel="next"' if path else None)
    assert seen == [f"note-{number}" for number in range(5)]
    for wrong in ("limit=201", "limit=0", "limit=many", "offset=-1"):
        problem(ann("GET", f"/datasets?{wrong}"), 422, wrong.partition("=")[0])
    problem(ann("GET", "/datasets?limit=1&limit=2"), 422, "limit")
    problem(ann("GET", "/datasets?page=2"), 422, "page")


@pytest.mark.usefixtures("library")
def test_statistics_count_by_format(ann: Caller) -> None:
    found = ann("GET", "/datasets/1/statistics").json
    assert (found["documents"], found["chunks"], found["failed"]) == (2, 2, 0)
    assert [(each["file_type"], each["documents"]) for each in found["formats"]] == [("md", 1), ("txt", 1)]
    assert {(leg["leg"], leg["state"], leg["pending"]) for leg in found["indexes"]} == {
        ("bm25", "ready", 0),
        ("dense", "ready", 0),
    }
