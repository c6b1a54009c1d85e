"""Frames between the server and a process that it has started: a length, and as many bytes.

What strangers' files are read by sends JSON alone: a document that takes that process over can send nothing else.
"""

from __future__ import annotations

import pickle
from typing import IO, Any

from braid.core.json_form import read_json, stored_json

LENGTH_BYTES = 8
MAX_FRAME_BYTES = 512 * 2**20


def send(stream: IO[bytes], message: object, *, trusted: bool = False) -> None:
    """Write one frame of JSON, or of pickle where both ends are ``trusted``.

    Raises ValueError when it is longer than a frame may be.
    """
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL) if trusted else stored_json(message).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError("the frame is too long")
    stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
    stream.flush()


def receive(stream: IO[bytes], *, trusted: bool = False) -> Any | None:
    """Read one frame; None at the end of the stream and for anything that is not a frame of an object."""
    length = int.from_bytes(stream.read(LENGTH_BYTES), "big")
    if not 0 < length <= MAX_FRAME_BYTES:
        return None
    body = stream.read(length)
    if len(body) < length:
        return None
    if trusted:
        return pickle.loads(body)
    try:
        message = read_json(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
