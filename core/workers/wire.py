"""Messages between the process that owns the indexes and those that search through it.

A message is its length and a pickle. Only processes that know the owner's secret come as far as sending one, and only
the classes listed here are made of it.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
from typing import Any

LENGTH = struct.Struct("<Q")
MAX_BYTES = 256 * 2**20
"""Largest message: the ids of eight million passages."""
ERRORS = frozenset({"braid.core.errors", "braid.core.indexes.chroma.errors"})
VALUES = frozenset(
    {
        ("braid.core.indexes.answers", "Bm25Counts"),
        ("braid.core.indexes.answers", "Bm25Statistics"),
        ("braid.core.indexes.answers", "DenseAnswer"),
        ("braid.core.indexes.leg_progress", "LegProgress"),
        ("braid.core.indexes.vector_block", "Selection"),
        ("braid.core.types", "ScoredChunk"),
        ("builtins", "bytearray"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy.core.numeric", "_frombuffer"),
    }
)


class _Unpickler(pickle.Unpickler):
    """Makes values and Braid's errors, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a listed class. Raises UnpicklingError for any other."""
        if (module, name) in VALUES or (module in ERRORS and name.endswith("Error") and "." not in name):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not sent between Braid's processes")


def send(connection: socket.socket, message: object) -> None:
    """Send a message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    connection.sendall(LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> Any:
    """Return the next message. Raises EOFError at the end, OSError when the connection breaks, and UnpicklingError for
    a message that is none of Braid's.
    """
    (length,) = LENGTH.unpack(receive_bytes(connection, LENGTH.size))
    if length > MAX_BYTES:
        raise pickle.UnpicklingError(f"a message of {length} bytes; at most {MAX_BYTES} are allowed")
    data = receive_bytes(connection, length)
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except (AttributeError, ImportError, IndexError) as error:  # a class that only another version of Braid has
        raise pickle.UnpicklingError(f"a message of another version: {error}") from error


def receive_bytes(connection: socket.socket, count: int) -> bytes:
    """Return exactly so many bytes. Raises EOFError when the connection ends before."""
    received = bytearray()
    while len(received) < count:
        part = connection.recv(min(count - len(received), 2**20))
        if not part:
            raise EOFError
        received += part
    return bytes(received)
