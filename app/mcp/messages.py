"""Messages of MCP clients before the package reads them: several in one body, and what is no message."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic_core import from_json
from starlette.responses import JSONResponse, Response

from braid.app.web.gate.request_bodies import ASGI
from braid.core.json_form import without_half_pairs

MAX_MESSAGES = 100
"""Messages in one body."""
MAX_ANSWERS_BYTES = 8 * 2**20
LAST_BEGINS_S = 30.0
"""What the answers to the messages of a body hold, and how long they take, before the next message is answered."""

logger = logging.getLogger(__name__)


def with_messages(app: ASGI) -> ASGI:
    """Return the app, which takes one message a request, for several in a list as well, as in the protocol's version
    2025-03-26. What is no message is refused in words, and so is a stream to listen on, which would say nothing.
    """

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode("latin-1")
        body = without_half_pairs(await _whole(receive))
        if scope["method"] == "GET":
            told = "there is no stream to listen on; send messages with POST"
            response: Response | None = JSONResponse(_error(None, told), 405, {"Allow": "POST"})
        elif version and version not in SUPPORTED_PROTOCOL_VERSIONS:
            told = f"MCP-Protocol-Version is {version[:40]!r}; send one of {', '.join(SUPPORTED_PROTOCOL_VERSIONS)}"
            response = JSONResponse(_error(None, told), 400)
        else:
            response = await _answer(app, scope, receive, body)
        await (response or app)(scope, _once(body, receive), send)

    return answer


async def _answer(app: ASGI, scope: Any, receive: Any, body: bytes) -> Response | None:
    """Return the answer to several messages, or to what is none; None for a message that the app answers."""
    try:
        given = from_json(body)
    except ValueError:  # of which the app says where it breaks
        return None
    if not isinstance(given, list):
        if (refusal := _refusal(given)) is None:
            return None
        return JSONResponse(refusal, 400 if refusal["error"]["code"] == INVALID_REQUEST else 200)
    if not 1 <= len(given) <= MAX_MESSAGES:
        return JSONResponse(_error(None, f"the list has {len(given)} messages; send 1 to {MAX_MESSAGES}"), 400)
    answers, size, until = list[bytes](), 0, time.monotonic() + LAST_BEGINS_S
    for each in given:
        if (refusal := _refusal(each, is_alone=False)) is None:
            if size > MAX_ANSWERS_BYTES or time.monotonic() > until:
                refusal = _error(each.get("id"), "the messages before it are too much for one list; send it in another")
            else:
                said = await _asked(app, scope, receive, each)
        if answer := said if refusal is None else json.dumps(refusal).encode():
            answers.append(answer)
            size += len(answer)
    said_all = b"[" + b",".join(answers) + b"]"
    return Response(said_all, media_type="application/json") if answers else Response(status_code=202)


def _refusal(given: Any, *, is_alone: bool = True) -> dict[str, Any] | None:
    """Return the error for what is no message, and for a cursor, of which none is given out; else None."""
    if not isinstance(given, dict):
        return _error(None, f"the message is {_shown(given)}; send an object with jsonrpc, id, method and params")
    method, params, number = given.get("method"), given.get("params"), given.get("id")
    if method is None and given.keys() & {"result", "error"}:  # what a client answers
        return None
    if "id" in given and (isinstance(number, bool) or not isinstance(number, str | int)):
        return _error(None, f"id is {_shown(number)}; give a text or a whole number, or none for a notification")
    if given.get("jsonrpc") != "2.0":
        return _error(number, f'jsonrpc is {_shown(given.get("jsonrpc"))}; give "2.0"')
    if not isinstance(method, str):
        return _error(number, f"method is {_shown(method)}; give a text such as tools/list")
    if not isinstance(params, dict | None):
        return _error(number, f"params is {_shown(params)}; give an object")
    if method == "initialize" and not is_alone:
        return _error(number, "initialize is in a list; send it alone")
    cursor = (params or {}).get("cursor")
    if method.endswith("/list") and cursor is not None and "id" in given:
        return _error(number, f"there is no cursor {_shown(cursor)}; lists come whole, so give none", INVALID_PARAMS)
    return None


def _error(number: str | int | None, message: str, code: int = INVALID_REQUEST) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _shown(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False)[:60]


async def _whole(receive: Any) -> bytes:
    message: dict[str, Any] = {"more_body": True}
    parts = bytearray()
    while message.get("more_body"):
        message = await receive()
        parts += message.get("body", b"")
    return bytes(parts)


def _once(body: bytes, after: Any) -> Any:
    """Return what gives the body as one message, and then what comes after it."""
    left = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return left.pop() if left else await after()

    return receive


async def _asked(app: ASGI, scope: Any, receive: Any, message: dict[str, Any]) -> bytes:
    """Return what the app answers to one message of several, under the message's id; nothing for a notification."""
    parts, number = bytearray(), message.get("id")

    async def send(event: Any) -> None:
        parts.extend(event.get("body", b""))

    try:
        await app(scope, _once(json.dumps(message).encode(), receive), send)
        if "id" not in message:
            return b""
        answer = from_json(bytes(parts)) if parts else None
        if isinstance(answer, dict) and answer.get("id") is None:  # refused by the head of the request
            return json.dumps(answer | {"id": number}).encode()
        return bytes(parts)
    except ValueError:  # words, also by the head of the request
        return json.dumps(_error(number, parts.decode(errors="replace"))).encode()
    except Exception:  # the others have been answered, and some have written
        logger.exception("a message of a list was not answered")
        return json.dumps(_error(number, "the server could not answer this message", INTERNAL_ERROR)).encode()
