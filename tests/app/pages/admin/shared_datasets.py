"""Shared datasets and passages for tests of the administrators' pages."""

from __future__ import annotations

from collections.abc import Callable

from flask.testing import FlaskClient

from braid.core.braid import Braid


def share(braid: Braid, put: Callable[..., str], *groups: str) -> None:
    braid.registry.add("Handbook", "shared_lab", allowed_groups=groups)
    braid.mirror_registry()
    put(-1, "handbook.txt", "valves are calibrated in spring")


def finds(client: FlaskClient) -> bool:
    """Whether the dataset is in the picker; what the picker shows and what a search finds must agree."""
    offered = "Handbook" in client.get("/search").text
    found = "handbook.txt" in client.get("/search?q=valves&d=-1&mode=keyword").text
    assert offered == found
    return found
