"""llm, with Braid among its further models of OpenAI's interface."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from line import given, serve

address, key, model = given()
folder = tempfile.TemporaryDirectory()
os.environ["LLM_USER_PATH"] = folder.name
(Path(folder.name) / "extra-openai-models.yaml").write_text(
    f"- model_id: clerk\n  model_name: '{model}'\n  api_base: '{address}'\n  api_key_name: braid\n"
)
(Path(folder.name) / "keys.json").write_text(f'{{"braid": "{key}"}}')

import llm  # noqa: E402  # it reads its folder when it is imported


def last(messages: list[Any], *, stream: bool) -> Any:
    """The response to the last message, in a conversation in which the earlier ones were asked, too."""
    conversation = llm.get_model("clerk").conversation()
    for message in messages[:-1]:
        if message["role"] == "user":
            conversation.prompt(message["content"], stream=stream).text()
    return conversation.prompt(messages[-1]["content"], stream=stream)


def ask(messages: list[Any]) -> dict[str, Any]:
    """The answer as a stream."""
    return {"text": "".join(last(messages, stream=True))}


def whole(messages: list[Any]) -> dict[str, Any]:
    """The answer in one piece."""
    return {"text": last(messages, stream=False).text()}


def stop(messages: list[Any]) -> dict[str, Any]:
    """The first words of an answer that is not wanted any more."""
    pieces = iter(last(messages, stream=True))
    said = next(piece for piece in pieces if piece)
    pieces.close()
    return {"text": said}


serve(ask=ask, whole=whole, stop=stop)
