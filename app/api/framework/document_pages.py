"""The OpenAPI document, and a page that shows it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response, current_app, render_template, request

from braid.app.api.framework.openapi import OWN, ZIP, Interface, Schema, document
from braid.app.api.framework.operations import Resource
from braid.app.auth.access import rule
from braid.app.mounted import ROOT, url_for


def mount_pages(routes: Blueprint, resources: Sequence[Resource], interface: Interface = OWN) -> None:
    """Serve the OpenAPI document and its page."""
    address = f"{ROOT}.{routes.name}.get_openapi"

    @lru_cache(maxsize=4)
    def make_document(server: str, cookie: str) -> Schema:
        return document(resources, server=server, cookie=cookie, version="1", interface=interface)

    def current() -> Schema:
        server = url_for(address).removesuffix("/openapi.json")
        return make_document(server, current_app.config["SESSION_COOKIE_NAME"])

    @routes.get("/openapi.json")
    @rule("anyone")
    def get_openapi() -> Response:
        """Return the OpenAPI document."""
        return Response(json.dumps(current(), ensure_ascii=False), mimetype="application/json")

    @routes.get("/docs")
    @rule("anyone")
    def get_docs() -> str:
        """Show the OpenAPI document as a page."""
        found = current()
        heading = "HTTP API" if interface is OWN else interface.title
        return render_template(
            "braid/api.html", document=found, heading=heading, address=url_for(address), groups=list(_groups(found))
        )


def _groups(found: Schema) -> Iterator[tuple[Schema, list[Schema]]]:
    operations = [
        {**operation, "method": method.upper(), "path": path, "curl": _curl(found, method, path, operation)}
        for path, methods in found["paths"].items()
        for method, operation in methods.items()
    ]
    for tag in found["tags"]:
        yield (
            tag,
            [{**each, "fields": list(_fields(found, each))} for each in operations if tag["name"] in each["tags"]],
        )


def _fields(found: Schema, operation: Schema) -> Iterator[Schema]:
    """Yield name, place, type and description of every parameter and body field."""
    for parameter in operation["parameters"]:
        yield {**parameter, "type": _type(parameter["schema"], found)}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        seen: set[str] = set()
        for model in _alternatives(content["schema"], found):
            for name, schema in model["properties"].items():
                if name not in seen:
                    seen.add(name)
                    required = name in model.get("required", ())
                    description = schema.get("description", "")
                    kind = _type(schema, found)
                    yield {"name": name, "in": "body", "required": required, "description": description, "type": kind}


def _alternatives(schema: Schema, found: Schema) -> list[Schema]:
    resolved = _resolve(schema, found)
    if "properties" in resolved:
        return [resolved]
    return [_resolve(each, found) for each in resolved["oneOf"]]


def _resolve(schema: Schema, found: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    definition: Schema = found["components"]["schemas"][name] if name else schema
    return definition


def _type(schema: Schema, found: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each, found) for each in schema["anyOf"] if each != {"type": "null"})
    schema = _resolve(schema, found)
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'], found)}"
    return str(schema.get("type", "any"))


def _curl(found: Schema, method: str, path: str, operation: Schema) -> str:
    """Return a curl command that tries the operation."""
    server = request.host_url.rstrip("/") + found["servers"][0]["url"]
    for name in [each["name"] for each in operation["parameters"] if each["in"] == "path"]:
        path = path.replace("{" + name + "}", "1")
    parts = ["curl"] + ([] if method == "get" else ["-X", method.upper()])
    parts += [shlex.quote(server + path), '-H "Authorization: Bearer $BRAID_TOKEN"']
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        model = _alternatives(content["application/json"]["schema"], found)[0]
        example = json.dumps(_example(model, found), ensure_ascii=False)
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(example)}"]
    elif content:
        [model] = (_resolve(each["schema"], found) for each in content.values())
        parts += [f"-F file=@{model['properties']['file'].get('examples', ['report.pdf'])[0]}"]
    if ZIP in operation["responses"].get("200", {}).get("content", {}):
        parts += ["-o notes.zip"]
    return " ".join(parts)


def _example(model: Schema, found: Schema) -> dict[str, Any]:
    required = model.get("required", ())
    shown = {name: schema for name, schema in model["properties"].items() if name in required or "examples" in schema}
    if not shown:
        shown = dict(list(model["properties"].items())[:1])
    return {name: _value(schema, found) for name, schema in shown.items()}


def _value(schema: Schema, found: Schema) -> Any:
    if "examples" in schema:
        return schema["examples"][0]
    schema = _resolve(schema["anyOf"][0] if "anyOf" in schema else schema, found)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    return {"array": [], "boolean": True, "integer": 1, "number": 0.7, "object": {}}.get(schema.get("type", ""), "…")
