"""Prints, a line each, what users and programs may name: ``python docs/surfaces.py``.

These are the routes, the API's operations, MCP's tools, the commands with their options, the settings, and the public
names with the parameters of those that can be called. Two checkouts are compared by ``diff``.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import click
from flask import Flask

import braid
from braid.app.cli.root import cli
from braid.app.factory import create_app, routes_of
from braid.app.mcp.server import make_server
from braid.config.settings import Settings


def routes(app: Flask) -> Iterator[str]:
    """Every method and path that the app answers."""
    methods = {(rule.endpoint, rule.rule): sorted(rule.methods or ()) for rule in app.url_map.iter_rules()}
    for endpoint, rule in routes_of(app):
        yield from (f"route {method} {rule}" for method in methods[endpoint, rule] if method not in ("HEAD", "OPTIONS"))


def operations(app: Flask) -> Iterator[str]:
    """The API's operations, with the names of what they take."""
    document: dict[str, Any] = app.test_client().get("/api/v1/openapi.json").json or {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = sorted(each["name"] for each in operation.get("parameters", ()) if "name" in each)
            yield f"operation {operation['operationId']}: {method.upper()} {path} {' '.join(parameters)}".rstrip()
    for name, schema in document["components"]["schemas"].items():
        yield f"schema {name}: {' '.join(sorted(schema.get('properties', ())))}"


def tools() -> Iterator[str]:
    """MCP's tools with their parameters."""
    for tool in asyncio.run(make_server(lambda context: None, read_only=False).list_tools()):  # type: ignore[arg-type,return-value]
        yield f"tool {tool.name}: {' '.join(sorted(tool.input_schema['properties']))}"


def commands(command: click.Command, name: str = "braid") -> Iterator[str]:
    """The commands with their options and arguments."""
    if isinstance(command, click.Group):
        for inner, each in command.commands.items():
            yield from commands(each, f"{name} {inner}")
        return
    yield f"command {name}: {' '.join(sorted(option for each in command.params for option in each.opts))}"


def names() -> Iterator[str]:
    """What is in ``braid``: functions with their parameters, classes with their public members."""
    for name in braid.__all__:
        found = getattr(braid, name)
        members = sorted(each for each in dir(found) if not each.startswith("_")) if inspect.isclass(found) else []
        try:
            parameters = " ".join(inspect.signature(found).parameters)
        except (TypeError, ValueError):
            parameters = "…"
        yield f"name {name}({parameters}) {' '.join(members)}".rstrip()


def main() -> None:
    """Print them all."""
    with tempfile.TemporaryDirectory() as folder, braid.Braid(folder, must_own=True) as opened:
        app = create_app(Settings(), opened)
        found = [*routes(app), *operations(app), *tools(), *commands(cli), *names()]
    print(*sorted({*found, *(f"setting {name}" for name in Settings.__dataclass_fields__)}), sep="\n")


if __name__ == "__main__":
    main()
