"""The encoder of multilingual-e5-small as an ONNX graph: token vectors in, the mean of the last layer out.

Products are of 8-bit numbers where that costs no accuracy. What goes into Q, K, V and the first product of the
feed-forward part has a few channels that are ten times larger than the others; both sides are scaled by channel first
(Xiao et al. 2023, SmoothQuant, alpha 0.7), and one scale per text is then enough. What goes into the last product
has no such pattern: it gets a scale per token and 512 channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from braid.core.models.e5.model_file import ModelFile
from braid.core.models.e5.onnx_format import CONTRIBUTED, Graph
from braid.core.vector import Vector

TOKEN_VECTORS = "token_vectors"
POOLED = "pooled"
_BLOCK = 512


def encoder(model: ModelFile, smoothing: Vector, *, signed: bool = True, watched: Sequence[str] = ()) -> bytes:
    """Return the model: ``token_vectors`` (1, tokens, width) to ``pooled`` (1, width), float32, not of unit length.

    ``smoothing`` (layers, 2, width) divides what goes into attention and into the feed-forward part of each layer.
    ``signed`` weights take the fastest instructions, which overflow on processors without VNNI; unsigned ones never do.
    ``watched`` are further outputs: `attention_input` and `feed_forward_input` of layers.
    """
    layers = _Encoder(model, smoothing, signed=signed)
    x = layers.norm(TOKEN_VECTORS, "emb.ln", attention_input(0))
    for layer in range(model.layers):
        x = layers.attention(layer, x)
        x = layers.feed_forward(layer, x)
    layers.graph.node("ReduceMean", [x, layers.graph.constant(np.array([1]))], outputs=[POOLED], keepdims=0)
    outputs = {POOLED: (1, model.width)} | dict.fromkeys(watched, (1, "tokens", model.width))
    return layers.graph.model({TOKEN_VECTORS: (1, "tokens", model.width)}, outputs)


def overflow_probe() -> bytes:
    """Return a model: ``token_vectors`` (1, 1, 64) of ones to ``pooled`` (1, 1, 16), each of which is 64 unless signed
    weights overflow.
    """
    graph = Graph()
    weights, scales = graph.constant(np.full((64, 16), 127, np.int8)), graph.constant(np.full(16, 1 / 127, np.float32))
    inputs = [TOKEN_VECTORS, weights, scales, "", graph.constant(np.zeros(16, np.float32))]
    graph.node("DynamicQuantizeMatMul", inputs, outputs=[POOLED], domain=CONTRIBUTED)
    return graph.model({TOKEN_VECTORS: (1, 1, 64)}, {POOLED: (1, 1, 16)})


def attention_input(layer: int) -> str:
    """Name what goes into attention in a layer, counted from 0."""
    return f"attention_input_{layer}"


def feed_forward_input(layer: int) -> str:
    """Name what goes into the feed-forward part of a layer, counted from 0."""
    return f"feed_forward_input_{layer}"


class _Encoder:
    """Adds the parts of a layer to a graph. Vectors between parts are (1, tokens, width)."""

    def __init__(self, model: ModelFile, smoothing: Vector, *, signed: bool) -> None:
        self.graph = Graph()
        self._model = model
        self._smoothing = smoothing
        self._signed = signed

    def attention(self, layer: int, x: str) -> str:
        """Add self-attention, the addition of ``x`` and the norm."""
        weights = np.concatenate([self._model.weights(f"l{layer}.{part}.w", self._model.width) for part in "qkv"])
        bias = np.concatenate([self._model.floats(f"l{layer}.{part}.b") for part in "qkv"])
        product = self._smoothed_product(x, weights, bias, self._smoothing[layer, 0])
        parts = [f"{part}{layer}" for part in "qkv"]
        sizes = self.graph.constant(np.full(3, self._model.width, np.int64))
        self.graph.node("Split", [product, sizes], outputs=parts, axis=-1)
        mixed = self.graph.node("MultiHeadAttention", parts, domain=CONTRIBUTED, num_heads=self._model.heads)
        weights, bias = self._model.weights(f"l{layer}.ao.w", self._model.width), self._model.floats(f"l{layer}.ao.b")
        added = self.graph.node("Add", [x, self._product(mixed, weights, bias)])
        return self.norm(added, f"l{layer}.aln", feed_forward_input(layer))

    def feed_forward(self, layer: int, x: str) -> str:
        """Add the feed-forward part, the addition of ``x`` and the norm."""
        bias = self._model.floats(f"l{layer}.fi.b")
        weights = self._model.weights(f"l{layer}.fi.w", len(bias))
        product = self._smoothed_product(x, weights, bias, self._smoothing[layer, 1])
        active = self.graph.node("Gelu", [product], domain=CONTRIBUTED)
        weights, bias = self._model.weights(f"l{layer}.fo.w", self._model.width), self._model.floats(f"l{layer}.fo.b")
        added = self.graph.node("Add", [x, self._blockwise_product(active, weights, bias)])
        return self.norm(added, f"l{layer}.oln", attention_input(layer + 1))

    def norm(self, x: str, name: str, output: str) -> str:
        """Add the layer norm with the weights of that name."""
        weights = [self.graph.constant(self._model.floats(f"{name}.{part}")) for part in "wb"]
        epsilon = self._model.epsilon
        return self.graph.node("LayerNormalization", [x, *weights], outputs=[output], axis=-1, epsilon=epsilon)

    def _smoothed_product(self, x: str, weights: Vector, bias: Vector, scale: Vector) -> str:
        smooth = self.graph.node("Mul", [x, self.graph.constant(1 / scale)])
        return self._product(smooth, weights * scale, bias)

    def _product(self, x: str, weights: Vector, bias: Vector) -> str:
        """Add x · weightsᵀ + bias: weights (out, in) in 8 bits with a scale per output, ``x`` with one per text."""
        scales = np.abs(weights).max(axis=1) / 127
        steps = np.round(weights / scales[:, None]).astype(np.int8).T
        zeros = ""
        if not self._signed:
            steps = (steps.astype(np.int16) + 128).astype(np.uint8)
            zeros = self.graph.constant(np.full(len(scales), 128, np.uint8))
        constants = [self.graph.constant(steps), self.graph.constant(scales), zeros, self.graph.constant(bias)]
        return self.graph.node("DynamicQuantizeMatMul", [x, *constants], domain=CONTRIBUTED)

    def _blockwise_product(self, x: str, weights: Vector, bias: Vector) -> str:
        """Add x · weightsᵀ + bias: both in 8 bits with a scale per row and 512 columns."""
        rows, columns = weights.shape
        blocks = weights.reshape(rows, -1, _BLOCK)
        scales = np.abs(blocks).max(axis=2) / 127
        steps = (np.round(blocks / scales[:, :, None]) + 128).astype(np.uint8)
        constants = [self.graph.constant(steps), self.graph.constant(scales.ravel()), "", "", self.graph.constant(bias)]
        shape = {"K": columns, "N": rows, "bits": 8, "block_size": _BLOCK, "accuracy_level": 4}
        return self.graph.node("MatMulNBits", [x, *constants], domain=CONTRIBUTED, **shape)
