"""Groups are things: a page with members and what they can read; users and groups from a table."""

from __future__ import annotations

import io

import pytest
from flask.testing import FlaskClient

from braid.app.pages.admin.blueprint import MOST_PEOPLE
from braid.core.braid import Braid
from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from tests.web import acts, add_user, csrf_token, make_app, post_form, sign_in, site_of, text_of


@pytest.fixture
def admin(braid: Braid) -> FlaskClient:
    app = make_app(braid)
    add_user(app, "ann", groups=("lab",))
    add_user(app, "ben", groups=("lab", "staff"))
    return sign_in(app)


def groups_of(admin: FlaskClient, name: str) -> set[str]:
    here = site_of(admin.application)
    return set(here.accounts.get(here.shares.user_named(name)).groups)


def test_a_group_has_members_that_come_and_go(admin: FlaskClient) -> None:
    page = text_of(admin.get("/admin/group?name=lab").text)
    assert "ann" in page
    assert "ben" in page
    user_id = site_of(admin.application).shares.user_named("ann")
    post_form(admin, "/admin/group/members/remove", name="lab", user_id=user_id)
    assert groups_of(admin, "ann") == set()
    post_form(admin, "/admin/group/members", name="board", user="ann")
    assert groups_of(admin, "ann") == {"board"}
    assert "board" in text_of(admin.get("/admin/users").text)
    answer = post_form(admin, "/admin/group/members", name="board", user="nobody")
    assert answer.status_code == 400
    assert "There is nobody named “nobody”." in text_of(answer.text)


def test_a_group_shows_what_its_members_can_read(admin: FlaskClient, braid: Braid) -> None:
    here = site_of(admin.application)
    here.shared_datasets.add("Handbook", "shared_main_db", allowed_groups=["lab"], by="admin")
    notes = braid.ledger.add_dataset(here.shares.user_named("ben"), "Notes of Ben")
    braid.shares.put(notes, Share("group", "lab"), by="ben")
    page = text_of(admin.get("/admin/group?name=lab").text)
    assert "Handbook" in page
    assert "Notes of Ben shared by ben" in page
    assert "Notes of Ben, Handbook" in text_of(admin.get("/admin/groups").text)
    helper = here.assistants.add(here.shares.user_named("ben"), Assistant("Guide", (notes.id,)))
    braid.shares.put(helper, Share("group", "lab"), by="ben")
    assert "Notes of Ben, Handbook Assistants: Guide" in text_of(admin.get("/admin/groups").text)
    assert "Guide assistant, shared by ben" in text_of(admin.get("/admin/group?name=lab").text)


def test_a_group_is_renamed_with_all_that_it_opens(admin: FlaskClient, braid: Braid) -> None:
    here = site_of(admin.application)
    entry = here.shared_datasets.add("Handbook", "shared_main_db", allowed_groups=["lab", "staff"], by="admin")
    notes = braid.ledger.add_dataset(here.shares.user_named("ben"), "Notes")
    braid.shares.put(notes, Share("group", "lab"), by="ben")
    assert post_form(admin, "/admin/group/rename", name="lab", new_name="staff").status_code == 400
    assert post_form(admin, "/admin/group/rename", name="lab", new_name=" ").status_code == 400
    answer = post_form(admin, "/admin/group/rename", name="lab", new_name="Labor & Büro")
    assert "Labor" in text_of(admin.get(answer.headers["location"]).text)
    assert groups_of(admin, "ben") == {"Labor & Büro", "staff"}
    found = braid.registry.get(entry.id)
    assert found is not None
    assert found.allowed_groups == ("Labor & Büro", "staff")
    ann = here.shares.user_named("ann")
    assert [each.id for each in braid.ledger.datasets_shared_with(ann)] == [notes.id]


def test_a_group_is_deleted_unless_a_shared_dataset_would_be_open_to_everyone(admin: FlaskClient) -> None:
    here = site_of(admin.application)
    entry = here.shared_datasets.add("Handbook", "shared_main_db", allowed_groups=["lab"], by="admin")
    answer = post_form(admin, "/admin/group/delete", name="lab")
    assert answer.status_code == 400
    assert "“lab” may read Handbook." in text_of(answer.text)
    here.shared_datasets.update(entry.id, allowed_groups=["staff"], by="admin")
    post_form(admin, "/admin/group/delete", name="lab")
    assert groups_of(admin, "ann") == set()
    assert groups_of(admin, "ben") == {"staff"}
    assert acts(admin.application)[0].action == "group.removed"


def send_table(admin: FlaskClient, content: bytes, **form: str) -> str:
    data = {"csrf_token": csrf_token(admin), "file": (io.BytesIO(content), "users.csv"), **form}
    return text_of(admin.post("/admin/users/table", data=data, content_type="multipart/form-data").text)


