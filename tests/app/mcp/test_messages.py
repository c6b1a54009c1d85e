"""A list of messages is answered one by one: none takes the answers of the others with it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from braid.app.mcp import messages
from braid.app.mcp.messages import with_messages

SCOPE = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}


def ask(*given: dict[str, Any], answer: Any = None) -> list[Any]:
    """What comes back for these messages, each of which is answered with its method unless ``answer`` does."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = json.loads((await receive())["body"])
        said = (answer or (lambda asked: {"id": asked.get("id"), "result": asked["method"]}))(message)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(said).encode()})

    sent, body = bytearray(), json.dumps(given).encode()

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(event: Any) -> None:
        sent.extend(event.get("body", b""))

    asyncio.run(with_messages(app)(SCOPE, receive, send))
    found: list[Any] = json.loads(bytes(sent))
    return found


def message(number: int, method: str = "ping", **others: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method} | others


def test_one_that_fails_leaves_the_others_their_answers() -> None:
    def answer(asked: Any) -> Any:
        if asked["method"] == "boom":
            raise RuntimeError("not for clients")
        return {"id": asked["id"], "result": {}}

    first, failed, last = ask(message(1), message(2, "boom"), message(3), answer=answer)
    assert (first, last) == ({"id": 1, "result": {}}, {"id": 3, "result": {}})
    assert (failed["id"], failed["error"]["message"]) == (2, "the server could not answer this message")


def test_what_the_head_of_the_request_refuses_has_the_id_of_each_message() -> None:
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Not Acceptable"}}
    heard = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    said = ask(message(1), heard, message(2), answer=lambda asked: refused)
    assert [each["id"] for each in said] == [1, 2]


def test_what_a_client_answers_is_no_error() -> None:
    client = {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "parse error"}}
    assert ask(client, message(2), answer=lambda asked: {"id": 2, "result": {}})[-1] == {"id": 2, "result": {}}


@pytest.mark.parametrize(("bound", "value"), [("MAX_ANSWERS_BYTES", 150), ("LAST_BEGINS_S", -1.0)])
def test_answers_that_hold_or_take_too_much_end_the_list(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    monkeypatch.setattr(messages, bound, value)
    said = ask(*(message(n) for n in range(4)), answer=lambda asked: {"id": asked["id"], "result": "x" * 80})
    assert [each["id"] for each in said] == [0, 1, 2, 3]
    refused = [each["id"] for each in said if "too much for one list" in each.get("error", {}).get("message", "")]
    assert refused == ([2, 3] if bound == "MAX_ANSWERS_BYTES" else [0, 1, 2, 3])
