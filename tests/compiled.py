"""What every app of the tests would compile again: its templates, routes and statements take longer than most pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any, ClassVar

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from werkzeug.routing import Map, Rule, RuleFactory


class Templates(BytecodeCache):
    """Templates that one app has compiled, for the others that cut white space as it does."""

    def __init__(self) -> None:
        self._codes: dict[tuple[object, ...], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(self._key(bucket))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[self._key(bucket)] = bucket.code

    def _key(self, bucket: Bucket) -> tuple[object, ...]:
        environment = bucket.environment
        return bucket.key, bucket.checksum, environment.trim_blocks, environment.lstrip_blocks


class Routes:
    """What werkzeug makes of a route, by all that it makes it of; its builders are bound to their own rule."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], tuple[Any, ...]] = {}
        self._compile: Callable[[Rule], None] = Rule.compile

    def compile(self, rule: Rule) -> None:
        """Do what `Rule.compile` does."""
        assert rule.map is not None
        ways = rule.merge_slashes, rule.map.host_matching, *rule.map.converters.values()
        key = rule.rule, rule.subdomain, rule.host, repr(rule.defaults), *ways
        if key not in self._made:
            self._compile(rule)
            builders = rule._build.__func__, rule._build_unknown.__func__  # type: ignore[attr-defined]
            self._made[key] = rule._parts, rule._trace, rule._converters, rule.arguments, *builders
        rule._parts, rule._trace, rule._converters, arguments, build, build_unknown = self._made[key]
        rule.arguments = {*arguments}
        rule._build, rule._build_unknown = MethodType(build, rule), MethodType(build_unknown, rule)


class Route(RuleFactory):
    """What Flask gives werkzeug to make a route of."""

    provide_automatic_options = False

    def __init__(self, path: str, **options: Any) -> None:
        self._path, self._options = path, options

    @property
    def key(self) -> tuple[object, ...]:
        """All that the route is made of."""
        return self._path, repr(self._options), self.provide_automatic_options

    def get_rules(self, map: Map) -> Iterator[Rule]:
        """Yield the rule that Flask would have made at once."""
        made = Rule(self._path, **self._options)
        made.provide_automatic_options = self.provide_automatic_options  # type: ignore[attr-defined]
        yield made


class RouteMap:
    """The routes of an app. Apps with the same ones share what werkzeug makes of them, when it is asked for."""

    __slots__ = "_host_matching", "_made", "_routes", "converters"  # nothing else is set that would not be heeded
    shared: ClassVar[dict[tuple[object, ...], Map]] = {}

    def __init__(self, host_matching: bool) -> None:
        self._host_matching = host_matching
        self.converters = {**Map.default_converters}
        self._routes: list[Route] = []
        self._made: Map | None = None

    def add(self, route: Route) -> None:
        """Add one more; a map that others have stays as it is."""
        self._routes.append(route)
        self._made = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            key = self._host_matching, *self.converters.items(), *(route.key for route in self._routes)
            if key not in self.shared:
                made = Map(self._routes, converters=self.converters, host_matching=self._host_matching)
                made.update()
                self.shared[key] = made
            self._made = self.shared[key]
        return getattr(self._made, name)


STATEMENTS: dict[Any, Any] = {}
"""What one ledger in SQLite has compiled, for the others."""


def share_statements(engine: Engine) -> None:
    """Let the engine of a ledger in SQLite take the statements that another one has compiled."""
    engine.update_execution_options(compiled_cache=STATEMENTS)


@contextmanager
def compiled_once(templates: BytecodeCache | None = None) -> Iterator[None]:
    """Let all apps that are made until the block ends share what they compile."""
    routes = Routes()
    with pytest.MonkeyPatch.context() as patch:
        # a statement is found by its dialect, too, of which every engine has its own
        patch.setattr(SQLiteDialect_pysqlite, "__hash__", lambda dialect: hash(type(dialect)))
        patch.setattr(SQLiteDialect_pysqlite, "__eq__", lambda dialect, other: type(dialect) is type(other))
        patch.setattr(Rule, "compile", lambda rule: routes.compile(rule))
        patch.setattr(Flask, "url_rule_class", Route)
        patch.setattr(Flask, "url_map_class", RouteMap)
        patch.setattr(Flask, "jinja_options", {**Flask.jinja_options, "bytecode_cache": templates or Templates()})
        yield
