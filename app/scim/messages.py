"""SCIM's messages: errors, users and groups as they are shown, and what requests say (RFC 7644, section 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request

from braid.app.mounted import url_for
from braid.core.accounts.provisioning import ProvisionedGroup, ProvisionedUser
from braid.core.errors import BraidError

MEDIA_TYPE = "application/scim+json"
CORE = "urn:ietf:params:scim:schemas:core:2.0:"
USER, GROUP = f"{CORE}User", f"{CORE}Group"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0:"
MOST_OPERATIONS = 1_000
MOST_MEMBERS = 20_000
PAGE, MOST_PER_PAGE = 100, 200
_FILTER = re.compile(r'\s*([A-Za-z:0-9.]{1,200})\s+eq\s+"((?:[^"\\]|\\.){0,1000})"\s*', re.IGNORECASE)
_MEMBER = re.compile(r'members\[\s*value\s+eq\s+"([^"]{1,100})"\s*\]', re.IGNORECASE)
OPERATIONS = ("add", "remove", "replace")
NOT_KEPT = {
    *("displayname", "name", "nickname", "profileurl", "title", "usertype", "preferredlanguage", "locale", "timezone"),
    *("password", "emails", "phonenumbers", "ims", "photos", "addresses", "entitlements", "roles", "x509certificates"),
    *("id", "meta", "schemas", "groups", "urn"),
}
"""Attributes of the RFC, in small letters, that Braid does not keep: providers send them whatever a server says."""


class ScimError(BraidError):
    """A request that is refused, with the status and the RFC's word for it."""

    def __init__(self, status: int, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind


def answer(body: Mapping[str, Any], status: int = 200, location: str = "") -> Response:
    """Return a message."""
    response = Response(json.dumps(body, ensure_ascii=False), status, content_type=MEDIA_TYPE)
    if location:
        response.headers["Location"] = location
    return response


def error_body(status: int, detail: str, kind: str = "") -> dict[str, Any]:
    """Return an error's body."""
    named = {"scimType": kind} if kind else {}
    return {"schemas": [f"{MESSAGES}Error"], "status": str(status), "detail": detail, **named}


def page_body(shown: Sequence[Mapping[str, Any]], total: int, start: int) -> dict[str, Any]:
    """Return a page of a list."""
    return {
        "schemas": [f"{MESSAGES}ListResponse"],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(shown),
        "Resources": shown,
    }


def user_body(user: ProvisionedUser) -> dict[str, Any]:
    """Return a user, as far as it is wanted."""
    body = {
        "schemas": [USER],
        "id": str(user.id),
        **({"externalId": user.external_id} if user.external_id else {}),
        "userName": user.name,
        "active": user.active,
        "groups": [{"value": str(id_), "display": name, "$ref": group_address(id_)} for id_, name in user.groups],
        "meta": {"resourceType": "User", "location": user_address(user.id)},
    }
    return {name: value for name, value in body.items() if shows(name)}


def group_body(group: ProvisionedGroup) -> dict[str, Any]:
    """Return a group, as far as it is wanted."""
    members = [
        {"value": str(id_), "display": name, "type": "User", "$ref": user_address(id_)} for id_, name in group.members
    ]
    body = {
        "schemas": [GROUP],
        "id": str(group.id),
        **({"externalId": group.external_id} if group.external_id else {}),
        "displayName": group.name,
        "members": members,
        "meta": {"resourceType": "Group", "location": group_address(group.id)},
    }
    return {name: value for name, value in body.items() if shows(name)}


def user_address(user_id: int) -> str:
    """Return the address of a user."""
    return url_for("braid.scim.get_user", id_=user_id, _external=True)


def group_address(group_id: int) -> str:
    """Return the address of a group."""
    return url_for("braid.scim.get_group", id_=group_id, _external=True)


# ---------------------------------------------------------------- what requests say


def read_page() -> tuple[int, int]:
    """Return where a list starts, from 1 on, and how many are wanted. Raises ScimError."""
    start, count = _number("startIndex", 1), _number("count", PAGE)
    return max(start, 1), min(max(count, 0), MOST_PER_PAGE)


def _number(name: str, default: int) -> int:
    given = request.args.get(name, "").strip() or str(default)
    if not re.fullmatch(r"-?[0-9]{1,9}", given):
        raise ScimError(400, f"{name} is {given[:20]!r}; give a whole number", "invalidValue")
    return int(given)


def read_filter(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return what a filter asks for, by the names in ``attributes``, whose keys are in small letters.

    Raises ScimError.
    """
    given = request.args.get("filter", "")
    if not given.strip():
        return {}
    found = _FILTER.fullmatch(given)
    name = attributes.get(_without_schema(found[1]).lower()) if found else None
    if found is None or name is None:
        known = ", ".join(attributes)
        raise ScimError(400, f'the filter must be ATTRIBUTE eq "VALUE", with one of {known}', "invalidFilter")
    return {name: re.sub(r"\\(.)", r"\1", found[2])}


def shows(attribute: str) -> bool:
    """Return whether an attribute is wanted in the answer (RFC 7644, section 3.9); schemas and ids always are."""
    wanted, excluded = _named("attributes"), _named("excludedAttributes")
    name = attribute.lower()
    return name in ("schemas", "id") or (name in wanted if wanted else name not in excluded)


def _named(parameter: str) -> set[str]:
    given = map(str.strip, request.args.get(parameter, "").split(","))
    return {_without_schema(name).partition(".")[0].lower() for name in given if name}


def read_body(schema: str) -> dict[str, Any]:
    """Return the request's JSON object, which names the schema. Raises ScimError."""
    try:
        body = json.loads(request.get_data())
    except (ValueError, RecursionError):
        raise ScimError(400, "the body is no JSON", "invalidSyntax") from None
    if not isinstance(body, dict) or not isinstance(body.get("schemas"), list) or schema not in body["schemas"]:
        raise ScimError(400, f"the body must be a JSON object with {schema} in schemas", "invalidSyntax")
    return body


@dataclass(slots=True)
class Changes:
    """What a request changes; None stays."""

    name: str | None = None
    external_id: str | None = None
    active: bool | None = None
    add: set[int] = field(default_factory=set)
    """Members to add."""
    remove: set[int] | None = field(default_factory=set)
    """Members to remove before that; None removes all."""


Attributes = Mapping[str, tuple[str, Callable[[str, Any], Any]]]
"""Attributes in small letters → the field of `Changes`, and what reads a value, which raises ScimError."""


def read_attributes(body: Mapping[str, Any], attributes: Attributes, changes: Changes) -> None:
    """Read attributes into the changes; those that Braid does not keep are passed over. Raises ScimError."""
    for name, value in body.items():
        if known := attributes.get(_without_schema(name).lower()):
            field_name, read = known
            setattr(changes, field_name, read(name, value))
        else:
            _require_known(name)


def read_whole(schema: str, attributes: Attributes) -> tuple[str, Changes]:
    """Return the name of a user or a group, which the body must have, and all that it says. Raises ScimError."""
    changes = Changes()
    own = {name: value for name, value in read_body(schema).items() if not name.lower().startswith("urn:")}
    read_attributes(own, attributes, changes)
    if not changes.name:
        raise ScimError(400, f"{'userName' if schema == USER else 'displayName'} is missing", "invalidValue")
    return changes.name, changes


def read_patch(attributes: Attributes) -> Changes:
    """Return what all operations of a PATCH change together. Raises ScimError."""
    operations = read_body(f"{MESSAGES}PatchOp").get("Operations")
    if not isinstance(operations, list) or not 1 <= len(operations) <= MOST_OPERATIONS:
        raise ScimError(400, f"Operations must be a list of 1 to {MOST_OPERATIONS} operations", "invalidSyntax")
    changes = Changes()
    for act, path, value in map(_operation, operations):
        if member := _MEMBER.fullmatch(path):
            value, path = [{"value": member[1]}], "members"
        if _without_schema(path).lower() == "members":
            _change_members(changes, act, value)
        elif act == "remove":
            _remove(path, changes)
        else:
            given = {path: value} if path else value
            if not isinstance(given, dict):
                raise ScimError(400, "an operation without a path must have an object as its value", "invalidValue")
            for name, one in _flat(given):
                if name.lower() == "members":
                    _change_members(changes, act, one)
                else:
                    read_attributes({name: one}, attributes, changes)
    return changes


def _operation(given: Any) -> tuple[str, str, Any]:
    act = str(given.get("op", "")).lower() if isinstance(given, dict) else ""
    if act not in OPERATIONS:  # Entra writes them with a capital letter
        raise ScimError(400, f"op is {act[:20]!r}; it must be one of {', '.join(OPERATIONS)}", "invalidSyntax")
    path = given.get("path") or ""
    if not isinstance(path, str) or len(path) > 500:
        raise ScimError(400, "the path of an operation must be a text", "invalidPath")
    if act == "remove" and not path:
        raise ScimError(400, "an operation that removes must have a path", "noTarget")
    return act, path.strip(), given.get("value")


def _flat(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes, those of an extension's object excepted, which nobody keeps."""
    for name, value in attributes.items():
        if not (name.lower().startswith("urn:") and isinstance(value, dict)):
            yield _without_schema(name), value


def _change_members(changes: Changes, act: str, value: Any) -> None:
    if act == "remove" and value is None:
        changes.add, changes.remove = set(), None
        return
    members = _members("members", value)
    if act == "replace":
        changes.add, changes.remove = members, None
    elif act == "add":
        changes.add |= members
        changes.remove = None if changes.remove is None else changes.remove - members
    else:
        changes.add -= members
        changes.remove = None if changes.remove is None else changes.remove | members


def _remove(path: str, changes: Changes) -> None:
    if _without_schema(path).lower() == "externalid":
        changes.external_id = ""
    elif _without_schema(path).lower() in ("username", "displayname", "active"):
        raise ScimError(400, f"{path[:60]} cannot be removed; replace it", "mutability")
    else:
        _require_known(path)


def _require_known(name: str) -> None:
    """Raise ScimError for what is no attribute of the RFC; what it knows and Braid does not keep is passed over."""
    first = re.split(r"[.\[:]", _without_schema(name).lower(), maxsplit=1)[0]
    if first not in NOT_KEPT:
        raise ScimError(400, f"there is no attribute {name[:60]!r}", "invalidPath")


def _without_schema(name: str) -> str:
    for schema in (USER, GROUP):
        if name.lower().startswith(f"{schema.lower()}:"):
            return name[len(schema) + 1 :]
    return name


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ScimError(400, f"{name} must be a text", "invalidValue")
    return value


def _truth(_name: str, value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):  # as Entra sends it
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ScimError(400, "active must be true or false", "invalidValue")
    return value


def _members(_name: str, value: Any) -> set[int]:
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MOST_MEMBERS:
        raise ScimError(400, f"{len(listed)} members are named; at most {MOST_MEMBERS:,} at once", "tooMany")
    found = set()
    for each in listed:
        id_ = each.get("value") if isinstance(each, dict) else each
        if not isinstance(id_, str) or not re.fullmatch(r"[0-9]{1,18}", id_):
            raise ScimError(400, f"there is no member {str(id_)[:40]!r}; name the id of a user", "invalidValue")
        found.add(int(id_))
    return found


_EXTERNAL_ID = ("external_id", lambda name, value: _text(name, value or ""))
OF_USERS: Attributes = {"username": ("name", _text), "externalid": _EXTERNAL_ID, "active": ("active", _truth)}
OF_GROUPS: Attributes = {"displayname": ("name", _text), "externalid": _EXTERNAL_ID, "members": ("add", _members)}
