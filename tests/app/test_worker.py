"""A worker serves no page, and is of no use outside of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from braid.app.worker import TOLD, told_alone, work
from braid.config.settings import Settings
from braid.core.errors import InvalidInputError


async def everything(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("here")(scope, receive, send)


async def test_it_answers_what_tells_of_its_health_alone() -> None:
    transport = httpx.ASGITransport(told_alone(everything))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in TOLD:
            assert (await client.get(path)).text == "here"
        for path in ("/", "/login", "/api/v1/search", "/healthz/", "/metrics/x"):
            assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize("settings", [{}, {"milvus_url": "http://localhost:1"}])
def test_one_machine_needs_no_worker(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="`serve` does everything"):
        work(Settings(data_dir=tmp_path / "data", **settings), port=None)  # type: ignore[arg-type]
    assert not (tmp_path / "data").exists()
