"""The manual has each command and option, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from braid.app.cli.root import cli
from tests.app.cli.processes import REPOSITORY

MANUAL = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield path, command


def section(name: str) -> str:
    parts = re.split(r"^## (.+)$", MANUAL, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name]


@pytest.mark.parametrize(("path", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in commands()])
def test_every_command_and_option_is_in_the_manual_with_an_example(
    path: tuple[str, ...], command: click.Command
) -> None:
    text = section(path[0])
    assert f"python -m app {' '.join(path)}" in text
    if path in (("explain",), ("chat",)):
        assert "[search](#search)" in text
        text += section("search")
    if len(path) > 1:
        table = text[text.index(f"| `{' '.join(path)}` option") :]
        text = table[: table.index("\n\n")]
    documented = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
    options = {name for option in command.params if isinstance(option, click.Option) for name in option.opts}
    assert options - documented == {"--data-dir", "--new-site"}, "which the manual has at its head"


def test_the_manual_has_no_options_that_do_not_exist() -> None:
    known = {name for _, command in commands() for option in command.params for name in option.opts}
    assert set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", MANUAL)) - known == {"--help"}


def test_defaults_in_help_do_not_differ_between_commands() -> None:
    helps: dict[str, set[str]] = {}
    for path, command in commands():
        if path[0] in ("search", "explain", "eval"):
            for option in command.params:
                if isinstance(option, click.Option) and option.name != "as_json":
                    helps.setdefault(str(option.name), set()).add(str(option.help))
    assert {name: texts for name, texts in helps.items() if len(texts) > 1} == {}
