"""The API does what its document says, to requests made of the document, right and wrong ones, by schemathesis.

A longer run by hand, against a server: see docs/api.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import add_user, bearer, make_app, site_of, visited

LONG_S = 60
"""How long all operations of an interface are asked in the long form; in the short one as many cases as there are."""
CASES = 2
"""Random ones of each kind an operation, beside those that go along the borders of the document."""


@pytest.fixture
def app(braid: Braid) -> Flask:
    """An administrator and ann, each with a dataset, and a shared one; nobody is held up by limits."""
    made = make_app(braid, Settings(api_rate_limit="100000/second"))
    for account in (site_of(made).accounts.all()[0], add_user(made, "ann")):
        braid.ledger.add_dataset(account.id, "Notes")
        site_of(made).conversations.create(account.id, "Talk")
    braid.registry.add("Handbook", "shared_main_db")
    return made


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    """Where the app answers."""
    with visited(app) as url:
        yield url.rstrip("/")


@pytest.mark.parametrize(
    ("name", "interface", "operation"),
    [
        ("admin", "/api/v1", "POST /search"),
        ("ann", "/api/v1", "POST /datasets"),
        ("ann", "/v1", "POST /chat/completions"),
        ("ann", "/dify", "POST /retrieval"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_an_interface_does_what_its_document_says(
    app: Flask, address: str, name: str, interface: str, operation: str, is_long: bool
) -> None:
    here = site_of(app)
    account = here.accounts.all()[0] if name == "admin" else here.accounts.named("ann")
    assert account is not None
    scopes = ("read", "write", "admin") if account.is_admin else ("read", "write")
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            **({"max-time": LONG_S} if is_long else {}),
            "headers": bearer(app, account, *scopes),
            "generation": {"max-examples": CASES * 10 if is_long else CASES},
            "phases": {"stateful": {"enabled": False}},
            "checks": {
                # whatever has no route below /v1 is answered in OpenAI's form, so that it has one for every method
                "allow_header_conformance": {"enabled": interface != "/v1"},
                # 400 is for a value of the right form that cannot be used; one of a wrong form is answered with 422;
                # 412 is for an ETag that is not the document's
                "positive_data_acceptance": {
                    "expected-statuses": ["2xx", "3xx", "400", "401", "403", "404", "409", "412", "429"]
                },
                # 413 is for a form with more parts than werkzeug reads
                "negative_data_rejection": {
                    "expected-statuses": ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "429"]
                },
            },
        }
    )
    schema = schemathesis.openapi.from_url(f"{address}{interface}/openapi.json", config=config)
    if not is_long:
        schema = schema.include(path=operation.partition(" ")[2])
    happened = list(from_schema(schema).execute())
    assert list(_problems(happened)) == []
    tested = {each.label for each in happened if isinstance(each, events.ScenarioFinished)}
    assert operation in tested
    assert here.accounts.get(account.id).disabled is False


def _problems(happened: list[Any]) -> Iterator[str]:
    for each in happened:
        if isinstance(each, events.NonFatalError):
            yield f"{each.label}: {each.value!r}"
        if isinstance(each, events.FatalError):
            yield repr(each.exception)
        if isinstance(each, events.ScenarioFinished):
            for case_id, checks in each.recorder.checks.items():
                for check in checks:
                    if check.failure_info is not None:
                        yield f"{each.label} {check.name} {check.failure_info.failure.message} {case_id}"
