"""The administrators' pages of shared datasets, and of the file that lists them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.pages.admin.registry_file import diff_lines
from braid.core.braid import Braid
from tests.app.pages.admin.shared_datasets import finds, share
from tests.web import acts, add_user, post_form, site_of

# ---------------------------------------------------------------- shared datasets


def test_a_shared_dataset_is_added_edited_and_removed(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    added = post_form(
        admin, "/admin/shared", name="Handbook", collection_name="shared_lab", allowed_groups="lab, staff"
    )
    assert added.status_code == 302
    entry = braid.registry.entries()[0]
    assert (entry.id, entry.name, entry.allowed_groups) == (-1, "Handbook", ("lab", "staff"))
    assert "Handbook" in admin.get("/admin/shared").text
    form = {"name": "Manual", "collection_name": "shared_other", "description": "two\r\nlines", "allowed_groups": ""}
    assert "Choose at least one group" in post_form(admin, "/admin/shared/-1", **form).text, "none is not everyone"
    assert braid.registry.entries()[0].allowed_groups == ("lab", "staff")
    form["open_to"] = "everyone"
    assert post_form(admin, "/admin/shared/-1", **form).status_code == 302
    entry = braid.registry.entries()[0]
    assert (entry.name, entry.collection_name, entry.description) == ("Manual", "shared_other", "two\nlines")
    assert (entry.allowed_groups, entry.enabled) == ((), False)
    assert braid.ledger.dataset(-1).collection == "shared_other"
    assert post_form(admin, "/admin/shared/-1/remove", name="Handbook").status_code == 400
    assert braid.registry.entries()
    assert post_form(admin, "/admin/shared/-1/remove", name="Manual").status_code == 302
    assert braid.registry.entries() == ()
    actions = [entry.action for entry in acts(app)]
    assert actions == ["shared_db.removed", "shared_db.changed", "shared_db.added"]


def test_shared_datasets_and_groups_are_sorted_by_their_columns(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    add_user(app, "Ana", groups=("b", "a"))
    add_user(app, "Bea", groups=("b",))
    for name in ("Zoo", "Apes"):
        braid.registry.add(name, "shared_lab")
    rows = r'<th scope="row"><a [^>]*>([^<]+)</a>'
    assert re.findall(rows, admin.get("/admin/shared").text) == ["Zoo", "Apes"]
    assert re.findall(rows, admin.get("/admin/shared?sort=name").text) == ["Apes", "Zoo"]
    assert re.findall(rows, admin.get("/admin/groups?sort=-members").text) == ["b", "a"]
    assert 'aria-sort="descending"' in admin.get("/admin/groups?sort=-members").text
    assert admin.get("/admin/groups?sort=size").status_code == 400


def test_a_collection_with_different_readers_is_named(admin: FlaskClient, braid: Braid) -> None:
    handbook = braid.registry.add("Handbook", "shared_lab", allowed_groups=["lab"])
    minutes = braid.registry.add("Minutes", "shared_lab", allowed_groups=["lab"])
    braid.registry.add("Manual", "shared_other")
    assert 'id="mixed"' not in admin.get("/admin/shared").text
    braid.registry.update(minutes.id, allowed_groups=["sales"])
    assert _mixed(admin)[:-1] == ["Datasets with different readers share a collection: Handbook, Minutes."]
    guide = braid.registry.add("Guide", "shared_other", allowed_groups=["lab"])
    assert [told.partition(": ")[2] for told in _mixed(admin)[:-1]] == ["Guide, Manual.", "Handbook, Minutes."]
    assert "shared_" not in "".join(_mixed(admin))
    for language, comma in (("ja", "、"), ("ko", ", ")):
        assert f"Guide{comma}Manual" in "".join(_mixed(admin, language))
        assert "readers" not in "".join(_mixed(admin, language))
    braid.registry.update(guide.id, allowed_groups=[])
    braid.registry.update(handbook.id, collection_name="shared_handbook")
    assert 'id="mixed"' not in admin.get("/admin/shared").text


@pytest.mark.parametrize(
    "form",
    [
        {"name": "", "collection_name": "shared_a", "open_to": "everyone"},
        {"name": "x", "collection_name": "own", "open_to": "everyone"},
        {"name": "x", "collection_name": "shared_a", "open_to": "everyone", "description": "x" * 2001},
        {"name": "x", "collection_name": "shared_a", "open_to": "groups"},
    ],
)
def test_a_wrong_entry_is_refused_and_what_was_typed_stays(
    admin: FlaskClient, braid: Braid, form: dict[str, str]
) -> None:
    answer = post_form(admin, "/admin/shared", **form)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert f'value="{form["collection_name"]}"' in answer.text
    assert braid.registry.entries() == ()


@pytest.mark.parametrize("dataset_id", [-7, 0, 1, -(10**30)])
def test_a_shared_dataset_that_there_is_not(admin: FlaskClient, dataset_id: int) -> None:
    assert admin.get(f"/admin/shared/{dataset_id}").status_code == 404
    for action in ("", "/switch", "/remove"):
        form = {"name": "x", "collection_name": "shared_a"}
        assert post_form(admin, f"/admin/shared/{dataset_id}{action}", **form).status_code == 404


def test_what_is_switched_off_is_gone_at_once_for_others(
    admin: FlaskClient, ben: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    share(braid, put)
    assert finds(ben)
    post_form(admin, "/admin/shared/-1/switch", enabled="0")
    assert not finds(ben)
    post_form(admin, "/admin/shared/-1/switch", enabled="1")
    assert finds(ben)


def test_a_user_who_loses_the_group_loses_the_dataset_at_once(
    app: Flask, admin: FlaskClient, ben: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    share(braid, put, "lab")
    assert finds(ben)
    user = site_of(app).accounts.named("Ben")
    assert user
    assert post_form(admin, f"/admin/users/{user.id}/groups", groups="staff").status_code == 302
    assert not finds(ben)
    post_form(admin, f"/admin/users/{user.id}/groups", groups="staff, lab")
    assert finds(ben)
    post_form(
        admin, "/admin/shared/-1", name="Handbook", collection_name="shared_lab", allowed_groups="x", enabled="on"
    )
    assert not finds(ben)


def test_a_dataset_that_left_the_list_can_still_be_removed(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Lost", "shared_lab")
    braid.mirror_registry()
    braid.registry.replace_text("[]")
    assert "Lost" in admin.get("/admin/shared").text
    assert "not in the list" in admin.get("/admin/").text
    assert post_form(admin, "/admin/shared/-1/remove", name="Lost").status_code == 302
    assert "have been deleted" in admin.get("/admin/shared").text
    assert "Lost" not in admin.get("/admin/shared").text


def test_a_dataset_that_left_the_list_is_put_back_with_its_documents(
    app: Flask, admin: FlaskClient, braid: Braid, put: Callable[..., str]
) -> None:
    lost = braid.registry.add("Lost", "shared_lab", allowed_groups=["lab"])
    braid.registry.add("Other", "shared_other")
    braid.mirror_registry()
    put(lost.id, "a.txt", "The tank holds 40 litres.")
    braid.registry.remove(lost.id)
    page = f"/admin/shared/{lost.id}"
    assert "Its documents are kept." in admin.get(page).text
    undecided = post_form(admin, f"{page}/put-back", name="Lost")
    assert undecided.status_code == 400
    assert "Choose at least one group" in undecided.text
    assert braid.registry.get(lost.id) is None
    post_form(admin, f"{page}/put-back", name="Lost", open_to="groups", allowed_groups_chosen="lab")
    assert braid.registry.get(lost.id) == lost
    assert braid.ledger.dataset(lost.id).documents == 1
    assert acts(app)[0].action == "shared_db.restored"
    assert post_form(admin, f"{page}/put-back", name="Lost", open_to="everyone").status_code == 400, "it is there"
    post_form(admin, f"{page}/remove", name="Lost")
    assert post_form(admin, f"{page}/put-back", name="Lost", open_to="everyone").status_code == 404
    assert post_form(admin, "/admin/shared/-77/put-back", name="x", open_to="everyone").status_code == 404


# ---------------------------------------------------------------- the file


def test_the_file_is_compared_before_it_is_saved(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    braid.mirror_registry()
    text, fingerprint = _file(admin)
    edited = text.replace("Handbook", "説明書 <b>")
    shown = post_form(admin, "/admin/shared/file", text=edited, fingerprint=fingerprint, action="check")
    assert shown.status_code == 200
    assert "<del>    &#34;name&#34;: &#34;Handbook&#34;,</del>" in shown.text
    assert "<ins>    &#34;name&#34;: &#34;説明書 &lt;b&gt;&#34;,</ins>" in shown.text
    assert braid.registry.entries()[0].name == "Handbook"
    saved = post_form(
        admin, "/admin/shared/file", text=edited.replace("\n", "\r\n"), fingerprint=fingerprint, action="save"
    )
    assert saved.status_code == 302
    assert braid.registry.entries()[0].name == "説明書 <b>"
    assert braid.registry.text()[0] == edited
    entry = site_of(app).audit.entries()[0]
    assert (entry.action, entry.detail) == ("shared_dbs.saved", "+1 -1 lines")


def test_entries_that_leave_the_list_are_named(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    _text, fingerprint = _file(admin)
    shown = post_form(admin, "/admin/shared/file", text="[]", fingerprint=fingerprint, action="check")
    assert "nobody will be able to read them: Handbook" in shown.text


def test_what_somebody_else_wrote_meanwhile_is_not_written_over(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    text, fingerprint = _file(admin)
    braid.registry.update(-1, description="by somebody else")
    answer = post_form(admin, "/admin/shared/file", text=text, fingerprint=fingerprint, action="save")
    assert answer.status_code == 409
    assert "by somebody else" in answer.text
    assert braid.registry.entries()[0].description == "by somebody else"
    again = post_form(admin, "/admin/shared/file", text=text, fingerprint=_fingerprint(answer.text), action="save")
    assert again.status_code == 302
    assert braid.registry.entries()[0].description == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[\n  {"id": -1,}\n]', "Line 2, column"),
        ('[\n\n  {"id": 1, "name": "x", "collection_name": "shared_a"}]', "Line 3: entry 1 (id 1): id is 1"),
        ("{}", "write a list"),
    ],
)
def test_a_mistake_is_named_with_its_line(admin: FlaskClient, text: str, told: str) -> None:
    _text, fingerprint = _file(admin)
    for action in ("check", "save"):
        answer = post_form(admin, "/admin/shared/file", text=text, fingerprint=fingerprint, action=action)
        assert answer.status_code == 400
        assert told in answer.text


@pytest.mark.one_machine
def test_a_broken_file_is_shown_and_can_be_mended_here(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.path.write_text("[{broken", encoding="utf-8")
    for path in ("/admin/", "/admin/shared", "/admin/shared/file"):
        assert "this is not JSON" in admin.get(path).text
    text, fingerprint = _file(admin)
    assert text == "[{broken"
    mended = '[{"id": -1, "name": "Mended", "collection_name": "shared_a"}]'
    assert "Mended" in post_form(admin, "/admin/shared/file", text=mended, fingerprint=fingerprint).text
    assert (
        post_form(admin, "/admin/shared/file", text=mended, fingerprint=fingerprint, action="save").status_code == 302
    )
    assert braid.registry.problem() is None
    assert braid.registry.entries()[0].name == "Mended"


@pytest.mark.one_machine
def test_changes_in_a_broken_file_are_refused_with_the_reason(admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_lab")
    admin.get("/admin/shared")
    braid.registry.path.write_text("[{broken", encoding="utf-8")
    form = {"name": "x", "collection_name": "shared_a"}
    for path in ("/admin/shared", "/admin/shared/-1"):
        assert post_form(admin, path, **form).status_code == 400
    for path in ("/admin/shared/-1/switch", "/admin/shared/-1/remove"):
        assert post_form(admin, path, name="Handbook").status_code == 400


def test_lines_that_differ_come_with_their_numbers_and_neighbours() -> None:
    before = "".join(f"{number}\n" for number in range(1, 31))
    found = list(diff_lines(before, before.replace("15\n", "15!\n").replace("30\n", "")))
    assert [(line.kind, line.old, line.new, line.text) for line in found if line.kind != "same"] == [
        ("gone", 15, None, "15"),
        ("new", None, 15, "15!"),
        ("skipped", None, None, "…"),
        ("gone", 30, None, "30"),
    ]
    assert list(diff_lines("a\r\nb", "a\nb\n")) == []


def _mixed(client: FlaskClient, language: str = "en") -> list[str]:
    """Return the sentences of the notice about collections with different readers."""
    [notice] = re.findall(
        r'<div class="notice" id="mixed">(.*?)</div>', client.get(f"/admin/shared?lang={language}").text, re.DOTALL
    )
    return re.findall(r"<p>(.*?)</p>", notice)


def _file(client: FlaskClient) -> tuple[str, str]:
    """(text, fingerprint) of the editor."""
    page = client.get("/admin/shared/file").text
    text = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert text
    return text[1].replace("&#34;", '"'), _fingerprint(page)


def _fingerprint(page: str) -> str:
    found = re.search(r'name="fingerprint" value="(\w*)"', page)
    assert found
    return found[1]
