"""Small models over real HTTP, with OpenAI's interface: one chats by a script, one embeds; both record what they were
sent.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from braid.core.models.chat import ModelSettings
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

Calls = list[tuple[str, dict[str, Any]]]
"""Calls of tools: each a name and its arguments."""
Reply = Callable[[Sequence[tuple[str, str]]], str | Calls]
"""From the messages, each a role and a text, to what the model says, or which tools it calls."""
REASONS = {401: "Incorrect API key provided", 429: "Rate limit reached", 500: "The server had an error"}


@dataclass(frozen=True)
class Call:
    """One request as it came in."""

    model: str
    temperature: float | None
    messages: tuple[tuple[str, str], ...]
    stream: bool
    key: str
    body: dict[str, Any] = field(repr=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """Of the messages, in order."""
        return tuple(role for role, _ in self.messages)


@dataclass(frozen=True)
class EmbeddingCall:
    """One request for vectors as it came in."""

    model: str
    input: Any
    key: str


@dataclass
class ModelServer:
    """A running server. ``reply``, ``statuses``, ``delay_s`` and ``pause_after`` may be changed between calls."""

    url: str
    reply: Reply
    delay_s: float = 0.0
    """Before the answer, and in a stream before each word."""
    statuses: list[int] = field(default_factory=list)
    """HTTP states of the next calls, used up one a call; 200 when there is none."""
    broken: int = 0
    """HTTP state of every call; 0 for none."""
    wants_own_temperature: bool = False
    """Whether a temperature is refused, as reasoning models do."""
    takes_tools: bool = True
    """Whether a request with tools is answered, and not refused."""
    models: tuple[str, ...] = ("search-model", "text-embedding-3-small")
    """What the server lists."""
    keys: list[str] = field(default_factory=list)
    """The key of each request for the list."""
    fails_after: int = 0
    """Words after which a stream says that it failed; 0 for one that does not."""
    unfinished: int = 0
    """Words after which a stream ends without its finish mark; 0 for one that ends as it should."""
    finish: str = "stop"
    """The mark at the end of a stream."""
    pause_after: int = 0
    """Words after which a stream waits for ``go_on``; 0 for one that does not."""
    go_on: threading.Event = field(default_factory=threading.Event, repr=False)
    calls: list[Call] = field(default_factory=list)
    embedding_calls: list[EmbeddingCall] = field(default_factory=list)
    embeddings: HashEmbeddings = field(default_factory=HashEmbeddings)
    """The model that embeds, whatever name it is asked by."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def settings(self, name: str = "search-model", **options: Any) -> ModelSettings:
        """What a role needs to ask this server."""
        options = {"api_key": "secret-key", "timeout_s": WAIT_S, "retries": 0, **options}
        return ModelSettings(f"openai:{name}", self.url, **options)

    def pause(self) -> None:
        """Wait for ``delay_s``, or until the server ends."""
        if self.delay_s:
            self.ended.wait(self.delay_s)

    def state(self) -> int:
        """HTTP state of this call."""
        with self.lock:
            return self.statuses.pop(0) if self.statuses else self.broken or 200


@contextmanager
def model_server(reply: Reply | str = "", *, ports: Sequence[int] = (0,)) -> Iterator[ModelServer]:
    """Serve on the first of these ports that is free until the block ends; 0 is any."""
    http = _listen(ports)
    answer: Reply = (lambda _: reply) if isinstance(reply, str) else reply
    server = ModelServer(f"http://127.0.0.1:{http.server_port}/v1", answer)
    http.model_server = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Ends the connections that clients keep with itself: the next one on the port is not this one."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for kept in list(self._open):
            with suppress(OSError):  # the client was faster
                kept.shutdown(socket.SHUT_RDWR)


def _listen(ports: Sequence[int]) -> _Server:
    for port in ports:
        with suppress(OSError):
            return _Server(port)
    raise AssertionError(f"none of the ports {ports} is free")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        key = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("x-api-key", "")
        with server.lock:
            server.keys.append(key)
        status = server.state() if self.path == "/v1/models" else 404
        if status == 200:
            self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in server.models]})
        else:
            self._send(status, {"error": {"message": f"{REASONS.get(status, 'no')} ({key})"}})

    def do_POST(self) -> None:
        server: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/embeddings":
            self._embed(server, body)
            return
        messages = tuple((message["role"], message["content"]) for message in body["messages"])
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        call = Call(body["model"], body.get("temperature"), messages, bool(body.get("stream")), key, body)
        with server.lock:
            server.calls.append(call)
        status = server.state()
        try:
            server.pause()
            if server.wants_own_temperature and call.temperature is not None:
                self._send(400, {"error": {"message": "Unsupported value: 'temperature'", "type": "error"}})
            elif status != 200:
                message = f"{REASONS.get(status, 'no')} ({key})"
                self._send(status, {"error": {"message": message, "type": "error", "code": str(status)}})
            elif body.get("tools") and not server.takes_tools:
                self._send(400, {"error": {"message": f"{call.model} does not support tools", "type": "api_error"}})
            elif call.stream:
                self._stream(server, call, str(server.reply(messages)))
            else:
                self._send(200, _completion(call, {"message": _said(server.reply(messages))}))
        except (BrokenPipeError, ConnectionResetError):  # the caller did not wait
            self.close_connection = True

    def _embed(self, server: ModelServer, body: dict[str, Any]) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with server.lock:
            server.embedding_calls.append(EmbeddingCall(body["model"], body["input"], key))
        if (status := server.state()) != 200:
            self._send(status, {"error": {"message": f"{REASONS.get(status, 'no')} ({key})", "type": "error"}})
            return
        vectors = server.embeddings.embed_documents(body["input"])
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        self._send(200, {"object": "list", "model": body["model"], "data": data, "usage": usage})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, server: ModelServer, call: Call, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        words = text.splitlines(keepends=True) if "\n" in text else [f"{word} " for word in text.split(" ")]
        for number, word in enumerate(words[: server.unfinished or None], start=1):
            self._event(_completion(call, {"delta": _said(word)}, kind="chat.completion.chunk"))
            if number == server.fails_after:
                self._event({"error": {"message": "The server had an error", "type": "server_error"}})
                self.close_connection = True
                return
            server.pause()
            if number == server.pause_after:
                assert server.go_on.wait(WAIT_S), "nobody lets the stream go on"
        if server.unfinished:
            self.close_connection = True
            return
        end = {"delta": {}, "finish_reason": server.finish}
        self._event(_completion(call, end, kind="chat.completion.chunk"))
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, value: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked stands in ``calls``."""


def _said(reply: str | Calls) -> dict[str, Any]:
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    calls = [
        {"id": f"call-{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(reply)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _completion(call: Call, choice: dict[str, Any], *, kind: str = "chat.completion") -> dict[str, Any]:
    finish = {"finish_reason": "stop"} if "message" in choice else {"finish_reason": None}
    return {
        "id": "call-1",
        "object": kind,
        "created": 1,
        "model": call.model,
        "choices": [{"index": 0, **finish, **choice}],
        **({"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}} if "message" in choice else {}),
    }
