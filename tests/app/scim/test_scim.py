"""SCIM with the bodies that Entra and Okta document: what they send, what they are answered, what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from flask import Flask

from braid.core.braid import Braid
from braid.core.datasets.shares import Share
from tests.web import PASSWORD, acts, add_user, bearer, make_app, post_form, sign_in, site_of

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
Json = dict[str, Any]


class Provider:
    """An identity provider with the token of the administrators' page."""

    def __init__(self, app: Flask) -> None:
        page = post_form(sign_in(app), "/admin/users/scim")
        found = re.search(r"braid_scim_[\w-]+", page.text)
        assert found
        self.token, self._client = found[0], app.test_client(use_cookies=False)

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, status: int = 200) -> Json:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/scim+json"}
        answer = self._client.open(f"/scim/v2{path}", method=method, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        if status != 204:
            assert answer.mimetype == "application/scim+json"
        if status == 201:
            assert answer.headers["Location"] == (answer.get_json(force=True) or {})["meta"]["location"]
        found: Json = {} if status == 204 else answer.get_json(force=True)
        return found

    def patch(self, path: str, *operations: Mapping[str, Any], status: int = 200) -> Json:
        return self("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, status=status)

    def add(self, name: str, **more: Any) -> str:
        return str(self("POST", "/Users", {"schemas": [USER], "userName": name, **more}, status=201)["id"])


@pytest.fixture
def app(braid: Braid) -> Flask:
    return make_app(braid)


@pytest.fixture
def provider(app: Flask) -> Provider:
    return Provider(app)


def entra_user(name: str) -> Json:
    """As Microsoft's tutorial on SCIM has it."""
    return {
        "schemas": [USER, ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": name,
        "active": True,
        "emails": [{"primary": True, "type": "work", "value": f"{name}@testuser.com"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "given family", "familyName": "family", "givenName": "given"},
        "roles": [],
        ENTERPRISE: {"department": "Engineering"},
    }


def okta_user(name: str) -> Json:
    """As Okta's reference of the protocol has it."""
    return {
        "schemas": [USER],
        "userName": name,
        "name": {"givenName": "Test", "familyName": "User"},
        "emails": [{"primary": True, "value": name, "type": "work"}],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
    }


@pytest.mark.parametrize("body", [entra_user("test_user"), okta_user("test.user@okta.local")], ids=["Entra", "Okta"])
def test_a_user_is_looked_for_added_and_found(app: Flask, provider: Provider, body: Json) -> None:
    name, wanted = body["userName"], f'/Users?filter=userName eq "{body["userName"]}"&startIndex=1&count=100'
    assert provider("GET", wanted)["totalResults"] == 0
    added = provider("POST", "/Users", body, status=201)
    assert (added["userName"], added["externalId"], added["active"]) == (name, body["externalId"], True)
    assert "password" not in added
    found = provider("GET", wanted.replace(name, name.upper()))
    assert found["Resources"] == [added] == [provider("GET", f"/Users/{added['id']}")]
    assert (found["totalResults"], found["itemsPerPage"], found["startIndex"]) == (1, 1, 1)
    by_id = provider("GET", f'/Users?filter=externalId eq "{body["externalId"]}"')
    assert by_id["totalResults"] == 1
    account = site_of(app).accounts.named(name)
    assert account is not None
    assert not account.has_password
    assert not account.is_admin
    assert len(site_of(app).braid.ledger.datasets(account.id)) == 1
    assert provider("POST", "/Users", body, status=409)["scimType"] == "uniqueness"


DEACTIVATIONS: Mapping[str, Json] = {
    "Entra": {"op": "Replace", "path": "active", "value": False},
    "Entra, old": {"op": "Replace", "path": "active", "value": "False"},
    "Okta": {"op": "replace", "value": {"active": False}},
}


@pytest.mark.parametrize("operation", DEACTIVATIONS.values(), ids=DEACTIVATIONS)
def test_who_is_deactivated_is_out_at_once(app: Flask, provider: Provider, operation: Json) -> None:
    here = site_of(app)
    ann = here.accounts.get(int(provider.add("ann")))
    here.accounts.set_password(ann.id, PASSWORD)
    browser, key = sign_in(app, "ann"), bearer(app, ann, "read")
    assert app.test_client().get("/api/v1/me", headers=key).status_code == 200
    assert provider.patch(f"/Users/{ann.id}", operation)["active"] is False
    assert browser.get("/account").status_code == 302
    assert app.test_client().get("/api/v1/me", headers=key).status_code == 401
    assert acts(app)[0].action == "user.disabled"
    assert acts(app)[0].actor == "SCIM"
    assert provider.patch(f"/Users/{ann.id}", {**operation, **active(operation)})["active"] is True
    assert app.test_client().get("/api/v1/me", headers=key).status_code == 401, "tokens have ended for good"
    assert not here.sessions.of_user(ann.id)
    assert not here.tokens.of_user(ann.id)


@pytest.mark.parametrize("waiting", [True, False])
def test_an_account_that_anybody_may_have_made_is_only_suspended(app: Flask, provider: Provider, waiting: bool) -> None:
    """Who signs up under a colleague's name gets nothing of what the provider opens to that colleague."""
    here = site_of(app)
    stranger = here.accounts.sign_up("alice", PASSWORD, waiting=waiting)
    address = f"/Users/{stranger.id}"
    provider("POST", "/Users", {"schemas": [USER], "userName": "alice"}, status=409)
    for told in ({"externalId": "e-1"}, {"userName": "alicia"}, *({"active": True} for _ in range(waiting))):
        assert (
            "not known to be the provider's"
            in provider.patch(address, {"op": "replace", "value": told}, status=400)["detail"]
        )
    joined = {"schemas": [GROUP], "displayName": "lab", "members": [{"value": str(stranger.id)}]}
    provider("POST", "/Groups", joined, status=400)
    assert provider("GET", "/Groups")["totalResults"] == 0, "nothing of it is kept"
    found = here.accounts.get(stranger.id)
    assert (found.name, found.groups, found.waiting) == ("alice", frozenset(), waiting)
    provider.patch(address, {"op": "replace", "value": {"active": False}})
    assert here.accounts.get(stranger.id).disabled


def active(operation: Json) -> Json:
    return {"value": {"active": True} if isinstance(operation["value"], dict) else "True"}


def test_a_user_is_changed(app: Flask, provider: Provider) -> None:
    user = provider.add("ann")
    changed = provider.patch(
        f"/Users/{user}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "updatedEmail@microsoft.com"},
        {"op": "Add", "path": "name.familyName", "value": "updatedFamilyName"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Sales"},
        {"op": "Replace", "path": "userName", "value": "anna"},
        {"op": "replace", "value": {f"{USER}:externalId": "e-1", ENTERPRISE: {"department": "x"}}},
    )
    assert (changed["userName"], changed["externalId"], changed["active"]) == ("anna", "e-1", True)
    replaced = provider("PUT", f"/Users/{user}", {**okta_user("anne"), "active": False, "externalId": "e-2"})
    assert (replaced["userName"], replaced["externalId"], replaced["active"]) == ("anne", "e-2", False)
    assert "externalId" not in provider.patch(f"/Users/{user}", {"op": "remove", "path": "externalId"})
    provider.add("ben")
    taken = {"op": "replace", "path": "userName", "value": "ben"}
    assert provider.patch(f"/Users/{user}", taken, status=409)["scimType"] == "uniqueness"
    assert provider("GET", f"/Users/{user}")["userName"] == "anne"


def test_a_removed_user_is_suspended_and_keeps_what_is_theirs(app: Flask, provider: Provider) -> None:
    user, here = int(provider.add("ann", externalId="e-1")), site_of(app)
    lab = provider("POST", "/Groups", {"schemas": [GROUP], "displayName": "lab", "members": members(user)}, status=201)
    dataset = here.braid.ledger.add_dataset(user, "notes")
    provider("DELETE", f"/Users/{user}", status=204)
    for path in (f"/Users/{user}", "/Users/99999", "/Users/0", "/Users/x", "/Users/99999999999999999999"):
        assert provider("GET", path, status=404)["status"] == "404"
    provider("DELETE", f"/Users/{user}", status=404)
    assert provider("GET", '/Users?filter=userName eq "ann"')["totalResults"] == 0
    assert provider("GET", f"/Groups/{lab['id']}")["members"] == []
    account = here.accounts.get(user)
    assert account.disabled
    assert account.groups == frozenset()
    assert dataset.id in {each.id for each in here.braid.ledger.datasets(user)}
    assert provider.add("ann") == str(user), "who comes back has what was theirs"
    assert not here.accounts.get(user).disabled


def test_the_last_administrator_stays(app: Flask, provider: Provider) -> None:
    boss = site_of(app).accounts.all()[0]
    told = provider.patch(f"/Users/{boss.id}", {"op": "replace", "value": {"active": False}}, status=400)
    assert "last administrator" in told["detail"]
    provider("DELETE", f"/Users/{boss.id}", status=400)
    assert not site_of(app).accounts.get(boss.id).disabled


def members(*users: int | str) -> list[Json]:
    return [{"value": str(user)} for user in users]


ADDITIONS: Mapping[str, Callable[[str], Json]] = {
    "Entra": lambda user: {"op": "Add", "path": "members", "value": [{"$ref": None, "value": user}]},
    "Okta": lambda user: {"op": "add", "path": "members", "value": [{"value": user, "display": "x"}]},
    "no path": lambda user: {"op": "add", "value": {"members": [{"value": user}]}},
}
REMOVALS: Mapping[str, Callable[[str], Json]] = {
    "Entra": lambda user: {"op": "Remove", "path": "members", "value": [{"$ref": None, "value": user}]},
    "Okta": lambda user: {"op": "remove", "path": f'members[value eq "{user}"]'},
}


@pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
@pytest.mark.parametrize("removal", REMOVALS.values(), ids=REMOVALS)
def test_members_come_and_go(
    app: Flask, provider: Provider, addition: Callable[[str], Json], removal: Callable[[str], Json]
) -> None:
    ann, ben = provider.add("ann"), provider.add("ben")
    wanted = '/Groups?excludedAttributes=members&filter=displayName eq "Lab"'
    assert provider("GET", wanted)["totalResults"] == 0
    body = {"schemas": [GROUP], "externalId": "8aa1a0c0", "displayName": "Lab", "meta": {"resourceType": "Group"}}
    group = provider("POST", "/Groups", body, status=201)
    assert group["members"] == []
    assert "members" not in provider("GET", wanted)["Resources"][0]
    address = f"/Groups/{group['id']}"
    assert "members" not in provider("GET", f"{address}?excludedAttributes=members")
    assert names(provider.patch(address, addition(ann))) == {"ann"}
    assert names(provider.patch(address, addition(ben), addition(ben))) == {"ann", "ben"}
    assert provider("GET", f"/Users/{ann}")["groups"][0]["display"] == "Lab"
    assert names(provider.patch(address, removal(ann))) == {"ben"}
    assert site_of(app).accounts.get(int(ann)).groups == frozenset()
    assert names(provider.patch(address, {"op": "replace", "path": "members", "value": members(ann)})) == {"ann"}
    assert names(provider.patch(address, {"op": "remove", "path": "members"}, addition(ben))) == {"ben"}
    both = {"schemas": [GROUP], "displayName": "Lab", "members": members(ann, ben)}
    assert names(provider("PUT", address, both)) == {"ann", "ben"}
    provider.patch(address, {"op": "add", "path": "members", "value": members(99999)}, status=400)


def names(group: Json) -> set[str]:
    return {member["display"] for member in group["members"]}


def test_a_group_opens_what_is_opened_to_it_also_under_another_name(app: Flask, provider: Provider) -> None:
    here, ann = site_of(app), int(provider.add("ann"))
    group = provider("POST", "/Groups", {"schemas": [GROUP], "displayName": "lab", "members": members(ann)}, status=201)
    listed = here.braid.registry.add("Handbook", "shared_handbook", allowed_groups=["lab"])
    here.braid.mirror_registry()
    ben = add_user(app, "ben")
    lent = here.braid.ledger.add_dataset(ben.id, "maps")
    here.shares.put(lent, Share("group", "lab"), by="ben")

    def readable() -> set[int]:
        scope = here.braid.manager.search("x", user_id=ann, dataset_ids=[listed.id, lent.id])
        return {listed.id, lent.id} - set(scope.unresolved_dataset_ids)

    assert readable() == {listed.id, lent.id}
    address = f"/Groups/{group['id']}"
    okta = {"op": "replace", "value": {"id": group["id"], "displayName": "laboratory"}}
    assert provider.patch(address, okta)["displayName"] == "laboratory"
    assert readable() == {listed.id, lent.id}
    provider.patch(address, {"op": "remove", "path": "members"})
    assert readable() == set()
    assert (
        provider.patch(address, {"op": "Replace", "path": "displayName", "value": "lab two"})["displayName"]
        == "lab two"
    )
    provider.patch(address, {"op": "add", "path": "members", "value": members(ann)})
    assert readable() == {listed.id, lent.id}
    provider("DELETE", address, status=204)
    assert readable() == set()
    provider("GET", address, status=404)


def test_a_group_of_braid_is_taken_over_and_names_are_unique(app: Flask, provider: Provider) -> None:
    add_user(app, "ann", groups=("lab",))
    group = provider("POST", "/Groups", {"schemas": [GROUP], "displayName": "lab"}, status=201)
    assert names(group) == {"ann"}
    assert (
        provider("POST", "/Groups", {"schemas": [GROUP], "displayName": "lab"}, status=409)["scimType"] == "uniqueness"
    )
    other = provider("POST", "/Groups", {"schemas": [GROUP], "displayName": "staff"}, status=201)
    rename = {"op": "replace", "path": "displayName", "value": "lab"}
    provider.patch(f"/Groups/{other['id']}", rename, status=409)
    boss = sign_in(app)
    assert post_form(boss, "/admin/group/rename", name="lab", new_name="laboratory").status_code == 302
    assert provider("GET", f"/Groups/{group['id']}")["displayName"] == "laboratory"


def test_lists_come_in_pages(provider: Provider) -> None:
    for number in range(5):
        provider.add(f"user{number}")
    seen: list[str] = []
    while True:
        page = provider("GET", f"/Users?startIndex={len(seen) + 1}&count=2")
        assert page["totalResults"] == 6
        if not page["Resources"]:
            break
        seen += [user["id"] for user in page["Resources"]]
    assert len(seen) == len(set(seen)) == 6
    assert provider("GET", "/Users?count=0")["Resources"] == []
    few = provider("GET", "/Users?attributes=userName,meta.location&count=1")["Resources"][0]
    assert few.keys() == {"schemas", "id", "userName", "meta"}
    fewer = provider("GET", f"/Users/{seen[0]}?excludedAttributes={USER}:userName,meta,id,groups")
    assert fewer.keys() == {"schemas", "id", "active"}
    assert provider("GET", "/Users?startIndex=-3&count=-1")["startIndex"] == 1


WRONG: tuple[tuple[str, str, Json | None, str], ...] = (
    ("GET", '/Users?filter=userName co "a"', None, "invalidFilter"),
    ("GET", '/Users?filter=title eq "a"', None, "invalidFilter"),
    ("GET", "/Users?filter=" + "(" * 3_000, None, "invalidFilter"),
    ("GET", "/Users?count=many", None, "invalidValue"),
    ("POST", "/Users", {"userName": "x"}, "invalidSyntax"),
    ("POST", "/Users", {"schemas": [USER]}, "invalidValue"),
    ("POST", "/Users", {"schemas": [USER], "userName": 7}, "invalidValue"),
    ("POST", "/Users", {"schemas": [USER], "userName": " "}, "invalidValue"),
    ("POST", "/Users", {"schemas": [USER], "userName": "x", "active": "perhaps"}, "invalidValue"),
    ("POST", "/Users", {"schemas": [USER], "userName": "x", "shoe": 44}, "invalidPath"),
    ("POST", "/Groups", {"schemas": [GROUP], "displayName": ""}, "invalidValue"),
    ("POST", "/Groups", {"schemas": [GROUP], "displayName": "x", "members": [{"value": "ann"}]}, "invalidValue"),
    ("PATCH", "/Users/1", {"schemas": [PATCH], "Operations": []}, "invalidSyntax"),
    ("PATCH", "/Users/1", {"schemas": [PATCH], "Operations": [{"op": "move"}]}, "invalidSyntax"),
    ("PATCH", "/Users/1", {"schemas": [PATCH], "Operations": [{"op": "remove"}]}, "noTarget"),
    ("PATCH", "/Users/1", {"schemas": [PATCH], "Operations": [{"op": "remove", "path": "userName"}]}, "mutability"),
    (
        "PATCH",
        "/Users/1",
        {"schemas": [PATCH], "Operations": [{"op": "add", "path": "shoe", "value": 1}]},
        "invalidPath",
    ),
    ("PATCH", "/Users/1", {"schemas": [PATCH], "Operations": [{"op": "add", "value": 1}]}, "invalidValue"),
)


@pytest.mark.parametrize(("method", "path", "body", "kind"), WRONG)
def test_what_is_wrong_is_told_in_the_words_of_the_rfc(
    provider: Provider, method: str, path: str, body: Json | None, kind: str
) -> None:
    told = provider(method, path, body, status=400)
    assert told["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert (told["status"], told["scimType"]) == ("400", kind)
    assert told["detail"]


def test_no_body_and_broken_bodies_are_refused(app: Flask, provider: Provider) -> None:
    headers = {"Authorization": f"Bearer {provider.token}"}
    for sent in (b"", b"{", b"[" * 100_000, b'"x"', b"\xff"):
        answer = app.test_client().post("/scim/v2/Users", data=sent, headers=headers)
        assert answer.status_code == 400
        assert answer.get_json(force=True)["scimType"] == "invalidSyntax"


def test_the_server_tells_what_it_keeps(provider: Provider) -> None:
    config = provider("GET", "/ServiceProviderConfig")
    assert config["patch"] == {"supported": True}
    assert config["bulk"]["supported"] is config["changePassword"]["supported"] is False
    kinds = provider("GET", "/ResourceTypes")
    assert [(kind["endpoint"], kind["schema"]) for kind in kinds["Resources"]] == [("/Users", USER), ("/Groups", GROUP)]
    assert kinds["Resources"][0] == provider("GET", "/ResourceTypes/User")
    schemas = provider("GET", "/Schemas")["Resources"]
    kept = {schema["id"]: {attribute["name"] for attribute in schema["attributes"]} for schema in schemas}
    assert kept == {
        USER: {"userName", "externalId", "active", "groups"},
        GROUP: {"displayName", "externalId", "members"},
    }
    assert provider("GET", f"/Schemas/{USER}") == schemas[0]
    for nowhere in ("/Schemas/x", "/Bulk", "/Users/1/photo"):
        assert provider("GET", nowhere, status=404)["status"] == "404"
    provider("GET", '/ResourceTypes?filter=name eq "User"', status=403)


def test_only_the_token_that_counts_opens_it(app: Flask, provider: Provider) -> None:
    client, boss = app.test_client(), sign_in(app)
    admin = bearer(app, site_of(app).accounts.all()[0], "admin")
    for headers in ({}, admin, {"Authorization": "Bearer "}, {"Authorization": f"Basic {provider.token}"}):
        assert client.get("/scim/v2/Users", headers=headers).status_code == 401
    assert boss.get("/scim/v2/Users").status_code == 401
    for path in ("/api/v1/me", "/account", "/api/v1/users"):
        assert client.get(path, headers={"Authorization": f"Bearer {provider.token}"}).status_code == 401
    newer = Provider(app)
    provider("GET", "/Users", status=401)
    newer("GET", "/Users")
    assert provider.token not in boss.get("/admin/sign-in").text
    assert post_form(boss, "/admin/users/scim/end").status_code == 302
    newer("GET", "/Users", status=401)
    assert [entry.action for entry in acts(app)[:3]] == ["scim.ended", "scim.token", "scim.token"]


def test_a_change_that_is_refused_in_part_changes_nothing(app: Flask, provider: Provider) -> None:
    here = site_of(app)
    ann, ben = int(provider.add("ann", externalId="e-1")), int(provider.add("ben"))
    here.accounts.set_password(ann, PASSWORD)
    browser = sign_in(app, "ann")
    before, told = provider("GET", f"/Users/{ann}"), acts(app)
    wanted = {"externalId": "e-2", "active": False, "userName": "BEN"}
    provider.patch(f"/Users/{ann}", {"op": "replace", "value": wanted}, status=409)
    provider("PUT", f"/Users/{ann}", {"schemas": [USER], **wanted}, status=409)
    assert provider("GET", f"/Users/{ann}") == before
    assert browser.get("/account").status_code == 200
    lab = provider(
        "POST", "/Groups", {"schemas": [GROUP], "displayName": "lab", "members": [{"value": str(ann)}]}, status=201
    )
    handbook = here.shared_datasets.add("Handbook", "shared_handbook", allowed_groups=["lab"], by="kim")
    group, told = provider("GET", f"/Groups/{lab['id']}"), acts(app)
    members = [{"value": str(ben)}, {"value": "999"}]
    provider.patch(
        f"/Groups/{lab['id']}",
        {"op": "replace", "path": "displayName", "value": "works"},
        {"op": "replace", "path": "externalId", "value": "g-2"},
        {"op": "replace", "path": "members", "value": members},
        status=400,
    )
    assert provider("GET", f"/Groups/{lab['id']}") == group
    assert here.braid.registry.get(handbook.id) == handbook
    assert acts(app) == told


def test_a_group_keeps_its_name_where_the_list_of_shared_datasets_cannot_be_written(
    app: Flask, provider: Provider
) -> None:
    here = site_of(app)
    ann = provider.add("ann")
    lab = provider(
        "POST", "/Groups", {"schemas": [GROUP], "displayName": "lab", "members": [{"value": ann}]}, status=201
    )
    here.shared_datasets.add("Handbook", "shared_handbook", allowed_groups=["lab"], by="kim")
    told = acts(app)
    here.braid.registry.path.write_text("no list", encoding="utf-8")
    provider.patch(
        f"/Groups/{lab['id']}",
        {"op": "replace", "path": "displayName", "value": "works"},
        {"op": "remove", "path": "members"},
        status=400,
    )
    assert provider("GET", f"/Groups/{lab['id']}") == lab
    assert here.accounts.get(int(ann)).groups == {"lab"}
    assert acts(app) == told
