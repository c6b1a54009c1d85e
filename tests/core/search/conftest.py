"""A world for all tests of strategies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from braid.core.models.chat import chat_models
from tests.core.search.strategy_worlds import (
    World,
    filled_world,
    written,
)
from tests.model_server import model_server


@pytest.fixture(scope="module")
def running_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("strategies")
    with model_server(written) as server:
        yield from filled_world(folder, server, chat_models(server.settings(pause_s=0.0)))


@pytest.fixture
def world(running_world: World) -> World:
    server = running_world.server
    server.reply, server.delay_s, server.broken = written, 0.0, 0
    server.calls.clear()
    running_world.embeddings.batches.clear()
    return running_world
