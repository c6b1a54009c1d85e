"""Errors as pages, and what of them and of queries is logged."""

from __future__ import annotations

import errno
import logging

import pytest
from flask.testing import FlaskClient
from sqlalchemy.exc import OperationalError

from braid.app.factory import create_app
from braid.app.site import EXTENSION, Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.errors import ClosedError
from tests.app.pages.every.shown import results_of
from tests.web import fresh_app


def test_unexpected_error_is_a_page_with_an_id_and_keeps_the_text_out_of_the_log(
    library: Braid, caplog: pytest.LogCaptureFixture
) -> None:
    app = fresh_app(library)

    @app.get("/boom")
    def boom() -> str:
        raise ValueError("a sentence from a document")

    with caplog.at_level(logging.INFO):
        response = app.test_client().get("/boom?q=private+question")
    assert response.status_code == 500
    assert response.headers["X-Request-ID"] in response.text
    assert response.headers["X-Request-ID"] in caplog.text
    assert "type=ValueError" in caplog.text
    assert "sentence" not in caplog.text + response.text
    assert "private" not in caplog.text


@pytest.mark.parametrize(
    ("outage", "told"),
    [
        (
            OperationalError("insert", {"text": "a sentence"}, Exception("server closed the connection")),
            "the database does not answer; try again in a moment",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "a sentence"),
            "the disk of the server is full; tell the administrator",
        ),
        (ClosedError("this Braid is closed"), "Braid is being stopped; try again in a moment"),
    ],
)
def test_an_outage_of_the_store_is_named_and_may_be_over_soon(library: Braid, outage: Exception, told: str) -> None:
    app = fresh_app(library)

    @app.get("/boom")
    def boom() -> str:
        raise outage

    response = app.test_client().get("/boom", headers={"Accept": "application/json"})
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert response.get_json()["detail"] == told
    assert "sentence" not in response.text


def test_query_is_not_logged(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        results_of(client, "unmentionable")
    assert "event=request" in caplog.text
    assert "unmentionable" not in caplog.text


@pytest.mark.one_machine
def test_without_an_open_directory_the_app_opens_that_of_the_settings(braid: Braid) -> None:
    app = create_app(Settings(data_dir=braid.data_dir))
    here: Site = app.extensions[EXTENSION]
    try:
        assert here.braid.data_dir == braid.data_dir
        assert not here.braid.is_owner, "the fixture is"
    finally:
        here.close()
        here.braid.close()


def test_programs_get_problem_details(client: FlaskClient) -> None:
    problem = client.get("/nothing.json")
    assert problem.status_code == 404
    assert problem.mimetype == "application/problem+json"
    assert problem.json is not None
    assert problem.json["status"] == 404
    assert problem.json["request_id"] == problem.headers["X-Request-ID"]
