"""Pages with a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.model_server import ModelServer, model_server
from tests.web import make_app, sign_in


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server("They are fused by rank [1].") as server:
        yield server


@pytest.fixture
def model_client(library: Braid, model: ModelServer) -> FlaskClient:
    """With a model that writes the answers."""
    settings = replace(
        Settings(), summary_model="openai:writer", summary_model_base_url=model.url, summary_model_api_key="k"
    )
    return sign_in(make_app(library, settings))
