"""A server that is killed, or stopped, in the middle of an answer: what is there after it has started again."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.model_server import ModelServer, model_server
from tests.modes import mostly_long
from tests.served import Served
from tests.worlds import WAIT_S

BEGINNING = "The tray is empty [1]. "
WORDS = BEGINNING + " ".join(f"word{number}" for number in range(400))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server(WORDS) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ModelServer) -> Iterator[Served]:
    settings = {
        "SUMMARY_MODEL": "openai:writer",
        "SUMMARY_MODEL_BASE_URL": model.url,
        "SUMMARY_MODEL_API_KEY": "k",
    }
    with Served(tmp_path / "data", fake_model=True, **settings) as running:
        dataset_id = running.new_dataset()
        running.upload(dataset_id, "printer.md", b"# Printer\n\nThe tray is empty.", running.headers())
        running.wait_found(dataset_id)
        yield running


def ask_until(served: Served, text: str) -> None:
    """Ask as the page's script does, and read the answer until it has the text."""
    headers = {"X-CSRFToken": served.token(), "Accept": "text/event-stream"}
    with served.client.stream("POST", "/chat/messages", data={"text": "Is the tray empty?"}, headers=headers) as answer:
        assert answer.status_code == 200
        assert any(text in line for line in answer.iter_lines())


def ask_over_the_api_until(served: Served, text: str) -> None:
    """Ask in a new conversation as a program does, and read the answer until it has the text."""
    with DataDirectory(served.data_dir) as directory:
        _, key = ApiTokens(directory.ledger).add(1, "test", ("read", "write"), days=1)
    headers, api = {"Authorization": f"Bearer {key}"}, f"http://127.0.0.1:{served.port}/api/v1"
    talk = httpx.post(f"{api}/conversations", json={}, headers=headers, timeout=WAIT_S).json()["id"]
    path, body = f"{api}/conversations/{talk}/messages", {"message": "Is the tray empty?"}
    headers |= {"Accept": "text/event-stream"}
    with httpx.stream("POST", path, json=body, headers=headers, timeout=WAIT_S) as answer:
        assert answer.status_code == 200, answer.read()
        assert any(text in line for line in answer.iter_lines())
        os.killpg(served.process.pid, signal.SIGKILL)


def started_again(served: Served) -> None:
    """Start the server that has been told to end, or was killed."""
    served.process.wait(WAIT_S)
    assert served.process.stdout is not None
    served.process.stdout.close()
    served.start()


def exported(served: Served) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = served.client.get("/chat/1/export.json").json()["messages"]
    return messages


def test_a_kill_amid_an_answer_over_the_api_loses_neither_question_nor_what_was_shown(
    served: Served, model: ModelServer
) -> None:
    model.delay_s = 0.05
    ask_over_the_api_until(served, "word50")
    started_again(served)
    question, answer = exported(served)
    assert (question["text"], answer["state"]) == ("Is the tray empty?", "interrupted")
    assert answer["text"].startswith(BEGINNING + "word0 word1 ")


@pytest.mark.parametrize("ended", mostly_long([signal.SIGKILL, signal.SIGTERM]))
def test_an_answer_that_was_lost_in_the_middle_is_interrupted_and_continued(
    served: Served, model: ModelServer, ended: signal.Signals
) -> None:
    model.delay_s = 0.05
    ask_until(served, "word70")  # more than the seconds between two times that it is stored
    os.killpg(served.process.pid, ended)
    started_again(served)
    question, answer = exported(served)
    assert question["text"] == "Is the tray empty?"
    assert answer["state"] == "interrupted"
    assert answer["text"].startswith(BEGINNING.strip())
    words = re.findall(r"word\d+", answer["text"])
    assert words == [f"word{number}" for number in range(len(words))]
    assert len(words) > 5
    page = served.client.get("/chat/1").text
    assert "This answer was interrupted." in page
    assert "You stopped" not in page
    assert [cited["source"] for cited in answer["citations"]] == ["printer.md"]

    model.delay_s = 0.0
    model.reply = lambda messages: "and the end [1]." if messages[-1][1].startswith("Your answer broke off") else "No."
    form = {"csrf_token": served.token()}
    assert served.client.post("/chat/1/messages/2/continue", data=form).status_code == 303
    answer = exported(served)[1]
    assert answer["state"] == "complete"
    assert answer["text"].startswith(BEGINNING + "word0 word1")
    assert answer["text"].endswith(" and the end [1].")
