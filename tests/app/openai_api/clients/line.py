"""What all clients have in common: they are asked by lines of JSON, and answer with one.

Each runs where its package is, and has nothing of Braid: ``python CLIENT.py ADDRESS KEY MODEL``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Do = Callable[[list[dict[str, Any]]], dict[str, Any]]
"""From the messages of a conversation, as OpenAI has them, to what the client makes of the answer."""


def given() -> tuple[str, str, str]:
    """The address of the interface, the key and the model."""
    address, key, model = sys.argv[1:4]
    return address, key, model


def serve(**verbs: Do) -> None:
    """Answer line after line: what the verb returns, or the error that a program would get."""
    print(json.dumps({"verbs": sorted(verbs)}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = verbs[asked["verb"]](asked["messages"])
        except Exception as error:  # what a program of the client's would have to handle
            answer = {"error": type(error).__name__, "says": str(error)}
        print(json.dumps(answer), flush=True)
