"""Everything that asks a model or reads its answer: embeddings, chat models, rerankers, prompts.

May import: `core.outgoing`, `core.text`, `core.types`, `core.errors`.
Way in: `embeddings.embedding_model`, `chat.ChatModels`, `rerank.Rerankers`, `prompts.Prompts`.
"""

import os

# What runs models here reports nothing, unless the program has said otherwise. Both read their variable once, at their
# import, and onnxruntime has no other switch that keeps it from looking up Microsoft's name: so this is here, before
# any module of this room can load one of them. docs/security.md has the list of all dependencies.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # onnxruntime: a device id, an event store, names of models
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # Hugging Face's packages, which a reranker `local:` brings
