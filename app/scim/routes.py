"""Routes of SCIM: users and groups, and what the server tells of itself."""

from __future__ import annotations

from typing import Any, NoReturn

from flask import Response, request

from braid.app.auth.access import Routes, takes_uploads
from braid.app.auth.authenticate import welcome
from braid.app.scim.messages import (
    GROUP,
    OF_GROUPS,
    OF_USERS,
    USER,
    Changes,
    ScimError,
    answer,
    error_body,
    group_address,
    group_body,
    page_body,
    read_filter,
    read_page,
    read_patch,
    read_whole,
    shows,
    user_address,
    user_body,
)
from braid.app.scim.schemas import provider_config, resource_types, schemas
from braid.app.scim.token import require_token
from braid.app.site import site
from braid.app.web import errors as web_errors
from braid.app.web.errors import METHODS, Failure, nothing
from braid.core.accounts.provisioning import ProvisionedGroup, Provisioning, TakenError
from braid.core.errors import InvalidInputError, NotFoundError

MAX_BODY_BYTES = 4 * 2**20
ACTOR = "SCIM"
"""Who does this, in the audit log."""
BY_SCIM = "by SCIM"
USER_FILTERS = {"username": "name", "externalid": "external_id", "id": "id"}
GROUP_FILTERS = {"displayname": "name", "externalid": "external_id", "id": "id"}

scim = Routes("scim", __name__, "client", url_prefix="/scim/v2")
scim.before_request(require_token)


def _write(failure: Failure) -> Response:
    response = answer(error_body(failure.status, failure.text), failure.status)
    response.headers.extend(dict(failure.headers))
    return response


web_errors.handle_errors(scim, _write)
scim.register_error_handler(
    ScimError, lambda error: answer(error_body(error.status, str(error), error.kind), error.status)
)
scim.register_error_handler(TakenError, lambda error: answer(error_body(409, str(error), "uniqueness"), 409))
scim.register_error_handler(InvalidInputError, lambda error: answer(error_body(400, str(error), "invalidValue"), 400))


def _store() -> Provisioning:
    return Provisioning(site().braid.ledger, take_over=site().settings.oidc_take_over)


