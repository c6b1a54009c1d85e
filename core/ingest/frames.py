"""Frames of JSON between the server and a process that parses.

Nothing is pickled on either side: a document that takes that process over can send the server nothing but JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

LENGTH_BYTES = 8
MAX_FRAME_BYTES = 512 * 2**20


def send(stream: IO[bytes], message: Mapping[str, Any]) -> None:
    """Write one frame. Raises ValueError when it is longer than a frame may be."""
    body = json.dumps(message).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError("the frame is too long")
    stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one frame; None at the end of the stream and for anything that is not a frame."""
    length = int.from_bytes(stream.read(LENGTH_BYTES), "big")
    if not 0 < length <= MAX_FRAME_BYTES:
        return None
    body = stream.read(length)
    if len(body) < length:
        return None
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
