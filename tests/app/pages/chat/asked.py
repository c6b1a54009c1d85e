"""Questions to the chat's pages, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore, StoredMessage
from tests.web import csrf_token

Put = Callable[..., str]


STREAM = {"Accept": "text/event-stream"}


QUESTION = "How are rankings fused?"


def ask(client: FlaskClient, text: str = QUESTION, path: str = "/chat/messages", **fields: Any) -> TestResponse:
    """Ask as the page's script does."""
    fields = {"text": text, "d": ["1"], **fields}
    return client.post(path, data=fields, headers={**STREAM, "X-CSRFToken": csrf_token(client)}, buffered=True)


def events(response: TestResponse) -> list[tuple[str, dict[str, Any]]]:
    """Kind and values of each event."""
    return parsed(response.get_data(as_text=True))


def parsed(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, json.loads(values)) for kind, values in re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)]


def last(response: TestResponse, kind: str = "answer") -> dict[str, Any]:
    found = [values for name, values in events(response) if name == kind]
    assert found, events(response)
    return found[-1]


def stored(braid: Braid, conversation_id: int = 1, user_id: int = 1) -> list[StoredMessage]:
    return ConversationStore(braid.ledger, braid.registry).messages(user_id, conversation_id)


def post(client: FlaskClient, path: str, **fields: Any) -> TestResponse:
    """Submit a form as a browser without scripts does."""
    headers = {"Accept": "text/html"}
    return client.post(path, data={**fields, "csrf_token": csrf_token(client)}, headers=headers)


def checked(page: str, *names: str) -> list[str]:
    """Values of the ticked boxes and radios of these names, in the order of the page."""
    inputs = re.findall(r'<input type="(?:radio|checkbox)"[^>]*name="(\w+)" value="([^"]+)" checked', page)
    return [value for name, value in inputs if name in names]
