"""A small real HTTP server that speaks the protocols of rerankers and records what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RerankServer:
    """Scores a document by the share of its words that are words of the query, and can be told to misbehave."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.status = 200
        self.delay_s = 0.0
        self.ended = threading.Event()
        self.results: list[dict[str, Any]] | None = None
        """What to answer instead of the scores by words."""
        self.body: bytes | None = None
        """What to answer instead of anything made of the request."""
        self.url = ""

    def answer(self, request: dict[str, Any], path: str) -> Any:
        """The scores, best first, as the real endpoints give them: Voyage's at /voyage, TEI's at /rerank."""
        wanted = set(request["query"].lower().split())
        scores = [share_of_words(wanted, text) for text in request.get("documents") or request["texts"]]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        if path == "/rerank":
            return [{"index": index, "score": scores[index]} for index in order]
        results = [{"index": index, "relevance_score": scores[index]} for index in order]
        if self.results is not None:
            results = self.results
        if path.startswith("/voyage"):
            return {"object": "list", "data": results, "model": request["model"], "usage": {"total_tokens": 1}}
        return {"id": "1", "results": results}


def share_of_words(wanted: set[str], text: str) -> float:
    words = text.lower().split()
    return sum(word in wanted for word in words) / len(words)


@contextmanager
def rerank_server() -> Iterator[RerankServer]:
    """A server at its ``url`` until the block ends."""
    state = RerankServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.paths.append(self.path)
            state.requests.append(body)
            state.keys.append(self.headers.get("Authorization", ""))
            state.ended.wait(state.delay_s)
            answer = state.answer(body, self.path) if state.status == 200 else {"message": "no credit left"}
            content = json.dumps(answer).encode() if state.body is None else state.body
            self.send_response(state.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):  # who asked may have gone
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
