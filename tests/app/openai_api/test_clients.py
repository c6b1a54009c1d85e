"""Clients that people have, against a running server: each as its package is, in an environment of its own.

What each is asked: a first question, a follow-up, a question after a picture, a title, a citation's link, a stop and an
error. Those that are installed beside Braid are in `make test`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.model_server import ModelServer, model_server
from tests.modes import mostly_long
from tests.web import add_user, bearer, make_app, serving, sign_in
from tests.worlds import WAIT_S, document, eventually

CLIENTS = Path(__file__).with_name("clients")
PRINTER = "The printer shows error E-4711 when the tray is empty."
ANSWER = "The tray is empty"
FIRST = {"role": "user", "content": "Which error does the printer show?"}
SAID = {"role": "assistant", "content": "Error E-4711 [^1].\n\n[^1]: [Manual](http://127.0.0.1/documents/passage/a)"}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
PICTURE = {
    "role": "user",
    "content": [
        {"type": "text", "text": "Which printer is this?"},
        {"type": "image_url", "image_url": {"url": PIXEL}},
    ],
}
TASK = {
    "role": "user",
    "content": '### Task:\nGenerate a concise, 3-5 word title.\n### Output:\nJSON format: { "title": "your title" }\n'
    "### Chat History:\n<chat_history>\nUSER: Which error does the printer show?\nASSISTANT: E-4711.\n</chat_history>",
}


INSTALL_S = 1_200


@dataclass(frozen=True)
class Package:
    """A client: its script, and what is installed for it; nothing where it is installed beside Braid."""

    script: str
    installs: str = ""
    without: tuple[str, ...] = ()
    """What of its requirements is not installed: models and readers of files of its own, gigabytes."""
    links: bool = True
    """Whether the client gives programs the links of citations apart from the text."""
    pictures: bool = True
    """Whether its messages may have pictures."""


PACKAGES = (
    Package("openai_package"),
    Package("langchain_package"),
    Package("agents_package", "openai-agents==0.24.0"),
    Package("llm_package", "llm==0.36", links=False, pictures=False),
    Package(
        "open_webui_package",
        "open-webui==0.12.4",
        without=(
            *("accelerate", "einops", "faster-whisper", "opencv-python-headless", "opensearch-py", "rapidocr"),
            *("sentence-transformers", "sentencepiece", "soundfile", "transformers"),
        ),
    ),
)


@dataclass
class Town:
    """A running server with a model and a manual."""

    app: Flask
    address: str
    key: str
    model: ModelServer


@pytest.fixture(scope="module")
def town(shelf: Braid) -> Iterator[Town]:
    with model_server() as model:
        roles: dict[str, Any] = {
            f"{role}_model{part}": value
            for role in ("search", "summary")
            for part, value in (("", "openai:search-model"), ("_base_url", model.url), ("_api_key", "secret-key"))
        }
        app = make_app(shelf, Settings(**roles, model_retries=0, api_rate_limit="100000/second"))
        ann = add_user(app, "ann")
        manual = shelf.ledger.add_dataset(ann.id, "Manual").id
        shelf.ledger.put_document(manual, document("printer.md", PRINTER, title="Manual"))
        assert shelf.indexer.wait(WAIT_S)
        with serving(app) as address:
            yield Town(app, address, bearer(app, ann, "read")["Authorization"].removeprefix("Bearer "), model)


class Client:
    """A client that runs, and does what it is told."""

    def __init__(self, python: str, script: Path, *arguments: str) -> None:
        command = [python, str(script), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.verbs: list[str] = self._read()["verbs"]

    def does(self, verb: str, *messages: dict[str, Any]) -> dict[str, Any]:
        """What it makes of a conversation."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"verb": verb, "messages": messages}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended with {self._process.wait(WAIT_S)}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Let it end, with what it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


