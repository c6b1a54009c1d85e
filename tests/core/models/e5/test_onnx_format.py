"""A graph that is written by hand is one that onnxruntime computes."""

from __future__ import annotations

import numpy as np
import onnxruntime

from braid.core.models.e5.onnx_format import Graph


def test_a_graph_is_computed() -> None:
    graph = Graph()
    matrix, bias = graph.constant(np.arange(6, dtype=np.float32).reshape(2, 3)), graph.constant(np.ones(3, np.float32))
    product = graph.node("MatMul", ["x", matrix])
    graph.node("Add", [product, bias], outputs=["y"])
    graph.node("LeakyRelu", ["y"], outputs=["z"], alpha=0.5)
    graph.node("Softmax", ["y"], outputs=["shares"], axis=-1)
    model = graph.model({"x": ("rows", 2)}, {"z": ("rows", 3), "shares": ("rows", 3)})
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    z, shares = session.run(["z", "shares"], {"x": np.array([[1, 1], [-1, 0]], np.float32)})
    assert z.tolist() == [[4, 6, 8], [1, 0, -0.5]]
    assert np.allclose(shares.sum(axis=1), 1)
