"""The clients of `benchmarks.strain`, in a process of their own, and the slow chat model that answers some of them.

The kind and where the server is come by the command line; they go on until standard input ends, and then say what they
were answered.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.model_server import model_server

WORDS, WORD_S = 40, 1.0
ANSWER = "The valve is **blue** [1]. " + " ".join(f"word{number}" for number in range(WORDS))
DRIP_S = 2.0
REFUSED_S = 0.5
"""Pause after 429 and 503, which say that one should come later."""
FORM_FIELDS = 180_000
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Plan:
    """Where the server is, and what its users have."""

    port: int
    users: list[tuple[str, int]]
    """Key and dataset of each. The first one has the passages of the dearest requests, and no chat model."""
    chunk_id: str

    def post(self, path: str, body: bytes, kind: str = "application/json", more: str = "", size: int = 0) -> bytes:
        """Return a request whole, or with a part of ``size`` declared bytes."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {kind}\r\n{more}"
            f"Content-Length: {size or len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def one_of_four(self, number: int) -> tuple[str, int]:
        """Return key and dataset of one of the other users."""
        return self.users[1:][number % 4]

    def call(self, key: str, path: str, body: Any, accept: str = "application/json") -> bytes:
        """Return a request of the API."""
        return self.post(path, json.dumps(body).encode(), more=f"Authorization: Bearer {key}\r\nAccept: {accept}\r\n")


Make = Callable[[int], bytes]


def uploads(plan: Plan) -> Make:
    """Uploads of 50 MB that send a byte every two seconds."""
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'

    def make(number: int) -> bytes:
        key, dataset = plan.one_of_four(number)
        path, more = f"/api/v1/datasets/{dataset}/documents", f"Authorization: Bearer {key}\r\n"
        return plan.post(path, part, "multipart/form-data; boundary=x", more, size=50_000_000)

    return make


def streams(plan: Plan) -> Make:
    """Questions whose answers the model takes forty seconds to write."""
    body = {"message": "Which valve is blue?"}
    return lambda number: plan.call(plan.one_of_four(number)[0], "/api/v1/chat", body, "text/event-stream")


def explain(plan: Plan) -> Make:
    """Why a passage is found by 600 words, by one user."""
    body = {"query": "printer tray " * 300, "chunk_id": plan.chunk_id, "dataset_ids": [plan.users[0][1]]}
    return lambda _: plan.call(plan.users[0][0], "/api/v1/explain", body)


def thousand(plan: Plan) -> Make:
    """Searches for a thousand passages, by one user."""
    body = {"query": "printer tray valve", "dataset_ids": [plan.users[0][1]], "top_k": 1000}
    return lambda _: plan.call(plan.users[0][0], "/api/v1/search", body)


def chats(plan: Plan) -> Make:
    """Answers without a model, quoted from a thousand passages, by one user."""
    body = {"message": "What about the printer?", "dataset_ids": [plan.users[0][1]], "top_k": 1000}
    return lambda _: plan.call(plan.users[0][0], "/api/v1/chat", body)


def forms(plan: Plan) -> Make:
    """Forms of 180,000 fields to the sign-in page, by strangers."""
    request = plan.post("/login", b"&".join(b"a%d=1" % number for number in range(FORM_FIELDS)), FORM)
    return lambda _: request


def sign_ins(plan: Plan) -> Make:
    """Wrong passwords of wrong names, each from an address of its own."""
    with httpx.Client(base_url=f"http://127.0.0.1:{plan.port}") as client:
        token = client.get("/login").text.partition('name="csrf_token" value="')[2].partition('"')[0]
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())

    def make(number: int) -> bytes:
        address = f"203.0.{random.randrange(256)}.{random.randrange(256)}"
        more = f"Cookie: {cookie}\r\nX-Forwarded-For: {address}\r\n"
        name = f"nobody{number}x{random.randrange(10**9)}"
        return plan.post("/login", f"csrf_token={token}&name={name}&password=wrong-wrong".encode(), FORM, more)

    return make


def exchange(port: int, sent: bytes, drip: bytes, ended: threading.Event) -> str:
    """Send a request, and a byte whenever nothing has come for two seconds; return the status of the answer."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
        opened.sendall(sent)
        opened.settimeout(DRIP_S)
        while not ended.is_set():
            try:
                piece = opened.recv(2**20)
            except TimeoutError:
                opened.sendall(drip)
                continue
            if not piece:
                break
            got = got or piece[:32]
    return got.split(b" ", 2)[1].decode() if got else "no answer yet" if ended.is_set() else "closed"


def go_on(port: int, make: Make, number: int, drip: bytes, ended: threading.Event, answers: Counter[str]) -> None:
    """Send one request after another."""
    while not ended.is_set():
        try:
            status = exchange(port, make(number), drip, ended)
        except OSError as error:
            status = type(error).__name__
        answers[status] += 1
        if status in ("429", "503"):
            ended.wait(REFUSED_S)


def main() -> None:
    """Serve the model, or be the clients of one kind: ``model``, or ``KIND COUNT PLAN``."""
    if sys.argv[1] == "model":
        with model_server(ANSWER) as model:
            model.delay_s = WORD_S
            print(model.url, flush=True)
            sys.stdin.read()
        return
    kind, count, given = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    plan = Plan(given["port"], [(key, dataset) for key, dataset in given["users"]], given["chunk_id"])
    make: Make = globals()[kind](plan)
    ended, answers, drip = threading.Event(), Counter[str](), b"x" if kind == "uploads" else b""
    for number in range(count):
        work = (plan.port, make, number, drip, ended, answers)
        threading.Thread(target=go_on, args=work, daemon=True).start()
    print("begun", flush=True)
    sys.stdin.read()
    ended.set()
    time.sleep(DRIP_S + 0.5)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
