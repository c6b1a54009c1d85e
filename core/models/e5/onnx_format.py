"""Writes ONNX models: as much of the format as one graph needs, so that the package onnx, of 40 MB, is not.

The numbers are those of the fields in onnx.proto, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTRIBUTED = "com.microsoft"
"""The domain of onnxruntime's own operators."""
_IR_VERSION = 9
_OPSET = 18
_NUMBER, _BYTES, _FLOAT = 0, 2, 5
_FLOAT32 = 1
_TYPES = {
    np.dtype(np.float32): _FLOAT32,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int64): 7,
}


class Graph:
    """Nodes and constants of a model, in the order in which they are added."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[tuple[bytes, NDArray[Any]]] = []  # what describes them, and their values, copied once

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor of float32, uint8, int8 or int64; return its name."""
        name = f"constant{len(self._constants)}"
        dims = b"".join(_number(1, size) for size in values.shape)
        described = dims + _number(2, _TYPES[values.dtype]) + _text(8, name) + _head(9, values.nbytes)
        self._constants.append((described, np.ascontiguousarray(values)))
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *, outputs: Sequence[str] = (), domain: str = "", **attributes: Any
    ) -> str:
        """Add an operator; return the name of its first output. An input that is left out is an empty name."""
        outputs = outputs or [f"value{len(self._nodes)}"]
        parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs] + [_text(4, operator)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(parts) + _text(7, domain))
        return outputs[0]

    def model(
        self,
        inputs: Mapping[str, Sequence[str | int]],
        outputs: Mapping[str, Sequence[str | int]],
        *,
        kind: type[np.generic] = np.float32,
    ) -> bytes:
        """Return the model; inputs are of this kind, outputs float32, of dimensions that have a name or a size."""
        graph: list[bytes | memoryview] = [*(_bytes(1, node) for node in self._nodes), _text(2, "graph")]
        for described, values in self._constants:
            graph += [_head(5, len(described) + values.nbytes) + described, values.data.cast("B")]
        graph += [_bytes(11, _described(name, dims, kind)) for name, dims in inputs.items()]
        graph += [_bytes(12, _described(name, dims, np.float32)) for name, dims in outputs.items()]
        operators = [_text(1, "") + _number(2, _OPSET), _text(1, CONTRIBUTED) + _number(2, 1)]
        size = sum(len(part) for part in graph)
        start = _number(1, _IR_VERSION) + _head(7, size)
        return b"".join([start, *graph, *(_bytes(8, domain) for domain in operators)])


def _described(name: str, dims: Sequence[str | int], kind: type[np.generic]) -> bytes:
    """Return the description (ValueInfoProto) of a tensor."""
    sizes = b"".join(_bytes(1, _number(1, dim) if isinstance(dim, int) else _text(2, dim)) for dim in dims)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES[np.dtype(kind)]) + _bytes(2, sizes)))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + _varint(2 << 3 | _FLOAT) + struct.pack("<f", value) + _number(20, 1)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _NUMBER) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _head(field, len(content)) + content


def _head(field: int, size: int) -> bytes:
    """Return what comes before ``size`` bytes of content."""
    return _varint(field << 3 | _BYTES) + _varint(size)


def _varint(value: int) -> bytes:
    """Return the integer in groups of 7 bits, the lowest first; a negative one in 64 bits."""
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)
