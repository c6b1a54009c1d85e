"""What the server tells of itself: what it can do, and which attributes it keeps (RFC 7643, sections 5 to 7)."""

from __future__ import annotations

from typing import Any

from braid.app.mounted import url_for
from braid.app.scim.messages import CORE, GROUP, MOST_PER_PAGE, USER


def provider_config() -> dict[str, Any]:
    """Return what is at ``/ServiceProviderConfig``."""
    off = {"supported": False}
    return {
        "schemas": [f"{CORE}ServiceProviderConfig"],
        "patch": {"supported": True},
        "bulk": {**off, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MOST_PER_PAGE},
        "changePassword": off,
        "sort": off,
        "etag": off,
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "Bearer token",
                "description": "The token that an administrator makes on the page of users and groups",
                "primary": True,
            }
        ],
        "meta": _meta("ServiceProviderConfig", url_for("braid.scim.get_provider_config", _external=True)),
    }


def resource_types() -> dict[str, dict[str, Any]]:
    """Return what is at ``/ResourceTypes``, by name."""
    return {
        name: {
            "schemas": [f"{CORE}ResourceType"],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "schema": schema,
            "meta": _meta("ResourceType", url_for("braid.scim.get_resource_type", name=name, _external=True)),
        }
        for name, schema in (("User", USER), ("Group", GROUP))
    }


def schemas() -> dict[str, dict[str, Any]]:
    """Return what is at ``/Schemas``, by id: only attributes that are kept."""
    user = [
        _attribute("userName", "Name that the user signs in with", required=True, uniqueness="server"),
        _attribute("externalId", "The provider's id of the user", caseExact=True),
        _attribute("active", "Whether the user may sign in", type="boolean"),
        _list_of("groups", "Groups that the provider keeps and the user is in", "Group", mutability="readOnly"),
    ]
    group = [
        _attribute("displayName", "Name of the group", required=True, uniqueness="server", caseExact=True),
        _attribute("externalId", "The provider's id of the group", caseExact=True),
        _list_of("members", "Users in the group", "User"),
    ]
    return {
        schema: {
            "schemas": [f"{CORE}Schema"],
            "id": schema,
            "name": name,
            "description": f"{name}s as Braid keeps them",
            "attributes": attributes,
            "meta": _meta("Schema", url_for("braid.scim.get_schema", id_=schema, _external=True)),
        }
        for schema, name, attributes in ((USER, "User", user), (GROUP, "Group", group))
    }


def _attribute(name: str, description: str, **more: Any) -> dict[str, Any]:
    kind = more.pop("type", "string")
    text = {"caseExact": False, "uniqueness": "none"} if kind in ("string", "reference") else {}
    fixed = {"multiValued": False, "required": False, "mutability": "readWrite", "returned": "default"}
    return {"name": name, "type": kind, "description": description, **fixed, **text, **more}


def _list_of(name: str, description: str, kind: str, **more: Any) -> dict[str, Any]:
    parts = [
        _attribute("value", f"Id of the {kind.lower()}", mutability="immutable"),
        _attribute("display", f"Name of the {kind.lower()}", mutability="readOnly"),
        _attribute("$ref", "Its address", type="reference", mutability="immutable", referenceTypes=[kind]),
    ]
    if kind == "User":
        parts.append(_attribute("type", "What the member is", mutability="immutable", canonicalValues=[kind]))
    return _attribute(name, description, type="complex", multiValued=True, subAttributes=parts, **more)


def _meta(kind: str, location: str) -> dict[str, str]:
    return {"resourceType": kind, "location": location}
