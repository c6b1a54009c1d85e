"""Open WebUI as its command starts it, asked by the interface that its pages use; Braid is its only connection."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from line import given, serve

STARTS_S = 300.0
address, key, model = given()
folder = tempfile.TemporaryDirectory()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


port = free_port()
SETTINGS = {
    "DATA_DIR": folder.name,
    "OPENAI_API_BASE_URL": address,
    "OPENAI_API_KEY": key,
    "WEBUI_AUTH": "False",
    "WEBUI_SECRET_KEY": "of the test",
    "ENABLE_OLLAMA_API": "False",
    "OFFLINE_MODE": "True",  # no version of its own, no models of other hubs
    "HF_HUB_OFFLINE": "1",
    "RAG_EMBEDDING_ENGINE": "openai",
}
command = [str(Path(sys.executable).with_name("open-webui")), "serve", "--host", "127.0.0.1", "--port", str(port)]
with Path(folder.name, "log").open("w") as log:
    server = subprocess.Popen(command, env={**os.environ, **SETTINGS}, cwd=folder.name, stdout=log, stderr=log)


def send(path: str, body: dict[str, Any] | None = None) -> Any:
    """The response of Open WebUI, to be read and closed."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers))
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error.code} {error.read().decode()}") from None


def read(path: str, body: dict[str, Any] | None = None) -> Any:
    with send(path, body) as response:
        return json.load(response)


def start() -> str:
    """Wait for it, and sign in as its only user."""
    until = time.monotonic() + STARTS_S
    while True:
        try:
            return str(read("/api/v1/auths/signin", {"email": "", "password": ""})["token"])
        except (OSError, RuntimeError):
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(Path(log.name).read_text()[-4000:]) from None
            time.sleep(0.5)


token = ""
token = start()
names = [each["id"] for each in read("/api/models")["data"]]
assert model in names, names


def links_of(parts: list[dict[str, Any]]) -> list[str]:
    """The links of the citations, of which its pages make cards."""
    return [each["url_citation"]["url"] for part in parts for each in part.get("annotations") or ()]


def whole(messages: list[Any]) -> dict[str, Any]:
    """The answer in one piece."""
    if is_task(messages):
        return title(messages)
    message = read("/api/chat/completions", {"model": model, "messages": messages})["choices"][0]["message"]
    return {"text": message["content"], "links": links_of([message])}


def ask(messages: list[Any]) -> dict[str, Any]:
    """The answer as a stream."""
    if is_task(messages):
        return title(messages)
    with send("/api/chat/completions", {"model": model, "messages": messages, "stream": True}) as response:
        deltas = list(deltas_of(response))
    return {"text": "".join(each.get("content") or "" for each in deltas), "links": links_of(deltas)}


def deltas_of(response: Any) -> Any:
    for line in response:
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if "error" in event:
                raise RuntimeError(str(event["error"]))
            yield from (choice["delta"] for choice in event.get("choices", ()))


def is_task(messages: list[Any]) -> bool:
    return isinstance(messages[-1]["content"], str) and messages[-1]["content"].startswith("### Task:")


def title(messages: list[Any]) -> dict[str, Any]:
    """The title that it asks for with words of its own."""
    talk = [
        {"role": "user", "content": "Which error does the printer show?"},
        {"role": "assistant", "content": "E-4711."},
    ]
    made = read("/api/v1/tasks/title/completions", {"model": model, "messages": talk, "chat_id": "none"})
    return {"text": made["choices"][0]["message"]["content"]}


def stop(messages: list[Any]) -> dict[str, Any]:
    """The first words of an answer that is not wanted any more."""
    with send("/api/chat/completions", {"model": model, "messages": messages, "stream": True}) as response:
        return {"text": next(text for delta in deltas_of(response) if (text := delta.get("content")))}


try:
    serve(ask=ask, whole=whole, stop=stop)
finally:
    server.terminate()
    server.wait()