def python_of(package: Package, folder: Path) -> str:
    """The Python that has the package, which is installed if Braid's own does not have it."""
    if not package.installs:
        return sys.executable
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=WAIT_S)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--prefer-binary", "--no-compile"]
    if not package.without:
        subprocess.run([*pip, package.installs], check=True, timeout=INSTALL_S)
        return python
    subprocess.run([*pip, "--no-deps", package.installs], check=True, timeout=INSTALL_S)
    name = package.installs.partition("=")[0]
    code = f"import importlib.metadata as installed; print(*installed.requires({name!r}), sep='\\n')"
    listed = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, timeout=WAIT_S)
    asked = [line for line in listed.stdout.splitlines() if "extra ==" not in line]
    needed = [line for line in asked if line.partition("=")[0] not in package.without]
    subprocess.run([*pip, *needed], check=True, timeout=INSTALL_S)
    return python


def says(messages: Sequence[tuple[str, str]]) -> str:
    """What the model says: a query, a title, or an answer with the mark that the prompt has."""
    prompt = "\n".join(text for _, text in messages)
    if "### Task:" in prompt:
        return '{"title": "Printer error"}'
    if "<passage-" not in prompt:
        return "Which error does the printer show?"
    mark = "[" + prompt.partition("its passage, one of [")[2].partition("]")[0] + "]" if "one of [" in prompt else ""
    return f"{ANSWER} {mark}. argv[1] stays."


@pytest.mark.timeout(2 * INSTALL_S)
@pytest.mark.parametrize("package", mostly_long(PACKAGES, short=2), ids=lambda package: package.script)
def test_a_client_asks_and_goes_on_and_stops_and_hears_of_errors(town: Town, package: Package, tmp_path: Path) -> None:
    town.model.reply, town.model.delay_s, town.model.broken = says, 0.0, 0
    python = python_of(package, tmp_path / "environment")
    client = Client(python, CLIENTS / f"{package.script}.py", f"{town.address}/v1", town.key, "braid:all")
    try:
        for verb in ("ask", "whole"):
            check_answers(town, client, package, verb)
        check_stop(town, client)
        town.model.reply, town.model.delay_s, town.model.broken = says, 0.0, 500
        for verb in ("ask", "whole"):
            failed = client.does(verb, FIRST)
            assert failed.get("error"), failed
            assert "search-model" in failed["says"], failed
        town.model.broken = 0
        assert client.does("ask", FIRST)["text"].startswith(ANSWER), "and then it goes on"
    finally:
        client.end()


def check_answers(town: Town, client: Client, package: Package, verb: str) -> None:
    first = client.does(verb, FIRST)
    assert first.get("text", "").startswith(f"{ANSWER} [^1]. argv[1] stays.\n\n[^1]: ["), first
    if package.links and "links" in first:
        (link,) = first["links"]
        assert link.startswith(f"{town.address}/documents/passage/")
        page = sign_in(town.app, "ann").get(link.removeprefix(town.address))
        assert "E-4711" in page.text, "the link leads to what is cited"
    town.model.calls.clear()
    later = client.does(verb, FIRST, SAID, {"role": "user", "content": "And why?"})
    assert later["text"].startswith(ANSWER)
    assert "Which error does the printer show?" in repr(town.model.calls[0].messages), "the question has its history"
    if package.pictures:
        assert client.does(verb, PICTURE, SAID, FIRST)["text"].startswith(ANSWER)
        assert "error" in client.does(verb, PICTURE), "a picture in the question itself is refused in words"
    town.model.calls.clear()
    title = client.does(verb, TASK)
    assert json.loads(title["text"]) == {"title": "Printer error"}
    assert "<passage-" not in repr(town.model.calls), "nothing is searched for a title"


def check_stop(town: Town, client: Client) -> None:
    eventually(lambda: turns() == 0)
    town.model.reply, town.model.delay_s = (lambda _: "the tray is empty " * 200), 0.05
    assert client.does("stop", FIRST)["text"].strip().startswith("the")
    eventually(lambda: turns() == 0)


def turns() -> int:
    """How many run."""
    return sum(thread.name == "braid-turn" for thread in threading.enumerate())
