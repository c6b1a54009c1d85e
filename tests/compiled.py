"""What every app of the tests would compile again: its templates, routes and statements take longer than most pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from werkzeug.routing import Rule


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
        patch.setattr(Flask, "jinja_options", {**Flask.jinja_options, "bytecode_cache": templates or Templates()})
        yield