def test_users_and_groups_come_from_a_table_after_a_look(admin: FlaskClient) -> None:
    table = "\ufeffname,groups\nmika,lab;board\nann,board\nben,lab;staff\n".encode()
    told = send_table(admin, table, dry_run="1")
    assert "Nothing has changed yet. This would change: mika added ann changed" in told
    assert groups_of(admin, "ann") == {"lab"}
    assert "This has changed: mika added ann changed" in send_table(admin, table)
    assert groups_of(admin, "mika") == {"lab", "board"}
    assert acts(admin.application)[0].action == "users.imported"
    assert "This has changed: nothing" in send_table(admin, table)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"who\nmika\n", "The first line has the column &#39;who&#39;"),
        ("name\nミカ\n".encode("cp932"), "The file is no text in UTF-8."),
        (b"", "no column &#39;name&#39;"),
    ],
)
def test_a_table_that_cannot_be_read_changes_nothing(admin: FlaskClient, content: bytes, told: str) -> None:
    assert told in send_table(admin, content)
    assert [each.name for each in site_of(admin.application).accounts.all()] == ["admin", "ann", "ben"]


def test_several_people_join_a_group_all_or_none(admin: FlaskClient) -> None:
    add_user(admin.application, "Sato, Jun")
    answer = post_form(admin, "/admin/group/members", name="board", user="ann, ben")
    assert "2 people are now in “board”." in text_of(admin.get(answer.headers["location"]).text)
    assert "board" in groups_of(admin, "ann") & groups_of(admin, "ben")
    answer = post_form(admin, "/admin/group/members", name="works", user="ann、nobody")
    assert answer.status_code == 400
    assert "There is nobody named “nobody”." in text_of(answer.text)
    assert "works" not in groups_of(admin, "ann")
    post_form(admin, "/admin/group/members", name="works", user="Sato, Jun")
    assert groups_of(admin, "Sato, Jun") == {"works"}, "a comma in a name is no separator"
    post_form(admin, "/admin/group/members", name="chosen", user_chosen=["Sato, Jun", "ben"], user="ann")
    assert all("chosen" in groups_of(admin, name) for name in ("Sato, Jun", "ann", "ben"))
    many = ", ".join(map(str, range(MOST_PEOPLE + 1)))
    assert "Name 1 to 100 people at once." in text_of(
        post_form(admin, "/admin/group/members", name="works", user=many).text
    )


def test_groups_are_ticked_or_typed(admin: FlaskClient) -> None:
    here = site_of(admin.application)
    here.accounts.set_groups(here.shares.user_named("ben"), ["Sales, north"])
    ann = here.shares.user_named("ann")
    page = admin.get(f"/admin/users/{ann}").text
    assert 'value="lab" checked' in page
    assert "Sales, north 1 user" in text_of(page)
    assert "Find a group" not in page + admin.get("/admin/users").text
    here.accounts.set_groups(here.shares.user_named("ben"), ["Sales, north", *(f"team {n}" for n in range(10))])
    for where, lists in ((f"/admin/users/{ann}", 1), ("/admin/users", 2), ("/admin/users?group=lab", 1)):
        assert admin.get(where).text.count('placeholder="Find a group"') == lists, "to add to and to take out of"
    assert "team 9 1 user" in text_of(admin.get("/admin/users").text)
    post_form(admin, f"/admin/users/{ann}/groups", groups="new, lab", groups_chosen=["Sales, north", "lab"])
    assert groups_of(admin, "ann") == {"Sales, north", "lab", "new"}
    post_form(admin, f"/admin/users/{ann}/groups", groups="")
    assert groups_of(admin, "ann") == set()


def test_a_shared_dataset_says_who_reads_it(admin: FlaskClient) -> None:
    here = site_of(admin.application)
    entry = here.shared_datasets.add("Handbook", "shared_main_db", allowed_groups=["lab", "staff"], by="admin")
    assert "Who reads it lab 2 people staff 1 person" in text_of(admin.get(f"/admin/shared/{entry.id}").text)
    ben = here.shares.user_named("ben")
    here.accounts.set_disabled(ben, True)
    page = text_of(admin.get(f"/admin/shared/{entry.id}").text)
    assert "lab 1 person · 1 more cannot sign in staff 0 people · 1 more cannot sign in" in page
    here.accounts.set_disabled(ben, False)
    assert f'href="/admin/shared/{entry.id}"' in admin.get("/admin/group?name=lab").text
    here.shared_datasets.update(entry.id, allowed_groups=[], by="admin")
    assert "Who reads it Everyone 3 people" in text_of(admin.get(f"/admin/shared/{entry.id}").text)


def test_lists_of_names_are_written_as_the_language_does(admin: FlaskClient) -> None:
    ben = site_of(admin.application).shares.user_named("ben")
    site_of(admin.application).shared_datasets.add("Rules", "shared_rules", allowed_groups=["lab", "staff"], by="admin")
    site_of(admin.application).braid.ledger.add_dataset(ben, "Notes")
    site_of(admin.application).braid.ledger.add_dataset(ben, "Maps")
    for language, mark in (("en", ", "), ("ja", "、"), ("ko", ", ")):
        heard = {"Accept-Language": language}
        pages = {
            path: text_of(admin.get(path, headers=heard).text)
            for path in ("/admin/users", "/admin/shared", f"/admin/users/{ben}")
        }
        assert f"lab{mark}staff" in pages["/admin/users"]
        assert f"lab{mark}staff" in pages["/admin/shared"]
        first, last = ("「", "」") if language == "ja" else ("“", "”")
        assert f"{first}Notes{last}{mark}{first}Maps{last}" in pages[f"/admin/users/{ben}"]
