"""What the files of deploy/ name must be there: settings, commands, options, images with a version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import click

from braid.app.cli.root import cli
from braid.config.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VERSION = re.compile(r"v?\d+\.\d+(\.\d+)?([-.\w]*)|RELEASE\.\d{4}-\d\d-\d\dT[\d-]+Z")


def check_settings(variables: Iterable[str]) -> None:
    """Fail for a variable BRAID_… that is no setting; others are not Braid's."""
    known = {f"BRAID_{setting.name.upper()}" for setting in fields(Settings)}
    assert {name for name in variables if name.startswith("BRAID_")} - known == set()


def check_values(environment: dict[str, str]) -> None:
    """Fail for values that Braid refuses."""
    load_settings({name: value for name, value in environment.items() if name.startswith("BRAID_")})


def check_command(words: Sequence[str]) -> None:
    """Fail for words after ``braid`` that the command line does not take."""
    command = cli.commands[words[0]]
    with click.Context(command, info_name=words[0]) as context:
        command.make_parser(context).parse_args(list(words[1:]))


def check_image(image: str) -> None:
    """Fail for an image without a version, or with the name of a registry's host."""
    name, _, tag = image.partition(":")
    first = name.split("/")[0]
    assert "." not in first, f"{image} names a host"
    assert name.count("/") <= 1, image
    assert VERSION.fullmatch(tag), f"{image} has no version"
