"""What is sent to a dataset, and what its page shows then."""

from __future__ import annotations

import re

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.core.types import Dataset
from tests.web import csrf_token
from tests.worlds import eventually


def upload(client: FlaskClient, dataset: Dataset, name: str, content: bytes, **more: object) -> TestResponse:
    """Send a file as the page's script does."""
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    query = {"name": name, **more}
    address = f"/datasets/{dataset.id}/files"
    return client.post(address, data=content, query_string=query, headers=headers, mimetype="application/octet-stream")


def text_of(client: FlaskClient, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_data(as_text=True)


def settled(client: FlaskClient, dataset: Dataset) -> str:
    """The list of documents when nothing is under way any more."""

    def still() -> str:
        page = text_of(client, f"/datasets/{dataset.id}/live")
        return "" if 'data-busy="1"' in page else page

    return eventually(still, pause_s=0.1)


def rows(page: str) -> dict[str, str]:
    """Name → stage, of the list."""
    found = re.findall(r'<tr id="[^"]+" data-stage="(\w+)">.*?class="grow">\s*(.*?)</th>', page, re.S)
    names = ((stage, re.search(r">([^<]+)</a>", text) or re.match(r"([^<\n]+)", text)) for stage, text in found)
    return {name[1].strip(): stage for stage, name in names if name}