def _id(given: str, what: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise NotFoundError(f"there is no {what} {given[:40]!r}")
    return int(given)


# ---------------------------------------------------------------- users


@scim.get("/Users")
def list_users() -> Response:
    """List users by id, a page at a time, also by name or the provider's id."""
    start, count = read_page()
    users, total = _store().users(read_filter(USER_FILTERS), limit=count, offset=start - 1)
    return answer(page_body([user_body(user) for user in users], total, start))


@scim.get("/Users/<id_>")
def get_user(id_: str) -> Response:
    """Get a user."""
    return answer(user_body(_store().user(_id(id_, "user"))))


@scim.post("/Users")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def add_user() -> Response:
    """Add a user, who signs in by the provider or the proxy."""
    name, changes = read_whole(USER, OF_USERS)
    is_active = changes.active is not False
    with site().whole():
        added, is_new = _store().add_user(name, changes.external_id or "", active=is_active)
        if is_new:
            welcome(site(), site().accounts.get(added.id), BY_SCIM)
        else:
            _record("user.enabled" if is_active else "user.changed", added.name)
    return answer(user_body(added), 201, user_address(added.id))


@scim.put("/Users/<id_>")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def replace_user(id_: str) -> Response:
    """Replace what is kept of a user."""
    _name, changes = read_whole(USER, OF_USERS)
    changes.external_id = changes.external_id or ""
    return _change_user(_id(id_, "user"), changes)


@scim.patch("/Users/<id_>")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def change_user(id_: str) -> Response:
    """Change some of what is kept of a user."""
    return _change_user(_id(id_, "user"), read_patch(OF_USERS))


@scim.delete("/Users/<id_>")
def remove_user(id_: str) -> Response:
    """Suspend a user, whom the provider does not see any more; an administrator deletes what is theirs."""
    with site().whole():
        _record("user.disabled", _store().remove_user(_id(id_, "user")).name, "removed by the provider")
    return Response(status=204)


def _change_user(user_id: int, changes: Changes) -> Response:
    with site().whole():
        before, after = _store().change_user(
            user_id, name=changes.name, external_id=changes.external_id, active=changes.active
        )
        if before.active != after.active:
            _record("user.enabled" if after.active else "user.disabled", after.name)
        if before.name != after.name:
            _record("user.changed", after.name, f"was {before.name}")
    return answer(user_body(after))


# ---------------------------------------------------------------- groups


@scim.get("/Groups")
def list_groups() -> Response:
    """List the groups that the provider keeps, a page at a time, also by name or the provider's id."""
    start, count = read_page()
    wanted, with_members = read_filter(GROUP_FILTERS), shows("members")
    groups, total = _store().groups(wanted, limit=count, offset=start - 1, with_members=with_members)
    return answer(page_body([group_body(group) for group in groups], total, start))


@scim.get("/Groups/<id_>")
def get_group(id_: str) -> Response:
    """Get a group."""
    return answer(group_body(_store().group(_id(id_, "group"), with_members=shows("members"))))


@scim.post("/Groups")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def add_group() -> Response:
    """Add a group; one of this name in Braid that no provider keeps is taken over with its members."""
    name, changes = read_whole(GROUP, OF_GROUPS)
    with site().whole():
        added = _store().add_group(name, changes.external_id or "", changes.add)
        _record("group.added", added.name, _members_text(added))
    return answer(group_body(added), 201, group_address(added.id))


@scim.put("/Groups/<id_>")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def replace_group(id_: str) -> Response:
    """Replace a group with its members."""
    _name, changes = read_whole(GROUP, OF_GROUPS)
    changes.external_id, changes.remove = changes.external_id or "", None
    return _change_group(_id(id_, "group"), changes)


@scim.patch("/Groups/<id_>")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def change_group(id_: str) -> Response:
    """Change a group's name, or some of its members."""
    return _change_group(_id(id_, "group"), read_patch(OF_GROUPS))


@scim.delete("/Groups/<id_>")
def remove_group(id_: str) -> Response:
    """Take all members out of a group, and forget it."""
    with site().whole():
        _record("group.removed", _store().remove_group(_id(id_, "group")).name)
    return Response(status=204)


def _change_group(group_id: int, changes: Changes) -> Response:
    with site().whole():
        before, after = _store().change_group(
            group_id, name=changes.name, external_id=changes.external_id, add=changes.add, remove=changes.remove
        )
        if before.members != after.members:
            _record("group.members", after.name, _members_text(after))
        if before.name != after.name:
            _record("group.renamed", after.name, before.name)
            site().shared_datasets.rename_group(before.name, after.name, by=ACTOR)
    return answer(group_body(after))


def _members_text(group: ProvisionedGroup) -> str:
    return f"{len(group.members)} members"


# ---------------------------------------------------------------- the server


@scim.get("/ServiceProviderConfig")
def get_provider_config() -> Response:
    """Say what the server can do."""
    return answer(provider_config())


@scim.get("/ResourceTypes")
def list_resource_types() -> Response:
    """List what is kept."""
    return _list(resource_types())


@scim.get("/ResourceTypes/<name>")
def get_resource_type(name: str) -> Response:
    """Get one kind of what is kept."""
    return _one(resource_types(), name)


@scim.get("/Schemas")
def list_schemas() -> Response:
    """List the attributes that are kept."""
    return _list(schemas())


@scim.get("/Schemas/<id_>")
def get_schema(id_: str) -> Response:
    """Get the attributes of users, or of groups."""
    return _one(schemas(), id_)


def unknown(_path: str) -> NoReturn:
    """Refuse an address that is none of SCIM's, in its form."""
    nothing(_path)


scim.add_url_rule("/<path:_path>", "nothing", unknown, methods=METHODS)


def _list(found: dict[str, dict[str, Any]]) -> Response:
    if "filter" in request.args:  # RFC 7644, section 4
        raise ScimError(403, "these cannot be filtered")
    return answer(page_body([*found.values()], len(found), 1))


def _one(found: dict[str, dict[str, Any]], name: str) -> Response:
    if name not in found:
        raise NotFoundError(f"there is no {name[:60]!r}; there are {', '.join(found)}")
    return answer(found[name])


def _record(action: str, target: str, detail: str = "") -> None:
    site().audit.add(ACTOR, action, target, detail)
