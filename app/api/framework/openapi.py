"""The OpenAPI document, built from the operations that also check the requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter

from braid.app.api.framework.etags import IF_MATCH, IF_NONE_MATCH
from braid.app.api.framework.idempotency import HEADER
from braid.app.api.framework.idempotency import KEY_PATTERN as IDEMPOTENCY_PATTERN
from braid.app.api.framework.operations import Operation, Resource
from braid.app.api.framework.problems import Problem
from braid.app.api.framework.requests import KEY_HEADERS, KEY_PATTERN, MAX_BODY_BYTES
from braid.app.auth.access import SAFE
from braid.core.types import MAX_ID

REF = "#/components/schemas/{model}"
PARAMETER = re.compile(r"<(?:(?P<kind>int(?:\(signed=True\))?):)?(?P<name>\w+)>")
JSON, PROBLEM = "application/json", "application/problem+json"
EVENTS = "text/event-stream"
ZIP, BYTES = "application/zip", "application/octet-stream"
Schema = dict[str, Any]
TEXT_IN_PATH: Schema = {"type": "string", "minLength": 1}
FILE: Schema = {"type": "string", "format": "binary"}
MEDIA_SCHEMAS: dict[str, Schema] = {JSON: {}, EVENTS: {}, ZIP: FILE, BYTES: FILE}

TEXT = """\
Search any choice of personal and shared datasets at once, by meaning and by keyword, and chat with them.

Requests are JSON, and unknown fields are refused. Errors are problem details (RFC 9457) with the `field` that is wrong:
422 for a request that does not fit this document, 400 for a value of the right form that cannot be used, 404 also for
what is somebody else's. Lists have `limit`, `offset`, and the address of the next page in `next` and in the header
`Link`. Each answer says in `RateLimit-Remaining` how many requests are left until `RateLimit-Reset` (seconds).
A write with an `Idempotency-Key` is done once, however often it is sent within 24 hours."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What an API has in common: what its document says first, and the form of its errors."""

    title: str
    text: str
    error: type[BaseModel]
    media_type: str = JSON
    statuses: Mapping[int, int] = field(default_factory=dict)
    """The statuses that it has instead of the usual ones, such as 400 for 422."""
    max_body_bytes: int = MAX_BODY_BYTES
    """Longest request, in bytes, with the pictures and files in it that are left out."""


OWN = Interface("Braid", TEXT, Problem, PROBLEM)


def document(
    resources: Sequence[Resource], *, server: str, cookie: str, version: str, interface: Interface = OWN
) -> Schema:
    """Return the document of an API that is served at ``server``, with this session cookie."""
    schemas, definitions = _schemas(resources, interface)
    paths: dict[str, Schema] = {}
    for resource in resources:
        for operation in resource.operations:
            path = PARAMETER.sub(r"{\g<name>}", operation.path)
            made = _operation(operation, schemas, definitions)
            made["responses"] |= _error_responses(operation, interface)
            paths.setdefault(path, {})[operation.method.lower()] = made
    return {
        "openapi": "3.1.0",
        "info": {"title": interface.title, "version": version, "description": interface.text},
        "servers": [{"url": server}],
        "tags": [{"name": each.tag, "description": each.description} for each in resources],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "headers": HEADERS,
            "responses": {"Problem": _problem_response(interface)},
            "securitySchemes": _security_schemes(cookie),
        },
    }


HEADERS: Schema = {
    "RateLimit-Limit": {"description": "Requests in a period", "schema": {"type": "integer"}},
    "RateLimit-Remaining": {"description": "Requests left in the period", "schema": {"type": "integer"}},
    "RateLimit-Reset": {"description": "Seconds until more requests are allowed", "schema": {"type": "integer"}},
    "X-Request-ID": {"description": "Request id, also in the server's log", "schema": {"type": "string"}},
    "Link": {"description": 'The next page, `rel="next"`', "schema": {"type": "string"}},
    "Location": {"description": "Address of the new resource", "schema": {"type": "string"}},
    "ETag": {"description": "Tag that changes with the resource", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}},
    "Deprecation": {"description": "A deprecated field was used (RFC 9745)", "schema": {"type": "string"}},
    "Idempotency-Replayed": {"description": "The answer of an earlier request", "schema": {"type": "string"}},
}
EVERYWHERE = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-ID")


def _schemas(resources: Sequence[Resource], interface: Interface) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """Return schemas by operation and part, and the definitions that they refer to."""
    wanted: list[tuple[Any, Any, TypeAdapter[Any]]] = [("problem", "serialization", TypeAdapter(interface.error))]
    for operation in (each for resource in resources for each in resource.operations):
        if operation.body is not None:
            wanted.append(((operation.name, "body"), "validation", operation.body))
        for part, model, mode in (
            ("query", operation.query, "validation"),
            ("answer", operation.answer, "serialization"),
            ("form", operation.form, "validation"),
        ):
            if model is not None:
                wanted.append(((operation.name, part), mode, TypeAdapter(model)))
        for status, model in operation.statuses.items():
            if model is not None:
                wanted.append(((operation.name, status), "serialization", TypeAdapter(model)))
    found, rest = TypeAdapter.json_schemas(wanted, ref_template=REF)
    return {key: schema for (key, _), schema in found.items()}, rest.get("$defs", {})


def _operation(operation: Operation, schemas: dict[Any, Schema], definitions: dict[str, Schema]) -> Schema:
    made: Schema = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary.rstrip("."),
        "description": " ".join(filter(None, (operation.description, _needs(operation)))),
        "parameters": list(_parameters(operation, schemas, definitions)),
        "responses": _responses(operation, schemas),
        "security": _security(operation),
    }
    if operation.body is not None:
        content = {JSON: {"schema": schemas[operation.name, "body"]}}
        made["requestBody"] = {"required": True, "content": content}
    elif operation.form is not None:
        content = {"multipart/form-data": {"schema": schemas[operation.name, "form"]}}
        made["requestBody"] = {"required": True, "content": content}
    return made


def _needs(operation: Operation) -> str:
    scope = f"Needs the scope `{operation.rule.permission_for(operation.method)}`"
    return f"{scope}, of an administrator." if operation.rule.who == "admin" else f"{scope}."


def _parameters(operation: Operation, schemas: dict[Any, Schema], definitions: dict[str, Schema]) -> Iterator[Schema]:
    for found in PARAMETER.finditer(operation.path):
        lowest = -MAX_ID if "signed" in (found["kind"] or "") else 0
        schema: Schema = {"type": "integer", "minimum": lowest, "maximum": MAX_ID} if found["kind"] else TEXT_IN_PATH
        yield {"name": found["name"], "in": "path", "required": True, "schema": schema}
    if operation.query is not None:
        model = _resolve(schemas[operation.name, "query"], definitions)
        for name, schema in model["properties"].items():
            yield _query_parameter(name, schema, required=name in model.get("required", ()))
    for name in (*operation.headers, *((HEADER,) if operation.repeatable else ())):
        yield {"name": name, "in": "header", "required": False, **HEADER_PARAMETERS[name]}


HEADER_PARAMETERS: Schema = {
    HEADER: {
        "description": "Any name for this request; a repeated request gets the first answer and is not done again",
        "schema": {"type": "string", "pattern": IDEMPOTENCY_PATTERN},
    },
    IF_NONE_MATCH: {
        "description": "The ETag of an earlier answer; with PUT also *, which fails if there is such a document",
        "schema": {"type": "string"},
    },
    IF_MATCH: {
        "description": "The ETag of an earlier answer; fails if the document changed since",
        "schema": {"type": "string"},
    },
    **{
        header: {
            "description": f"Your own key for the {role}{'' if role == 'reranker' else ' model'}; used for this "
            "request and forgotten",
            "schema": {"type": "string", "pattern": KEY_PATTERN},
        }
        for role, header in KEY_HEADERS.items()
    },
}


def _query_parameter(name: str, schema: Schema, *, required: bool) -> Schema:
    schema = dict(schema)
    # a query parameter is left out, never sent as null
    if "anyOf" in schema:
        (only,) = (each for each in schema.pop("anyOf") if each != {"type": "null"})
        schema = {**schema, **only}
    if schema.get("default", "") is None:
        del schema["default"]
    made: Schema = {"name": name, "in": "query", "required": required}
    if description := schema.pop("description", ""):
        made["description"] = description
    return {**made, "schema": schema}


def _resolve(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return definitions[name] if name else schema


def _responses(operation: Operation, schemas: dict[Any, Schema]) -> Schema:
    made = {str(operation.status): _good(operation, operation.status, schemas.get((operation.name, "answer")))}
    for status in operation.statuses:
        made[str(status)] = _good(operation, status, schemas.get((operation.name, status)))
    return made


def _error_responses(operation: Operation, interface: Interface) -> Schema:
    statuses = {interface.statuses.get(status, status) for status in _errors(operation)}
    return {str(status): {"$ref": "#/components/responses/Problem"} for status in sorted(statuses)}


def _errors(operation: Operation) -> set[int]:
    errors = {400, 401, 403, 422, 429, 503}
    if operation.path_types.keys() - {"body"} or operation.body is not None:
        errors.add(404)
    if operation.body is not None or operation.form is not None:
        errors |= {413, 415}
    if IF_MATCH in operation.headers:
        errors.add(412)
    return errors | ({409} if operation.repeatable else set())


def _good(operation: Operation, status: int, schema: Schema | None) -> Schema:
    names = list(EVERYWHERE)
    if operation.query is not None and operation.method == "GET":
        names.append("Link")
    if status in (201, 202):
        names.append("Location")
    if {IF_NONE_MATCH, IF_MATCH}.intersection(operation.headers) and status != 204:
        names.append("ETag")
    if set(KEY_HEADERS.values()).intersection(operation.headers):
        names.append("Deprecation")
    if operation.repeatable:
        names.append("Idempotency-Replayed")
    made: Schema = {
        "description": HTTPStatus(status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    content: Schema = {JSON: {"schema": schema}} if schema is not None else {}
    if status == operation.status:
        for kind in operation.media_types:
            content[kind] = {"schema": MEDIA_SCHEMAS.get(kind, {"type": "string"})}
    return {**made, "content": content} if content else made


def _problem_response(interface: Interface) -> Schema:
    names = (*EVERYWHERE, "Retry-After")
    return {
        "description": "A problem, RFC 9457" if interface.error is Problem else "An error",
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {interface.media_type: {"schema": {"$ref": REF.format(model=interface.error.__name__)}}},
    }


def _security(operation: Operation) -> list[Schema]:
    session: Schema = {"session": []} if operation.method in SAFE else {"session": [], "csrf": []}
    return [{"token": [operation.rule.permission_for(operation.method)]}, session]


def _security_schemes(cookie: str) -> Schema:
    return {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token of the account page, with the scopes `read`, `write` or `admin`",
        },
        "session": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "A browser that is signed in"},
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRFToken",
            "description": "Needed with the session for requests that change something: the `csrf-token` of any page",
        },
    }
